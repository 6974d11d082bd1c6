/** Lets at most `limit` holders in at once, first come first served; waiting can be aborted. */
export class Semaphore {
  #free: number;
  readonly #queue: { enter: () => void }[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Waits for a place and gives the function that leaves it (safe to call once only). */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
    } else {
      await new Promise<void>((resolve, reject) => {
        const waiter = { enter: () => {} };
        const onAbort = () => {
          this.#queue.splice(this.#queue.indexOf(waiter), 1);
          reject(signal?.reason);
        };
        waiter.enter = () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        this.#queue.push(waiter);
      });
    }
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const next = this.#queue.shift();
      if (next) next.enter();
      else this.#free++;
    };
  }
}
