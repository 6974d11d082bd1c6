import type { Repository } from "../../../git/repository.ts";
import type {
  DiscardAction,
  ExecutionResult,
  FileEffect,
  Inspection,
  Note,
  Operation,
} from "../types.ts";
import {
  ancestry,
  changedBelow,
  type ChangedPath,
  firstArguments,
  firstUnnameable,
  literalPathspecs,
  NamedPaths,
  namesOf,
} from "./shared/changed.ts";
import { CARD_LIMITS, diffEffect, type DiffPart, emptyEffect, NO_DIFF } from "./shared/effect.ts";
import { headFacts, workTreeBlockers } from "./shared/facts.ts";
import { hookFacts } from "./shared/hooks.ts";
import { ignoredBlockers, lookAtPlaces } from "./shared/in_the_way.ts";
import { approvedGit, failedWith, staleFailure } from "./shared/run.ts";
import { removeInside } from "./shared/safe_remove.ts";
import { sameDigests, workTreeFacts } from "./shared/work_tree_facts.ts";

/**
 * discard: the named paths become what HEAD holds, in the index and on disk; files that HEAD does not
 * hold are removed (`operations.md` E4). The restore point keeps what is lost.
 */
export const operation: Operation<DiscardAction> = {
  type: "discard",

  async inspect(action, { repo, diffBytes }) {
    const blockers = await workTreeBlockers(repo, "no files to discard");
    if (repo.facts.topLevel === null) return { ...nothing(0), blockers };
    const [head, tree, hooks, found] = await Promise.all([
      headFacts(repo),
      workTreeFacts(repo, action.paths),
      hookFacts(repo, ["post-index-change"]),
      changedBelow(repo, action.paths),
    ]);
    const { changed } = found;
    const oid = head["head.oid"] ?? null;
    blockers.push(...problems(action, changed, oid), ...await placeProblems(repo, action, changed));
    if (!found.complete || changed.length > MAX_DISCARDED) {
      blockers.push({
        code: "too_many",
        message: "too many files to discard at once; name fewer paths",
      });
    }
    const tracked = pathsOf(changed, "tracked"), untracked = pathsOf(changed, "untracked");
    const shown = firstArguments(tracked, 1_000);
    const diff: DiffPart = shown.length > 0 && oid !== null
      ? await diffEffect(repo, {
        sides: { kind: "worktree", from: oid },
        paths: ["--", ...shown],
      }, { diffBytes })
      : NO_DIFF;
    const files = [
      ...diff.files.map(asLoss),
      ...untracked.map((path): FileEffect => ({
        path,
        status: "?",
        added: null,
        deleted: null,
        note: "untracked: the file is removed",
      })),
    ];
    return {
      ...nothing(changed.length),
      facts: { ...head, ...tree, ...hooks.facts },
      effect: {
        ...emptyEffect(`discard the changes of ${filesWord(changed.length)}`),
        ...diff,
        files: files.slice(0, CARD_LIMITS.files),
        filesTotal: changed.length,
        diffTruncated: diff.diffTruncated || tracked.length > shown.length,
        details: {
          diffReads: "from what is committed to what will be lost",
          untrackedRemoved: untracked.length,
          ignoredFiles: "left alone",
        },
      },
      blockers,
      warnings: [...hooks.warnings, ...bothPlaces(changed)],
      paths: changed.map(({ entry }) => entry.path),
    };
  },

  async execute(action, inspection, context): Promise<ExecutionResult> {
    const { repo } = context;
    // The restore point holds what the card showed; what came later would be lost for good.
    if (!sameDigests(inspection.facts, await workTreeFacts(repo, action.paths))) {
      return staleFailure("the files changed");
    }
    const { changed } = await changedBelow(repo, action.paths);
    const tracked = pathsOf(changed, "tracked"), untracked = pathsOf(changed, "untracked");
    try {
      // First what git does not track: a file of its own may have to stand where a folder is now.
      for (const path of untracked) removeInside(repo.facts.topLevel!, path);
      if (tracked.length > 0) {
        await approvedGit(context, [
          "restore",
          `--source=${inspection.facts["head.oid"]}`,
          "--staged",
          "--worktree",
          "--no-recurse-submodules",
          "--ignore-skip-worktree-bits",
          "--pathspec-from-file=-",
          "--pathspec-file-nul",
        ], { stdin: literalPathspecs(tracked) });
      }
      const left = (await changedBelow(repo, action.paths)).changed;
      if (left.length > 0) {
        throw new Error(
          `${left.length} files still differ, such as ${namesOf(left, 3).join(", ")}`,
        );
      }
    } catch (error) {
      return failedWith(error, "not everything was discarded");
    }
    const discarded = [...tracked, ...untracked];
    return {
      status: "completed",
      message: `discarded the changes of ${filesWord(discarded.length)}`,
      members: { pathsDiscarded: discarded },
    };
  },
};

/** As many as a result may name (`tool-schemas.md` 5.7), so that each is told. */
const MAX_DISCARDED = 10_000;

function filesWord(count: number): string {
  return `${count} ${count === 1 ? "file" : "files"}`;
}

function pathsOf(changed: readonly ChangedPath[], what: "tracked" | "untracked"): string[] {
  return changed.filter(({ kind }) => (kind === "untracked") === (what === "untracked"))
    .map(({ entry }) => entry.path);
}

function nothing(count: number): Inspection {
  return {
    facts: {},
    effect: emptyEffect("discard nothing"),
    risk: "high",
    destructive: true,
    words: `discard ${filesWord(count)}`,
    blockers: [],
    warnings: [],
    paths: null,
  };
}

function asLoss(file: FileEffect): FileEffect {
  if (file.status === "A") return { ...file, note: "not in the last commit: the file is removed" };
  return file.status === "D" ? { ...file, note: "comes back" } : file;
}

/** Staged and changed again afterwards: two contents are lost, and the diff shows only one. */
function bothPlaces(changed: readonly ChangedPath[]): Note[] {
  const both = changed.filter(({ entry, kind }) =>
    kind === "tracked" && entry.status[0] !== " " && entry.status[1] !== " "
  );
  return both.length === 0 ? [] : [{
    code: "staged_content_lost",
    message: "these are staged and were changed again afterwards: both contents are lost",
    paths: namesOf(both),
  }];
}

function problems(
  action: DiscardAction,
  changed: readonly ChangedPath[],
  head: string | null,
): Note[] {
  const notes: Note[] = [];
  const note = (code: string, message: string, paths: readonly string[]) => {
    if (paths.length > 0) notes.push({ code, message, paths: paths.slice(0, 50) });
  };
  const some = (test: (one: ChangedPath) => boolean) => namesOf(changed.filter(test));
  note(
    "nothing_to_discard",
    "some of the paths have no change to discard",
    new NamedPaths(action.paths).without(changed),
  );
  note(
    "submodule",
    "submodules are not discarded; use a submodule pointer proposal",
    some(({ entry }) => entry.submodule !== undefined),
  );
  note(
    "conflicted",
    "conflicted files are resolved, not discarded",
    some(({ kind }) => kind === "unmerged"),
  );
  note(
    "nested_repository",
    "a repository of its own lies there and is not removed",
    some(({ entry }) => entry.status === "??" && entry.path.endsWith("/")),
  );
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

/** Where a file comes back nothing may stand that is not itself discarded: links on the way, folders, ignored files. */
async function placeProblems(
  repo: Repository,
  action: DiscardAction,
  changed: readonly ChangedPath[],
): Promise<Note[]> {
  const going = new Set(changed.map(({ entry }) => entry.path));
  const places = changed.filter(({ kind, entry }) => kind === "tracked" && !entry.submodule)
    .map(({ entry }) => entry.path);
  const links = new Set<string>();
  for (const place of places) {
    for (const folder of ancestry(place).slice(1)) {
      if (!going.has(folder) && isOther(`${repo.facts.topLevel}/${folder}`)) links.add(folder);
    }
  }
  const notes: Note[] = links.size === 0 ? [] : [{
    code: "link_in_the_way",
    message: "a link or a file stands where a folder of these paths was: name it as well",
    paths: [...links].slice(0, 50),
  }];
  // Deleted files come back: what was put in their places, and is ignored, would be lost for good.
  const missing = changed.filter(({ kind, entry }) =>
    kind === "tracked" && entry.status.includes("D") && !entry.submodule
  ).map(({ entry }) => entry.path);
  const found = await lookAtPlaces(repo, missing, (await changedBelow(repo, [])).changed);
  const other = found.untracked.filter((path) =>
    !going.has(path) && !new NamedPaths(action.paths).covers(path) && !links.has(path)
  );
  if (other.length > 0) {
    notes.push({
      code: "untracked_in_the_way",
      message: "files that are not named stand where others come back: name them as well",
      paths: other.slice(0, 50),
    });
  }
  return [...notes, ...ignoredBlockers(found.ignored.filter((path) => !links.has(path)))];
}

function isOther(path: string): boolean {
  try {
    return !Deno.lstatSync(path).isDirectory;
  } catch {
    return false;
  }
}
