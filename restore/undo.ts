import type { Repository } from "../git/repository.ts";
import { applyRestore, previewRestore, type RestoreResult } from "./apply.ts";
import { markCheckpoint } from "./checkpoint.ts";
import { RestoreError } from "./errors.ts";
import type { RestorePreview } from "./plan.ts";
import {
  checkLock,
  openHidden,
  readListForWriting,
  replacePoint,
  saveList,
  type WriteContext,
} from "./points.ts";
import { headState, readRefState } from "./refs.ts";
import type { HeadState, RestoreList, RestorePoint } from "./types.ts";

/**
 * Whether a point's operation can be undone as things are: not undone yet, and HEAD is where the
 * operation left it (`read-tools.md` 0.8).
 */
export function canUndo(point: RestorePoint, head: HeadState): boolean {
  return point.state === "finished" && !point.undone && isUndoable(point) &&
    point.headAfter !== null && sameHead(point.headAfter, head);
}

/** Whether a point's operation can be done again: undone, and HEAD is where it was before. */
export function canRedo(point: RestorePoint, head: HeadState): boolean {
  return point.undone && point.undoPoint !== null && sameHead(point.head, head);
}

/** An undo is itself no operation to undo: redo takes it back. */
function isUndoable(point: RestorePoint): boolean {
  return point.kind === "operation" || (point.kind === "restore" && point.direction === "apply");
}

/** The operation that `undo` would undo: the newest that is not undone. */
export function undoCandidate(list: RestoreList): RestorePoint | null {
  return list.points.findLast((point) =>
    point.state === "finished" && !point.undone && isUndoable(point)
  ) ?? null;
}

/** The operation that `redo` would do again: the one undone last, when nothing was done since. */
export function redoCandidate(list: RestoreList): RestorePoint | null {
  let found: RestorePoint | null = null;
  for (const point of list.points) {
    if (!point.undone || point.undoPoint === null) continue;
    if (found === null || found.undoPoint! < point.undoPoint) found = point;
  }
  const undoPoint = found?.undoPoint;
  const since = list.points.some((point) =>
    point.state === "finished" && isUndoable(point) && undoPoint && point.id > undoPoint
  );
  return since ? null : found;
}

/** Previews `undo` or `redo`. The caller holds the lock. Errors as {@link undo}. */
export async function previewUndo(
  repo: Repository,
  context: WriteContext,
  direction: "undo" | "redo",
): Promise<{ readonly operation: RestorePoint; readonly preview: RestorePreview }> {
  const operation = await candidate(repo, context, direction);
  const pointId = direction === "undo" ? operation.id : operation.undoPoint!;
  return { operation, preview: await previewRestore(repo, context, pointId) };
}

/**
 * Undoes the newest operation: goes back to the point made before it.
 *
 * @throws {RestoreError} `not_undoable` when there is none or HEAD has moved since; else as `applyRestore`
 */
export function undo(
  repo: Repository,
  context: WriteContext,
  request: { readonly agentId?: string | null; readonly expectedDigest?: string } = {},
): Promise<RestoreResult> {
  return turn(repo, context, "undo", request);
}

/** Does the operation that was undone last again. Errors as {@link undo}. */
export function redo(
  repo: Repository,
  context: WriteContext,
  request: { readonly agentId?: string | null; readonly expectedDigest?: string } = {},
): Promise<RestoreResult> {
  return turn(repo, context, "redo", request);
}

async function turn(
  repo: Repository,
  context: WriteContext,
  direction: "undo" | "redo",
  request: { readonly agentId?: string | null; readonly expectedDigest?: string },
): Promise<RestoreResult> {
  const operation = await candidate(repo, context, direction);
  const result = await applyRestore(repo, context, {
    ...request,
    direction,
    pointId: direction === "undo" ? operation.id : operation.undoPoint!,
  });
  const hidden = openHidden(repo);
  const list = await readListForWriting(repo, hidden, context);
  const current = list.points.find((point) => point.id === operation.id) ?? operation;
  await saveList(
    repo,
    hidden,
    context,
    replacePoint(list, {
      ...current,
      undone: direction === "undo",
      undoPoint: direction === "undo" ? result.madePoint.id : null,
    }),
  );
  markCheckpoint(context, operation.id, direction === "undo");
  return result;
}

async function candidate(
  repo: Repository,
  context: WriteContext,
  direction: "undo" | "redo",
): Promise<RestorePoint> {
  checkLock(repo, context);
  const list = await readListForWriting(repo, openHidden(repo), context);
  const found = direction === "undo" ? undoCandidate(list) : redoCandidate(list);
  if (!found) throw new RestoreError("not_undoable", `there is nothing to ${direction}`);
  const head = headState(await readRefState(repo));
  const possible = direction === "undo" ? canUndo(found, head) : canRedo(found, head);
  if (!possible) {
    throw new RestoreError(
      "not_undoable",
      `HEAD has moved since ${found.operation} (${found.id}); apply the point by its id to go back all the same`,
      { pointId: found.id },
    );
  }
  return found;
}

function sameHead(a: HeadState, b: HeadState): boolean {
  return a.ref === b.ref && a.oid === b.oid;
}
