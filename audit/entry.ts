/**
 * Entries about calls (`audit.md` section 4). What a caller sent is recorded as fingerprints only:
 * paths, refs and texts never stand in the ledger, the two that the contract takes as sent excepted:
 * the tool's name and the id of a repository.
 */

import { type EntryInput } from "./build.ts";
import { canonicalBytes } from "./canonical.ts";
import { fingerprint, sha256 } from "./hash.ts";
import { type CallLabels, isReadOnlyTool, labelsOf } from "./labels.ts";

/** A finished `tools/call`, as far as the ledger looks at it. */
export interface CallRecord {
  readonly name: string;
  /** Arguments as received, bigint and boxed numbers included; undefined when absent. */
  readonly args: unknown;
  readonly context: { readonly agentId: string };
  readonly outcome:
    | { readonly kind: "result"; readonly isError: boolean; readonly payload?: unknown }
    | { readonly kind: "rpcError"; readonly code: number };
  /** True when the client cancelled and got no answer. */
  readonly cancelled?: boolean;
  /** Unix milliseconds. */
  readonly startedAtMs: number;
  readonly durationMs: number;
}

/** Longest name, id or scope that is stored as sent, in UTF-16 units. */
const MAX_TEXT = 1_024;
const UNKNOWN_AGENT = "external-mcp-sidecar";

/** What the error codes of blocked calls mean; the error's own message may repeat arguments. */
const BLOCK_REASONS: ReadonlyMap<number, string> = new Map([
  [-32700, "unreadable request"],
  [-32600, "invalid request"],
  [-32601, "method not found"],
  [-32602, "invalid arguments"],
  [-32603, "internal error"],
  [-32010, "allowed roots are misconfigured"],
  [-32011, "repository outside the allowed roots"],
]);

/**
 * Makes the entry of a `tools/call`, whatever came of it.
 *
 * @param isReadOnly says whether a tool that is no proposal and no cancel only reads; default: the
 * tools that the contract names
 *
 * @example
 * ```ts
 * import { callEntry } from "./mod.ts";
 *
 * const entry = callEntry({
 *   name: "repo.status",
 *   args: { repoPath: "/srv/repos/api" },
 *   context: { agentId: "my-agent" },
 *   outcome: { kind: "result", isError: false },
 *   startedAtMs: Date.now(),
 *   durationMs: 12,
 * });
 * entry.result; // "success"
 * ```
 */
export function callEntry(
  call: CallRecord,
  isReadOnly: (tool: string) => boolean = isReadOnlyTool,
): EntryInput {
  const blocked = call.outcome.kind === "rpcError";
  const tool = typeof call.name === "string" ? bounded(call.name) : "unknown";
  const labels = labelsOf(tool, blocked, isReadOnly);
  const duration = Math.max(0, Math.round(call.durationMs));
  const previewId = previewIdOf(call);
  return {
    timestamp: Math.trunc(call.startedAtMs) + duration,
    tool,
    repo_scope: repoScope(call.args),
    args_fingerprint: call.args === undefined || call.args === null ? null : fingerprint(call.args),
    ...labels,
    result: call.outcome.kind === "rpcError"
      ? "blocked"
      : call.outcome.isError
      ? "error"
      : "success",
    session_id: call.context.agentId === "" ? UNKNOWN_AGENT : bounded(call.context.agentId),
    duration_ms: duration,
    summary: summaryOf(call, tool, labels),
    sidecarReadOnly: true,
    // Ties the proposal to the decision and the execution, which the gateway records.
    ...(previewId === null ? {} : { previewId }),
  };
}

/**
 * Which repository a call was about (`audit.md` 4.4): a `repoId` as sent when it is an id, a path as
 * fingerprint, the number of repositories of a fleet call, else `unknown`.
 */
export function repoScope(args: unknown): string {
  if (typeof args !== "object" || args === null) return "unknown";
  const { repoId, repo_id, repoPath, repoPaths, repositories } = args as Record<string, unknown>;
  if (typeof repoId === "string") return repoIdScope(repoId);
  if (typeof repo_id === "string") return repoIdScope(repo_id);
  if (typeof repoPath === "string") return repoPathScope(repoPath);
  if (Array.isArray(repoPaths)) return `fleet:${repoPaths.length}`;
  if (Array.isArray(repositories)) return `fleet:${repositories.length}`;
  return "unknown";
}

/** An id as sent; what is no id (a path, a sentence) must not get into the ledger by that name. */
function repoIdScope(id: string): string {
  return /^[0-9A-Za-z._-]{1,128}$/.test(id) ? id : `repoId:${sha256(canonicalBytes(id))}`;
}

/**
 * The scope of a path: `repoPath:sha256:` and the hash of its JSON form. Entries about the same
 * repository carry the same one only when they were given the same spelling of the path.
 */
export function repoPathScope(path: string): string {
  return `repoPath:${sha256(canonicalBytes(path))}`;
}

/**
 * The desktop gateway's scope of a path: domain-separated SHA-256. For comparing with its entries;
 * entries made here use {@link repoPathScope}.
 */
export function gatewayPathScope(path: string): string {
  return sha256(new TextEncoder().encode(`fluxgit-mcp-repo-scope-v1\0${path}`));
}

function summaryOf(call: CallRecord, tool: string, labels: CallLabels): string {
  const { outcome } = call;
  if (outcome.kind === "rpcError") {
    const reason = BLOCK_REASONS.get(outcome.code);
    return `blocked ${tool}: error ${outcome.code}${reason === undefined ? "" : ` (${reason})`}`;
  }
  const kind = labels.event_type === "write_proposal"
    ? "write-proposal"
    : labels.event_type === "proposal_cancel"
    ? "proposal-cancel"
    : labels.readOnly
    ? "read-only"
    : "tool";
  const result = outcome.isError ? "error" : "success";
  return `${kind} ${tool}: ${result}${call.cancelled ? " (cancelled by the client)" : ""}`;
}

/** Ids of proposals are made by this program; anything that does not look like one is left out. */
function previewIdOf(call: CallRecord): string | null {
  if (call.outcome.kind !== "result" || !call.name.startsWith("operation.")) return null;
  const { payload } = call.outcome;
  if (typeof payload !== "object" || payload === null) return null;
  const { previewId } = payload as Record<string, unknown>;
  return typeof previewId === "string" && /^[0-9A-Za-z_-]{1,64}$/.test(previewId)
    ? previewId
    : null;
}

function bounded(text: string): string {
  if (text.length <= MAX_TEXT) return text.toWellFormed();
  const start = text.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, "").toWellFormed();
  return `${start} [cut: ${text.length} characters]`;
}
