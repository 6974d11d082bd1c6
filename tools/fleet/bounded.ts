/**
 * Work on many repositories at once: so many at a time, one deadline for the whole call, a shorter one
 * for each, and whatever is done by then is kept.
 */

/** Clock and timers, injected so that tests decide what time it is. */
export interface Timers {
  /** Milliseconds since any fixed moment. */
  now(): number;
  /** Calls back after so many milliseconds; gives the function that calls it off. */
  after(ms: number, callback: () => void): () => void;
}

export const realTimers: Timers = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

export interface Bounds {
  /** Items in work at once. */
  readonly concurrency: number;
  /** Milliseconds for the whole call. */
  readonly totalMs: number;
  /** Milliseconds for one item. */
  readonly itemMs: number;
}

/** How long items that were told to stop may take to do so. */
const STOPPING_MS = 1_500;

export type Settled<R> =
  | { readonly kind: "done"; readonly value: R; readonly elapsedMs: number }
  | { readonly kind: "failed"; readonly error: unknown; readonly elapsedMs: number }
  /** Stopped by its own deadline, by that of the whole call, or never begun. */
  | { readonly kind: "timed_out"; readonly elapsedMs: number };

/**
 * Runs `work` on every item and gives an outcome for each, in order. Never throws: an item that fails
 * is one failed item. `work` must stop when its signal is aborted.
 */
export async function runBounded<T, R>(
  items: readonly T[],
  work: (item: T, signal: AbortSignal) => Promise<R>,
  bounds: Bounds,
  timers: Timers,
  signal: AbortSignal,
  onSettled: (settled: number) => void = () => {},
): Promise<Settled<R>[]> {
  const outcomes: (Settled<R> | undefined)[] = items.map(() => undefined);
  const whole = new AbortController();
  const onAbort = () => whole.abort();
  if (signal.aborted) whole.abort();
  signal.addEventListener("abort", onAbort, { once: true });
  const callOff = timers.after(bounds.totalMs, onAbort);
  let next = 0, settled = 0;

  const runOne = async (i: number): Promise<void> => {
    const started = timers.now();
    const own = new AbortController();
    const stop = () => own.abort();
    const callOffOwn = timers.after(bounds.itemMs, stop);
    whole.signal.addEventListener("abort", stop, { once: true });
    const elapsedMs = () => Math.max(0, Math.round(timers.now() - started));
    try {
      const value = await work(items[i]!, own.signal);
      outcomes[i] = { kind: "done", value, elapsedMs: elapsedMs() };
    } catch (error) {
      outcomes[i] = own.signal.aborted
        ? { kind: "timed_out", elapsedMs: elapsedMs() }
        : { kind: "failed", error, elapsedMs: elapsedMs() };
    } finally {
      callOffOwn();
      whole.signal.removeEventListener("abort", stop);
    }
    onSettled(++settled);
  };
  const worker = async (): Promise<void> => {
    while (next < items.length && !whole.signal.aborted) await runOne(next++);
  };
  const grace = graceAfter(whole.signal, timers);
  try {
    const workers = Promise.all(
      Array.from({ length: Math.min(bounds.concurrency, items.length) }, worker),
    );
    await Promise.race([workers, grace.over]);
  } finally {
    grace.callOff();
    callOff();
    signal.removeEventListener("abort", onAbort);
  }
  return outcomes.map((outcome) => outcome ?? { kind: "timed_out", elapsedMs: 0 });
}

/** `over` settles a while after the call was told to stop, so that one stuck item cannot hold the answer. */
function graceAfter(
  signal: AbortSignal,
  timers: Timers,
): { over: Promise<void>; callOff: () => void } {
  let callOffTimer = () => {};
  let wait = () => {};
  const over = new Promise<void>((resolve) => {
    wait = () => callOffTimer = timers.after(STOPPING_MS, resolve);
    if (signal.aborted) wait();
    else signal.addEventListener("abort", wait, { once: true });
  });
  return {
    over,
    callOff() {
      signal.removeEventListener("abort", wait);
      callOffTimer();
    },
  };
}

/** As many at once as keep git's own ceiling (the cores) busy while answers are being read. */
export function fleetConcurrency(): number {
  return Math.min(16, 2 * Math.max(1, navigator.hardwareConcurrency || 1));
}
