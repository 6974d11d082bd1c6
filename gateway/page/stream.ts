import { ApiError, hasSession, send } from "./api.ts";

/** The gateway's events by a streamed fetch: an `EventSource` could carry no header. */

export interface GatewayEvent {
  readonly type: "hello" | "proposal" | "restore" | "ledger" | "closing";
  readonly previewId?: string;
  readonly status?: string;
}

export type Connection = "connecting" | "live" | "lost" | "ended" | "too_many";

/** The gateway sends something every 15 s; after this much silence the stream is dead. */
const SILENCE_MS = 40_000;
const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 8_000;
/** A line longer than this is none of the gateway's. */
const MAX_LINE = 65_536;

/** Follows events for as long as there is a session; connects again by itself. */
export class EventStream {
  #stop: AbortController | null = null;

  constructor(
    readonly onEvent: (event: GatewayEvent) => void,
    readonly onState: (state: Connection) => void,
  ) {}

  start(): void {
    this.stop();
    const stop = new AbortController();
    this.#stop = stop;
    void this.#follow(stop.signal);
  }

  stop(): void {
    this.#stop?.abort();
    this.#stop = null;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    let wait = FIRST_WAIT_MS;
    this.onState("connecting");
    while (!signal.aborted && hasSession()) {
      let ended: Connection = "lost";
      try {
        await this.#readOnce(signal, (event) => {
          wait = FIRST_WAIT_MS;
          if (event.type === "closing") ended = "ended";
          this.onEvent(event);
        });
      } catch (error) {
        if (error instanceof ApiError && error.status === 429) ended = "too_many";
      }
      if (signal.aborted || !hasSession()) return;
      this.onState(ended);
      await pause(wait * (0.75 + Math.random() / 2), signal);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    }
  }

  async #readOnce(signal: AbortSignal, tell: (event: GatewayEvent) => void): Promise<void> {
    const silence = new AbortController();
    const stop = () => silence.abort();
    signal.addEventListener("abort", stop);
    let timer = setTimeout(stop, SILENCE_MS);
    try {
      const response = await send("GET", "events", undefined, silence.signal);
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      this.onState("live");
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(stop, SILENCE_MS);
        const lines = (rest + value).split("\n");
        rest = lines.pop()!.slice(-MAX_LINE);
        for (const line of lines) {
          const event = line.startsWith("data: ") ? parse(line.slice(6)) : null;
          if (event) tell(event);
        }
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      silence.abort();
    }
  }
}

function parse(text: string): GatewayEvent | null {
  try {
    return JSON.parse(text) as GatewayEvent;
  } catch {
    return null;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
