/**
 * Slows those who try pairing codes without keeping out the one who knows it. A right code is taken
 * at any time; the answer to a wrong one comes late. Because many could ask at once, only so many
 * late answers wait together; beyond that codes are looked at ten times a second and the rest is
 * refused unheard. That makes at most a million tries a day against 2^40 codes that live for one run.
 * Whoever is refused unheard still gets in by the link, whose 256 bits need no such care.
 */

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** Late answers that wait together before codes are rationed. */
const LATE_TOGETHER = 16;
/** Codes looked at a second while they are rationed, and at once after a pause. */
const RATION = 10;
/** After so long without a wrong one the next waits as the first did. Milliseconds. */
const FORGET_MS = 10 * 60_000;
/** Wrong tries are told one by one at first, then together at most this often. Milliseconds. */
const TELL_MS = 10_000;

/** Told how many wrong tries there were since it was told last, and how long the last one waits. */
export type WrongTryListener = (tries: number, waitMs: number) => void;

export class Throttle {
  #wrong = 0;
  #lastWrongMs = -Infinity;
  #late = 0;
  #tokens = RATION;
  #tokensAtMs = 0;
  #untold = 0;
  #toldAtMs = -Infinity;
  #waitMs = 0;
  readonly #ending = new AbortController();

  constructor(
    readonly now: () => number,
    readonly tell: WrongTryListener,
    readonly sleep: (ms: number, signal: AbortSignal) => Promise<void> = pause,
  ) {}

  /** False when a code must be refused without looking at it; counts as a wrong try then. */
  mayLook(): boolean {
    if (this.#late < LATE_TOGETHER) return true;
    const now = this.now();
    const earned = Math.max(0, now - this.#tokensAtMs) / 1_000 * RATION;
    this.#tokens = Math.min(RATION, this.#tokens + earned);
    this.#tokensAtMs = now;
    if (this.#tokens >= 1) {
      this.#tokens--;
      return true;
    }
    this.#count();
    return false;
  }

  /** Records a wrong try and resolves when it may be answered. */
  async wrong(): Promise<void> {
    const now = this.now();
    if (now - this.#lastWrongMs > FORGET_MS) this.#wrong = 0;
    this.#lastWrongMs = now;
    this.#waitMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(this.#wrong, 20), LONGEST_WAIT_MS);
    this.#wrong++;
    this.#count();
    if (this.#late >= LATE_TOGETHER) return;
    this.#late++;
    try {
      await this.sleep(this.#waitMs, this.#ending.signal);
    } finally {
      this.#late--;
    }
  }

  /** Somebody knew the code: the next wrong try waits as the first did. */
  right(): void {
    this.#wrong = 0;
  }

  /** Tells the tries that were held back; called now and then. */
  settle(force = false): void {
    if (this.#untold === 0 || !force && this.now() - this.#toldAtMs < TELL_MS) return;
    const tries = this.#untold;
    this.#untold = 0;
    this.#toldAtMs = this.now();
    this.tell(tries, this.#waitMs);
  }

  /** Lets every late answer go at once: the gateway ends. */
  close(): void {
    this.#ending.abort();
    this.settle(true);
  }

  #count(): void {
    this.#untold++;
    this.settle();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
