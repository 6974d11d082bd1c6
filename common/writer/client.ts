import type { Numbered, WriterPlaces, WriterReply, WriterRequest } from "./messages.ts";

/** What the writer is doing: `dead` and `unavailable` last until the program is started again. */
export type WriterState = "waiting" | "running" | "unavailable" | "dead";

export interface WriterOptions {
  /** Run directory as configured; null when there is none. */
  readonly runDir: string | null;
  /** Other folders to write (the ledger's, the archive's), as configured. */
  readonly others?: readonly string[];
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

  /** Sends one request and waits for its reply. Throws what the worker reports. */
  async request(request: WriterRequest): Promise<string | null> {
    await this.start();
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
      const places = resolvePlaces(this.options.runDir, this.options.others ?? []);
      this.#worker = startWorker(places);
      this.#worker.onmessage = (event: MessageEvent<WriterReply>) => this.#receive(event.data);
      this.#worker.onerror = (event) => {
        event.preventDefault();
        this.#die(event.message);
      };
      await this.#send({ op: "start", places, pid: Deno.pid });
      this.#state = "running";
    } catch (error) {
      this.#worker?.terminate();
      this.#worker = undefined;
      this.#state = "unavailable";
      this.#reason = error instanceof Error ? error.message : String(error);
      this.options.log(`nothing can be written: ${this.#reason}`);
    }
    this.options.onStarted?.();
  }

  #receive(reply: WriterReply): void {
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

/** Creates the run directory where needed and resolves every link in the places, once. */
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

function startWorker(places: WriterPlaces): Worker {
  // The bundler leaves worker addresses alone; this one is right from source (.ts) and compiled (.js).
  const entry = new URL(`./common/writer/worker${Deno.mainModule.slice(-3)}`, Deno.mainModule);
  const folders = [places.runDir, ...places.others];
  return new Worker(entry, {
    type: "module",
    name: "writer",
    // @ts-ignore: known to the runtime with --unstable-worker-options, not to every version's types
    deno: {
      permissions: {
        read: folders,
        write: folders,
        env: false,
        net: false,
        run: false,
        sys: false,
        ffi: false,
      },
    },
  });
}
