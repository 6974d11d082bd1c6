import type {
  ExecutionResult,
  Inspection,
  Note,
  Operation,
  OperationContext,
  ResetAction,
} from "../types.ts";
import { commitEffects, diffEffect, emptyEffect } from "./shared/effect.ts";
import {
  commitOf,
  headFacts,
  hookFacts,
  unfinishedBlockers,
  workTreeFacts,
} from "./shared/facts.ts";
import { approvedGit, failedWith, moveRefs } from "./shared/run.ts";

/** reset: moves the checked-out branch, and with it index and files as the mode says (`operations.md` E5). */
export const operation: Operation<ResetAction> = {
  type: "reset",

  async inspect(action, { repo }) {
    const [facts, target, tree, hooks, unfinished] = await Promise.all([
      headFacts(repo),
      commitOf(repo, action.targetRef),
      workTreeFacts(repo),
      hookFacts(repo, ["reference-transaction", "post-index-change"]),
      unfinishedBlockers(repo),
    ]);
    const head = facts["head.oid"] ?? null;
    const blockers: Note[] = [...unfinished];
    if (repo.facts.topLevel === null) {
      blockers.push({
        code: "bare_repository",
        message: "a bare repository has nothing checked out to reset",
      });
    }
    if (target === null) {
      blockers.push({ code: "unknown_ref", message: "targetRef names no commit here" });
    }
    if (head === null) blockers.push({ code: "unborn", message: "the branch has no commit yet" });
    const name = facts["head.ref"]?.replace(/^refs\/heads\//, "") ?? "HEAD";
    const hard = action.mode === "hard";
    const inspection: Inspection = {
      facts: { ...facts, target, ...tree, ...hooks.facts },
      effect: emptyEffect(`reset --${action.mode} of ${name}`),
      risk: "high",
      destructive: hard,
      words: hard ? `reset ${name}` : null,
      blockers,
      warnings: hooks.warnings,
      paths: null,
    };
    if (target === null || head === null) return inspection;
    const lost = await commitEffects(repo, head, [target], "lost");
    // Soft and mixed leave files alone; hard makes them equal to the target, staged and unstaged work included.
    const changes = hard
      ? await diffEffect(repo, { sides: { kind: "worktree", from: target }, paths: ["--"] })
      : { files: [], filesTotal: 0, diff: null, diffTruncated: false };
    return {
      ...inspection,
      effect: {
        ...inspection.effect,
        ...changes,
        refs: [{ ref: facts["head.ref"] ?? "HEAD", before: head, after: target }],
        commits: lost.commits,
        commitsTotal: lost.total,
        details: {
          mode: action.mode,
          ...(hard ? { diffReads: "from the target to the files that will be overwritten" } : {}),
        },
      },
      paths: hard ? changes.files.map((file) => file.path) : [],
    };
  },

  async execute(action, inspection, { repo }: OperationContext): Promise<ExecutionResult> {
    const target = inspection.facts["target"]!;
    const before = inspection.facts["head.oid"]!;
    const ref = inspection.facts["head.ref"] ?? "HEAD";
    try {
      // `git reset` takes no old value: the ref moves first, refused by git if somebody moved it, and
      // index and files follow without moving anything.
      await moveRefs(repo, [{ ref, from: before, to: target }], `reset: moving to ${target}`);
      if (action.mode !== "soft") await approvedGit(repo, ["reset", "-q", `--${action.mode}`]);
    } catch (error) {
      return failedWith(error, "the reset was not carried out");
    }
    return {
      status: "completed",
      message: `${inspection.effect.summary}: now at ${target.slice(0, 12)}`,
      members: { newHeadSha: target, mode: action.mode },
    };
  },
};
