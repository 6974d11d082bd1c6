/** Frames out: whole, in order, one at a time. Nothing else writes to the channel. */

/** Something that takes bytes and says how many it took, such as `Deno.stdout`. */
export interface ByteSink {
  writeSync(bytes: Uint8Array): number;
}

/** Milliseconds between tries while the reader of a full pipe does not read. */
const RETRY_MS = 2;

/**
 * Writes all bytes, however few the sink takes at a time; waits while a non-blocking pipe is full
 * (`deno-facts.md` section 6: a short write and `WouldBlock` are not reported as errors there).
 *
 * @throws {Deno.errors.BrokenPipe} the reader is gone
 */
export async function writeAll(sink: ByteSink, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    try {
      const taken = sink.writeSync(bytes.subarray(at));
      at += taken;
      if (taken === 0) await pause();
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
      await pause();
    }
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, RETRY_MS));
}

/** One message waiting for its turn. */
export interface Outgoing {
  /** Settles when the message is out, was dropped, or can no longer be sent. True: it is out. */
  readonly done: Promise<boolean>;
  /** Takes the message back if its bytes have not begun to go out. */
  drop(): void;
}

interface Entry {
  bytes: Uint8Array | null;
  settle(sent: boolean): void;
  onStart: (() => void) | undefined;
}

/** What the owner of a queue is told. */
export interface QueueEvents {
  /** A write failed: the channel is closed. */
  onFailed(error: unknown): void;
  /** Everything queued was settled. */
  onIdle(): void;
}

/**
 * The queue before the channel. A failed write closes it: what is queued then and later settles as
 * not sent.
 */
export class OutputQueue {
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #events: QueueEvents;
  #entries: Entry[] = [];
  #running = false;
  #closed = false;
  /** Bytes queued and not yet out. */
  queuedBytes = 0;

  constructor(write: (bytes: Uint8Array) => Promise<void>, events: QueueEvents) {
    this.#write = write;
    this.#events = events;
  }

  /** Whether everything queued was settled. */
  get idle(): boolean {
    return !this.#running;
  }

  /** Queues one message; `text` is one line of JSON without its LF, null only takes a turn. */
  send(text: string | null): Outgoing {
    return this.sendBytes(text === null ? null : encoder.encode(text + "\n"));
  }

  /**
   * As {@link send}, for a line already encoded with its LF.
   *
   * @param onStart called just before the first byte goes out (never for a dropped message)
   */
  sendBytes(bytes: Uint8Array | null, onStart?: () => void): Outgoing {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const entry: Entry = { bytes, settle: resolve, onStart };
    this.queuedBytes += bytes?.length ?? 0;
    this.#entries.push(entry);
    if (!this.#running) this.#run();
    return {
      done: promise,
      drop: () => {
        this.queuedBytes -= entry.bytes?.length ?? 0;
        entry.bytes = null;
      },
    };
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#entries.length > 0) {
      const batch = this.#entries;
      this.#entries = [];
      for (const entry of batch) entry.settle(await this.#put(entry));
    }
    this.#running = false;
    this.#events.onIdle();
  }

  async #put(entry: Entry): Promise<boolean> {
    const bytes = entry.bytes;
    entry.bytes = null; // from here on it cannot be dropped
    if (bytes === null) return false;
    entry.onStart?.();
    try {
      if (!this.#closed) await this.#write(bytes);
    } catch (error) {
      if (this.#closed) return false;
      this.#closed = true;
      this.#events.onFailed(error);
    } finally {
      this.queuedBytes -= bytes.length;
    }
    return !this.#closed;
  }
}

const encoder = new TextEncoder();
