/**
 * Locks between processes: an advisory lock of the system on a file that stays for ever, freed by the
 * system when its holder dies. Inside one process callers stand in line.
 */

import { HubError } from "../errors.ts";
import { openPrivate } from "./private_open.ts";

/** Longest wait for other processes, in milliseconds. */
export const LOCK_WAIT_MS = 5_000;

const lines = new Map<string, Promise<unknown>>();

/**
 * Runs `work` as the only holder of the lock file `path` (made when it is missing).
 *
 * @throws {HubError} `TimeoutError` when it is not free within `waitMs`
 */
export function withLock<T>(
  path: string,
  work: () => T | Promise<T>,
  waitMs = LOCK_WAIT_MS,
): Promise<T> {
  const before = lines.get(path) ?? Promise.resolve();
  const mine = before.then(() => lockAndRun(path, work, waitMs));
  const settled = mine.catch(() => {});
  lines.set(path, settled);
  settled.then(() => {
    if (lines.get(path) === settled) lines.delete(path);
  });
  return mine;
}

async function lockAndRun<T>(
  path: string,
  work: () => T | Promise<T>,
  waitMs: number,
): Promise<T> {
  const file = openPrivate(path);
  const got = file.lock(true);
  if (!await within(got, waitMs)) {
    // The wait cannot be cancelled: the lock is let go in the moment it comes.
    got.then(() => file.close(), () => file.close());
    throw new HubError(
      "TimeoutError",
      `another process has held the lock for ${waitMs} ms; try again`,
    );
  }
  try {
    return await work();
  } finally {
    file.close();
  }
}

async function within(got: Promise<void>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => timer = setTimeout(() => resolve(false), ms));
  try {
    return await Promise.race([got.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
