import { readHead } from "../../../git/head.ts";
import type { Repository } from "../../../git/repository.ts";
import { readIdentity } from "../digest.ts";
import type {
  ExecutionResult,
  Inspection,
  Note,
  Operation,
  OperationContext,
  SubmodulePointerAction,
} from "../types.ts";
import { changedBelow, literalPathspecs, namesOf } from "./shared/changed.ts";
import { commitWith } from "./shared/commit_message.ts";
import {
  commitEffects,
  countCommits,
  countUnheld,
  emptyEffect,
  parentsOf,
} from "./shared/effect.ts";
import {
  commitOf,
  type Facts,
  headFacts,
  lockBlockers,
  unfinishedBlockers,
} from "./shared/facts.ts";
import { COMMIT_HOOKS, hookFacts, identityFacts, signingFacts } from "./shared/hooks.ts";
import { findInTheWay, inTheWayBlockers } from "./shared/in_the_way.ts";
import { approvedGit, failedWith, moveRefs } from "./shared/run.ts";
import { findSubmodule, recordedInHead, submoduleName } from "./shared/submodule_place.ts";

/**
 * submodulePointer (`operations.md` E12): `record` commits the submodule's commit as the parent's new
 * pointer and nothing else; `return` checks out the recorded commit in the submodule, detached. Refused
 * unless the submodule is clean and differs from what is recorded.
 */
export const operation: Operation<SubmodulePointerAction> = {
  type: "submodulePointer",

  async inspect(action, context): Promise<Inspection> {
    const place = await findSubmodule(context.repo, action.parentPath, action.relativePath);
    const full = action.parentPath === ""
      ? action.relativePath
      : `${action.parentPath}/${action.relativePath}`;
    const verb = action.direction === "record" ? "record" : "return to";
    const base: Inspection = {
      facts: {},
      effect: emptyEffect(`${verb} the pointer of the submodule ${full}`),
      risk: "medium",
      destructive: false,
      words: null,
      blockers: place.blockers,
      warnings: [],
      paths: [full],
    };
    if (place.parent === null || place.submodule === null || place.recorded === null) return base;
    return await inspectPlace(action, base, {
      parent: place.parent,
      submodule: place.submodule,
      recorded: place.recorded,
      full,
    });
  },

  async execute(action, inspection, context): Promise<ExecutionResult> {
    const place = await findSubmodule(context.repo, action.parentPath, action.relativePath);
    const { parent, submodule } = place;
    if (parent === null || submodule === null) {
      return { status: "failed", message: "the submodule is gone", members: {}, leaveAsIs: true };
    }
    return action.direction === "record"
      ? await record(action, inspection, { ...context, repo: parent })
      : await goBack(action, inspection, { ...context, repo: submodule });
  },
};

interface Place {
  readonly parent: Repository;
  readonly submodule: Repository;
  /** Commit that the parent's index has for it. */
  readonly recorded: string;
  /** Path from the top of the opened repository. */
  readonly full: string;
}

async function inspectPlace(
  action: SubmodulePointerAction,
  base: Inspection,
  place: Place,
): Promise<Inspection> {
  const { parent, submodule, recorded, full } = place;
  const [parentHead, head, inHead, dirt] = await Promise.all([
    headFacts(parent),
    readHead(submodule),
    recordedInHead(parent, action.relativePath),
    changedBelow(submodule, []),
  ]);
  const checkedOut = head.oid;
  const facts: Facts = {
    "parent.identity": readIdentity(parent).files,
    "parent.ref": parentHead["head.ref"] ?? null,
    "parent.oid": parentHead["head.oid"] ?? null,
    "submodule.identity": readIdentity(submodule).files,
    "submodule.ref": head.ref,
    checkedOut,
    recorded,
    inHead,
  };
  const blockers: Note[] = [...base.blockers];
  if (dirt.changed.length > 0) {
    blockers.push({
      code: "dirty",
      message: "the submodule is not clean: commit or discard what is changed in it first",
      paths: namesOf(dirt.changed),
    });
  }
  if (checkedOut === null) {
    blockers.push({ code: "unborn", message: "the submodule has no commit checked out" });
  } else if (checkedOut === recorded) {
    blockers.push({
      code: "equal",
      message: recorded === inHead
        ? "the submodule is at the recorded commit already"
        : "its commit is staged as the new pointer already: commit what is staged",
    });
  } else if (inHead !== null && inHead !== recorded) {
    blockers.push({
      code: "staged_pointer",
      message: "another pointer is staged already: commit or unstage it first",
    });
  }
  blockers.push(...pinBlockers(action, recorded, checkedOut));
  blockers.push(...await unfinishedBlockers(submodule));
  const filled: Inspection = { ...base, facts, blockers };
  if (checkedOut === null) return filled;
  const part = action.direction === "record"
    ? await recordPart(place, checkedOut)
    : await returnPart(place, checkedOut, head.ref);
  const moved = action.direction === "record"
    ? { from: recorded, to: checkedOut }
    : { from: checkedOut, to: recorded };
  return {
    ...filled,
    facts: { ...facts, ...part.facts },
    blockers: [...blockers, ...part.blockers],
    warnings: part.warnings,
    effect: {
      ...base.effect,
      ...part.effect,
      files: [{ path: full, status: "M", added: 1, deleted: 1, note: "submodule" }],
      filesTotal: 1,
      diff: `diff --git a/${full} b/${full}\n-Subproject commit ${moved.from}\n` +
        `+Subproject commit ${moved.to}\n`,
      details: {
        direction: action.direction,
        recorded,
        checkedOut,
        submoduleBranch: head.branch,
        ...(action.message === null ? {} : { message: action.message }),
        ...part.details,
      },
    },
  };
}

function pinBlockers(
  action: SubmodulePointerAction,
  recorded: string,
  checkedOut: string | null,
): Note[] {
  const blockers: Note[] = [];
  const pin = (name: string, wanted: string | null, is: string | null) => {
    if (wanted === null || wanted === is) return;
    blockers.push({
      code: "pin_mismatch",
      message: `${name} is ${wanted}, but it is ${is ?? "nothing"} now`,
    });
  };
  pin("expectedRecordedOid", action.expectedRecordedOid, recorded);
  pin("expectedCheckedOutOid", action.expectedCheckedOutOid, checkedOut);
  return blockers;
}

interface Part {
  readonly facts: Facts;
  readonly blockers: readonly Note[];
  readonly warnings: readonly Note[];
  readonly effect: Partial<Inspection["effect"]>;
  readonly details: Readonly<Record<string, unknown>>;
}

async function recordPart(place: Place, checkedOut: string): Promise<Part> {
  const { parent, submodule, recorded } = place;
  const known = await commitOf(submodule, recorded) !== null;
  const [hooks, identity, parentHead, unfinished, commits, unpublished, behind] = await Promise.all(
    [
      hookFacts(parent, COMMIT_HOOKS),
      identityFacts(parent),
      readHead(parent),
      unfinishedBlockers(parent),
      commitEffects(submodule, checkedOut, known ? [recorded] : [], "merged"),
      countCommits(submodule, [checkedOut, "--not", "--remotes"]),
      known ? countCommits(submodule, [recorded, `^${checkedOut}`]) : null,
    ],
  );
  const signing = signingFacts(parent);
  const warnings: Note[] = [...hooks.warnings, ...signing.warnings];
  if (unpublished > 0) {
    warnings.push({
      code: "unpublished",
      message:
        "the commit is on no remote-tracking branch of the submodule: others cannot fetch it until it is pushed",
    });
  }
  if (behind !== null && behind > 0) {
    warnings.push({
      code: "pointer_goes_back",
      message: `the recorded commit has ${behind} commits that the new one lacks`,
    });
  }
  const blockers: Note[] = [...unfinished, ...lockBlockers(parent), ...identity.blockers];
  if (parentHead.oid === null) {
    blockers.push({ code: "unborn", message: "the repository around it has no commit yet" });
  }
  if (parentHead.detached) {
    warnings.push({
      code: "detached",
      message: "HEAD of the repository around it is detached: the commit will be on no branch",
    });
  }
  return {
    facts: { ...hooks.facts, ...signing.facts, ...identity.facts },
    blockers,
    warnings,
    effect: {
      refs: [{ ref: parentHead.ref ?? "HEAD", before: parentHead.oid, after: "new" }],
      commits: commits.commits,
      commitsTotal: commits.total,
    },
    details: { author: identity.author, commitsAhead: commits.total, commitsBehind: behind },
  };
}

async function returnPart(
  { submodule, recorded }: Place,
  checkedOut: string,
  ref: string | null,
): Promise<Part> {
  const hooks = await hookFacts(submodule, [
    "post-checkout",
    "reference-transaction",
    "post-index-change",
  ]);
  const blockers: Note[] = [...lockBlockers(submodule)];
  const warnings: Note[] = [...hooks.warnings];
  const effect = {
    refs: [{ ref: "HEAD of the submodule", before: checkedOut, after: recorded }],
  };
  if (await commitOf(submodule, recorded) === null) {
    blockers.push({
      code: "commit_missing",
      message: "the recorded commit is not in the submodule: fetch it there first",
    });
    return { facts: hooks.facts, blockers, warnings, effect, details: {} };
  }
  blockers.push(...inTheWayBlockers(await findInTheWay(submodule, recorded, [])));
  // A branch keeps its commits; a detached HEAD lets go of what nothing else holds.
  const unheld = ref === null ? await countUnheld(submodule, checkedOut, [recorded], null) : 0;
  if (unheld > 0) {
    warnings.push({
      code: "commits_left_behind",
      message:
        `${unheld} commits of the submodule are on no branch: only the restore point and its reflog keep them`,
    });
  }
  const left = await commitEffects(submodule, checkedOut, [recorded], "lost");
  return {
    facts: hooks.facts,
    blockers,
    warnings,
    effect: unheld > 0 ? { ...effect, commits: left.commits, commitsTotal: left.total } : effect,
    details: { commitsOnNoBranch: unheld },
  };
}

/** Commits only the gitlink, in the repository that directly contains the submodule. */
async function record(
  action: SubmodulePointerAction,
  { facts }: Inspection,
  context: OperationContext,
): Promise<ExecutionResult> {
  const { repo } = context;
  const { checkedOut } = facts;
  const before = facts["parent.oid"]!, ref = facts["parent.ref"] ?? null;
  try {
    const name = await submoduleName(repo, action.relativePath);
    await commitWith(
      context,
      action.message ?? "",
      literalPathspecs([action.relativePath]),
      // A submodule whose changes are to be ignored would be left out.
      name === null ? [] : [[`submodule.${name}.ignore`, "none"]],
    );
  } catch (error) {
    return failedWith(error, "the pointer was not recorded");
  }
  const commit = (await readHead(repo)).oid!;
  const [parents, now] = await Promise.all([
    parentsOf(repo, commit),
    recordedInHead(repo, action.relativePath),
  ]);
  if (parents[0] !== before || now !== checkedOut) {
    const what = now === checkedOut ? "HEAD" : "the submodule";
    const message = `stale: ${what} moved before the commit was made; it was taken off again`;
    try {
      await moveRefs(
        context,
        [{ ref: ref ?? "HEAD", from: commit, to: parents[0] ?? null }],
        "commit: taken back",
      );
      await approvedGit(context, [
        "reset",
        "--quiet",
        "--no-recurse-submodules",
        "--",
        `:(top,literal)${action.relativePath}`,
      ]);
      return { status: "failed", message, members: {}, leaveAsIs: true };
    } catch (error) {
      return failedWith(error, message);
    }
  }
  return {
    status: "completed",
    message: `recorded ${checkedOut!.slice(0, 12)} as the pointer of ${action.relativePath}`,
    members: {
      commitSha: commit,
      submodulePointer: {
        direction: "record",
        parentPath: action.parentPath,
        relativePath: action.relativePath,
        ...(ref === null ? {} : { parentHeadRef: ref }),
        previousParentOid: before,
        commitSha: commit,
        pointerOid: checkedOut,
      },
    },
  };
}

/** Checks out the recorded commit in the submodule, on no branch. */
async function goBack(
  action: SubmodulePointerAction,
  { facts }: Inspection,
  context: OperationContext,
): Promise<ExecutionResult> {
  const { recorded, checkedOut } = facts;
  try {
    await approvedGit(context, [
      "checkout",
      "--quiet",
      "--detach",
      "--no-recurse-submodules",
      "--no-overwrite-ignore",
      recorded!,
    ]);
  } catch (error) {
    const { oid, detached } = await readHead(context.repo);
    // A failing post-checkout hook fails the command, but it cannot prevent what was done by then.
    if (!detached || oid !== recorded) {
      return failedWith(error, "the recorded commit was not checked out");
    }
  }
  return {
    status: "completed",
    message: `the submodule ${action.relativePath} is at ${recorded!.slice(0, 12)} again`,
    members: {
      submodulePointer: {
        direction: "return",
        parentPath: action.parentPath,
        relativePath: action.relativePath,
        checkedOutOid: recorded,
        restorePoint: { previousRef: facts["submodule.ref"] ?? null, previousOid: checkedOut },
      },
    },
  };
}
