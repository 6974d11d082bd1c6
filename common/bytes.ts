/** Bytes and text: paths that Git stores are bytes first (`git-inputs.md` R2). */

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lossy = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/** A path as answers carry it: `pathBytes` (base64) is present only when the bytes are not UTF-8. */
export interface DecodedPath {
  readonly path: string;
  readonly pathBytes?: string;
}

/** Decodes a path; bytes that are not UTF-8 show as U+FFFD and come along losslessly as base64. */
export function decodePath(bytes: Uint8Array): DecodedPath {
  try {
    return { path: strict.decode(bytes) };
  } catch {
    return { path: lossy.decode(bytes), pathBytes: toBase64(bytes) };
  }
}

/** UTF-8 with replacement characters. */
export function decodeText(bytes: Uint8Array): string {
  return lossy.decode(bytes);
}

export function encodeText(text: string): Uint8Array {
  return encoder.encode(text);
}

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  }
  return btoa(text);
}

/** One UTF-16 unit a byte: bytes as a text that loses nothing, for keys and for working on parts. */
export function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  }
  return text;
}

/** Throws when the text is not base64. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

/** Compares as `memcmp` does, which is Git's order of names. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) {
    const d = a[i]! - b[i]!;
    if (d !== 0) return d;
  }
  return a.length - b.length;
}

/** Splits at NUL; a last field without its NUL is kept when it is not empty. */
export function splitNul(bytes: Uint8Array): Uint8Array[] {
  const fields: Uint8Array[] = [];
  let start = 0;
  for (let at = bytes.indexOf(0); at !== -1; at = bytes.indexOf(0, start)) {
    fields.push(bytes.subarray(start, at));
    start = at + 1;
  }
  if (start < bytes.length) fields.push(bytes.subarray(start));
  return fields;
}

/** Feeds NUL-terminated records out of chunks of any size, copying only what spans two chunks. */
export class NulRecords {
  #rest: Uint8Array | null = null;

  /** Calls `onRecord` for each whole record; `false` from it stops and is returned. */
  push(chunk: Uint8Array, onRecord: (record: Uint8Array) => boolean): boolean {
    let start = 0;
    for (let at = chunk.indexOf(0); at !== -1; at = chunk.indexOf(0, start)) {
      let record = chunk.subarray(start, at);
      if (this.#rest) {
        record = join(this.#rest, record);
        this.#rest = null;
      }
      start = at + 1;
      if (!onRecord(record)) return false;
    }
    if (start < chunk.length) {
      const tail = chunk.slice(start);
      this.#rest = this.#rest ? join(this.#rest, tail) : tail;
    }
    return true;
  }
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}
