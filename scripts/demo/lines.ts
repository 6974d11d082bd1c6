/** First lines of a stream, read one at a time; the rest stays unread. */
export class TextLineStream {
  #rest = "";
  readonly #decoder = new TextDecoder();

  constructor(readonly stream: ReadableStream<Uint8Array>) {}

  /** The next line without its end; null at the end of the stream. */
  async next(): Promise<string | null> {
    const reader = this.stream.getReader();
    try {
      for (;;) {
        const at = this.#rest.indexOf("\n");
        if (at !== -1) {
          const line = this.#rest.slice(0, at);
          this.#rest = this.#rest.slice(at + 1);
          return line;
        }
        const { value, done } = await reader.read();
        if (done) return null;
        this.#rest += this.#decoder.decode(value, { stream: true });
      }
    } finally {
      reader.releaseLock();
    }
  }
}
