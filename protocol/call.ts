/** One `tools/call` between its request and its answer. */

import type { CodedError } from "../common/errors.ts";
import { stringifyJson } from "../common/json.ts";
import { type Caller, type Door, hasProgressMessage, invalidParams } from "./eras.ts";
import { idKey, isObject, isRequestId, notificationLine, type RequestId } from "./json_rpc.ts";
import type { Outgoing, OutputQueue } from "./output.ts";
import type { CallContext, Era, FinishedCall, ToolOutcome } from "./types.ts";

/** Wall clock and stopwatch, injected so that tests decide what time it is. */
export interface Clock {
  /** Unix time in milliseconds. */
  now(): number;
  /** Milliseconds since any fixed moment; never goes back. */
  elapsed(): number;
}

/** Shortest time between two progress notifications of one call, in milliseconds. */
export const PROGRESS_INTERVAL_MS = 20;
const MAX_PROGRESS_MESSAGE_CHARS = 1_000;

/** State of one call: cancellation, progress and what observers are told. */
export class Call {
  readonly key: string;
  readonly name: string;
  readonly args: unknown;
  /** Why the request names no tool to run; null when it does. */
  readonly problem: CodedError | null;
  readonly context: CallContext;
  /** Set once no answer may be sent any more. */
  silenced = false;
  /** What the call came to, once it is known. */
  outcome: ToolOutcome | null = null;

  readonly #era: Era;
  readonly #caller: Caller;
  readonly #clock: Clock;
  readonly #out: OutputQueue;
  readonly #abort = new AbortController();
  readonly #token: RequestId | undefined;
  readonly #startedAtMs: number;
  readonly #startedElapsed: number;
  #durationMs: number | null = null;
  #lastProgress = -Infinity;
  #lastProgressElapsed = -Infinity;
  #unsentProgress: Outgoing | null = null;
  #unsentAnswer: Outgoing | null = null;

  /**
   * @param params of the request, as sent
   * @param bytes size of the request's frame: what a waiting call holds in memory
   */
  constructor(
    readonly id: RequestId,
    params: unknown,
    readonly bytes: number,
    door: Door,
    clock: Clock,
    out: OutputQueue,
  ) {
    const given = isObject(params) ? params : {};
    this.key = idKey(id);
    this.name = typeof given.name === "string" ? given.name : "unknown";
    this.args = given.arguments;
    this.problem = problemOf(params);
    this.#era = door.era;
    this.#caller = door.caller;
    this.#clock = clock;
    this.#out = out;
    this.#token = isObject(given._meta) && isRequestId(given._meta.progressToken)
      ? given._meta.progressToken
      : undefined;
    this.#startedAtMs = clock.now();
    this.#startedElapsed = clock.elapsed();
    this.context = {
      era: door.era,
      ...door.caller,
      signal: this.#abort.signal,
      progress: (progress, total, message) => this.#progress(progress, total, message),
    };
  }

  /** Aborts the work; nothing is sent for this call from here on, queued messages included. */
  silence(): void {
    if (this.silenced) return;
    this.silenced = true;
    this.#unsentProgress?.drop();
    this.#unsentAnswer?.drop();
    this.#abort.abort();
  }

  /** Stops the watch: what happens later (writing, waiting for the reader) is not the tool's time. */
  finish(): void {
    this.#durationMs ??= Math.max(0, this.#clock.elapsed() - this.#startedElapsed);
  }

  /**
   * Queues the answer, or only takes its turn when the call was silenced.
   *
   * @param onStart called just before the first byte goes out: the client may use the id again
   */
  send(bytes: Uint8Array, onStart: () => void): Outgoing {
    this.#unsentAnswer = this.#out.sendBytes(this.silenced ? null : bytes, onStart);
    return this.#unsentAnswer;
  }

  /** What observers are told; `sent` says whether the answer went out all the same. */
  finished(outcome: ToolOutcome, sent: boolean): FinishedCall {
    this.finish();
    return {
      name: this.name,
      args: this.args,
      context: { era: this.#era, ...this.#caller },
      outcome,
      cancelled: this.silenced && !sent,
      startedAtMs: this.#startedAtMs,
      durationMs: this.#durationMs ?? 0,
    };
  }

  #progress(progress: number, total?: number, message?: string): void {
    if (this.#token === undefined || this.silenced || this.#durationMs !== null) return;
    // Only growth is told, and never faster than the client reads.
    if (!Number.isFinite(progress) || progress <= this.#lastProgress) return;
    const elapsed = this.#clock.elapsed();
    if (elapsed - this.#lastProgressElapsed < PROGRESS_INTERVAL_MS) return;
    if (this.#unsentProgress !== null) return;
    this.#lastProgress = progress;
    this.#lastProgressElapsed = elapsed;
    const params = {
      progressToken: this.#token,
      progress,
      ...(Number.isFinite(total) ? { total } : {}),
      ...(typeof message === "string" && hasProgressMessage(this.#era)
        ? { message: message.slice(0, MAX_PROGRESS_MESSAGE_CHARS) }
        : {}),
    };
    const line = notificationLine("notifications/progress", stringifyJson(params));
    this.#unsentProgress = this.#out.send(line);
    this.#unsentProgress.done.then(() => this.#unsentProgress = null);
  }
}

function problemOf(params: unknown): CodedError | null {
  if (!isObject(params)) return invalidParams("params of tools/call must be an object");
  if (typeof params.name === "string") return null;
  return invalidParams("params.name is missing or not a string");
}
