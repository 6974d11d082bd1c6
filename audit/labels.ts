/** The labels that a call's entry carries, by tool (`audit.md` 4.3). */

/** Labels of one call. */
export interface CallLabels {
  readonly event_type: "tool_call" | "write_proposal" | "proposal_cancel" | "write_block";
  readonly approval: "not_required" | "ui_handshake" | "denied";
  readonly risk: "none" | "low" | "medium" | "high";
  readonly readOnly: boolean;
}

/** Risk of what a proposal asks for. */
const PROPOSAL_RISK: ReadonlyMap<string, "low" | "medium" | "high"> = new Map([
  ["operation.preview.reset", "high"],
  ["operation.preview.discard", "high"],
  ["operation.preview.merge", "medium"],
  ["operation.preview.rebase", "medium"],
  ["operation.preview.patch", "medium"],
  ["operation.preview.plan", "medium"],
  ["operation.preview.push", "medium"],
  ["operation.preview.branchDelete", "medium"],
  ["operation.preview.submodulePointer", "medium"],
  ["operation.preview.worktree", "low"],
  ["operation.preview.commit", "low"],
  ["operation.preview.branch", "low"],
]);

const READ_ONLY: ReadonlySet<string> = new Set([
  ...["repo.brief", "repo.scope", "repo.status", "repo.refs", "repo.branchStack"],
  ...["repo.conflictPreflight", "repo.reflog", "repo.history", "conflict.read"],
  ...["commit.details", "worktree.changes", "worktree.list", "submodule.status"],
  ...["diff.text", "diff.semantic", "diff.semanticFallbacks", "fleet.radar", "fleet.digest"],
  ...["agents.presence", "safety.timeline", "safety.eventDetails", "flux.latestRestorePoint"],
  ...["flux.restorePoints", "flux.restorePointDetails", "operation.status"],
]);

/** Risk of a proposal by tool name; null for every other tool. */
export function proposalRisk(tool: string): "low" | "medium" | "high" | null {
  return PROPOSAL_RISK.get(tool) ?? null;
}

/** True for the read-only tools that the contract names. */
export function isReadOnlyTool(tool: string): boolean {
  return READ_ONLY.has(tool);
}

/**
 * Labels of a call.
 *
 * @param blocked the call ended as a JSON-RPC error
 * @param isReadOnly says whether a tool that is no proposal and no cancel only reads
 */
export function labelsOf(
  tool: string,
  blocked: boolean,
  isReadOnly: (tool: string) => boolean = isReadOnlyTool,
): CallLabels {
  const risk = proposalRisk(tool);
  const readOnly = risk === null && tool !== "operation.cancel" && isReadOnly(tool);
  if (blocked) {
    return { event_type: "write_block", approval: "denied", risk: risk ?? "none", readOnly };
  }
  if (risk !== null) {
    return { event_type: "write_proposal", approval: "ui_handshake", risk, readOnly };
  }
  const event_type = tool === "operation.cancel" ? "proposal_cancel" : "tool_call";
  return { event_type, approval: "not_required", risk: "none", readOnly };
}
