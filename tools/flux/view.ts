import type { Head } from "../../git/head.ts";
import {
  canRedo,
  canUndo,
  type Checkpoint,
  listPath,
  type NotCovered,
  type RefChange,
  type RestorePoint,
} from "../../restore/mod.ts";

/** A restore point as answers carry it: `read-tools.md` 0.8 with an id of its own and what it covers. */
export interface PointView {
  readonly id: string;
  readonly repoId: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly operation: string | null;
  /** Why it was made: before an operation, before a restore, by hand; absent for a foreign checkpoint. */
  readonly kind?: string;
  /** `open` while the operation runs or after it broke off, `finished`, `failed`. */
  readonly state?: string;
  readonly canUndo: boolean;
  readonly canRedo: boolean;
  readonly approvalRequired: true;
  readonly metadata: {
    readonly checkpointPath: string;
    /** Unix seconds. */
    readonly createdAt: number | null;
    readonly branchRef: string | null;
    readonly undone: boolean;
    readonly beforeRef: string | null;
    readonly afterRef: string | null;
    readonly upstreamRef: string | null;
    readonly resetMode: string | null;
    readonly plan: unknown;
    readonly currentBranchRef: string | null;
    readonly currentHead: string | null;
  };
  /** For order; not part of answers. */
  readonly createdAtMs: number | null;
}

/** A point of the gateway's list. */
export function viewPoint(
  point: RestorePoint,
  repoId: string,
  runDir: string,
  head: Head,
): PointView {
  const now = { ref: head.ref, oid: head.oid };
  return {
    id: point.id,
    repoId,
    before: point.head.oid,
    after: point.headAfter?.oid ?? null,
    operation: point.operation,
    kind: point.kind,
    state: point.state,
    canUndo: canUndo(point, now),
    canRedo: canRedo(point, now),
    approvalRequired: true,
    metadata: {
      checkpointPath: listPath(runDir, repoId),
      createdAt: Math.floor(point.createdAtMs / 1_000),
      branchRef: point.headAfter?.ref ?? point.head.ref,
      undone: point.undone,
      // The commits are kept in a repository of their own, which has no names for others to use.
      beforeRef: null,
      afterRef: null,
      upstreamRef: null,
      resetMode: point.resetMode,
      plan: point.plan,
      currentBranchRef: head.ref,
      currentHead: head.oid,
    },
    createdAtMs: point.createdAtMs,
  };
}

/** The single checkpoint file of another program, which has no id of its own. */
export function viewCheckpoint(checkpoint: Checkpoint, repoId: string, head: Head): PointView {
  const { branchRef, before, after, createdAt, undone } = checkpoint;
  const sameBranch = head.ref !== null && head.ref === branchRef;
  return {
    id: `checkpoint-${createdAt ?? 0}-${(after ?? before ?? "").slice(0, 12)}`,
    repoId,
    before,
    after,
    operation: checkpoint.operation,
    canUndo: !undone && sameBranch && after !== null && head.oid === after,
    canRedo: undone && sameBranch && before !== null && head.oid === before,
    approvalRequired: true,
    metadata: {
      checkpointPath: checkpoint.path,
      createdAt,
      branchRef,
      undone,
      beforeRef: checkpoint.beforeRef,
      afterRef: checkpoint.afterRef,
      upstreamRef: checkpoint.upstreamRef,
      resetMode: checkpoint.resetMode,
      plan: checkpoint.plan,
      currentBranchRef: head.ref,
      currentHead: head.oid,
    },
    createdAtMs: createdAt === null ? null : createdAt * 1_000,
  };
}

/** The members of an answer, without what only sorts. */
export function shown({ createdAtMs: _, ...view }: PointView): Omit<PointView, "createdAtMs"> {
  return view;
}

/** What more a single point tells. */
export interface PointDetails {
  readonly previewId?: string;
  readonly agentId?: string;
  readonly branchBefore: string | null;
  readonly files: number | null;
  readonly copiedFiles: number;
  readonly copiedBytes: number;
  /** Refs that the operation moved, the first of them. */
  readonly refs: readonly RefChange[];
  readonly refsTotal: number;
  readonly notCovered: NotCovered;
  readonly restores?: string;
}

export function details(point: RestorePoint): PointDetails {
  return {
    ...(point.previewId === null ? {} : { previewId: point.previewId }),
    ...(point.agentId === null ? {} : { agentId: point.agentId }),
    branchBefore: point.head.ref,
    files: point.files,
    copiedFiles: point.copiedFiles,
    copiedBytes: point.copiedBytes,
    refs: point.refs,
    refsTotal: point.refsTotal,
    notCovered: point.notCovered,
    ...(point.restores === null ? {} : { restores: point.restores }),
  };
}
