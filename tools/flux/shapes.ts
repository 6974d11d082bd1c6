import type { Z } from "../../registry/define.ts";
import { nullableString } from "../shapes.ts";

/** Schemas of restore points and recovery events (`read-tools.md` 0.8 and 20, `tool-schemas.md` 5.4). */

/** Answers need no more than the constant; that a person decides is said in the descriptions. */
export const approvalRequired = (z: Z) => z.literal(true);

/**
 * The run directory belongs to the server. A caller may name it, as the contract allows, but not
 * point the tools at another one.
 */
export const runDir = (z: Z) => z.string().max(32_768).optional();

export const restorePoint = (z: Z) =>
  z.object({
    /** Stable, for restorePointDetails. */
    id: z.string().optional(),
    repoId: z.string(),
    before: nullableString(z),
    after: nullableString(z),
    operation: nullableString(z),
    kind: z.string().optional(),
    state: z.string().optional(),
    canUndo: z.boolean(),
    canRedo: z.boolean(),
    approvalRequired: approvalRequired(z),
    metadata: z.object({
      checkpointPath: z.string(),
      createdAt: z.int().nullable(),
      branchRef: nullableString(z),
      undone: z.boolean(),
      beforeRef: nullableString(z),
      afterRef: nullableString(z),
      upstreamRef: nullableString(z),
      resetMode: nullableString(z),
      plan: z.unknown(),
      currentBranchRef: nullableString(z),
      currentHead: nullableString(z),
    }),
  });

export const safetyEvent = (z: Z) =>
  z.object({
    id: z.string(),
    repoLabel: z.string(),
    source: z.enum(["restore_point", "reflog"]),
    kind: z.enum(["restore_created", "ref_move"]),
    severity: z.enum(["info", "warning"]),
    title: z.string(),
    summary: z.string(),
    occurredAtUnix: z.int(),
    headBefore: nullableString(z),
    headAfter: nullableString(z),
    restorePoint: restorePoint(z).optional(),
    reflogSelector: z.string().optional(),
    canCompare: z.boolean().optional(),
    actions: z.array(z.string()),
    approvalRequired: approvalRequired(z),
    networkFetchPerformed: z.literal(false),
  });
