import type { Repository } from "../../../../git/repository.ts";
import { type ChangedPath, firstArguments } from "./changed.ts";
import { CARD_LIMITS, diffEffect, type DiffPart, NO_DIFF } from "./effect.ts";
import { newFileEffects } from "./new_files.ts";

/** Tracked files whose text a card shows. */
const SHOWN = 1_000;

/**
 * What a commit of these changes will hold, against the commit before it.
 *
 * @param head null while unborn
 * @param fromDisk files as they are on disk; else as they are staged
 */
export async function commitDiff(
  repo: Repository,
  head: string | null,
  chosen: readonly ChangedPath[],
  fromDisk: boolean,
  diffBytes: number = CARD_LIMITS.diffBytes,
): Promise<DiffPart> {
  if (!fromDisk) {
    const diff = await diffEffect(repo, {
      sides: { kind: "index", from: head },
      paths: ["--"],
    }, { diffBytes });
    return { ...diff, filesTotal: chosen.length };
  }
  // Before the first commit every file is a new one.
  const isNew = ({ kind, entry }: ChangedPath) =>
    !entry.path.endsWith("/") && (kind === "untracked" || (head === null && !gone(entry.status)));
  const fresh = chosen.filter(isNew).map(({ entry }) => entry.path);
  const tracked = chosen.filter(({ kind }) => kind !== "untracked").map(({ entry }) => entry.path);
  const shown = firstArguments(tracked, SHOWN);
  const diff = head === null || shown.length === 0 ? NO_DIFF : await diffEffect(repo, {
    sides: { kind: "worktree", from: head },
    paths: ["--", ...shown],
  }, { diffBytes });
  const text = diff.diff ?? "";
  const added = await newFileEffects(
    repo.facts.topLevel!,
    fresh,
    diffBytes - text.length,
  );
  return {
    files: [...diff.files, ...added.files].slice(0, CARD_LIMITS.files),
    filesTotal: chosen.length,
    diff: text + added.diff,
    diffTruncated: diff.diffTruncated || added.truncated ||
      (head !== null && tracked.length > shown.length),
  };
}

function gone(status: string): boolean {
  return status[1] === "D";
}
