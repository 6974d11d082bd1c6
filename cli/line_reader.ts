/** Longest line that a person or a script types. Bytes. */
const MAX_LINE = 64 * 1_024;

/**
 * Lines of a byte source, one a call; null at its end. What comes after a line stays for the next
 * call. A longer line than people type is cut.
 */
export function lineReader(
  source: { read(buffer: Uint8Array): Promise<number | null> },
): () => Promise<string | null> {
  let rest = new Uint8Array();
  let ended = false;
  return async () => {
    for (;;) {
      const at = rest.indexOf(10);
      if (at !== -1 || ended || rest.length > MAX_LINE) {
        if (at === -1 && rest.length === 0) return null;
        const end = at === -1 ? rest.length : at;
        const line = new TextDecoder().decode(rest.subarray(0, Math.min(end, MAX_LINE))).replace(
          /\r$/,
          "",
        );
        rest = rest.slice(at === -1 ? rest.length : at + 1);
        return line;
      }
      const buffer = new Uint8Array(4_096);
      const n = await source.read(buffer);
      if (n === null) ended = true;
      else {
        const joined = new Uint8Array(rest.length + n);
        joined.set(rest);
        joined.set(buffer.subarray(0, n), rest.length);
        rest = joined;
      }
    }
  };
}
