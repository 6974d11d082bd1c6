/** Output of a program: a bounded part is kept, everything is read and counted. */

/** Bytes of a stream that are kept. */
export const KEPT_BYTES = 262_144;
/** Characters of a stream that an answer shows. */
export const SHOWN_CHARS = 20_000;

export class Capture {
  readonly #chunks: Uint8Array[] = [];
  #kept = 0;
  #dropped = 0;

  add(chunk: Uint8Array): void {
    const room = Math.max(0, KEPT_BYTES - this.#kept);
    if (room > 0) {
      this.#chunks.push(chunk.slice(0, room));
      this.#kept += Math.min(room, chunk.length);
    }
    this.#dropped += Math.max(0, chunk.length - room);
  }

  /** The text shown to the caller, and how many characters it had before cutting. */
  text(): { text: string; chars: number } {
    const all = new Uint8Array(this.#kept);
    let at = 0;
    for (const chunk of this.#chunks) {
      all.set(chunk, at);
      at += chunk.length;
    }
    const decoded = new TextDecoder().decode(all).replace(/\r\n?/g, "\n");
    const chars = [...decoded];
    const whole = chars.length <= SHOWN_CHARS;
    let text = whole ? decoded : chars.slice(0, SHOWN_CHARS).join("");
    if (this.#dropped > 0) text += `\n\n[ToolHub discarded ${this.#dropped} output bytes]`;
    if (!whole) {
      text += `\n\n[ToolHub truncated ${chars.length - SHOWN_CHARS} characters]`;
    }
    return { text, chars: chars.length };
  }
}
