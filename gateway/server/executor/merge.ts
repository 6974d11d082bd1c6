import { type MergePreview, previewMerge } from "../../../git/merge_preview.ts";
import type { Repository } from "../../../git/repository.ts";
import { listWorktrees } from "../../../git/worktrees.ts";
import type { Inspection, MergeAction, Note, Operation } from "../types.ts";
import { carryBlockers } from "./shared/in_the_way.ts";
import { changedBelow, type ChangedPath, namesOf } from "./shared/changed.ts";
import { commitEffects, emptyEffect, NO_DIFF } from "./shared/effect.ts";
import {
  branchRefOf,
  commitAt,
  commitOf,
  type Facts,
  headFacts,
  shortRef,
  workTreeBlockers,
} from "./shared/facts.ts";
import { COMMIT_HOOKS, type Hook, hookFacts, identityFacts, signingFacts } from "./shared/hooks.ts";
import { runMerge } from "./shared/merging.ts";
import { known, type LookAt, NO_LOOK, type Predicted, predictMerge } from "./shared/predicted.ts";
import { scratchIn } from "./shared/scratch.ts";
import { indexFacts } from "./shared/work_tree_facts.ts";

/**
 * merge: `sourceRef` into the branch `targetRef`. Where the branch is checked out git merges in the
 * work tree, hooks and signing included; a branch that is checked out nowhere is merged without
 * touching any file. What would conflict is not carried out.
 */
export const operation: Operation<MergeAction> = {
  type: "merge",

  async inspect(action, context): Promise<Inspection> {
    const { repo, runDir } = context;
    const [head, ref, source] = await Promise.all([
      headFacts(repo),
      branchRefOf(repo, action.targetRef),
      commitOf(repo, action.sourceRef),
    ]);
    const target = await commitAt(repo, ref);
    const here = ref !== null && ref === head["head.ref"] && repo.facts.topLevel !== null;
    const place = here
      ? await hereFacts(repo, action)
      : { facts: await elsewhereFacts(repo, ref), blockers: [], warnings: [] };
    const facts: Facts = {
      ...head,
      source,
      target,
      targetRef: ref,
      here: String(here),
      ...place.facts,
    };
    const blockers: Note[] = [...nameBlockers(ref, target, source), ...place.blockers];
    if (facts["checkedOutIn"]) {
      blockers.push({
        code: "checked_out_elsewhere",
        message: "the target branch is checked out in another work tree; propose the merge there",
        paths: [facts["checkedOutIn"]],
      });
    }
    const warnings: Note[] = [...place.warnings];
    const summary = `${
      action.strategy === "squash" ? "squash" : "merge"
    } ${action.sourceRef} into ${ref === null ? action.targetRef : shortRef(ref)}`;
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
    blockers.push(...previewBlockers(preview, here));
    warnings.push(...previewWarnings(preview, here));
    const forward = preview.status === "fast-forward";
    const { changed } = here ? await changedBelow(repo, []) : { changed: [] };
    const look: LookAt = here
      ? (tree, env) => carryBlockers(repo, target, tree, changed, env)
      : NO_LOOK;
    const predicted: Predicted | null = forward
      ? await known(context, target, source, look)
      : preview.status === "clean-merge"
      ? await predictMerge(context, target, source, look)
      : null;
    facts["mergedTree"] = predicted?.tree ?? null;
    const kind = action.strategy === "squash"
      ? "squash"
      : forward && !noForward(repo)
      ? "fast-forward"
      : "merge commit";
    facts["kind"] = kind;
    if (kind !== "fast-forward") {
      const [identity, signing] = [await identityFacts(repo), signingFacts(repo)];
      Object.assign(facts, identity.facts, signing.facts);
      blockers.push(...identity.blockers);
      warnings.push(...signing.warnings);
    }
    const merged = await commitEffects(repo, source, [target], "merged");
    const message = kind === "fast-forward" ? null : mergeMessage(action, ref, merged.commits);
    if (here) blockers.push(...stateBlockers(changed, kind));
    const mergeBase = preview.mergeBases[0] ?? null;
    // Without a prediction the changes of the other side are the next best thing to look at.
    const likely = predicted ??
      (mergeBase === null ? null : await known(context, mergeBase, source, look));
    const diff = likely?.diff ?? NO_DIFF;
    blockers.push(...likely?.blockers ?? []);
    const paths = predicted === null ? null : diff.files.map((file) => file.path);
    return {
      ...base,
      effect: {
        ...base.effect,
        ...diff,
        refs: [{ ref, before: target, after: kind === "fast-forward" ? source : "new" }],
        commits: merged.commits,
        commitsTotal: merged.total,
        details: {
          kind: kind === "squash" ? "one new commit" : kind,
          mergeBase,
          changesFiles: here,
          ...(message === null ? {} : { message, author: facts["author"] ?? null }),
        },
      },
      warnings: [...warnings, ...likely?.arming ?? []],
      paths,
    };
  },

  execute: runMerge,
};

function nameBlockers(ref: string | null, target: string | null, source: string | null): Note[] {
  const blockers: Note[] = [];
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
  return blockers;
}

async function hereFacts(
  repo: Repository,
  action: MergeAction,
): Promise<{ facts: Facts; blockers: Note[]; warnings: readonly Note[] }> {
  const merging: readonly Hook[] = action.strategy === "squash"
    ? [...COMMIT_HOOKS, "post-merge"]
    : [
      "pre-merge-commit",
      "prepare-commit-msg",
      "commit-msg",
      "post-merge",
      "reference-transaction",
      "post-index-change",
    ];
  const [hooks, index, blockers] = await Promise.all([
    hookFacts(repo, merging),
    indexFacts(repo),
    workTreeBlockers(repo, "no files"),
  ]);
  return {
    facts: { ...hooks.facts, ...index, ...driverFacts(repo) },
    blockers,
    warnings: hooks.warnings,
  };
}

/** Programs that decide what a merge in the work tree gives. */
function driverFacts(repo: Repository): Facts {
  const facts: Facts = {};
  for (const { key, value } of repo.facts.config.entries) {
    if (/^merge\..*\.driver$/s.test(key)) facts[`config.${key}`] = value;
  }
  return facts;
}

async function elsewhereFacts(repo: Repository, ref: string | null): Promise<Facts> {
  if (ref === null) return {};
  const [{ worktrees }, hooks] = await Promise.all([
    listWorktrees(repo, 1_000),
    hookFacts(repo, ["reference-transaction"]),
  ]);
  const branch = shortRef(ref);
  // A branch that is being rebased is in use although HEAD is detached there.
  const holder = worktrees.find((tree) =>
    tree.branch === branch || tree.operation?.branch === branch
  );
  return { ...hooks.facts, checkedOutIn: holder?.path ?? null };
}

/** Whether this repository's owner wants a merge commit even where none is needed. */
function noForward(repo: Repository): boolean {
  const value = repo.facts.config.get("merge.ff");
  return value !== undefined && value !== "only" && !repo.facts.config.bool("merge.ff", true);
}

function previewBlockers(preview: MergePreview, here: boolean): Note[] {
  switch (preview.status) {
    case "conflicts":
      return [{
        code: "conflicts",
        message: `the merge would conflict in ${preview.conflictCount} files`,
        paths: preview.conflicts.map(({ path }) => path),
      }];
    case "already-up-to-date":
      return [{ code: "already_merged", message: "the target already contains the source" }];
    case "unrelated-histories":
      return [{ code: "unrelated", message: "the histories have no common commit" }];
    case "unknown":
      return here ? [] : [{
        code: "not_predicted",
        message: "a branch that is not checked out is merged only when the result can be predicted",
      }];
    default:
      return [];
  }
}

function previewWarnings(preview: MergePreview, here: boolean): Note[] {
  const notes: Note[] = preview.notes.map(({ code, message }) => ({
    code,
    message: code === "merge_driver_not_run" && here
      ? "files are merged by drivers of the repository's own configuration: these run on approval, and the result can differ from what is shown"
      : message,
  }));
  return preview.status !== "unknown" ? notes : [{
    code: "not_predicted",
    message: "whether it merges cleanly could not be told; a conflict takes everything back",
  }, ...notes];
}

function stateBlockers(changed: readonly ChangedPath[], kind: string): Note[] {
  const blockers: Note[] = [];
  const staged = changed.filter(({ entry, kind }) => kind === "tracked" && entry.status[0] !== " ");
  // Only a fast-forward leaves alone what is staged.
  if (kind !== "fast-forward" && staged.length > 0) {
    blockers.push({
      code: "staged_changes",
      message: "git merges only when nothing is staged",
      paths: namesOf(staged),
    });
  }
  const unmerged = changed.filter(({ kind }) => kind === "unmerged");
  if (unmerged.length > 0) {
    blockers.push({
      code: "conflicted",
      message: "there are unresolved conflicts",
      paths: namesOf(unmerged),
    });
  }
  return blockers;
}

/** Subjects that a squashed commit's message lists. */
const LISTED = 50;

function mergeMessage(
  action: MergeAction,
  ref: string,
  commits: readonly { readonly subject: string }[],
): string {
  const into = `${action.sourceRef} into ${shortRef(ref)}`;
  if (action.strategy === "merge") return `Merge ${into}\n`;
  const lines = commits.slice(0, LISTED).map(({ subject }) => `* ${subject}`);
  if (commits.length > LISTED) lines.push(`* and ${commits.length - LISTED} more`);
  return `Squash ${into}\n\n${lines.join("\n")}\n`;
}
