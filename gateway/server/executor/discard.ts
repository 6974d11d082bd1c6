import type {
  DiscardAction,
  ExecutionResult,
  FileEffect,
  Inspection,
  Note,
  Operation,
} from "../types.ts";
import {
  changedBelow,
  type ChangedPath,
  firstUnnameable,
  isAtOrBelow,
  literalPathspecs,
} from "./shared/changed.ts";
import { CARD_LIMITS, diffEffect, emptyEffect } from "./shared/effect.ts";
import { headFacts, hookFacts, workTreeFacts } from "./shared/facts.ts";
import { approvedGit, failedWith } from "./shared/run.ts";
import { removeInside } from "./shared/safe_remove.ts";

/**
 * discard: the named paths become what HEAD holds, in the index and on disk; files that HEAD does not
 * hold are removed (`operations.md` E4). The restore point keeps what is lost.
 */
export const operation: Operation<DiscardAction> = {
  type: "discard",

  async inspect(action, { repo }) {
    const blockers: Note[] = [];
    if (repo.facts.topLevel === null) {
      blockers.push({
        code: "bare_repository",
        message: "a bare repository has no files to discard",
      });
      return { ...nothing(action), facts: { head: null }, blockers };
    }
    const [head, tree, hooks, found] = await Promise.all([
      headFacts(repo),
      workTreeFacts(repo, action.paths),
      hookFacts(repo, ["post-index-change"]),
      changedBelow(repo, action.paths),
    ]);
    const { changed } = found;
    blockers.push(...problems(action, changed, head["head.oid"] ?? null));
    if (!found.complete) {
      blockers.push({
        code: "too_many",
        message: "too many files to discard at once; name fewer paths",
      });
    }
    const tracked = changed.filter(({ kind }) => kind !== "untracked");
    const diff = tracked.length > 0 && head["head.oid"] && blockers.length === 0
      ? await diffEffect(repo, {
        sides: { kind: "worktree", from: head["head.oid"] },
        paths: ["--", ...tracked.slice(0, 500).map(({ entry }) => entry.path)],
      })
      : { files: [] as readonly FileEffect[], filesTotal: 0, diff: null, diffTruncated: false };
    const untracked = changed.filter(({ kind }) => kind === "untracked").map((
      { entry },
    ): FileEffect => ({
      path: entry.path,
      status: "?",
      added: null,
      deleted: null,
      note: "untracked: the file is removed",
    }));
    const files = [...diff.files, ...untracked].slice(0, CARD_LIMITS.files);
    return {
      ...nothing(action),
      facts: { ...head, ...tree, ...hooks.facts },
      effect: {
        ...emptyEffect(
          `discard the changes of ${changed.length} ${changed.length === 1 ? "file" : "files"}`,
        ),
        ...diff,
        files,
        filesTotal: changed.length,
        diffTruncated: diff.diffTruncated || tracked.length > 500,
        details: { untrackedRemoved: untracked.length, ignoredFiles: "left alone" },
      },
      blockers,
      warnings: hooks.warnings,
      paths: changed.map(({ entry }) => entry.path),
    };
  },

  async execute(action, _inspection, { repo }): Promise<ExecutionResult> {
    const { changed } = await changedBelow(repo, action.paths);
    const tracked = changed.filter(({ kind }) => kind !== "untracked").map(({ entry }) =>
      entry.path
    );
    const untracked = changed.filter(({ kind }) => kind === "untracked").map(({ entry }) =>
      entry.path
    );
    try {
      if (tracked.length > 0) {
        await approvedGit(
          repo,
          [
            "restore",
            "--source=HEAD",
            "--staged",
            "--worktree",
            "--no-recurse-submodules",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
          ],
          literalPathspecs(tracked),
        );
      }
      for (const path of untracked) removeInside(repo.facts.topLevel!, path);
    } catch (error) {
      return failedWith(error, "not everything was discarded");
    }
    const discarded = [...tracked, ...untracked];
    return {
      status: "completed",
      message: `discarded the changes of ${discarded.length} ${
        discarded.length === 1 ? "file" : "files"
      }`,
      members: {
        pathsDiscarded: discarded.slice(0, 10_000),
        ...(discarded.length > 10_000 ? { pathsDiscardedTruncated: true } : {}),
      },
    };
  },
};

function nothing(action: DiscardAction): Inspection {
  const words = action.paths.length === 1
    ? "discard 1 path"
    : `discard ${action.paths.length} paths`;
  return {
    facts: {},
    effect: emptyEffect("discard nothing"),
    risk: "high",
    destructive: true,
    words,
    blockers: [],
    warnings: [],
    paths: null,
  };
}

function problems(
  action: DiscardAction,
  changed: readonly ChangedPath[],
  head: string | null,
): Note[] {
  const notes: Note[] = [];
  const idle = action.paths.filter((path) =>
    !changed.some(({ entry }) => isAtOrBelow(entry.path, path))
  );
  if (idle.length > 0) {
    notes.push({
      code: "nothing_to_discard",
      message: "some of the paths have no change to discard",
      paths: idle.slice(0, 50),
    });
  }
  const submodules = changed.filter(({ entry }) => entry.submodule).map(({ entry }) => entry.path);
  if (submodules.length > 0) {
    notes.push({
      code: "submodule",
      message: "submodules are not discarded; use a submodule pointer proposal",
      paths: submodules.slice(0, 50),
    });
  }
  const conflicted = changed.filter(({ kind }) => kind === "unmerged").map(({ entry }) =>
    entry.path
  );
  if (conflicted.length > 0) {
    notes.push({
      code: "conflicted",
      message: "conflicted files are resolved, not discarded",
      paths: conflicted.slice(0, 50),
    });
  }
  const nested = changed.filter(({ entry }) => entry.status === "??" && entry.path.endsWith("/"))
    .map(({ entry }) => entry.path);
  if (nested.length > 0) {
    notes.push({
      code: "nested_repository",
      message: "a repository of its own lies there and is not removed",
      paths: nested.slice(0, 50),
    });
  }
  if (head === null && changed.some(({ kind }) => kind === "tracked")) {
    notes.push({ code: "unborn", message: "the branch has no commit to go back to" });
  }
  if (firstUnnameable(changed) !== null) {
    notes.push({
      code: "path_not_utf8",
      message: "a file there has a name that is not UTF-8; discard it by hand",
    });
  }
  return notes;
}
