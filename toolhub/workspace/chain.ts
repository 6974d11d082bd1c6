/**
 * The folders between the workspace and a file, with their identities: taken before a file is opened
 * and again after, they tell whether the file really was the one that the path names.
 *
 * The system offers no way here to open relative to an open folder, so another process could put a
 * link in a folder's place between a check and the opening. It cannot do so without changing the
 * folder that holds the name: the times of those are compared too, and the whole is tried again while
 * one of them is so fresh that two changes could share a time.
 */

import { HubError, shown } from "../errors.ts";
import { join } from "../platform.ts";

interface FolderMark {
  readonly dev: number;
  readonly ino: number | null;
  readonly mtime: number;
  readonly ctime: number;
}

/** Marks of the workspace and each folder below it, outermost first. */
export type Chain = readonly FolderMark[];

/** Two changes within so many milliseconds may leave the same time. */
const FRESH_MS = 20;
const TRIES = 10;
const PAUSE_MS = 15;

/** Hooks for tests: called at the moments in which another process could interfere. */
export interface RaceHooks {
  readonly beforeOpen?: () => void;
  readonly afterOpen?: () => void;
  readonly beforeRename?: () => void;
}

/**
 * Looks at the workspace and the folders `parts` below it.
 *
 * @returns null when one of them is not a real folder
 */
export function takeChain(root: string, parts: readonly string[]): Chain | null {
  const marks: FolderMark[] = [];
  let path = root;
  for (let at = 0; at <= parts.length; at++) {
    if (at > 0) path = join(path, parts[at - 1]!);
    let info: Deno.FileInfo;
    try {
      info = Deno.lstatSync(path);
    } catch {
      return null;
    }
    if (!info.isDirectory || info.isSymlink) return null;
    marks.push({
      dev: info.dev,
      ino: info.ino,
      mtime: info.mtime?.getTime() ?? 0,
      ctime: info.ctime?.getTime() ?? 0,
    });
  }
  return marks;
}

/** Whether both lead through the same folders, and no name on the way changed in between. */
export function sameChain(before: Chain, after: Chain | null): boolean {
  if (after === null || after.length !== before.length) return false;
  return before.every((mark, at) => {
    const now = after[at]!;
    if (mark.dev !== now.dev || mark.ino !== now.ino) return false;
    // What is in the last folder is no way but the goal: its own identity is compared there.
    return at === before.length - 1 || (mark.mtime === now.mtime && mark.ctime === now.ctime);
  });
}

/** Whether the names on the way changed so lately that a further change might not show. */
export function isFresh(chain: Chain, now = Date.now()): boolean {
  return chain.slice(0, -1).some(({ mtime }) => Math.abs(now - mtime) < FRESH_MS);
}

/** Whether a file changed so lately that a further change might not show in its times. */
export function isFreshFile({ mtime, ctime }: Deno.FileInfo, now = Date.now()): boolean {
  return [mtime, ctime].some((time) => time !== null && Math.abs(now - time.getTime()) < FRESH_MS);
}

/** Thrown by a try that met a change; {@link steadily} then tries again. */
export class Moved extends Error {}

/**
 * Runs `attempt` until it meets no change on its way.
 *
 * @throws {HubError} `MutationConflictError` when the folders do not come to rest
 */
export async function steadily<T>(path: string, attempt: () => T | Promise<T>): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Moved)) throw error;
    }
    if (tries === TRIES) {
      throw new HubError(
        "MutationConflictError",
        `Conflict: the folders on the way to ${shown(path)} keep changing, or it does; try again`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
