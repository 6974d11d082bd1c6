import { encodeText } from "../common/bytes.ts";
import type { Repository } from "../git/repository.ts";
import { writeCheckpoint } from "./checkpoint.ts";
import { compactIfDue, countDropped } from "./compact.ts";
import { reasonOf, RestoreError } from "./errors.ts";
import { HiddenRepository } from "./hidden.ts";
import { RESTORE_LIMITS } from "./limits.ts";
import { readHoldState } from "./hold.ts";
import type { RepositoryLock } from "./lock.ts";
import { textOf } from "./raw.ts";
import { rebuildList } from "./rebuild.ts";
import { repositoryPath } from "./registry.ts";
import { headState, type RawRefChange, refChanges } from "./refs.ts";
import { readSnapshot, takeAfterSnapshot, takeSnapshot } from "./snapshot.ts";
import { type ListBounds, listPath, putAside, readList, writeList } from "./store.ts";
import type {
  BranchTip,
  Direction,
  PointKind,
  PointState,
  RefChange,
  RestoreList,
  RestorePoint,
} from "./types.ts";

/** Who writes, where, and when; every writing function of this room takes it. */
export interface WriteContext {
  readonly runDir: string;
  /** Id that the repository is registered under. */
  readonly repoId: string;
  /** Held for `repo.facts.commonDir`. */
  readonly lock: RepositoryLock;
  /** Wall clock, Unix milliseconds. */
  readonly now: () => number;
  /** Takes one line for people, for what is not an error of the call. */
  readonly log?: (line: string) => void;
  /** Bounds of the list where they are not the usual ones. */
  readonly bounds?: Partial<ListBounds>;
}

export interface PointRequest {
  /** Operation type of the contract, or another plain word. */
  readonly operation: string;
  readonly previewId: string | null;
  readonly agentId: string | null;
  readonly kind?: PointKind;
  readonly resetMode?: string | null;
  readonly plan?: unknown;
  /** For kind `restore`. */
  readonly restores?: { readonly id: string; readonly direction: Direction };
  /** Raw names to take in although they are ignored now. */
  readonly include?: readonly string[];
  /** Ceiling of copied bytes; default `RESTORE_LIMITS.copiedBytes`. */
  readonly maxBytes?: number;
}

/**
 * Makes a restore point of HEAD, all refs, the index, every tracked and untracked file and the state of
 * an operation in progress. Nothing of the repository itself is changed. When it resolves the point is
 * on disk and listed.
 *
 * @throws {RestoreError} when a complete point cannot be made (`cannot_make`, `store_altered`, `busy`)
 */
export async function createRestorePoint(
  repo: Repository,
  context: WriteContext,
  request: PointRequest,
): Promise<RestorePoint> {
  checkLock(repo, context);
  const hidden = openHidden(repo);
  const nowMs = context.now();
  const list = await readListForWriting(repo, hidden, context);
  const id = newPointId(nowMs, list.points.at(-1)?.id ?? "");
  let point: RestorePoint | undefined;
  try {
    const snapshot = await takeSnapshot(
      repo,
      hidden,
      (taken) => ({
        version: 1,
        repoPath: repositoryPath(repo),
        point: point = {
          id,
          kind: request.kind ?? "operation",
          operation: request.operation,
          previewId: request.previewId,
          agentId: request.agentId,
          createdAtMs: nowMs,
          state: "open",
          head: headState(taken.refs),
          headAfter: null,
          refs: [],
          refsTotal: 0,
          snapshot: "",
          snapshotAfter: null,
          files: taken.workTree?.files ?? null,
          copiedFiles: taken.workTree?.copiedFiles ?? 0,
          copiedBytes: taken.workTree?.copiedBytes ?? 0,
          notCovered: taken.notCovered,
          undone: false,
          undoPoint: null,
          restores: request.restores?.id ?? null,
          direction: request.restores?.direction ?? null,
          resetMode: request.resetMode ?? null,
          plan: request.plan ?? null,
        },
      }),
      {
        ...(request.include ? { include: request.include } : {}),
        ...(request.maxBytes === undefined ? {} : { maxBytes: request.maxBytes }),
      },
    );
    point = { ...point!, snapshot: snapshot.root };
    await moveHiddenRefs(hidden, [[`refs/restore/${id}/before`, snapshot.root]]);
  } catch (error) {
    if (error instanceof RestoreError) throw error;
    throw new RestoreError("cannot_make", `the restore point cannot be made: ${reasonOf(error)}`);
  }
  const grown = { ...list, points: [...list.points, point] };
  await saveList(repo, hidden, context, grown, request.restores?.id ?? null);
  // Usually the end of an operation is the time for this; when none ends, it must not wait for ever.
  if (!request.restores && readHoldState(hidden).dropped >= 4 * RESTORE_LIMITS.droppedPoints) {
    await compactIfDue(repo, hidden, context.log);
  }
  return point;
}

/**
 * Records what an operation led to: HEAD and refs afterwards, and the work tree, so that files which
 * the operation made are known as its own. Keeps the reference's single checkpoint file up to date for
 * operations that moved the branch. Then takes disk space back when that is due.
 *
 * @returns the point as it is now; null when it is no longer listed
 */
export async function finishRestorePoint(
  repo: Repository,
  context: WriteContext,
  id: string,
  outcome: "completed" | "failed",
): Promise<RestorePoint | null> {
  checkLock(repo, context);
  const state = outcome === "completed" ? "finished" : "failed";
  return await finishPoint(repo, openHidden(repo), context, id, state);
}

/** {@link finishRestorePoint} for those who have the hidden repository open. */
export async function finishPoint(
  repo: Repository,
  hidden: HiddenRepository,
  context: WriteContext,
  id: string,
  state: PointState,
): Promise<RestorePoint | null> {
  const list = await readListForWriting(repo, hidden, context);
  const found = list.points.find((point) => point.id === id);
  if (!found) return null;
  const before = await readSnapshot(hidden, found.snapshot);
  const after = await takeAfterSnapshot(repo, hidden);
  await moveHiddenRefs(hidden, [[`refs/restore/${id}/after`, after.root]]);
  const changes = refChanges(before.refs, after.refs);
  const point: RestorePoint = {
    ...found,
    state,
    headAfter: headState(after.refs),
    refs: changes.slice(0, RESTORE_LIMITS.listedRefs).map(shownChange),
    refsTotal: changes.length,
    snapshotAfter: after.root,
  };
  const tips = await keepTips(hidden, context, point, changes);
  await saveList(repo, hidden, context, {
    ...replacePoint(list, point),
    branchTips: [...list.branchTips, ...tips],
  });
  if (state === "finished" && point.kind === "operation") {
    await writeCheckpoint(repo, hidden, context, point).catch((error) =>
      context.log?.(`the checkpoint file was not written: ${reasonOf(error)}`)
    );
  }
  await compactIfDue(repo, hidden, context.log);
  return point;
}

/** Keeps the tips of branches that the operation deleted, longer than the point itself. */
async function keepTips(
  hidden: HiddenRepository,
  context: WriteContext,
  point: RestorePoint,
  changes: readonly RawRefChange[],
): Promise<BranchTip[]> {
  const deletedAtMs = context.now();
  let newest = "";
  const tips = changes.filter(({ name, to }) => name.startsWith("refs/heads/") && to === null)
    .slice(0, RESTORE_LIMITS.branchTips).map(({ name, from }): BranchTip => {
      newest = newPointId(deletedAtMs, newest);
      return {
        id: newest,
        ref: textOf(name),
        oid: from!.oid,
        deletedAtMs,
        pointId: point.id,
        previewId: point.previewId,
      };
    });
  if (tips.length > 0) {
    await moveHiddenRefs(hidden, tips.map((tip) => [`refs/branch-tips/${tip.id}`, tip.oid]));
  }
  return tips;
}

/** Throws unless the caller holds the lock of this repository. */
export function checkLock(
  repo: Repository,
  context: { readonly lock: RepositoryLock },
): void {
  context.lock.check();
  if (context.lock.commonDir !== repo.facts.commonDir) {
    throw new RestoreError("busy", "the lock that is held belongs to another repository");
  }
}

/** Opens the hidden repository, making it when there is none. */
export function openHidden(repo: Repository): HiddenRepository {
  return HiddenRepository.open(repo, { create: true })!;
}

/** The list to add to; a damaged one is put aside and rebuilt from the snapshots themselves. */
export async function readListForWriting(
  repo: Repository,
  hidden: HiddenRepository,
  context: WriteContext,
): Promise<RestoreList> {
  const repoPath = repositoryPath(repo);
  const state = await readList(context.runDir, context.repoId, repoPath);
  if (state.kind === "ok") return state.list;
  if (state.kind === "none") return { repoPath, points: [], branchTips: [] };
  let aside: string;
  try {
    aside = putAside(context.runDir, context.repoId, context.now());
  } catch (error) {
    throw new RestoreError(
      "store_unreadable",
      `${
        listPath(context.runDir, context.repoId)
      } cannot be read (${state.reason}) nor put aside: ${reasonOf(error)}`,
    );
  }
  // Written at once: whoever reads next must not find none.
  const list = await saveList(repo, hidden, context, await rebuildList(hidden, repoPath));
  context.log?.(
    `the list of restore points was damaged (${state.reason}): it lies in ${aside}, and ${list.points.length} points were found again`,
  );
  return list;
}

/** Writes the list and lets go of what fell out of it. */
export async function saveList(
  _repo: Repository,
  hidden: HiddenRepository,
  context: WriteContext,
  list: RestoreList,
  inUse: string | null = null,
): Promise<RestoreList> {
  const written = await writeList(context.runDir, context.repoId, list, context.now(), {
    ...RESTORE_LIMITS,
    ...context.bounds,
  }, inUse);
  if (written.dropped.length > 0) {
    await deleteHiddenRefs(hidden, new Set(written.dropped));
    countDropped(hidden, written.dropped.length);
  }
  return written.list;
}

export function replacePoint(list: RestoreList, point: RestorePoint): RestoreList {
  return { ...list, points: list.points.map((old) => (old.id === point.id ? point : old)) };
}

/** Creates or moves refs of the hidden repository. */
export async function moveHiddenRefs(
  hidden: HiddenRepository,
  moves: readonly (readonly [ref: string, oid: string])[],
): Promise<void> {
  await hidden.run(["update-ref", "--stdin", "-z"], {
    stdin: encodeText(moves.map(([ref, oid]) => `update ${ref}\0${oid}\0\0`).join("")),
  });
}

async function deleteHiddenRefs(hidden: HiddenRepository, ids: ReadonlySet<string>): Promise<void> {
  const text = await hidden.text([
    "for-each-ref",
    "--format=%(refname)",
    "refs/restore/",
    "refs/branch-tips/",
  ]);
  const gone = text.split("\n").filter((ref) => ids.has(ref.split("/")[2] ?? ""));
  if (gone.length === 0) return;
  await hidden.run(["update-ref", "--stdin", "-z"], {
    stdin: encodeText(gone.map((ref) => `delete ${ref}\0\0`).join("")),
  });
}

function shownChange({ name, from, to }: RawRefChange): RefChange {
  return { ref: textOf(name), before: from?.oid ?? null, after: to?.oid ?? null };
}

/** Ids sort by time; two in one millisecond by chance, but never before an older one. */
export function newPointId(nowMs: number, newest: string): string {
  const chance = Array.from(
    crypto.getRandomValues(new Uint8Array(8)),
    (byte) => (byte % 36).toString(36),
  ).join("");
  const time = nowMs.toString(36).padStart(9, "0");
  const newestTime = newest.split("-")[0] ?? "";
  if (newestTime < time || newestTime.length !== time.length) return `${time}-${chance}`;
  // The clock went back or stands still: one tick after the newest.
  const next = (Number.parseInt(newestTime, 36) + 1).toString(36).padStart(9, "0");
  return `${next}-${chance}`;
}
