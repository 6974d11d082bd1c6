/** One field of a NUL-separated record: its first bytes, and how long it really is. */
export interface Field {
  readonly bytes: Uint8Array;
  /** Length in bytes of the whole field; more than `bytes.length` when it was cut. */
  readonly size: number;
}

/**
 * Reads records of a fixed number of NUL-terminated fields out of chunks of any size, keeping only
 * the first bytes of each field: a message of 50 MB costs no more memory than its kept part.
 */
export class FieldRecords {
  readonly #keep: readonly number[];
  readonly #buffers: Uint8Array[];
  #sizes: number[];
  #field = 0;

  /** @param keep most bytes kept, field by field; its length is the number of fields of a record */
  constructor(keep: readonly number[]) {
    this.#keep = keep;
    this.#buffers = keep.map((n) => new Uint8Array(Math.min(n, 256)));
    this.#sizes = keep.map(() => 0);
  }

  /** Calls `onRecord` for each whole record; `false` from it stops and is returned. */
  push(chunk: Uint8Array, onRecord: (fields: Field[]) => boolean): boolean {
    let start = 0;
    for (let at = chunk.indexOf(0); at !== -1; at = chunk.indexOf(0, start)) {
      this.#append(chunk.subarray(start, at));
      start = at + 1;
      this.#field++;
      if (this.#field < this.#keep.length) continue;
      const fields = this.#sizes.map((size, i) => ({
        bytes: this.#buffers[i]!.slice(0, Math.min(size, this.#keep[i]!)),
        size,
      }));
      this.#field = 0;
      this.#sizes = this.#sizes.map(() => 0);
      if (!onRecord(fields)) return false;
    }
    this.#append(chunk.subarray(start));
    return true;
  }

  #append(piece: Uint8Array): void {
    const i = this.#field;
    const size = this.#sizes[i]!;
    const room = this.#keep[i]! - size;
    this.#sizes[i] = size + piece.length;
    if (room <= 0 || piece.length === 0) return;
    const kept = piece.subarray(0, room);
    let buffer = this.#buffers[i]!;
    if (size + kept.length > buffer.length) {
      const grown = new Uint8Array(
        Math.min(this.#keep[i]!, Math.max(2 * buffer.length, size + kept.length)),
      );
      grown.set(buffer.subarray(0, size));
      this.#buffers[i] = buffer = grown;
    }
    buffer.set(kept, size);
  }
}
