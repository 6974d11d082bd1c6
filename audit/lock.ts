/** The lock that makes all writers of a ledger take turns, across processes and programs. */

import { LedgerError } from "./errors.ts";
import { openSafely } from "./folder.ts";
import { checkSameFile, shown } from "./paths.ts";

/** A held lock. */
export interface HeldLock {
  /** @throws {LedgerError} `io` when the lock file is no longer the one that its name leads to */
  check(): void;
  release(): void;
}

/**
 * A whole-file lock (`flock`, `LockFileEx`) on `<ledger>.lock`, held from one event-loop turn to its
 * release. The wait happens in the background: it neither stops the thread nor can it be cancelled,
 * so an attempt that ran out of time stays in line and the next {@link acquire} takes it over.
 */
export class FileLock {
  #waiting: { file: Deno.FsFile; got: Promise<void> } | null = null;

  /** @param path the lock file; created empty when missing, never deleted */
  constructor(readonly path: string) {}

  /**
   * Waits for the lock.
   *
   * @param waitMs longest wait
   * @throws {LedgerError} `busy` after `waitMs`; `io`
   */
  async acquire(waitMs: number): Promise<HeldLock> {
    const deadline = performance.now() + waitMs;
    // The file may be replaced while we wait in line; then the lock we get protects nothing.
    for (let tries = 0; tries < 5; tries++) {
      const file = await this.#wait(Math.max(0, deadline - performance.now()));
      const check = () => void checkSameFile(this.path, file);
      try {
        check();
        return { check, release: () => release(file) };
      } catch (error) {
        release(file);
        if (tries === 4 || !isReplaced(error)) throw error;
      }
    }
    throw new LedgerError("io", `lock file ${shown(this.path)} keeps being replaced`);
  }

  /** Gives up a place in line; a lock that arrives later is let go at once. */
  close(): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.got.then(() => release(waiting.file), () => waiting.file.close());
  }

  async #wait(ms: number): Promise<Deno.FsFile> {
    if (!this.#waiting) {
      const { file } = openSafely(this.path, { write: true, create: true });
      this.#waiting = { file, got: file.lock(true) };
    }
    const { file, got } = this.#waiting;
    let arrived: boolean;
    try {
      arrived = await within(got, ms);
    } catch (error) {
      this.#waiting = null;
      file.close();
      throw error;
    }
    if (!arrived) {
      throw new LedgerError(
        "busy",
        `another process has held ${shown(this.path)} for ${Math.round(ms)} ms`,
      );
    }
    this.#waiting = null;
    return file;
  }
}

/**
 * Takes a shared lock for a moment, to look at files between two appends.
 *
 * @returns null when there is no lock file to use or it is not free within `waitMs`
 */
export async function shareLock(path: string, waitMs: number): Promise<HeldLock | null> {
  let file: Deno.FsFile;
  try {
    file = openSafely(path, {}).file;
  } catch {
    return null;
  }
  const got = file.lock(false);
  try {
    if (await within(got, waitMs)) return { check() {}, release: () => release(file) };
    got.then(() => release(file), () => file.close());
  } catch {
    file.close();
  }
  return null;
}

function release(file: Deno.FsFile): void {
  try {
    file.unlockSync();
  } finally {
    file.close();
  }
}

async function within(got: Promise<void>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([got.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

function isReplaced(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof LedgerError;
}
