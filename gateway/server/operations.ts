import type { Operation, OperationType } from "./types.ts";

/** One file an operation; loaded when a proposal of that type is first looked at. */
const LOADERS: Readonly<Record<OperationType, () => Promise<{ operation: unknown }>>> = {
  merge: () => import("./executor/merge.ts"),
  rebase: () => import("./executor/rebase.ts"),
  discard: () => import("./executor/discard.ts"),
  reset: () => import("./executor/reset.ts"),
  patch: () => import("./executor/patch.ts"),
  plan: () => import("./executor/plan.ts"),
  worktree: () => import("./executor/worktree.ts"),
  commit: () => import("./executor/commit.ts"),
  push: () => import("./executor/push.ts"),
  branch: () => import("./executor/branch.ts"),
  branchDelete: () => import("./executor/branch_delete.ts"),
  submodulePointer: () => import("./executor/submodule_pointer.ts"),
};

/** The operation of a type. */
export async function loadOperation(type: OperationType): Promise<Operation> {
  return (await LOADERS[type]()).operation as Operation;
}
