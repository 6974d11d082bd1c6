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

/** A place in line for the lock. */
interface Line {
  readonly file: Deno.FsFile;
  got: Promise<void>;
  /** Somebody is waiting for it. */
  wanted: boolean;
  /** It came while somebody was. */
  ours: boolean;
}

/**
 * A whole-file lock (`flock`, `LockFileEx`) on `<ledger>.lock`. The wait happens in the background: it
 * neither stops the thread nor can it be cancelled. An attempt that ran out of time therefore stays in
 * line: the next {@link acquire} takes its place over, and when the lock comes while nobody wants it
 * any more, it is let go at once.
 */
export class FileLock {
  #line: Line | null = null;

  /**
   * @param path the lock file; created empty when missing, never deleted
   * @param onFree called when the lock came too late and was let go: a good moment to try again
   */
  constructor(readonly path: string, readonly onFree: () => void = () => {}) {}

  /**
   * Waits for the lock. One call at a time.
   *
   * @param waitMs longest wait
   * @throws {LedgerError} `busy` after `waitMs`; `io`
   */
  async acquire(waitMs: number): Promise<HeldLock> {
    const deadline = performance.now() + waitMs;
    // The file may be replaced while we wait in line; then the lock we get protects nothing.
    for (let tries = 0; tries < 5; tries++) {
      const file = await this.#wait(Math.max(0, deadline - performance.now()), waitMs);
      const check = () => void checkSameFile(this.path, file);
      try {
        check();
        return { check, release: () => release(file) };
      } catch (error) {
        release(file);
        if (!isReplaced(error)) throw error;
      }
    }
    throw new LedgerError("io", `lock file ${shown(this.path)} keeps being replaced`);
  }

  /** Gives up a place in line. */
  close(): void {
    if (this.#line) this.#line.wanted = false;
  }

  async #wait(ms: number, toldMs: number): Promise<Deno.FsFile> {
    const line = this.#standing() ?? this.#standInLine();
    line.wanted = true;
    // The lock may come in the very turn in which the time runs out; then it is ours.
    if (!await within(line.got, ms) && !line.ours) {
      line.wanted = false;
      throw new LedgerError(
        "busy",
        `another process has held ${shown(this.path)} for ${toldMs} ms`,
      );
    }
    return line.file;
  }

  /** The place in line that is held already, unless it is one for a file that is no longer there. */
  #standing(): Line | null {
    if (!this.#line) return null;
    try {
      checkSameFile(this.path, this.#line.file);
    } catch {
      this.close();
      this.#line = null;
    }
    return this.#line;
  }

  #standInLine(): Line {
    const { file } = openSafely(this.path, { write: true, create: true });
    const line: Line = { file, got: Promise.resolve(), wanted: true, ours: false };
    line.got = file.lock(true).then(
      () => {
        if (this.#line === line) this.#line = null;
        line.ours = line.wanted;
        if (line.ours) return;
        release(file);
        this.onFree();
      },
      (error) => {
        if (this.#line === line) this.#line = null;
        file.close();
        throw error;
      },
    );
    // An error that comes when nobody waits is told by the next attempt, which meets it too.
    line.got.catch(() => {});
    this.#line = line;
    return line;
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
