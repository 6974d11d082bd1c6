/** Broken input from a fixed seed: the same bytes in every run. */

/** Numbers in 0..bound-1; xorshift32. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0 || 1;
  }

  below(bound: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return (x >>> 0) % bound;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new Error("nothing to pick from");
    return value;
  }
}

/** What breaks readers: brackets, escapes, numbers at the edges, keys with a meaning, odd bytes. */
const SPICE = [
  "{",
  "}",
  "[",
  "]",
  '"',
  ",",
  ":",
  "\\",
  "\\u",
  "\\ud800",
  "\\ud83d\\ude00",
  "\\u0000",
  "null",
  "true",
  "0",
  "-0",
  "5.0",
  "1e309",
  "-1e400",
  "1e3",
  "9007199254740993",
  "18446744073709551616",
  "-9223372036854775809",
  "0.1",
  '"id":null',
  '"id":1.5,',
  '"__proto__":{"a":1},',
  '"jsonrpc":"1.0",',
  '"method":5,',
  '"params":[],',
  '"_meta":{},',
  '"name":{}',
  "[[[[[[[[[[[[[[[[",
  '{"a":{"a":{"a":',
  "\u00e9",
  "\u{1f600}",
  "\ufeff",
  "\u2028",
  "\u0000",
  "\u001b",
  "\r",
  "\t",
  " ",
  '"2026-07-28"',
  '"2031-01-01"',
  '"2024-11-05"',
  '"tools/call"',
  '"ping"',
  '"initialize"',
];
const encoder = new TextEncoder();
const SPICE_BYTES = SPICE.map((text) => encoder.encode(text));

/** One to four changes: bytes flipped, removed, doubled, moved, or spice put in. No LF is added. */
export function mutate(base: Uint8Array, random: Random): Uint8Array {
  let bytes = base;
  for (let changes = 1 + random.below(4); changes > 0; changes--) bytes = change(bytes, random);
  return bytes;
}

function change(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + random.below(12));
  switch (random.below(6)) {
    case 0: {
      const copy = bytes.slice();
      const byte = random.below(256);
      if (at < copy.length) copy[at] = byte === 0x0a ? 0x0b : byte;
      return copy;
    }
    case 1:
      return join(bytes.subarray(0, at), bytes.subarray(end));
    case 2:
      return join(bytes.subarray(0, end), bytes.subarray(at));
    case 3:
      return bytes.subarray(0, at);
    default:
      return join(
        bytes.subarray(0, at),
        random.pick(SPICE_BYTES),
        bytes.subarray(random.below(2) ? at : end),
      );
  }
}

/** The parts one after another. */
export function join(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
