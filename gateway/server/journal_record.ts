import type { Action, Overrides, ProposalStatus } from "./types.ts";

/** How far an execution had come; what a person needs to judge an interrupted one. */
export interface Progress {
  /** `acting`: from here on the repository may be changed. */
  readonly phase: "claimed" | "acting";
  readonly repositories: readonly {
    readonly repoPath: string;
    readonly restorePointId: string;
    /** {@link HeldRepository.fingerprint} before the first change. */
    readonly fingerprint: string;
    readonly head: string | null;
  }[];
}

/** A proposal as the journal holds it. Times are Unix milliseconds of the gateway's clock. */
export interface ProposalRecord {
  readonly previewId: string;
  readonly agentId: string;
  /** SHA-256 of the proposing process's secret; null when it gave none (a reference sidecar). */
  readonly ownerHash: string | null;
  readonly idempotencyKey: string;
  readonly bodyHash: string;
  /** Equal for proposals that ask for the same thing in the same repository. */
  readonly groupHash: string;
  readonly repoPath: string;
  readonly repoId: string;
  /** Of an ended proposal long texts and lists are cut. */
  readonly action: Action;
  readonly reason: string;
  readonly requestedAt: string | null;
  readonly status: ProposalStatus;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly endedAtMs: number | null;
  /** Digest that was approved. */
  readonly digest: string | null;
  readonly overrides: Overrides;
  readonly progress: Progress | null;
  readonly result: Record<string, unknown> | null;
  readonly rejectionReason: string | null;
}

/** A line of the queue: without the action, which may be large. */
export interface ProposalRow {
  readonly previewId: string;
  readonly operationType: string;
  readonly status: ProposalStatus;
  readonly agentId: string;
  readonly repoPath: string;
  readonly repoId: string;
  /** At most 300 characters. */
  readonly reason: string;
  readonly groupHash: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly endedAtMs: number | null;
  readonly message: string | null;
  readonly restorePointId: string | null;
  readonly rejectionReason: string | null;
}

/** What a transition sets besides the status. */
export interface Change {
  readonly endedAtMs?: number;
  readonly expiresAtMs?: number;
  readonly digest?: string;
  readonly overrides?: Overrides;
  readonly result?: Record<string, unknown>;
  readonly rejectionReason?: string | null;
}

/** A row of the table as a record; null for none. Throws when a member is not what it should be. */
// deno-lint-ignore no-explicit-any
export function toRecord(row: any): ProposalRecord | null {
  if (!row) return null;
  return {
    previewId: row.preview_id,
    agentId: row.agent_id,
    ownerHash: row.owner_hash,
    idempotencyKey: row.idempotency_key,
    bodyHash: row.body_hash,
    groupHash: row.group_hash,
    repoPath: row.repo_path,
    repoId: row.repo_id,
    action: JSON.parse(row.action),
    reason: textOf(row.reason) ?? "",
    requestedAt: textOf(row.requested_at),
    status: row.status,
    createdAtMs: row.created_ms,
    expiresAtMs: row.expires_ms,
    endedAtMs: row.ended_ms,
    digest: row.digest,
    overrides: JSON.parse(row.overrides),
    progress: row.progress === null ? null : JSON.parse(row.progress),
    result: row.result === null ? null : JSON.parse(row.result),
    rejectionReason: textOf(row.rejection_reason),
  };
}

/** Texts of strangers are kept as JSON: the database would end them at a NUL. */
export function textOf(stored: unknown): string | null {
  return typeof stored === "string" ? JSON.parse(stored) : null;
}
