/** All calls of a connection: which run, which wait for a place, and how each comes to its end. */

import { CodedError } from "../common/errors.ts";
import { printable } from "../common/json.ts";
import { Call, type Clock } from "./call.ts";
import type { Door } from "./eras.ts";
import type { RequestId } from "./json_rpc.ts";
import type { OutputQueue } from "./output.ts";
import { errorOutcome, internalError, type Results } from "./results.ts";
import type { CallObserver, ToolOutcome, ToolTable } from "./types.ts";

/** What the desk holds at once. */
export interface DeskLimits {
  /** Calls that run at once. */
  maxRunning: number;
  /** Calls that wait for a place. */
  maxWaiting: number;
  /** Request bytes of running calls beyond which further calls wait. */
  maxRunningBytes: number;
  /** Request bytes of waiting calls beyond which the desk is full. */
  maxWaitingBytes: number;
}

/** What the desk works with. */
export interface DeskParts {
  readonly tools: ToolTable;
  readonly observers: readonly CallObserver[];
  readonly results: Results;
  readonly out: OutputQueue;
  readonly clock: Clock;
  readonly limits: DeskLimits;
  log(line: string): void;
  /** Told when a call has ended. */
  onChange(): void;
}

/** Runs calls, at most so many at once; answers go out and observers are told as they complete. */
export class CallDesk {
  readonly #parts: DeskParts;
  /** Unanswered calls by the key of their id; the ids of silenced calls are free again. */
  readonly #unanswered = new Map<string, Call>();
  readonly #running = new Set<Call>();
  readonly #untold = new Set<Call>();
  #runningBytes = 0;
  #waiting: Call[] = [];
  #waitingBytes = 0;

  constructor(parts: DeskParts) {
    this.#parts = parts;
  }

  /** Whether a call with this id is still unanswered. */
  has(key: string): boolean {
    return this.#unanswered.has(key);
  }

  /** Whether nothing more should be read until a call has ended. */
  get full(): boolean {
    const { maxWaiting, maxWaitingBytes } = this.#parts.limits;
    return this.#waiting.length >= maxWaiting || this.#waitingBytes > maxWaitingBytes;
  }

  /** Whether no call runs or waits. */
  get idle(): boolean {
    return this.#running.size === 0 && this.#waiting.length === 0;
  }

  /** Takes a call: it runs now, or when a place is free. @param bytes size of its frame */
  accept(id: RequestId, params: unknown, bytes: number, door: Door): void {
    const call = new Call(id, params, bytes, door, this.#parts.clock, this.#parts.out);
    this.#unanswered.set(call.key, call);
    this.#untold.add(call);
    if (this.#waiting.length === 0 && this.#hasPlace()) {
      this.#run(call);
    } else {
      this.#waiting.push(call);
      this.#waitingBytes += bytes;
    }
  }

  /** Silences the call with this id: aborted, never answered, but still told to observers. */
  cancel(key: string): void {
    const call = this.#unanswered.get(key);
    if (call === undefined) return;
    this.#unanswered.delete(key);
    call.silence();
    const place = this.#waiting.indexOf(call);
    if (place < 0) return;
    this.#waiting.splice(place, 1);
    this.#waitingBytes -= call.bytes;
    this.#tellInTurn(call, NEVER_RUN);
  }

  /** Cancels everything that was not answered yet. */
  cancelAll(): void {
    for (const key of [...this.#unanswered.keys()]) this.cancel(key);
  }

  /** Tells observers of calls that did not settle, or whose answer did not go out: none is lost. */
  abandon(): void {
    for (const call of [...this.#untold]) this.#tell(call, call.outcome ?? ABANDONED, false);
  }

  #hasPlace(): boolean {
    const { maxRunning, maxRunningBytes } = this.#parts.limits;
    return this.#running.size < maxRunning && this.#runningBytes <= maxRunningBytes;
  }

  async #run(call: Call): Promise<void> {
    this.#running.add(call);
    this.#runningBytes += call.bytes;
    await this.#answer(call, await this.#outcome(call));
    this.#running.delete(call);
    this.#runningBytes -= call.bytes;
    this.#runWaiting();
    this.#parts.onChange();
  }

  #runWaiting(): void {
    while (this.#hasPlace()) {
      const call = this.#waiting.shift();
      if (call === undefined) return;
      this.#waitingBytes -= call.bytes;
      this.#run(call);
    }
  }

  async #outcome(call: Call): Promise<ToolOutcome> {
    try {
      if (call.problem !== null) throw call.problem;
      return await this.#parts.tools.call(call.name, call.args, call.context);
    } catch (error) {
      if (error instanceof CodedError) return errorOutcome(error);
      this.#parts.log(`tool ${printable(call.name, 64)} failed: ${describe(error)}`);
      return internalError("the tool failed unexpectedly; the reason is on standard error");
    }
  }

  async #answer(call: Call, wanted: ToolOutcome): Promise<void> {
    call.finish();
    if (!this.#untold.has(call)) return;
    if (call.silenced) return await this.#tellInTurn(call, wanted);
    const { bytes, outcome } = this.#parts.results.call(call.id, call.context.era, wanted);
    call.outcome = outcome;
    const sent = await call.send(bytes, () => this.#forget(call)).done;
    this.#forget(call);
    this.#tell(call, outcome, sent);
  }

  /** A turn in the queue without a message keeps observers in order of completion. */
  async #tellInTurn(call: Call, outcome: ToolOutcome): Promise<void> {
    call.outcome = outcome;
    await this.#parts.out.send(null).done;
    this.#tell(call, outcome, false);
  }

  #forget(call: Call): void {
    if (this.#unanswered.get(call.key) === call) this.#unanswered.delete(call.key);
  }

  #tell(call: Call, outcome: ToolOutcome, sent: boolean): void {
    if (!this.#untold.delete(call)) return;
    const finished = call.finished(outcome, sent);
    for (const observer of this.#parts.observers) {
      try {
        observer.finished(finished);
      } catch (error) {
        this.#parts.log(`an observer failed: ${describe(error)}`);
      }
    }
  }
}

/** One bounded, printable line about anything thrown. */
export function describe(error: unknown): string {
  return printable(error instanceof Error ? `${error.name}: ${error.message}` : String(error), 300);
}

const NEVER_RUN = internalError("cancelled before it was run");
const ABANDONED = internalError("the connection ended before the call did");
