import { NulRecords } from "../../../../common/bytes.ts";
import { streamGit } from "../../../../git/command.ts";
import { guardSubmodules } from "../../../../git/index_scan.ts";
import type { Repository } from "../../../../git/repository.ts";
import { type StatusEntry, StatusParser } from "../../../../git/status.ts";

/** A changed path, renames taken apart, untracked files one by one. */
export interface ChangedPath {
  readonly entry: StatusEntry;
  readonly kind: "tracked" | "unmerged" | "untracked";
}

/** Most changed paths that one proposal may touch; more is refused, never cut. */
export const MAX_CHANGED_PATHS = 100_000;

/**
 * Everything that differs below the given literal paths. `complete` is false when there is more than
 * may be touched at once.
 */
export async function changedBelow(
  repo: Repository,
  paths: readonly string[],
): Promise<{ changed: ChangedPath[]; complete: boolean }> {
  const guard = await guardSubmodules(repo);
  const changed: ChangedPath[] = [];
  let complete = true;
  const parser = new StatusParser((_key, make, kind) => {
    if (changed.length >= MAX_CHANGED_PATHS) complete = false;
    else changed.push({ entry: make(), kind });
  });
  const records = new NulRecords();
  await streamGit(
    repo.with(guard.overrides),
    [
      "status",
      "--porcelain=v2",
      "-z",
      "--no-renames",
      "--untracked-files=all",
      `--ignore-submodules=${guard.complete ? "none" : "dirty"}`,
      "--",
      ...paths,
    ],
    { signal: repo.signal },
    (chunk) => records.push(chunk, parser.record) && complete,
  );
  return { changed, complete };
}

/** True when `path` is `prefix` or lies below it. */
export function isAtOrBelow(path: string, prefix: string): boolean {
  const base = prefix.replace(/\/+$/, "");
  return base === "." || path === base || path.startsWith(base + "/");
}

/** NUL-separated literal pathspecs for `--pathspec-from-file=- --pathspec-file-nul` of approved commands. */
export function literalPathspecs(paths: readonly string[]): string {
  return paths.map((path) => `:(top,literal)${path}\0`).join("");
}

/** Names that are not UTF-8 cannot be named in a proposal's list of strings. */
export function firstUnnameable(changed: readonly ChangedPath[]): string | null {
  return changed.find(({ entry }) => entry.pathBytes !== undefined)?.entry.path ?? null;
}
