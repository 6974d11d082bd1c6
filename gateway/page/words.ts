import type { Risk, Status } from "./shapes.ts";

/** Names of operations, states and risks as people read them. Knows no document. */

const OPERATIONS: Readonly<Record<string, string>> = {
  merge: "Merge",
  rebase: "Rebase",
  discard: "Discard changes",
  reset: "Reset",
  patch: "Apply a patch",
  plan: "Plan",
  worktree: "Add a work tree",
  commit: "Commit",
  push: "Push",
  branch: "Create a branch",
  branchDelete: "Delete branches",
  submodulePointer: "Submodule pointer",
  restore: "Restore",
};

/** "Reset", "Delete branches" … */
export function operationName(type: string): string {
  return OPERATIONS[type] ?? type;
}

const STATUSES: Readonly<Record<Status, string>> = {
  pending: "waiting",
  approved: "approved, not carried out",
  executing: "being carried out",
  completed: "done",
  rejected: "rejected",
  failed: "failed",
  expired: "expired",
  cancelled: "withdrawn",
};

/** "waiting", "done" … */
export function statusName(status: Status): string {
  return STATUSES[status] ?? status;
}

const RISKS: Readonly<Record<Risk, string>> = {
  low: "Low risk",
  medium: "Medium risk",
  high: "High risk",
};

export function riskName(risk: Risk): string {
  return RISKS[risk] ?? risk;
}

/** How a proposal ended, for the one who still looks at its card. */
export const ENDINGS: Readonly<Record<string, string>> = {
  completed: "It was approved and carried out.",
  failed: "It was approved, but it did not work.",
  rejected: "It was rejected. Nothing was changed.",
  expired: "Nobody decided in time. Nothing was changed; the agent may propose it again.",
  cancelled: "The agent withdrew it. Nothing was changed.",
};

/** What a restore point does not bring back, by the name that the gateway uses. */
export const NOT_COVERED: Readonly<Record<string, string>> = {
  ignored: "ignored files and folders",
  nestedRepositories: "repositories inside the work tree",
  submodules: "what is checked out inside submodules",
  refusedNames: "names that git refuses",
  operationState: "files of an operation in progress",
  brokenRefs: "broken refs",
  historyKeptByReflogOnly: "commits beyond git's own reflog",
};
