import { constants, inflateSync } from "node:zlib";

/**
 * How much a binary delta of a patch makes out of a file: a few bytes can say "copy" a thousand times,
 * so the size of the delta itself says nothing (`security.md` S-33).
 */

const ALPHABET =
  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/** The size that a delta says its result has, by its first lines; null when they cannot be read. */
export function deltaResultSize(lines: readonly string[]): number | null {
  const packed: number[] = [];
  for (const line of lines) {
    const bytes = decodeLine(line);
    if (bytes === null) break;
    packed.push(...bytes);
  }
  if (packed.length === 0) return null;
  try {
    const plain = inflateSync(Uint8Array.from(packed), {
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: 64 * 1024 * 1024,
    });
    // Two numbers of seven bits a byte: the size it starts from, and the one it makes.
    const first = varint(plain, 0);
    return first === null ? null : varint(plain, first.next)?.value ?? null;
  } catch {
    return null;
  }
}

/** One line of git's base 85: a letter for its length, then groups of five characters for four bytes. */
function decodeLine(line: string): number[] | null {
  const match = /^([A-Za-z])((?:.{5})+)\r?$/.exec(line);
  if (!match) return null;
  const letter = match[1]!.charCodeAt(0);
  const length = letter <= 0x5a ? letter - 0x40 : letter - 0x60 + 26;
  const bytes: number[] = [];
  for (let at = 0; at < match[2]!.length; at += 5) {
    let value = 0;
    for (const character of match[2]!.slice(at, at + 5)) {
      const digit = ALPHABET.indexOf(character);
      if (digit === -1) return null;
      value = value * 85 + digit;
    }
    bytes.push((value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff);
  }
  return bytes.slice(0, length);
}

function varint(bytes: Uint8Array, from: number): { value: number; next: number } | null {
  let value = 0, scale = 1;
  for (let at = from; at < bytes.length && at < from + 8; at++) {
    value += (bytes[at]! & 0x7f) * scale;
    if ((bytes[at]! & 0x80) === 0) return { value, next: at + 1 };
    scale *= 128;
  }
  return null;
}
