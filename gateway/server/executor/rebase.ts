import { gitCapabilities } from "../../../git/capabilities.ts";
import { readHead } from "../../../git/head.ts";
import type { Repository } from "../../../git/repository.ts";
import type {
  ExecutionResult,
  Inspection,
  Note,
  Operation,
  OperationContext,
  RebaseAction,
} from "../types.ts";
import { changedBelow, type ChangedPath, namesOf } from "./shared/changed.ts";
import { commitEffects, countCommits, emptyEffect, NO_DIFF } from "./shared/effect.ts";
import {
  branchRefOf,
  commitAt,
  commitOf,
  headFacts,
  shortRef,
  workTreeBlockers,
} from "./shared/facts.ts";
import { hookFacts, identityFacts, signingFacts } from "./shared/hooks.ts";
import { findInTheWay, inTheWayBlockers } from "./shared/in_the_way.ts";
import { known, type Lab, type LookAt, predictReplay, type Replay } from "./shared/predicted.ts";
import { approvedGit, failedWith, moveRefs } from "./shared/run.ts";
import { indexFacts } from "./shared/work_tree_facts.ts";

const HOOKS = [
  "pre-rebase",
  "prepare-commit-msg",
  "post-rewrite",
  "post-checkout",
  "post-commit",
  "reference-transaction",
  "post-index-change",
] as const;

/**
 * rebase: replays the checked-out branch on `ontoRef`. History is rewritten, so the card lists what is
 * replayed and what was published, and tries the replay out. A conflict ends it: everything is put back.
 */
export const operation: Operation<RebaseAction> = {
  type: "rebase",

  async inspect(action, context): Promise<Inspection> {
    const { repo } = context;
    const [head, ref, onto, hooks, standing, index, identity] = await Promise.all([
      headFacts(repo),
      branchRefOf(repo, action.currentRef),
      commitOf(repo, action.ontoRef),
      hookFacts(repo, HOOKS),
      workTreeBlockers(repo, "no work tree to rebase in"),
      indexFacts(repo),
      identityFacts(repo),
    ]);
    const oid = head["head.oid"] ?? null;
    const signing = signingFacts(repo);
    const blockers: Note[] = [...standing, ...identity.blockers];
    if (onto === null) {
      blockers.push({ code: "unknown_ref", message: "ontoRef names no commit here" });
    }
    if (oid === null) blockers.push({ code: "unborn", message: "the branch has no commit yet" });
    if (head["head.ref"] === null) {
      blockers.push({
        code: "detached",
        message: "HEAD is detached: switch to the branch that is to be rebased first",
      });
    } else if (ref !== head["head.ref"]) {
      blockers.push({
        code: "not_checked_out",
        message: "only the branch that is checked out here can be rebased; switch to it first",
      });
    }
    const name = ref === null ? action.currentRef : shortRef(ref);
    const base: Inspection = {
      facts: {
        ...head,
        onto,
        ...index,
        ...hooks.facts,
        ...signing.facts,
        // The author of each commit stays.
        committer: identity.facts["committer"] ?? null,
      },
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
    if (onto === null || oid === null || ref === null || repo.facts.topLevel === null) return base;
    return await withReplay(base, { ...context, oid, onto, ref, action });
  },

  async execute(_action, inspection, context): Promise<ExecutionResult> {
    const { onto, "head.ref": ref, "head.oid": before, resultTree } = inspection
      .facts as Record<string, string>;
    const { mergeTreeWriteTree } = await gitCapabilities();
    try {
      await approvedGit(context, [
        "rebase",
        "--quiet",
        ...AS_SHOWN,
        // Older git knows no such thing.
        ...(mergeTreeWriteTree ? ["--no-update-refs"] : []),
        onto!,
      ]);
    } catch (error) {
      await approvedGit(context, ["rebase", "--abort"]).catch(() => {});
      return failedWith(error, "the rebase stopped and was taken back");
    }
    const { repo } = context;
    const [now, began] = await Promise.all([readHead(repo), commitAt(repo, "ORIG_HEAD")]);
    if (now.ref !== ref || now.oid === null || began !== before) {
      return await takeBack(ref!, now.oid, began, context);
    }
    const [count, tree] = await Promise.all([
      countCommits(repo, [now.oid, `^${onto}`]),
      repo.text(["rev-parse", "--verify", `${now.oid}^{tree}`]),
    ]);
    const changed = Boolean(resultTree) && tree !== resultTree;
    return {
      status: "completed",
      message: `replayed ${count} commits; now at ${now.oid.slice(0, 12)}${
        changed ? "; programs of the repository changed the result from what was shown" : ""
      }`,
      members: {
        newHeadSha: now.oid,
        replayedCommits: count,
        treeSha: tree,
        ...(changed ? { changedByPrograms: true } : {}),
      },
    };
  },
};

/** Everything that `rebase.*` settings could turn a rebase into is said outright. */
const AS_SHOWN = [
  "--merge",
  "--no-stat",
  "--no-autostash",
  "--no-autosquash",
  "--no-fork-point",
  "--no-rebase-merges",
  "--no-reapply-cherry-picks",
  "--empty=drop",
];

interface Place extends Lab {
  readonly oid: string;
  readonly onto: string;
  readonly ref: string;
  readonly action: RebaseAction;
}

async function withReplay(base: Inspection, place: Place): Promise<Inspection> {
  const { repo, oid, onto, ref } = place;
  // As git picks them: no merges, and nothing that ontoRef already has under another id.
  const picked = ["--cherry-pick", "--right-only", "--no-merges"];
  const [replayed, all, unpublished, merges, found, forward, inOnto] = await Promise.all([
    commitEffects(repo, `${onto}...${oid}`, [], "replayed", picked),
    countCommits(repo, [oid, `^${onto}`]),
    countCommits(repo, [oid, `^${onto}`, "--not", "--remotes"]),
    countCommits(repo, ["--merges", oid, `^${onto}`]),
    changedBelow(repo, []),
    isAncestor(repo, oid, onto),
    isAncestor(repo, onto, oid),
  ]);
  const blockers: Note[] = [...base.blockers, ...changeBlockers(found.changed)];
  const warnings: Note[] = [...base.warnings];
  if (inOnto && merges === 0) {
    blockers.push({ code: "already_there", message: "the branch already stands on ontoRef" });
  }
  if (merges > 0) {
    warnings.push({
      code: "merges_flattened",
      message: `${merges} merge commits are left out; their commits are replayed one by one`,
    });
  }
  const published = all - unpublished;
  if (published > 0) {
    warnings.push({
      code: "published",
      message:
        `${published} of the commits are on a remote branch already: pushing afterwards needs force`,
    });
  }
  const skipped = all - merges - replayed.total;
  if (skipped > 0) {
    warnings.push({
      code: "already_applied",
      message: `${skipped} commits are left out because ontoRef has the same changes already`,
    });
  }
  // Git checks out ontoRef first, and what comes after it writes files of this branch, which are tracked.
  const look: LookAt = async (to, env) =>
    inTheWayBlockers(await findInTheWay(repo, to, found.changed, env));
  const replay = forward ? await forwarded(place, look) : await tried(place, replayed.total, look);
  if (replay?.conflict) {
    blockers.push({
      code: "conflicts",
      message: `the replay would stop at ${replay.conflict.oid.slice(0, 12)} with conflicts`,
      paths: replay.conflict.paths.slice(0, 50),
    });
  } else if (replay === null) {
    warnings.push({
      code: "not_predicted",
      message: "whether it replays cleanly could not be told; a conflict takes everything back",
    });
  }
  const first = await look(onto, {});
  blockers.push(...first.length > 0 ? first : replay?.predicted?.blockers ?? []);
  const { diff, tree, arming } = replay?.predicted ?? { diff: NO_DIFF, tree: null, arming: [] };
  return {
    ...base,
    facts: { ...base.facts, resultTree: tree },
    blockers,
    warnings: [...warnings, ...arming],
    effect: {
      ...base.effect,
      ...diff,
      refs: [{ ref, before: oid, after: forward ? onto : "new" }],
      commits: replayed.commits,
      commitsTotal: replayed.total,
      details: {
        onto: place.action.ontoRef,
        ontoCommit: onto,
        publishedCommits: published,
        mergeCommits: merges,
        alreadyApplied: skipped,
        becomeEmpty: replay?.emptied ?? null,
      },
    },
    paths: replay?.predicted ? diff.files.map((file) => file.path) : null,
  };
}

/** Nothing of its own to replay: the branch goes forward. */
async function forwarded(place: Place, look: LookAt): Promise<Replay> {
  return { predicted: await known(place, place.oid, place.onto, look), conflict: null, emptied: 0 };
}

async function tried(place: Place, total: number, look: LookAt): Promise<Replay | null> {
  const { repo, oid, onto } = place;
  if (total > 1_000) return null;
  const text = await repo.text([
    "rev-list",
    "--parents",
    "--reverse",
    "--topo-order",
    "--cherry-pick",
    "--right-only",
    "--no-merges",
    `${onto}...${oid}`,
    "--",
  ]);
  const commits = text.split("\n").filter(Boolean).map((line) => line.split(" "));
  if (commits.some((words) => words.length !== 2)) return null;
  return await predictReplay(
    place,
    onto,
    commits.map(([commit, parent]) => ({ oid: commit!, parent: parent! })),
    oid,
    look,
  );
}

function changeBlockers(changed: readonly ChangedPath[]): Note[] {
  // What is checked out inside submodules is no obstacle to git, as long as nothing of it is staged.
  const dirty = changed.filter(({ entry, kind }) =>
    kind !== "untracked" && !(entry.submodule && entry.status[0] === " ")
  );
  return dirty.length === 0 ? [] : [{
    code: "local_changes",
    message: "git rebases only a clean work tree: commit or discard the changes first",
    paths: namesOf(dirty),
  }];
}

async function isAncestor(repo: Repository, older: string, newer: string): Promise<boolean> {
  const out = await repo.run(["merge-base", "--is-ancestor", older, newer], { okCodes: [0, 1] });
  return out.code === 0;
}

/** Somebody moved the branch before git began: their commit comes back, refused if it moved once more. */
async function takeBack(
  ref: string,
  now: string | null,
  began: string | null,
  context: OperationContext,
): Promise<ExecutionResult> {
  const what = "the branch moved before it was rebased";
  try {
    if (now === null || began === null) throw new Error("where it began is not known");
    await moveRefs(context, [{ ref, from: now, to: began }], "rebase: taken back");
    await approvedGit(context, ["reset", "--quiet", "--no-recurse-submodules", "--hard"]);
    return {
      status: "failed",
      message: `stale: ${what}; the rebase was taken back`,
      members: {},
      leaveAsIs: true,
    };
  } catch (error) {
    return failedWith(error, what);
  }
}
