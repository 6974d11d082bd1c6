/**
 * Bounds of restore points. They are kept by count and age; what falls out is removed from the list at
 * the next point and from disk at the next compaction.
 */
export const RESTORE_LIMITS = {
  /** Newest points kept of one work tree. */
  points: 100,
  /** Points older than this are dropped, but never the newest one. */
  ageMs: 30 * 24 * 60 * 60 * 1_000,
  /** Tips of deleted branches kept of one repository, newest first. */
  branchTips: 500,
  branchTipAgeMs: 90 * 24 * 60 * 60 * 1_000,
  /** Bytes of files that one point copies; more is refused before anything is copied. */
  copiedBytes: 4 * 1024 ** 3,
  /** Text of all refs. */
  refsBytes: 64 * 1024 * 1024,
  /** Files of an operation in progress: how many, and bytes of all. */
  stateFiles: 2_000,
  stateBytes: 32 * 1024 * 1024,
  /** First names given of what a point does not cover. */
  firstNames: 20,
  /** Moved refs that the list names of one point. */
  listedRefs: 100,
  /** Largest list file that is read. */
  listBytes: 8 * 1024 * 1024,
  /** Milliseconds for one git command of this room. */
  deadlineMs: 10 * 60 * 1_000,
  /** Objects of points that lie loose before they are packed. */
  looseObjects: 6_000,
  /** Points dropped before the disk space is taken back. */
  droppedPoints: 25,
} as const;
