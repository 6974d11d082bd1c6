import { indexFingerprint } from "../git/index_file.ts";
import type { Repository } from "../git/repository.ts";
import { reasonOf, RestoreError } from "./errors.ts";
import { treeChanges } from "./file_plan.ts";
import { replaceFile, writePermissions, writeState, writeTree } from "./files.ts";
import type { HiddenRepository } from "./hidden.ts";
import { clearInterrupted, type IndexLock, lockIndex } from "./index_lock.ts";
import { bringObjectsBack, checkTree } from "./objects.ts";
import {
  changedState,
  planRestore,
  readState,
  refuseBlocked,
  type RestorePlan,
  type RestorePreview,
} from "./plan.ts";
import {
  checkLock,
  createRestorePoint,
  finishPoint,
  openHidden,
  readListForWriting,
  type WriteContext,
} from "./points.ts";
import { moveHead, moveRefs, reversed, writeStash } from "./ref_moves.ts";
import { readRefState, refChanges, type RefState } from "./refs.ts";
import { readIndexFile } from "./snapshot.ts";
import { findBranchTip, previewBranch, restoreBranch } from "./branches.ts";
import type { BranchTip, Direction, RestorePoint } from "./types.ts";
import { captureWorkTree } from "./work_tree.ts";

export interface RestoreRequest {
  /** Id of a restore point, or of the kept tip of a deleted branch. */
  readonly pointId: string;
  readonly agentId?: string | null;
  readonly direction?: Direction;
  /** Digest of the preview that a person saw; anything else is refused as stale. */
  readonly expectedDigest?: string;
}

export interface RestoreResult {
  /** The point that was gone back to; for a branch made again, the point made before it. */
  readonly point: RestorePoint;
  /** The branch that was made again. */
  readonly branch?: BranchTip;
  /** The point made before: applying it takes all of this back. */
  readonly madePoint: RestorePoint;
  readonly preview: RestorePreview;
  /** Everything was compared with the point afterwards and is the same, but for what was left. */
  readonly verified: boolean;
  /** What was found to differ afterwards; empty when verified. */
  readonly differences: readonly string[];
}

/**
 * Tells what applying a point would change, without changing it. The caller holds the lock.
 *
 * @throws {RestoreError} `not_found`, `objects_missing`, `store_unreadable`
 */
export async function previewRestore(
  repo: Repository,
  context: WriteContext,
  pointId: string,
): Promise<RestorePreview> {
  checkLock(repo, context);
  const hidden = openHidden(repo);
  clearInterrupted(hidden);
  const tip = await findBranchTip(repo, context, pointId);
  if (tip) return await previewBranch(repo, tip);
  const point = await findPoint(repo, hidden, context, pointId);
  return (await planRestore(repo, hidden, point)).preview;
}

/**
 * Goes back to a point: HEAD, refs, index, files with their modes and links, the stash, and an
 * operation in progress. Makes a point of the present first, so nothing is lost; leaves files and refs
 * that the point does not know. The caller holds the lock.
 *
 * @throws {RestoreError} `not_found`; `stale` (changed since the preview); `would_lose` with counts;
 * `objects_missing`; `busy`; `failed` when it broke off in the middle, with how the repository was left
 */
export async function applyRestore(
  repo: Repository,
  context: WriteContext,
  request: RestoreRequest,
): Promise<RestoreResult> {
  checkLock(repo, context);
  const hidden = openHidden(repo);
  clearInterrupted(hidden);
  const tip = await findBranchTip(repo, context, request.pointId);
  if (tip) return await applyBranch(repo, hidden, context, tip, request);
  const point = await findPoint(repo, hidden, context, request.pointId);
  let plan = await planRestore(repo, hidden, point);
  if (request.expectedDigest !== undefined && plan.preview.digest !== request.expectedDigest) {
    throw changedSince();
  }
  refuseBlocked(plan.preview);
  if (plan.target.tree !== null) await checkTree(hidden, plan.target.tree);
  const madePoint = await createRestorePoint(repo, context, {
    operation: "restore",
    kind: "restore",
    previewId: null,
    agentId: request.agentId ?? null,
    restores: { id: point.id, direction: request.direction ?? "apply" },
    include: plan.include,
  });
  const digest = plan.preview.digest;
  plan = await planRestore(repo, hidden, point);
  if (plan.preview.digest !== digest) {
    throw new RestoreError(
      "stale",
      `the repository is being changed at this moment; nothing was brought back (the point ${madePoint.id} of the present stays)`,
    );
  }
  const lock = lockIndex(repo, hidden);
  const reason = `fluxgit restore: ${point.id}`;
  try {
    await carryOut(repo, hidden, plan, lock, reason);
  } catch (error) {
    await finishPoint(repo, hidden, context, madePoint.id, "failed").catch(() => null);
    throw await takenBack(repo, hidden, plan, lock, madePoint, error);
  }
  const differences = await compare(repo, hidden, plan);
  const finished = await finishPoint(repo, hidden, context, madePoint.id, "finished");
  return {
    point,
    madePoint: finished ?? madePoint,
    preview: plan.preview,
    verified: differences.length === 0,
    differences,
  };
}

/** A branch made again at its kept tip, with a point made before as for any other restore. */
async function applyBranch(
  repo: Repository,
  hidden: HiddenRepository,
  context: WriteContext,
  tip: BranchTip,
  request: RestoreRequest,
): Promise<RestoreResult> {
  const preview = await previewBranch(repo, tip);
  if (request.expectedDigest !== undefined && preview.digest !== request.expectedDigest) {
    throw changedSince();
  }
  refuseBlocked(preview);
  const madePoint = await createRestorePoint(repo, context, {
    operation: "restore",
    kind: "restore",
    previewId: null,
    agentId: request.agentId ?? null,
    restores: { id: tip.id, direction: "apply" },
  });
  await restoreBranch(repo, context, tip.id);
  const finished = await finishPoint(repo, hidden, context, madePoint.id, "finished") ?? madePoint;
  return {
    point: finished,
    madePoint: finished,
    branch: tip,
    preview,
    verified: true,
    differences: [],
  };
}

function changedSince(): RestoreError {
  return new RestoreError(
    "stale",
    "the repository changed after the preview; nothing was changed. Look at it again",
  );
}

export async function findPoint(
  repo: Repository,
  hidden: HiddenRepository,
  context: WriteContext,
  id: string,
): Promise<RestorePoint> {
  const list = await readListForWriting(repo, hidden, context);
  const point = list.points.find((candidate) => candidate.id === id);
  if (!point) {
    throw new RestoreError(
      "not_found",
      `there is no restore point and no branch tip ${
        JSON.stringify(id.slice(0, 60))
      } of this repository; list them first`,
    );
  }
  return point;
}

/** In this order: objects, refs with their old values, files, then the index, whose lock is held. */
async function carryOut(
  repo: Repository,
  hidden: HiddenRepository,
  plan: RestorePlan,
  lock: IndexLock,
  reason: string,
): Promise<void> {
  const { target, now } = plan;
  await bringObjectsBack(repo, hidden, target, now.refs);
  const current = await readRefState(repo);
  if (refChanges(now.refs, current).length > 0 || !sameHead(now.refs, current)) {
    throw new RestoreError("stale", "refs moved at this moment; nothing was changed");
  }
  await moveRefs(repo, plan.refs, reason);
  if (plan.refs.head) await moveHead(repo, plan.refs.head, reason);
  if (plan.files && now.workTree) {
    const { tree, created, overwritten, left } = plan.files;
    await writeTree(hidden, now.workTree.tree, tree);
    writePermissions(
      repo,
      [...created, ...overwritten],
      now.workTree.modes,
      target.modes,
      new Set(left),
    );
  }
  writeState(repo, changedState(now.state, target.state), target.state);
  if (plan.stash) await writeStash(repo, plan.stash, now.refs);
  if (target.sharedIndex) {
    replaceFile(`${repo.facts.gitDir}/${target.sharedIndex.name}`, target.sharedIndex.content);
  }
  lock.commit(target.index, target.indexTimeMs);
}

/** After a failure in the middle: the way back, and an error that says how the repository was left. */
async function takenBack(
  repo: Repository,
  hidden: HiddenRepository,
  plan: RestorePlan,
  lock: IndexLock,
  madePoint: RestorePoint,
  error: unknown,
): Promise<RestoreError> {
  const { now } = plan;
  const problems: string[] = [];
  const step = async (work: () => unknown) => {
    try {
      await work();
    } catch (problem) {
      problems.push(reasonOf(problem));
    }
  };
  const refsNow = await readRefState(repo).catch(() => null);
  if (refsNow) {
    const back = reversed(plan.refs, now.refs);
    // Only what really moved: a transaction that git refused moved nothing.
    const moved = new Set(refChanges(now.refs, refsNow).map((change) => change.name));
    const only = {
      ...back,
      moves: back.moves.filter((move) => moved.has(move.name)),
      symbolic: back.symbolic.filter((move) => moved.has(move.name)),
    };
    await step(() => moveRefs(repo, only, `fluxgit restore taken back: ${madePoint.id}`));
    if (!sameHead(now.refs, refsNow)) {
      await step(() =>
        moveHead(
          repo,
          { ref: now.refs.headRef, oid: now.refs.headOid },
          "fluxgit restore taken back",
        )
      );
    }
  }
  const before = now.workTree;
  if (plan.files && before) {
    await step(async () => {
      const present = await captureWorkTree(repo, hidden, { include: named(plan) });
      const changes = await treeChanges(hidden, present.tree, before.tree);
      if (changes.length === 0) return;
      // Files that appeared and are none of the point's stay here too.
      const ours = new Set(
        [...plan.files!.created, ...plan.files!.overwritten, ...plan.files!.removed].map((change) =>
          change.name
        ),
      );
      if (changes.some((change) => !ours.has(change.name))) {
        throw new Error("other files changed at the same time");
      }
      await writeTree(hidden, present.tree, before.tree);
      writePermissions(repo, changes, present.modes, before.modes, new Set());
    });
  }
  await step(() => writeState(repo, changedState(readState(repo), now.state), now.state));
  await step(() => lock.release());
  const stale = error instanceof RestoreError &&
    (error.kind === "stale" || error.kind === "objects_missing");
  const why = reasonOf(error);
  return problems.length === 0
    ? new RestoreError(
      stale ? (error as RestoreError).kind : "failed",
      `${why}; the repository is as it was`,
      { madePoint: madePoint.id },
    )
    : new RestoreError(
      "failed",
      `${why}; the repository was left in between (${
        problems.slice(0, 3).join("; ")
      }): apply the point ${madePoint.id}`,
      { madePoint: madePoint.id },
    );
}

/** Compares everything with the point; gives what differs, in words. */
async function compare(
  repo: Repository,
  hidden: HiddenRepository,
  plan: RestorePlan,
): Promise<string[]> {
  const differences: string[] = [];
  const { target } = plan;
  const refs = await readRefState(repo);
  const left = new Set(plan.refs.left.map((ref) => ref.name));
  if (plan.stash && plan.stash.newer > 0) left.add("refs/stash");
  const moved = refChanges(refs, target.refs).filter((change) => !left.has(change.name));
  if (moved.length > 0) differences.push(`${moved.length} refs`);
  const headLeft = target.refs.headRef !== null && left.has(target.refs.headRef);
  if (!headLeft && !sameHead(refs, target.refs)) differences.push("HEAD");
  const index = readIndexFile(repo);
  const format = repo.facts.objectFormat;
  const print = (bytes: Uint8Array | null) =>
    bytes === null ? null : indexFingerprint(bytes, format);
  if (print(index) !== print(target.index)) differences.push("the index");
  if (plan.files) {
    const capture = await captureWorkTree(repo, hidden, { include: named(plan) });
    const changes = await treeChanges(hidden, capture.tree, plan.files.tree);
    if (changes.length > 0) differences.push(`${changes.length} files`);
    const unknown = new Set(plan.files.left);
    for (const [name, mode] of target.modes) {
      if (capture.modes.get(name) !== mode && !unknown.has(name)) {
        differences.push("permission bits");
        break;
      }
    }
  }
  const state = changedState(readState(repo), target.state);
  if (state.length > 0) differences.push(`${state.length} files of an operation in progress`);
  return differences;
}

/** Names to look at whatever the rules say by now: what was left alone may be ignored again. */
function named(plan: RestorePlan): string[] {
  return [...plan.include, ...plan.files?.left ?? []];
}

function sameHead(a: RefState, b: RefState): boolean {
  return a.headRef === b.headRef && a.headOid === b.headOid;
}
