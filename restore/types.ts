/** Shapes that restore points have in the list file and for callers. Times are Unix milliseconds. */

/** Where HEAD stands. */
export interface HeadState {
  /** Full ref; null when detached. */
  readonly ref: string | null;
  /** Full id; null while unborn. */
  readonly oid: string | null;
}

/** A ref that an operation or a restore moves; null means that it does not exist. */
export interface RefChange {
  readonly ref: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** Something with a count and its first names. */
export interface Named {
  readonly count: number;
  readonly first: readonly string[];
}

/** What a point does not bring back. Members that would say nothing are left out. */
export interface NotCovered {
  /** Ignored files; a folder that is ignored as a whole counts once and ends with `/`. */
  readonly ignored?: Named;
  /** Repositories inside the work tree that are not submodules. */
  readonly nestedRepositories?: Named;
  /** Submodules: the recorded commit is covered, what is checked out inside is not. */
  readonly submodules?: Named;
  /** Names that Git refuses to track (a part is `.git` in any case). */
  readonly refusedNames?: Named;
  /** Files of an operation in progress that were too many or too large. */
  readonly operationState?: Named;
  /** Refs that were broken already. */
  readonly brokenRefs?: Named;
  /** History is kept by git's own reflog alone: hard links are not possible here. */
  readonly historyKeptByReflogOnly?: true;
}

/** Why a point was made. */
export type PointKind = "operation" | "restore" | "manual";
export type PointState = "open" | "finished" | "failed";
/** `bring_back`: after an operation that failed; nothing to undo later. */
export type Direction = "apply" | "undo" | "redo" | "bring_back";

/** One restore point as the list file holds it. */
export interface RestorePoint {
  /** Stable: time and chance, `[0-9a-z-]`. Newer ids sort after older ones. */
  readonly id: string;
  readonly kind: PointKind;
  /** Operation that it was made before (`merge`, `discard` …), or `restore`, or a word of the caller. */
  readonly operation: string;
  readonly previewId: string | null;
  readonly agentId: string | null;
  readonly createdAtMs: number;
  /** `open` until the operation is over. */
  readonly state: PointState;
  readonly head: HeadState;
  /** HEAD when the operation was over; null while open. */
  readonly headAfter: HeadState | null;
  /** Refs that the operation moved, the first of them. */
  readonly refs: readonly RefChange[];
  readonly refsTotal: number;
  /** Root of the snapshot in the hidden repository, and of the one taken afterwards. */
  readonly snapshot: string;
  readonly snapshotAfter: string | null;
  /** Files in the work tree snapshot; null in a bare repository. */
  readonly files: number | null;
  /** Files and bytes that had to be copied for it. */
  readonly copiedFiles: number;
  readonly copiedBytes: number;
  readonly notCovered: NotCovered;
  readonly undone: boolean;
  /** Point that holds the state before it was undone: what redo brings back. */
  readonly undoPoint: string | null;
  /** For kind `restore`: the point that was applied, and how. */
  readonly restores: string | null;
  readonly direction: Direction | null;
  readonly resetMode: string | null;
  /** Counts or other details of the operation, as given. */
  readonly plan: unknown;
}

/** Tip of a deleted branch. */
export interface BranchTip {
  readonly id: string;
  /** Full ref. */
  readonly ref: string;
  readonly oid: string;
  readonly deletedAtMs: number;
  readonly pointId: string | null;
  readonly previewId: string | null;
}

/** The list of one registered repository. */
export interface RestoreList {
  /** Canonical path of the repository it belongs to. */
  readonly repoPath: string;
  /** Oldest first. */
  readonly points: readonly RestorePoint[];
  readonly branchTips: readonly BranchTip[];
}
