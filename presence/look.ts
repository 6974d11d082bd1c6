import { FRESH_MS, FUTURE_SLACK_MS, MAX_WALKED } from "./limits.ts";
import type { ProcessTable } from "./process_table.ts";
import type { Roots } from "./roots.ts";
import type { Surroundings } from "./surroundings.ts";
import type { Note, Reason, Source, Unavailable } from "./types.ts";

/** Work between two pauses, so that calls are answered while stores are read. Milliseconds. */
const SLICE_MS = 4;

/** Thrown inside a source when its time is over; what it had found by then counts. */
export class TimeIsUp extends Error {
  override name = "TimeIsUp";
}

/** One look around: what every source needs, and where it puts what it found. */
export class Look {
  readonly now: number;
  #sliceEnd = performance.now() + SLICE_MS;
  #walked = new Map<string, number>();

  /** @param endsAt on the clock of `performance.now()` */
  constructor(
    readonly roots: Roots,
    readonly around: Surroundings,
    readonly endsAt: number,
  ) {
    this.now = around.now();
  }

  /** Not older than 15 minutes. File times ahead of our clock count as now. */
  isFresh(ms: number | null): ms is number {
    return ms !== null && this.now - ms <= FRESH_MS;
  }

  /** A time that a store wrote down; what lies ahead is no time. */
  plausible(ms: number | null): number | null {
    return ms === null || ms - this.now > FUTURE_SLACK_MS ? null : ms;
  }

  /** The processes, when they are known; null before that and where they cannot be. */
  table: ProcessTable | null = null;

  /** Whether a process is there, as far as is known. */
  isAlive(pid: number): boolean {
    return this.table?.has(pid) ?? false;
  }

  /** Lets others run now and then. Throws {@link TimeIsUp}. */
  async breathe(): Promise<void> {
    const at = performance.now();
    if (at > this.endsAt) throw new TimeIsUp();
    if (at < this.#sliceEnd) return;
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#sliceEnd = performance.now() + SLICE_MS;
  }

  /** Counts an entry of a store; false when enough have been looked at. */
  mayWalk(store: string): boolean {
    const walked = (this.#walked.get(store) ?? 0) + 1;
    this.#walked.set(store, walked);
    return walked <= MAX_WALKED;
  }
}

/** What one source, or one store, has found so far. */
export class Findings {
  readonly notes: Note[] = [];
  readonly missing: Unavailable[] = [];

  constructor(readonly source: Source, readonly agent: string | null) {}

  /** Says that something could not be looked at; once for each reason. */
  miss(reason: Reason, message?: string, source = this.source): void {
    if (this.missing.some((one) => one.reason === reason && one.source === source)) return;
    this.missing.push({
      source,
      reason,
      ...(this.agent === null ? {} : { agents: [this.agent] }),
      ...(message === undefined ? {} : { message }),
    });
  }
}

/** Entries of the same source and reason as one. */
export function joinMissing(all: Iterable<Unavailable>): Unavailable[] {
  const joined = new Map<string, Unavailable>();
  for (const one of all) {
    const key = `${one.source}\0${one.reason}\0${one.message ?? ""}`;
    const known = joined.get(key);
    if (!known) joined.set(key, one);
    else if (known.agents && one.agents) {
      joined.set(key, { ...known, agents: [...new Set([...known.agents, ...one.agents])] });
    }
  }
  return [...joined.values()];
}
