import type { Repository } from "../../../git/repository.ts";
import type { ExecutionResult, Inspection, Note, Operation, RebaseAction } from "../types.ts";
import { changedBelow } from "./shared/changed.ts";
import { commitEffects, emptyEffect } from "./shared/effect.ts";
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
import { approvedGit, failedWith } from "./shared/run.ts";

const HOOKS = [
  "pre-rebase",
  "post-rewrite",
  "post-checkout",
  "post-commit",
  "reference-transaction",
  "post-index-change",
] as const;

/**
 * rebase: replays the checked-out branch on `ontoRef`. History is rewritten, so the card lists what is
 * replayed and what was published. A conflict ends it: everything is put back.
 */
export const operation: Operation<RebaseAction> = {
  type: "rebase",

  async inspect(action, { repo }): Promise<Inspection> {
    const [head, ref, onto, hooks, unfinished] = await Promise.all([
      headFacts(repo),
      branchRefOf(repo, action.currentRef),
      commitOf(repo, action.ontoRef),
      hookFacts(repo, HOOKS),
      unfinishedBlockers(repo),
    ]);
    const oid = head["head.oid"] ?? null;
    const signing = signingFacts(repo);
    const blockers: Note[] = [...unfinished];
    if (repo.facts.topLevel === null) {
      blockers.push({
        code: "bare_repository",
        message: "a bare repository has no work tree to rebase in",
      });
    }
    if (onto === null) {
      blockers.push({ code: "unknown_ref", message: "ontoRef names no commit here" });
    }
    if (oid === null) blockers.push({ code: "unborn", message: "the branch has no commit yet" });
    if (head["head.ref"] === null || ref !== head["head.ref"]) {
      blockers.push({
        code: "not_checked_out",
        message: "only the branch that is checked out here can be rebased; switch to it first",
      });
    }
    const tree: Facts = repo.facts.topLevel === null ? {} : await workTreeFacts(repo);
    const name = ref?.replace(/^refs\/heads\//, "") ?? action.currentRef;
    const base: Inspection = {
      facts: { ...head, onto, ...tree, ...hooks.facts, ...signing.facts },
      effect: emptyEffect(`rebase ${name} onto ${action.ontoRef}`),
      risk: "medium",
      destructive: false,
      words: null,
      blockers,
      warnings: [
        { code: "history_rewritten", message: "every replayed commit gets a new id" },
        ...hooks.warnings,
        ...signing.warnings,
      ],
      paths: null,
    };
    if (onto === null || oid === null || repo.facts.topLevel === null) return base;
    const [replayed, published, merges, dirty, ancestor] = await Promise.all([
      commitEffects(repo, oid, [onto], "replayed"),
      publishedCount(repo, oid, onto),
      repo.text(["rev-list", "--count", "--merges", oid, `^${onto}`, "--"]),
      changedBelow(repo, []),
      repo.run(["merge-base", "--is-ancestor", onto, oid], { okCodes: "any" }),
    ]);
    const inTheWay = dirty.changed.filter(({ kind }) => kind !== "untracked").map(({ entry }) =>
      entry.path
    );
    if (inTheWay.length > 0) {
      blockers.push({
        code: "local_changes",
        message: "git rebases only a clean work tree",
        paths: inTheWay.slice(0, 50),
      });
    }
    if (ancestor.code === 0 && merges === "0") {
      blockers.push({ code: "already_there", message: "the branch already stands on ontoRef" });
    }
    const warnings: Note[] = [...base.warnings];
    if (Number(merges) > 0) {
      warnings.push({
        code: "merges_flattened",
        message: `${merges} merge commits are left out; their commits are replayed one by one`,
      });
    }
    if (published > 0) {
      warnings.push({
        code: "published",
        message:
          `${published} of the commits are on a remote branch already: pushing afterwards needs force`,
      });
    }
    return {
      ...base,
      warnings,
      effect: {
        ...base.effect,
        refs: [{ ref: ref!, before: oid, after: replayed.total === 0 ? onto : "new" }],
        commits: replayed.commits,
        commitsTotal: replayed.total,
        details: {
          onto: action.ontoRef,
          publishedCommits: published,
          mergeCommits: Number(merges),
        },
      },
    };
  },

  async execute(_action, inspection, { repo }): Promise<ExecutionResult> {
    const onto = inspection.facts["onto"]!;
    try {
      await approvedGit(repo, [
        "rebase",
        "--quiet",
        "--no-stat",
        "--no-autostash",
        "--no-update-refs",
        "--no-autosquash",
        onto,
      ]);
    } catch (error) {
      await approvedGit(repo, ["rebase", "--abort"]).catch(() => {});
      return failedWith(error, "the rebase stopped and was taken back");
    }
    const now = await repo.text(["rev-parse", "--verify", "HEAD^{commit}"]);
    const count = Number(await repo.text(["rev-list", "--count", now, `^${onto}`, "--"]));
    return {
      status: "completed",
      message: `replayed ${count} commits; now at ${now.slice(0, 12)}`,
      members: { newHeadSha: now, replayedCommits: count },
    };
  },
};

/** Commits of the branch that a remote-tracking branch already has. */
async function publishedCount(repo: Repository, oid: string, onto: string): Promise<number> {
  const [all, unpublished] = await Promise.all([
    repo.text(["rev-list", "--count", oid, `^${onto}`, "--"]),
    repo.text(["rev-list", "--count", oid, `^${onto}`, "--not", "--remotes", "--"]),
  ]);
  return Number(all) - Number(unpublished);
}
