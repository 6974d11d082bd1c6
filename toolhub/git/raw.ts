/** Git's text as answers show it: a bounded beginning, and how much is missing. */

const MAX_CHARS = 20_000;

/** Takes bytes piece by piece; keeps the beginning and counts the rest. */
export class RawText {
  readonly #decoder = new TextDecoder();
  #kept = "";
  #keptChars = 0;
  #cut = 0;

  add(chunk: Uint8Array): void {
    this.#take(this.#decoder.decode(chunk, { stream: true }));
  }

  /** The text, with a note behind it when more than 20,000 characters came. */
  text(): string {
    this.#take(this.#decoder.decode());
    return this.#cut === 0 ? this.#kept : `${this.#kept}\n...[+${this.#cut} chars truncated]`;
  }

  #take(text: string): void {
    for (const char of text) {
      if (this.#keptChars === MAX_CHARS) this.#cut++;
      else {
        this.#kept += char;
        this.#keptChars++;
      }
    }
  }
}
