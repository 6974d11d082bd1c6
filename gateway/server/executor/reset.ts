import { readHead } from "../../../git/head.ts";
import type { Repository } from "../../../git/repository.ts";
import type {
  ExecutionResult,
  FileEffect,
  Inspection,
  Note,
  Operation,
  OperationContext,
  ResetAction,
} from "../types.ts";
import { changedBelow, type ChangedPath, namesOf } from "./shared/changed.ts";
import {
  CARD_LIMITS,
  commitEffects,
  countCommits,
  countUnheld,
  diffEffect,
  type DiffPart,
  emptyEffect,
  NO_DIFF,
} from "./shared/effect.ts";
import {
  commitOf,
  headFacts,
  hiddenFlagWarnings,
  shortRef,
  workTreeBlockers,
} from "./shared/facts.ts";
import { hookFacts } from "./shared/hooks.ts";
import { findInTheWay, ignoredBlockers } from "./shared/in_the_way.ts";
import { approvedGit, failedWith, moveRefs, staleFailure } from "./shared/run.ts";
import { indexFacts, sameDigests, workTreeFacts } from "./shared/work_tree_facts.ts";

/** reset: moves the checked-out branch, and with it index and files as the mode says (`operations.md` E5). */
export const operation: Operation<ResetAction> = {
  type: "reset",

  async inspect(action, { repo, diffBytes }) {
    const hard = action.mode === "hard";
    const [head, target, hooks, standing] = await Promise.all([
      headFacts(repo),
      commitOf(repo, action.targetRef),
      hookFacts(repo, ["reference-transaction", "post-index-change"]),
      workTreeBlockers(repo, "nothing checked out to reset"),
    ]);
    const oid = head["head.oid"] ?? null, ref = head["head.ref"] ?? null;
    const blockers: Note[] = [...standing];
    if (target === null) {
      blockers.push({ code: "unknown_ref", message: "targetRef names no commit here" });
    }
    if (oid === null) blockers.push({ code: "unborn", message: "the branch has no commit yet" });
    const name = ref === null ? "HEAD" : shortRef(ref);
    const base: Inspection = {
      facts: { ...head, target, ...hooks.facts },
      effect: emptyEffect(`reset --${action.mode} of ${name}`),
      risk: "high",
      destructive: hard,
      words: hard ? `reset ${name}` : null,
      blockers,
      warnings: hooks.warnings,
      paths: null,
    };
    if (target === null || oid === null || repo.facts.topLevel === null) return base;
    const [lost, unheld, gained, found, digests] = await Promise.all([
      commitEffects(repo, oid, [target], "lost"),
      countUnheld(repo, oid, [target], ref),
      countCommits(repo, [target, `^${oid}`]),
      changedBelow(repo, []),
      hard ? workTreeFacts(repo) : indexFacts(repo),
    ]);
    const part = hard
      ? await overwritten(repo, target, found.changed, diffBytes)
      : indexPart(action.mode, found.changed);
    if (!found.complete) {
      blockers.push({ code: "too_many", message: "too many changed files for one reset" });
    }
    return {
      ...base,
      facts: { ...base.facts, ...digests },
      effect: {
        ...base.effect,
        ...part.diff,
        refs: [{ ref: ref ?? "HEAD", before: oid, after: target }],
        commits: lost.commits,
        commitsTotal: lost.total,
        details: {
          mode: action.mode,
          commitsOnNoOtherBranch: unheld,
          commitsGained: gained,
          ...part.details,
        },
      },
      blockers: [...blockers, ...part.blockers],
      warnings: [
        ...hooks.warnings,
        ...part.warnings,
        ...hard ? await hiddenFlagWarnings(repo) : [],
      ],
      paths: part.paths,
    };
  },

  async execute(action, inspection, context: OperationContext): Promise<ExecutionResult> {
    const target = inspection.facts["target"]!;
    const before = inspection.facts["head.oid"]!;
    const ref = inspection.facts["head.ref"] ?? "HEAD";
    const { repo } = context;
    // The restore point holds what the card showed; what came later would be lost for good.
    const now = action.mode === "hard" ? await workTreeFacts(repo) : await indexFacts(repo);
    if (!sameDigests(inspection.facts, now)) return staleFailure("index or files changed");
    try {
      // `git reset` takes no old value: the ref moves first, refused by git if somebody moved it, and
      // index and files follow without moving anything.
      await moveRefs(
        context,
        [{ ref, from: before, to: target }],
        `reset: moving to ${action.targetRef}`,
      );
    } catch (error) {
      return failedWith(error, "the reset was not carried out", { leaveAsIs: true });
    }
    try {
      if (action.mode !== "soft") {
        await approvedGit(context, [
          "reset",
          "--quiet",
          "--no-recurse-submodules",
          `--${action.mode}`,
        ]);
      }
    } catch (error) {
      return failedWith(error, "the reset was not carried out");
    }
    const head = await readHead(repo);
    return {
      status: "completed",
      message: `${inspection.effect.summary}: now at ${target.slice(0, 12)}${
        head.oid === target ? "" : "; something else has moved the branch since"
      }`,
      members: { newHeadSha: target, mode: action.mode },
    };
  },
};

interface Part {
  readonly diff: DiffPart;
  readonly details: Readonly<Record<string, unknown>>;
  readonly blockers: readonly Note[];
  readonly warnings: readonly Note[];
  readonly paths: readonly string[] | null;
}

/** A hard reset makes files equal to the target, staged and unstaged work and files in its way included. */
async function overwritten(
  repo: Repository,
  target: string,
  changed: readonly ChangedPath[],
  diffBytes: number | undefined,
): Promise<Part> {
  const [diff, inTheWay] = await Promise.all([
    diffEffect(
      repo,
      { sides: { kind: "worktree", from: target }, paths: ["--"] },
      { diffBytes },
    ),
    findInTheWay(repo, target, changed),
  ]);
  const more = inTheWay.untracked.map((path): FileEffect => ({
    path,
    status: "?",
    added: null,
    deleted: null,
    note: "untracked: overwritten or removed, because the target has a file there",
  }));
  const submodules = changed.filter(({ entry }) => entry.submodule !== undefined);
  const uncommitted = changed.filter(({ kind }) => kind !== "untracked");
  const warnings: Note[] = [];
  if (uncommitted.length > 0) {
    warnings.push({
      code: "uncommitted_lost",
      message:
        `uncommitted changes of ${uncommitted.length} files are lost (the restore point keeps them)`,
      paths: namesOf(uncommitted),
    });
  }
  if (submodules.length > 0) {
    warnings.push({
      code: "submodules_stay",
      message: "what is checked out inside submodules stays as it is",
      paths: namesOf(submodules),
    });
  }
  return {
    diff: {
      ...diff,
      files: [...more, ...diff.files.map(asLoss)].slice(0, CARD_LIMITS.files),
      filesTotal: diff.filesTotal + more.length,
    },
    details: { diffReads: "from the target to the files that will be overwritten" },
    blockers: ignoredBlockers(inTheWay.ignored),
    warnings,
    paths: [...more, ...diff.files].map((file) => file.path),
  };
}

/** The diff reads from the target to what is there now, so its signs say the opposite of what happens. */
function asLoss(file: FileEffect): FileEffect {
  if (file.status === "A") return { ...file, note: "not in the target: the file is removed" };
  return file.status === "D" ? { ...file, note: "comes back" } : file;
}

/** Soft leaves index and files alone; mixed makes the index equal to the target and leaves files alone. */
function indexPart(mode: "soft" | "mixed", changed: readonly ChangedPath[]): Part {
  const part = { diff: NO_DIFF, details: {}, blockers: [], warnings: [], paths: [] };
  const unmerged = changed.filter(({ kind }) => kind === "unmerged");
  if (mode === "soft") {
    return unmerged.length === 0 ? part : {
      ...part,
      blockers: [{
        code: "conflicted",
        message: "git makes no soft reset while there are unresolved conflicts",
        paths: namesOf(unmerged),
      }],
    };
  }
  const staged = changed.filter(({ entry, kind }) =>
    kind === "unmerged" || (kind === "tracked" && entry.status[0] !== " ")
  );
  // A staged content that the file no longer has lives in the index alone.
  const onlyStaged = staged.filter(({ entry }) => entry.status[1] !== " ");
  return {
    ...part,
    details: { unstaged: staged.length },
    warnings: onlyStaged.length === 0 ? [] : [{
      code: "staged_content_lost",
      message:
        "what is staged of these files differs from the files and is lost (the restore point keeps it)",
      paths: namesOf(onlyStaged),
    }],
  };
}
