import type { Shape, Z } from "../../registry/define.ts";

/** Pieces of the proposal tools' schemas (`tool-schemas.md` sections 4 and 5). */

/** The operations that can be proposed; the tool is `operation.preview.<type>`. */
export const OPERATION_TYPES = [
  "merge",
  "rebase",
  "discard",
  "reset",
  "patch",
  "plan",
  "worktree",
  "commit",
  "push",
  "branch",
  "branchDelete",
  "submodulePointer",
] as const;
export type OperationType = typeof OPERATION_TYPES[number];

/** The ones that a plan can hold as steps. */
export const STEP_TYPES = ["merge", "rebase", "discard", "reset", "patch"] as const;

export const ref = (z: Z) => z.string().min(1).max(4_096);
export const paths = (z: Z) => z.array(z.string().min(1).max(32_768)).max(10_000);
export const strategy = (z: Z) => z.enum(["merge", "squash"]);
export const resetMode = (z: Z) => z.enum(["soft", "mixed", "hard"]);
export const patchContent = (z: Z) => z.string().min(1).max(4_194_304);
/** Full id of a commit, 40 or 64 lower-case digits. */
export const pin = (z: Z) =>
  z.string().max(4_096).regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/).optional();
export const id = (z: Z) => z.string().min(1).max(128).regex(/^[A-Za-z0-9_-]+$/);

/** Arguments of every proposal, after its own ones. */
export const proposal = (z: Z) => ({
  reason: z.string().min(1).max(4_096),
  idempotencyKey: id(z).optional(),
});

/** A restore point as a finished operation reports it. */
const operationRestorePoint = (z: Z) =>
  z.object({
    operation: z.string(),
    branchRef: z.string(),
    beforeCommit: z.string(),
    afterCommit: z.string(),
    canUndo: z.boolean(),
  });

/** `result` of a finished operation: the base and the operation's own members, all optional. */
export const completion = (z: Z, own: Shape = {}) =>
  z.object({
    status: z.enum(["completed", "failed"]).optional(),
    message: z.string().optional(),
    restorePoint: operationRestorePoint(z).optional(),
    ...own,
  });

/** `data` of a proposal that has already been carried out when the call returns. */
export const completedData = (z: Z, type: OperationType, own: Shape) =>
  z.object({
    previewId: z.string(),
    operationType: z.literal(type).optional(),
    status: z.literal("completed"),
    // A gateway may answer anything; what it should answer is described.
    result: z.union([completion(z, own), z.unknown()]).optional(),
  });

/** Anything that a gateway may answer; its members are described by the tool that made the proposal. */
export const relayed = (z: Z) =>
  z.union([
    z.object({
      previewId: z.string().optional(),
      operationType: z.string().optional(),
      status: z.string().optional(),
      result: z.unknown().optional(),
      rejectionReason: z.string().optional(),
      expiresAt: z.string().optional(),
    }),
    z.unknown(),
  ]);
