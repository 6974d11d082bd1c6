/**
 * MCP over a pair of byte streams: both eras, many calls in flight, answers in order of completion.
 * It is handed a table of tools and knows none (`protocol.md` 2-7, `mcp-2026-07-28.md`).
 */

import { CodedError } from "../common/errors.ts";
import { printable, stringifyJson } from "../common/json.ts";
import type { Clock } from "./call.ts";
import { CallDesk, describe, type DeskLimits } from "./call_desk.ts";
import { decideEra, Handshake, invalidParams, META, namesModernVersion } from "./eras.ts";
import { FrameDecoder, FramingError } from "./framing.ts";
import {
  type Envelope,
  ERROR,
  errorLine,
  idKey,
  isObject,
  isRequestId,
  notificationLine,
  readEnvelope,
  type RequestId,
  resultLine,
  rpcError,
} from "./json_rpc.ts";
import { OutputQueue } from "./output.ts";
import { internalError, Results } from "./results.ts";
import type { CallObserver, ServerIdentity, ToolTable } from "./types.ts";

/** What may be held at once. A reached limit slows reading down; it fails nothing. */
export interface ServeLimits extends DeskLimits {
  /** Unsent answer bytes beyond which nothing more is read. */
  maxQueuedBytes: number;
  /** Subscriptions that are open at once; one more is refused. */
  maxSubscriptions: number;
  /** After the end of input: time in which calls may still be answered, in milliseconds. */
  drainMs: number;
  /** After that: time in which aborted calls may settle, in milliseconds. */
  abortMs: number;
}

const LIMITS: ServeLimits = {
  maxRunning: 256,
  maxWaiting: 256,
  maxRunningBytes: 64 * 1_048_576,
  maxWaitingBytes: 8 * 1_048_576,
  maxQueuedBytes: 16 * 1_048_576,
  maxSubscriptions: 256,
  drainMs: 500,
  abortMs: 100,
};

/** What a server is given. */
export interface ServeOptions {
  /** The next bytes, null at the end of input. Their memory may be reused at the next read. */
  read(): Promise<Uint8Array | null>;
  /** Writes one line whole; called again only after it settled. */
  write(bytes: Uint8Array): Promise<void>;
  readonly identity: ServerIdentity;
  readonly tools: ToolTable;
  readonly observers?: readonly CallObserver[];
  /** Defaults to the system's clocks. */
  readonly clock?: Clock;
  /** Takes one line for people, without prefix and line end. */
  log?(line: string): void;
  readonly limits?: Partial<ServeLimits>;
}

/** A running server. */
export interface ServeHandle {
  /**
   * 0 after the end of input, {@link stop} or a reader that went away; 1 after input whose framing
   * is lost or a failed read or write. Never rejects. One read may still be pending then.
   */
  readonly done: Promise<0 | 1>;
  /** Ends the connection: calls are aborted, open subscriptions answered, nothing more is read. */
  stop(): void;
}

/**
 * Serves one client until its input ends.
 *
 * @example
 * ```ts
 * const server = serveProtocol({ ...openStdio(), identity, tools });
 * Deno.addSignalListener("SIGTERM", () => server.stop());
 * Deno.exit(await server.done);
 * ```
 */
export function serveProtocol(options: ServeOptions): ServeHandle {
  const connection = new Connection(options);
  return { done: connection.run(), stop: () => connection.stop() };
}

class Connection {
  readonly #options: ServeOptions;
  readonly #limits: ServeLimits;
  readonly #results: Results;
  readonly #out: OutputQueue;
  readonly #desk: CallDesk;
  readonly #handshake = new Handshake();
  readonly #subscriptions = new Map<string, RequestId>();
  #exitCode: 0 | 1 = 0;
  #stopped = false;
  /** Lets whoever waits look again; only one part of a connection waits at a time. */
  #wake: () => void = () => {};

  constructor(options: ServeOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#results = new Results(options.identity);
    const wake = () => this.#wake();
    this.#out = new OutputQueue((bytes) => options.write(bytes), {
      onFailed: (error) => this.#outputFailed(error),
      onIdle: wake,
    });
    this.#desk = new CallDesk({
      tools: options.tools,
      observers: options.observers ?? [],
      results: this.#results,
      out: this.#out,
      clock: options.clock ?? { now: () => Date.now(), elapsed: () => performance.now() },
      limits: this.#limits,
      log: (line) => this.#log(line),
      onChange: wake,
    });
  }

  async run(): Promise<0 | 1> {
    try {
      await this.#readAll();
    } catch (error) {
      this.#exitCode = 1;
      this.#log(
        error instanceof FramingError ? error.message : `reading failed: ${describe(error)}`,
      );
    }
    // What was asked before the end is answered if that takes no time to speak of.
    await this.#until(
      () => this.#stopped || (this.#desk.idle && this.#out.idle),
      this.#limits.drainMs,
    );
    this.#desk.cancelAll();
    await this.#until(() => this.#desk.idle && this.#out.idle, this.#limits.abortMs);
    this.#desk.abandon();
    return this.#exitCode;
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    for (const id of this.#subscriptions.values()) {
      this.#out.send(resultLine(id, this.#results.subscriptionEnd(id)));
    }
    this.#subscriptions.clear();
    this.#desk.cancelAll();
    this.#wake();
  }

  #outputFailed(error: unknown): void {
    // A client that went away is an ordinary end; what was running is aborted and still told.
    if (!(error instanceof Deno.errors.BrokenPipe)) {
      this.#exitCode = 1;
      this.#log(`writing failed: ${describe(error)}`);
    }
    this.stop();
  }

  #log(line: string): void {
    this.#options.log?.(line);
  }

  async #readAll(): Promise<void> {
    const decoder = new FrameDecoder();
    for (let ended = false; !this.#stopped;) {
      const frame = decoder.next();
      if (frame !== null) {
        this.#handle(frame);
        await this.#roomToRead();
      } else if (ended) {
        return;
      } else {
        const chunk = await this.#unlessStopped(this.#options.read());
        if (chunk === null) decoder.end();
        else decoder.push(chunk);
        ended = chunk === null;
      }
    }
  }

  /** The value, or null when the connection is stopped first. */
  #unlessStopped<T>(promise: Promise<T>): Promise<T | null> {
    return new Promise((resolve, reject) => {
      this.#wake = () => {
        if (this.#stopped) resolve(null);
      };
      promise.then(resolve, reject);
    });
  }

  async #roomToRead(): Promise<void> {
    while (this.#desk.full && !this.#stopped) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    if (this.#out.queuedBytes > this.#limits.maxQueuedBytes) {
      await this.#unlessStopped(this.#out.send(null).done);
    }
  }

  /** Waits for a condition that changes only with a call or the output, at most `ms`. */
  async #until(holds: () => boolean, ms: number): Promise<void> {
    if (holds()) return;
    let expired = false;
    const timer = setTimeout(() => {
      expired = true;
      this.#wake();
    }, ms);
    while (!expired && !holds()) await new Promise<void>((resolve) => this.#wake = resolve);
    clearTimeout(timer);
  }

  #handle(frame: Uint8Array): void {
    const message = readEnvelope(frame);
    if (message.kind === "request") {
      this.#request(message, frame.length);
    } else if (message.kind === "refused") {
      this.#out.send(errorLine(message.id ?? this.#unreadableId(message), message.error));
    } else if (message.method === "notifications/cancelled") {
      // Any other message without an id is neither executed nor answered.
      this.#cancel(message.params);
    }
  }

  /**
   * The id of an answer to a message whose id could not be read: MCP 2026-07-28 leaves the member
   * out, the handshake eras send null. A connection counts as the latter once `initialize` was
   * served, except for messages that name the modern revision themselves.
   */
  #unreadableId({ message }: Extract<Envelope, { kind: "refused" }>): null | undefined {
    const modern = isObject(message) && namesModernVersion(message.params);
    return this.#handshake.done && !modern ? null : undefined;
  }

  #request({ id, method, params }: Extract<Envelope, { kind: "request" }>, bytes: number): void {
    try {
      const key = idKey(id);
      if (this.#desk.has(key) || this.#subscriptions.has(key)) {
        throw new CodedError(ERROR.invalidRequest, "Invalid request", {
          details: "an earlier request with this id is not answered yet; use another id",
        });
      }
      const result = this.#dispatch(id, method, params, bytes);
      if (result !== null) this.#out.send(resultLine(id, result));
    } catch (error) {
      if (error instanceof CodedError) {
        this.#out.send(errorLine(id, rpcError(error)));
        return;
      }
      this.#log(`${printable(method, 64)} failed: ${describe(error)}`);
      this.#out.send(errorLine(id, internalError("the request failed unexpectedly")));
    }
  }

  /** @returns the result's JSON text; null when the answer comes later or never */
  #dispatch(id: RequestId, method: string, params: unknown, bytes: number): string | null {
    // The handshake looks at no other metadata, but the modern revision has no handshake.
    if (method === "initialize") {
      if (namesModernVersion(params)) throw methodNotFound(method);
      return this.#results.initialize(this.#handshake.initialize(params));
    }
    const door = decideEra(method, params, this.#handshake);
    const modern = door.era.kind === "modern";
    if (method === "tools/call") {
      this.#desk.accept(id, params, bytes, door);
      return null;
    }
    if (method === "tools/list") {
      checkCursor(params);
      return this.#results.list(door.era, this.#options.tools.listJson(door.era));
    }
    if (method === "server/discover" && modern) return this.#results.discover();
    if (method === "subscriptions/listen" && modern) {
      this.#listen(id, params);
      return null;
    }
    if (method === "ping" && !modern) return "{}";
    throw methodNotFound(method);
  }

  /** The tool set is fixed: nothing that could be asked for is ever sent (`additions.md` 6). */
  #listen(id: RequestId, params: unknown): void {
    if (!isObject(params) || !isObject(params.notifications)) {
      throw invalidParams("params.notifications must be an object");
    }
    const limit = this.#limits.maxSubscriptions;
    if (this.#subscriptions.size >= limit) {
      throw new CodedError(ERROR.internal, "Too many open subscriptions", {
        details: "cancel an open subscriptions/listen before opening another",
        limit,
      });
    }
    this.#subscriptions.set(idKey(id), id);
    const meta = `"_meta":{"${META.subscription}":${stringifyJson(id)}}`;
    this.#out.send(
      notificationLine("notifications/subscriptions/acknowledged", `{"notifications":{},${meta}}`),
    );
  }

  #cancel(params: unknown): void {
    // Unknown, answered or malformed ids are races of the client, not errors.
    if (!isObject(params) || !isRequestId(params.requestId)) return;
    const key = idKey(params.requestId);
    this.#subscriptions.delete(key);
    this.#desk.cancel(key);
  }
}

function methodNotFound(method: string): CodedError {
  return new CodedError(ERROR.methodNotFound, "Method not found", {
    method: method.slice(0, MAX_ECHOED_CHARS),
  });
}

const MAX_ECHOED_CHARS = 1_024;

/** The list is one page, so no cursor was ever given out. */
function checkCursor(params: unknown): void {
  const cursor = isObject(params) ? params.cursor : undefined;
  if (cursor === undefined || cursor === null || cursor === "") return;
  throw invalidParams("unknown cursor: the list of tools has one page; ask without a cursor");
}
