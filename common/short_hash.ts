/** A short, quick hash for telling whether something is still the same. Not for secrets. */

/** 64 bits of FNV-1a in two lanes, over any number of pieces. */
export class ShortHash {
  #a = 0x811c9dc5;
  #b = 0x9747b28c;

  add(bytes: Uint8Array): void {
    let a = this.#a, b = this.#b;
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]!;
      a = Math.imul(a ^ byte, 0x01000193);
      b = Math.imul(b ^ byte, 0x85ebca6b) + 1;
    }
    this.#a = a;
    this.#b = b;
  }

  /** Letters and digits, about 12 of them. */
  text(): string {
    return (this.#a >>> 0).toString(36) + (this.#b >>> 0).toString(36);
  }
}

const encoder = new TextEncoder();

/** Short hash of a text. */
export function shortHash(text: string): string {
  const hash = new ShortHash();
  hash.add(encoder.encode(text));
  return hash.text();
}
