const MAX_BYTES = 4_096;

/**
 * One line without its end (LF or CRLF), otherwise exactly as typed; null at the end of input or for a
 * line nobody types.
 */
export async function readAnswer(
  source: { read(buffer: Uint8Array): Promise<number | null> },
): Promise<string | null> {
  const bytes: number[] = [];
  const buffer = new Uint8Array(256);
  while (bytes.length <= MAX_BYTES) {
    const count = await source.read(buffer);
    if (count === null) return bytes.length === 0 ? null : lineOf(bytes);
    for (const byte of buffer.subarray(0, count)) {
      if (byte === 0x0a) {
        return lineOf(bytes);
      }
      bytes.push(byte);
    }
  }
  return null;
}

function lineOf(bytes: readonly number[]): string {
  return new TextDecoder().decode(new Uint8Array(bytes)).replace(/\r$/, "");
}
