import { readHead } from "../git/head.ts";
import { openRepository } from "../git/repository.ts";
import { findRepoId, repositoryPath } from "./registry.ts";
import { type ListState, readList } from "./store.ts";
import type { HeadState } from "./types.ts";

/** What is stored for one repository, and where HEAD stands beside it. */
export interface StoredPoints {
  /** Canonical path under which it is registered. */
  readonly repoPath: string;
  /** Null when it was never registered: then there are no points. */
  readonly repoId: string | null;
  readonly list: ListState;
  readonly head: HeadState;
}

/**
 * Reads the points of the repository at or above a path; writes nothing.
 *
 * @throws what opening the repository throws
 */
export async function readRestorePoints(runDir: string, path: string): Promise<StoredPoints> {
  const repo = await openRepository(await Deno.realPath(path));
  const repoPath = repositoryPath(repo);
  const repoId = findRepoId(runDir, repoPath);
  const { ref, oid } = await readHead(repo);
  return {
    repoPath,
    repoId,
    list: repoId === null ? { kind: "none" } : await readList(runDir, repoId, repoPath),
    head: { ref, oid },
  };
}
