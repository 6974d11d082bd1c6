/**
 * Server-sent events for people's windows: what happened, never what it holds; the page fetches the
 * rest with its session. A window that does not read is dropped, so that it cannot hold memory.
 */
const MAX_WINDOWS = 32;
const MAX_BEHIND = 256;
const KEEP_ALIVE_MS = 15_000;

export interface GatewayEvent {
  readonly type: "proposal" | "restore" | "ledger" | "closing";
  readonly previewId?: string;
  readonly status?: string;
}

interface Window {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  readonly beat: ReturnType<typeof setInterval>;
}

export class Events {
  readonly #windows = new Set<Window>();
  #next = 1;
  readonly #encoder = new TextEncoder();

  /** A new stream; null when too many windows are open. Each event has a growing id. */
  open(): ReadableStream<Uint8Array> | null {
    if (this.#windows.size >= MAX_WINDOWS) return null;
    let mine: Window | undefined;
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        const beat = setInterval(() => this.#send(mine!, ": still here\n\n"), KEEP_ALIVE_MS);
        mine = { controller, beat };
        this.#windows.add(mine);
        this.#send(mine, `retry: 1000\nid: ${this.#next++}\ndata: {"type":"hello"}\n\n`);
      },
      cancel: () => this.#drop(mine!, false),
    }, { highWaterMark: MAX_BEHIND });
  }

  /** Sends an event to every window. */
  emit(event: GatewayEvent): void {
    const text = `id: ${this.#next++}\ndata: ${JSON.stringify(event)}\n\n`;
    for (const window of this.#windows) this.#send(window, text);
  }

  /** Tells every window that the gateway ends, and closes them. */
  close(): void {
    this.emit({ type: "closing" });
    for (const window of [...this.#windows]) this.#drop(window, true);
  }

  get windows(): number {
    return this.#windows.size;
  }

  #send(window: Window, text: string): void {
    if ((window.controller.desiredSize ?? 0) <= 0) return this.#drop(window, true);
    try {
      window.controller.enqueue(this.#encoder.encode(text));
    } catch {
      this.#drop(window, false);
    }
  }

  #drop(window: Window, close: boolean): void {
    clearInterval(window.beat);
    if (!this.#windows.delete(window) || !close) return;
    try {
      window.controller.close();
    } catch { /* it was closed by its reader */ }
  }
}
