/**
 * Restore points: made by the gateway before each operation, listed for the sidecar and the commands,
 * gone back to by a person. This is the room's public face.
 */
export { RestoreError, type RestoreFailure } from "./errors.ts";
export { RESTORE_LIMITS } from "./limits.ts";
export {
  type LockOptions,
  lockRepository,
  type RepositoryLock,
  withRepositoryLock,
} from "./lock.ts";
export {
  findRepoId,
  isRepoId,
  registeredPath,
  registerRepository,
  repositoryPath,
} from "./registry.ts";
export {
  createRestorePoint,
  finishRestorePoint,
  type PointRequest,
  type WriteContext,
} from "./points.ts";
export { readRestorePoints, type StoredPoints } from "./reader.ts";
export { restoreBranch } from "./branches.ts";
export { fingerprintRepository } from "./fingerprint.ts";
export { applyRestore, previewRestore, type RestoreRequest, type RestoreResult } from "./apply.ts";
export { previewDiff, type RestoreDiff } from "./preview_diff.ts";
export type { RestoreBlocker, RestorePreview } from "./plan.ts";
export { canRedo, canUndo, previewUndo, redo, redoCandidate, undo, undoCandidate } from "./undo.ts";
export { hasRestoreStore, isPointId, listPath, type ListState, readList } from "./store.ts";
export {
  type Checkpoint,
  checkpointPath,
  type CheckpointState,
  readCheckpoint,
} from "./checkpoint.ts";
export type {
  BranchTip,
  Direction,
  HeadState,
  Named,
  NotCovered,
  PointKind,
  PointState,
  RefChange,
  RestoreList,
  RestorePoint,
} from "./types.ts";
