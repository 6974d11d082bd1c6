import { makePrivateFolder } from "../common/private_file.ts";
import { Semaphore } from "../common/semaphore.ts";
import { RestoreError } from "./errors.ts";

/** Name of the folder inside the common git directory that this program keeps to itself. */
export const OWN_FOLDER = "fluxgit";

/** Proof that the caller is the only one who changes a repository. */
export interface RepositoryLock {
  /** Canonical common git directory that it protects. */
  readonly commonDir: string;
  /** Throws `RestoreError` `busy` when the lock was released or its file was replaced. */
  check(): void;
  release(): void;
}

export interface LockOptions {
  /** Longest wait in milliseconds. Default 30,000. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Those who wait inside this process stand in line here; `flock` keeps other processes out. */
const lines = new Map<string, { semaphore: Semaphore; users: number }>();

/**
 * Takes the lock of a repository: one file in its common git directory, so that all work trees and
 * all run directories share it. A killed holder frees it.
 *
 * @throws {RestoreError} `busy` after `waitMs`, `cannot_make` when the file cannot be made
 */
export async function lockRepository(
  commonDir: string,
  options: LockOptions = {},
): Promise<RepositoryLock> {
  const deadline = performance.now() + (options.waitMs ?? 30_000);
  const leave = await stand(commonDir, deadline, options.signal);
  try {
    const file = await lockFile(commonDir, deadline, options.signal);
    let held = true;
    return {
      commonDir,
      check() {
        if (!held) throw new RestoreError("busy", "the lock of this repository was released");
        if (!isSame(file, lockPath(commonDir))) {
          throw new RestoreError("busy", "the lock file of this repository was replaced");
        }
      },
      release() {
        if (!held) return;
        held = false;
        file.close();
        leave();
      },
    };
  } catch (error) {
    leave();
    throw error;
  }
}

/** Runs `work` under the lock. */
export async function withRepositoryLock<T>(
  commonDir: string,
  work: (lock: RepositoryLock) => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const lock = await lockRepository(commonDir, options);
  try {
    return await work(lock);
  } finally {
    lock.release();
  }
}

function lockPath(commonDir: string): string {
  return `${commonDir}/${OWN_FOLDER}/lock`;
}

async function stand(
  commonDir: string,
  deadline: number,
  signal: AbortSignal | undefined,
): Promise<() => void> {
  const line = lines.get(commonDir) ?? { semaphore: new Semaphore(1), users: 0 };
  lines.set(commonDir, line);
  line.users++;
  const leaveLine = () => {
    if (--line.users === 0) lines.delete(commonDir);
  };
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), Math.max(0, deadline - performance.now()));
  try {
    const free = await line.semaphore.acquire(
      signal ? AbortSignal.any([late.signal, signal]) : late.signal,
    );
    return () => {
      free();
      leaveLine();
    };
  } catch {
    leaveLine();
    throw busy(signal);
  } finally {
    clearTimeout(timer);
  }
}

async function lockFile(
  commonDir: string,
  deadline: number,
  signal: AbortSignal | undefined,
): Promise<Deno.FsFile> {
  const path = lockPath(commonDir);
  for (;;) {
    const file = openLockFile(commonDir, path);
    if (!await take(file, deadline, signal)) throw busy(signal);
    if (isSame(file, path)) return file;
    file.close();
  }
}

/** How often a busy lock is tried again, milliseconds. */
const TRY_AGAIN_MS = 15;

/** Takes the lock of an open file; false, with the file closed, when the time is up. */
async function take(
  file: Deno.FsFile,
  deadline: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  // Not in every version that this runs on, nor in its types.
  const { tryLockSync } = file as { tryLockSync?: (exclusive: boolean) => boolean };
  if (typeof tryLockSync === "function") {
    while (!tryLockSync.call(file, true)) {
      if (signal?.aborted || performance.now() >= deadline) {
        file.close();
        return false;
      }
      await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
    }
    return true;
  }
  // This wait cannot be cancelled: one that ends too late lets go again.
  const got = file.lock(true);
  if (await withinTime(got, deadline, signal)) return true;
  got.then(() => file.close(), () => file.close());
  return false;
}

function openLockFile(commonDir: string, path: string): Deno.FsFile {
  try {
    makePrivateFolder(commonDir, OWN_FOLDER);
    try {
      if (!Deno.lstatSync(path).isFile) throw new Error(`${JSON.stringify(path)} is not a file`);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      try {
        return Deno.openSync(path, { read: true, write: true, createNew: true, mode: 0o600 });
      } catch (raced) {
        if (!(raced instanceof Deno.errors.AlreadyExists)) throw raced;
      }
    }
    return Deno.openSync(path, { read: true, write: true });
  } catch (error) {
    throw new RestoreError(
      "cannot_make",
      `the repository cannot be locked: ${error instanceof Error ? error.message : error}`,
    );
  }
}

function isSame(file: Deno.FsFile, path: string): boolean {
  try {
    const [open, named] = [file.statSync(), Deno.lstatSync(path)];
    return named.isFile && open.dev === named.dev && open.ino === named.ino;
  } catch {
    return false;
  }
}

async function withinTime(
  got: Promise<void>,
  deadline: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let onAbort = () => {};
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, deadline - performance.now()));
    onAbort = () => resolve(false);
    signal?.addEventListener("abort", onAbort, { once: true });
    // An event that has been is not told again.
    if (signal?.aborted) onAbort();
  });
  try {
    return await Promise.race([got.then(() => true), late]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

function busy(signal: AbortSignal | undefined): RestoreError {
  return new RestoreError(
    "busy",
    signal?.aborted
      ? "the wait for the repository was cancelled"
      : "another process of this program is changing the repository; try again in a moment",
  );
}
