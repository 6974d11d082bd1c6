/** Reading the newest lines of the log without reading all of it. */

const BLOCK = 8_192;
const MAX_SCAN = 1_000_000;

/**
 * The last events of a log, oldest first: backwards in blocks until `limit` lines or 1,000,000 bytes.
 * Lines that are not JSON objects are passed over; a missing or unreadable file has no events.
 */
export function tailEvents(path: string, limit: number): Record<string, unknown>[] {
  const lines = tailLines(path, limit);
  const events: Record<string, unknown>[] = [];
  for (const line of lines) {
    try {
      const value: unknown = JSON.parse(line);
      if (typeof value === "object" && value !== null && !Array.isArray(value)) {
        events.push(value as Record<string, unknown>);
      }
    } catch { /* a damaged line hides no others */ }
  }
  return events;
}

function tailLines(path: string, limit: number): string[] {
  let file: Deno.FsFile;
  try {
    if (!Deno.lstatSync(path).isFile) return [];
    file = Deno.openSync(path, { read: true });
  } catch {
    return [];
  }
  try {
    const { size } = file.statSync();
    let start = size;
    const blocks: Uint8Array[] = [];
    let found = 0;
    while (start > 0 && size - start < MAX_SCAN && found <= limit) {
      const from = Math.max(0, start - BLOCK);
      const block = new Uint8Array(start - from);
      file.seekSync(from, Deno.SeekMode.Start);
      for (let at = 0; at < block.length;) {
        const count = file.readSync(block.subarray(at));
        if (count === null) return [];
        at += count;
      }
      blocks.unshift(block);
      for (const byte of block) if (byte === 0x0a) found++;
      start = from;
    }
    const all = new Uint8Array(size - start);
    let at = 0;
    for (const block of blocks) {
      all.set(block, at);
      at += block.length;
    }
    const lines = new TextDecoder().decode(all).split("\n");
    // Unless the file began here, the first line is only the end of one.
    if (start > 0) lines.shift();
    return lines.filter((line) => line.trim() !== "").slice(-limit);
  } catch {
    return [];
  } finally {
    file.close();
  }
}
