import type {
  LedgerSettings,
  Numbered,
  WriterPlaces,
  WriterReply,
  WriterRequest,
} from "./messages.ts";
import type { RecordedCall } from "./presence_record.ts";

/** What the writer is doing: `dead` and `unavailable` last until the program is started again. */
export type WriterState = "waiting" | "running" | "unavailable" | "dead";

export interface WriterOptions {
  /** Run directory as configured; null when there is none. */
  readonly runDir: string | null;
  /** Module of the worker, relative to the main module and without its ending. */
  readonly entry: string;
  /** The ledger to write, and the folders that takes; null without one. */
  readonly ledger?:
    | { readonly settings: LedgerSettings; readonly folders: readonly string[] }
    | null;
  /** Takes one line for people. */
  readonly log: (line: string) => void;
  /** Called once the worker runs: the main program gives up its own write permission here. */
  readonly onStarted?: () => void;
}

/**
 * The main program's side of the writer worker. It starts when first needed or when told to; a
 * worker that died is not started again, because by then nobody may write any more.
 */
export class Writer {
  #state: WriterState = "waiting";
  #reason = "";
  #worker: Worker | undefined;
  #starting: Promise<void> | undefined;
  #next = 1;
  #recorded = 0;
  #lost = 0;
  /** The worker runs, but has no ledger. */
  #unrecorded = false;
  #present = false;
  readonly #pending = new Map<
    number,
    { resolve: (value: string | null) => void; reject: (error: Error) => void }
  >();

  constructor(readonly options: WriterOptions) {}

  get state(): WriterState {
    return this.#state;
  }

  /** Starts the worker once; never rejects, look at {@link state}. */
  start(): Promise<void> {
    return this.#starting ??= this.#start();
  }

  /** An empty throw-away folder. Throws with the reason when nothing can be written. */
  async makeFolder(): Promise<string> {
    return (await this.request({ op: "makeFolder" })) ?? "";
  }

  /** Removes a folder made by {@link makeFolder}; never throws. */
  async removeFolder(path: string): Promise<void> {
    await this.request({ op: "removeFolder", path }).catch((error) => {
      this.options.log(`a throw-away folder could not be removed: ${error.message}`);
    });
  }

  /**
   * Hands a finished call to the ledger, in order. Never throws: a ledger that cannot be written is
   * told on standard error and counted at {@link flush}.
   */
  record(call: unknown): void {
    this.#recorded++;
    this.request({ op: "record", call }).catch(() => this.#lost++);
  }

  /** Notes a call in the presence record. Never throws: what goes wrong is told once. */
  present(call: RecordedCall): void {
    this.#present = true;
    // Why nothing can be written has been told already; the worker tells of trouble with the file.
    this.request({ op: "presence", call }).catch(() => {});
  }

  /** Removes the presence record, if there is one; waits for that at most `ms`. Never throws. */
  async leave(ms: number): Promise<void> {
    if (!this.#present || this.#state !== "running") return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, ms));
    await Promise.race([this.request({ op: "leave" }).catch(() => {}), late]);
    clearTimeout(timer);
  }

  /**
   * A private copy of a database that cannot be read in place without making files beside it. Throws
   * with the reason.
   */
  async copyDatabase(path: string): Promise<{ path: string; done: () => void }> {
    const copy = (await this.request({ op: "copyDatabase", path })) ?? "";
    return {
      path: copy,
      done: () => void this.removeFolder(copy.slice(0, copy.lastIndexOf("/"))),
    };
  }

  /**
   * Waits until the ledger is written, at most `ms`.
   *
   * @returns how many entries are not written, as far as is known
   */
  async flush(ms: number): Promise<number> {
    if (this.#recorded === 0) return 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<null>((resolve) => timer = setTimeout(() => resolve(null), ms));
    const flushed = this.request({ op: "flush" }).then(Number, () => this.#lost);
    const left = await Promise.race([flushed, late]);
    clearTimeout(timer);
    return left === null
      ? Math.max(this.#pending.size - 1, 1)
      : left + (this.#state === "running" ? this.#lost : 0);
  }

  /** Sends one request and waits for its reply. Throws what the worker reports. */
  async request(request: WriterRequest): Promise<string | null> {
    await this.start();
    if (request.op === "record" && this.#unrecorded) throw new Error("there is no ledger");
    return await this.#send(request);
  }

  #send(request: WriterRequest): Promise<string | null> {
    const worker = this.#worker;
    if (!worker || this.#state === "dead" || this.#state === "unavailable") {
      return Promise.reject(new Error(this.#reason || "the writer is not running"));
    }
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      worker.postMessage({ id, request } satisfies Numbered);
    });
  }

  async #start(): Promise<void> {
    try {
      const { places, ledger, worker } = this.#open();
      this.#worker = worker;
      worker.onmessage = (event: MessageEvent<WriterReply>) => this.#receive(event.data);
      worker.onerror = (event) => {
        event.preventDefault();
        this.#die(event.message);
      };
      await this.#send({
        op: "start",
        places,
        pid: Deno.pid,
        startedAtMs: Math.round(performance.timeOrigin),
        ledger,
      });
      this.#state = "running";
    } catch (error) {
      this.#worker?.terminate();
      this.#worker = undefined;
      this.#state = "unavailable";
      this.#reason = describe(error);
      this.options.log(`nothing can be written: ${this.#reason}`);
    }
    this.options.onStarted?.();
  }

  /** The worker with all its places, or without the ledger's when these cannot be had: tools need the others. */
  #open(): { places: WriterPlaces; ledger: LedgerSettings | null; worker: Worker } {
    const { runDir, entry, ledger } = this.options;
    const open = (folders: readonly string[]) => {
      const places = resolvePlaces(runDir, folders);
      return { places, worker: startWorker(entry, places) };
    };
    if (!ledger) return { ...open([]), ledger: null };
    try {
      return { ...open(ledger.folders), ledger: ledger.settings };
    } catch (error) {
      const rest = { ...open([]), ledger: null };
      this.#unrecorded = true;
      this.options.log(
        `the ledger cannot be written: ${describe(error)}; restart the sidecar to record again`,
      );
      return rest;
    }
  }

  #receive(reply: WriterReply): void {
    if ("notice" in reply) return this.options.log(reply.notice);
    const waiting = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (reply.ok) waiting?.resolve(reply.value);
    else waiting?.reject(new Error(reply.reason));
  }

  #die(why: string): void {
    this.#state = "dead";
    this.#reason = `the writer ended (${why}); restart the sidecar to record again`;
    this.options.log(this.#reason);
    for (const { reject } of this.#pending.values()) reject(new Error(this.#reason));
    this.#pending.clear();
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  /** Ends the worker without waiting; for tests and shutdown. */
  stop(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#state = "unavailable";
    this.#reason ||= "the program is ending";
  }
}

/** The runtime's own words for a refused folder speak of flags that nobody here can set. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const refused = error instanceof Deno.errors.NotCapable ||
    error instanceof Deno.errors.PermissionDenied;
  return refused
    ? `the run directory or the ledger's folder may not be written (${
      error.message.split(/, (?:run|specify)/)[0]
    }); name others with FLUXGIT_RUN_DIR and FLUXGIT_MCP_AUDIT_LOG`
    : error.message;
}

/** Creates the folders where needed and resolves every link in the places, once. */
function resolvePlaces(runDir: string | null, others: readonly string[]): WriterPlaces {
  if (runDir === null || runDir === "") {
    throw new Error("there is no run directory: set FLUXGIT_RUN_DIR or HOME");
  }
  const make = (path: string) => {
    Deno.mkdirSync(path, { recursive: true, mode: 0o700 });
    return Deno.realPathSync(path);
  };
  return { runDir: make(runDir), others: others.map(make) };
}

function startWorker(entry: string, places: WriterPlaces): Worker {
  // The bundler leaves worker addresses alone; this one is right from source (.ts) and compiled (.js).
  const url = new URL(`./${entry}${Deno.mainModule.slice(-3)}`, Deno.mainModule);
  // Reading is not narrowed further: the ledger looks at the folders above it for links.
  const permissions = {
    read: "inherit" as const,
    write: [places.runDir, ...places.others],
    env: false,
    net: false,
    run: false,
    sys: false,
    ffi: false,
  };
  return new Worker(url, {
    type: "module",
    name: "writer",
    // @ts-ignore: known to the runtime with --unstable-worker-options, not to every version's types
    deno: { permissions },
  });
}
