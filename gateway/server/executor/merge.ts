import { previewMerge } from "../../../git/merge_preview.ts";
import type { Repository } from "../../../git/repository.ts";
import { listWorktrees } from "../../../git/worktrees.ts";
import type {
  ExecutionResult,
  Inspection,
  MergeAction,
  Note,
  Operation,
  OperationContext,
} from "../types.ts";
import { armingWarnings } from "./shared/arming.ts";
import { changedBelow } from "./shared/changed.ts";
import { commitEffects, diffEffect, emptyEffect } from "./shared/effect.ts";
import {
  branchRefOf,
  commitOf,
  type Facts,
  headFacts,
  hookFacts,
  signingFacts,
  unfinishedBlockers,
  workTreeFacts,
} from "./shared/facts.ts";
import { approvedGit, failedWith, moveRefs } from "./shared/run.ts";
import { scratchIn } from "./shared/scratch.ts";

const HOOKS = [
  "pre-merge-commit",
  "prepare-commit-msg",
  "commit-msg",
  "post-merge",
  "reference-transaction",
  "post-index-change",
] as const;

/**
 * merge: `sourceRef` into the branch `targetRef`. Where the branch is checked out git merges in the
 * work tree, hooks and signing included; a branch that is checked out nowhere is merged without
 * touching any file. What would conflict is not carried out.
 */
export const operation: Operation<MergeAction> = {
  type: "merge",

  async inspect(action, { repo, runDir }): Promise<Inspection> {
    const [head, ref, source] = await Promise.all([
      headFacts(repo),
      branchRefOf(repo, action.targetRef),
      commitOf(repo, action.sourceRef),
    ]);
    const target = ref === null
      ? null
      : await repo.optionalText(["rev-parse", "--verify", "--quiet", `${ref}^{commit}`]);
    const here = ref !== null && ref === head["head.ref"] && repo.facts.topLevel !== null;
    const facts: Facts = { ...head, source, target, targetRef: ref, here: String(here) };
    const blockers: Note[] = [];
    const warnings: Note[] = [];
    if (ref === null) {
      blockers.push({
        code: "not_a_branch",
        message: "targetRef names no local branch to merge into",
      });
    } else if (target === null) {
      blockers.push({ code: "unborn", message: "the target branch has no commit yet" });
    }
    if (source === null) {
      blockers.push({ code: "unknown_ref", message: "sourceRef names no commit here" });
    }
    if (here) {
      const [hooks, tree, unfinished] = await Promise.all([
        hookFacts(repo, HOOKS),
        workTreeFacts(repo),
        unfinishedBlockers(repo),
      ]);
      const signing = signingFacts(repo);
      Object.assign(facts, hooks.facts, tree, signing.facts);
      warnings.push(...hooks.warnings, ...signing.warnings);
      blockers.push(...unfinished);
    } else if (ref !== null) {
      const holder = (await listWorktrees(repo, 1_000)).worktrees.find((tree) =>
        `refs/heads/${tree.branch}` === ref
      );
      facts["checkedOutIn"] = holder?.path ?? null;
      if (holder) {
        blockers.push({
          code: "checked_out_elsewhere",
          message: "the target branch is checked out in another work tree; propose the merge there",
          paths: [holder.path],
        });
      }
    }
    const summary = `${
      action.strategy === "squash" ? "squash " : "merge "
    }${action.sourceRef} into ${ref?.replace(/^refs\/heads\//, "") ?? action.targetRef}`;
    const base: Inspection = {
      facts,
      effect: emptyEffect(summary),
      risk: "medium",
      destructive: false,
      words: null,
      blockers,
      warnings,
      paths: null,
    };
    if (source === null || target === null || ref === null) return base;

    const preview = await previewMerge(repo, target, source, scratchIn(runDir));
    if (preview.status === "conflicts") {
      blockers.push({
        code: "conflicts",
        message: `the merge would conflict in ${preview.conflictCount} files`,
        paths: preview.conflicts.map(({ path }) => path),
      });
    } else if (preview.status === "already-up-to-date") {
      blockers.push({ code: "already_merged", message: "the target already contains the source" });
    } else if (preview.status === "unrelated-histories") {
      blockers.push({ code: "unrelated", message: "the histories have no common commit" });
    } else if (preview.status === "unknown") {
      warnings.push({
        code: "not_predicted",
        message: `whether it merges cleanly could not be told: ${
          preview.notes[0]?.message ?? "unknown"
        }`,
      });
      if (!here) {
        blockers.push({
          code: "not_predicted",
          message:
            "a branch that is not checked out is merged only when the result can be predicted",
        });
      }
    }
    const mergeBase = preview.mergeBases[0] ?? null;
    const [merged, diff] = await Promise.all([
      commitEffects(repo, source, [target], "merged"),
      mergeBase === null ? null : diffEffect(repo, {
        sides: { kind: "trees", from: mergeBase, to: source },
        paths: ["--"],
      }),
    ]);
    const paths = diff?.files.map((file) => file.path) ?? null;
    if (here && paths) {
      blockers.push(
        ...await overlaps(
          repo,
          paths,
          preview.status === "fast-forward" && action.strategy === "merge",
        ),
      );
    }
    const forward = preview.status === "fast-forward" && action.strategy === "merge";
    return {
      ...base,
      effect: {
        ...base.effect,
        ...diff,
        refs: [{ ref, before: target, after: forward ? source : "new" }],
        commits: merged.commits,
        commitsTotal: merged.total,
        details: {
          kind: forward
            ? "fast-forward"
            : action.strategy === "squash"
            ? "one new commit"
            : "merge commit",
          mergeBase,
          changesFiles: here,
        },
      },
      warnings: [...warnings, ...armingWarnings(paths ?? [])],
      paths,
    };
  },

  async execute(action, inspection, context): Promise<ExecutionResult> {
    const { source, target, targetRef, here } = inspection.facts as Record<string, string>;
    try {
      if (here === "true") await mergeHere(action, source!, context);
      else {await mergeAside(
          action,
          { source: source!, target: target!, ref: targetRef! },
          inspection,
          context,
        );}
    } catch (error) {
      return failedWith(error, "the merge was not carried out");
    }
    const { repo } = context;
    const commit = await repo.text(["rev-parse", "--verify", `${targetRef}^{commit}`]);
    const parents = (await repo.text(["rev-list", "--parents", "-1", commit, "--"])).split(" ")
      .slice(1);
    if (commit !== source && parents[0] !== target) {
      return {
        status: "failed",
        message:
          "the target moved while it was merged: the result has another parent than the card said",
        members: { mergeCommit: commit },
      };
    }
    return {
      status: "completed",
      message: `${inspection.effect.summary}: now at ${commit.slice(0, 12)}`,
      members: {
        mergeCommit: commit,
        commitSha: commit,
        summary: inspection.effect.summary,
        conflicts: [],
      },
    };
  },
};

async function mergeHere(
  action: MergeAction,
  source: string,
  { repo }: OperationContext,
): Promise<void> {
  const message = mergeMessage(action);
  try {
    if (action.strategy === "squash") {
      await approvedGit(repo, ["merge", "--squash", "--no-stat", "--quiet", source]);
      await approvedGit(repo, ["commit", "--quiet", "--file=-"], message);
    } else {
      await approvedGit(repo, [
        "merge",
        "--no-edit",
        "--no-stat",
        "--quiet",
        "--no-autostash",
        "-m",
        message,
        source,
      ]);
    }
  } catch (error) {
    // A conflict that nobody predicted: what git started is taken back at once.
    await approvedGit(repo, ["merge", "--abort"]).catch(() => {});
    throw error;
  }
}

/** Merges without a work tree: git's own engine makes the tree, the ref moves with its old value. */
async function mergeAside(
  action: MergeAction,
  at: { source: string; target: string; ref: string },
  inspection: Inspection,
  { repo }: OperationContext,
): Promise<void> {
  if (inspection.effect.details["kind"] === "fast-forward") {
    return await moveRefs(
      repo,
      [{ ref: at.ref, from: at.target, to: at.source }],
      "merge: Fast-forward",
    );
  }
  const out = await repo.run(
    ["merge-tree", "--write-tree", "--no-messages", at.target, at.source],
    { profile: "store" },
  );
  const tree = new TextDecoder().decode(out.stdout).split("\n")[0]!.trim();
  const parents = action.strategy === "squash"
    ? ["-p", at.target]
    : ["-p", at.target, "-p", at.source];
  const sign = repo.facts.config.bool("commit.gpgsign", false) ? ["-S"] : [];
  const commit =
    (await approvedGit(repo, ["commit-tree", ...sign, ...parents, tree], mergeMessage(action)))
      .trim();
  await moveRefs(
    repo,
    [{ ref: at.ref, from: at.target, to: commit }],
    `merge ${action.sourceRef}: Merge made by the gateway.`,
  );
}

function mergeMessage(action: MergeAction): string {
  return action.strategy === "squash"
    ? `Squash ${action.sourceRef} into ${action.targetRef}`
    : `Merge ${action.sourceRef} into ${action.targetRef}`;
}

/** What git would refuse because files of the user stand in the way. */
async function overlaps(
  repo: Repository,
  paths: readonly string[],
  forward: boolean,
): Promise<Note[]> {
  const { changed } = await changedBelow(repo, []);
  const touched = new Set(paths);
  const inTheWay = changed.filter(({ entry }) => touched.has(entry.path)).map(({ entry }) =>
    entry.path
  );
  if (inTheWay.length > 0) {
    return [{
      code: "local_changes",
      message: "uncommitted changes stand in the way",
      paths: inTheWay.slice(0, 50),
    }];
  }
  const staged = changed.filter(({ entry, kind }) => kind === "tracked" && entry.status[0] !== " ")
    .map(({ entry }) => entry.path);
  return forward || staged.length === 0 ? [] : [{
    code: "staged_changes",
    message: "git merges only when nothing is staged",
    paths: staged.slice(0, 50),
  }];
}
