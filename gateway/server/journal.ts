import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { damaged, openJournalFile } from "./journal_file.ts";
import { unwritable } from "./journal_errors.ts";
import { slimAction } from "./slim.ts";
import {
  type Action,
  OPERATION_TYPES,
  type Overrides,
  type ProposalStatus,
  TERMINAL,
} from "./types.ts";

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

const STATUSES: readonly ProposalStatus[] = ["pending", "approved", "executing", ...TERMINAL];
/** An action of an ended proposal that is longer is cut. Characters. */
const KEPT_ACTION = 16_384;
/** Of a text in the queue. Characters. */
const SHOWN_TEXT = 300;

/**
 * The durable journal (`operations.md` 11.6): every transition is on disk before it is acted on or
 * answered. SQLite in WAL mode with full synchronisation, held by this process alone.
 */
export class Journal {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** @param path of the database; its folder exists and is private. Throws `JournalError`. */
  constructor(path: string) {
    this.#db = openJournalFile(path);
    try {
      this.#checkRows();
    } catch (error) {
      this.close();
      throw damaged(path, error instanceof Error ? error.message : String(error));
    }
  }

  insert(record: ProposalRecord): void {
    const action = JSON.stringify(record.action);
    this.#transaction(() => {
      this.#run(
        `INSERT INTO proposals (preview_id, agent_id, owner_hash, idempotency_key, body_hash, group_hash, repo_path,
         repo_id, operation_type, action, bytes, reason, requested_at, status, created_ms, expires_ms)
         VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
        record.previewId,
        record.agentId,
        record.ownerHash,
        record.idempotencyKey,
        record.bodyHash,
        record.groupHash,
        record.repoPath,
        record.repoId,
        record.action.operationType,
        action,
        action.length + record.reason.length,
        JSON.stringify(record.reason),
        JSON.stringify(record.requestedAt),
        record.status,
        record.createdAtMs,
        record.expiresAtMs,
      );
      this.#note(record.previewId, null, record.status, record.createdAtMs);
    });
  }

  get(previewId: string): ProposalRecord | null {
    return toRecord(
      this.#statement("SELECT * FROM proposals WHERE preview_id = ?").get(previewId),
    );
  }

  byKey(agentId: string, repoPath: string, key: string): ProposalRecord | null {
    return toRecord(
      this.#statement(
        "SELECT * FROM proposals WHERE agent_id = ? AND repo_path = ? AND idempotency_key = ?",
      ).get(agentId, repoPath, key),
    );
  }

  /** Proposals in any of the states, newest first, at most `limit`, without their actions. */
  rows(states: readonly ProposalStatus[], limit: number): ProposalRow[] {
    return this.#statement(
      `SELECT preview_id AS previewId, operation_type AS operationType, status, agent_id AS agentId, repo_path AS repoPath,
       repo_id AS repoId, reason, group_hash AS groupHash, created_ms AS createdAtMs,
       expires_ms AS expiresAtMs, ended_ms AS endedAtMs, substr(json_extract(result, '$.message'), 1, 1000) AS message,
       json_extract(result, '$.restorePointId') AS restorePointId, rejection_reason AS rejectionReason
       FROM proposals WHERE status IN (${
        marks(states)
      }) ORDER BY created_ms DESC, rowid DESC LIMIT ?`,
    ).all(...states, limit).map((row) => ({
      ...row as unknown as ProposalRow,
      reason: (textOf(row["reason"]) ?? "").slice(0, SHOWN_TEXT),
      rejectionReason: textOf(row["rejectionReason"])?.slice(0, SHOWN_TEXT) ?? null,
    }));
  }

  count(states: readonly ProposalStatus[]): number {
    return this.#number(
      `SELECT count(*) AS n FROM proposals WHERE status IN (${marks(states)})`,
      ...states,
    );
  }

  countOf(agentId: string, states: readonly ProposalStatus[]): number {
    return this.#number(
      `SELECT count(*) AS n FROM proposals WHERE agent_id = ? AND status IN (${marks(states)})`,
      agentId,
      ...states,
    );
  }

  /** Characters that the proposals of a state hold. */
  size(state: ProposalStatus): number {
    return this.#number(
      "SELECT coalesce(sum(bytes), 0) AS n FROM proposals WHERE status = ?",
      state,
    );
  }

  /**
   * Moves a proposal from one state to another if it still is in the first: the one compare-and-set
   * on which every decision rests (H7). False means that somebody else was faster.
   */
  move(
    previewId: string,
    from: ProposalStatus,
    to: ProposalStatus,
    atMs: number,
    change: Change = {},
  ): boolean {
    let moved = false;
    this.#transaction(() => {
      moved = this.#run(
        `UPDATE proposals SET status = ?, ended_ms = coalesce(?, ended_ms), expires_ms = coalesce(?, expires_ms),
         digest = coalesce(?, digest), overrides = coalesce(?, overrides), result = coalesce(?, result),
         rejection_reason = coalesce(?, rejection_reason) WHERE preview_id = ? AND status = ?`,
        to,
        change.endedAtMs ?? null,
        change.expiresAtMs ?? null,
        change.digest ?? null,
        change.overrides ? JSON.stringify(change.overrides) : null,
        change.result ? JSON.stringify(change.result) : null,
        change.rejectionReason ? JSON.stringify(change.rejectionReason) : null,
        previewId,
        from,
      ) === 1;
      if (!moved) return;
      this.#note(previewId, from, to, atMs);
      if (TERMINAL.has(to)) this.#slim(previewId);
    });
    return moved;
  }

  /** Stores how far an execution has come, before the next step is taken. */
  progress(previewId: string, progress: Progress): void {
    this.#run(
      "UPDATE proposals SET progress = ? WHERE preview_id = ? AND status = 'executing'",
      JSON.stringify(progress),
      previewId,
    );
  }

  /** Ids in a state whose time is over at `nowMs`. */
  due(state: ProposalStatus, nowMs: number): string[] {
    return this.#statement(
      "SELECT preview_id FROM proposals WHERE status = ? AND expires_ms <= ?",
    ).all(state, nowMs).map((row) => String((row as { preview_id: unknown }).preview_id));
  }

  /**
   * Forgets ended proposals whose end is older than `beforeMs`, and of those that nobody ever
   * approved all but the newest `most`. Gives how many are gone.
   */
  prune(beforeMs: number, most: number): number {
    const old = this.#ids("SELECT preview_id FROM proposals WHERE ended_ms < ?", beforeMs);
    const surplus = this.#ids(
      `SELECT preview_id FROM proposals WHERE ended_ms IS NOT NULL AND status IN ('cancelled','expired','rejected')
       ORDER BY ended_ms DESC LIMIT -1 OFFSET ?`,
      most,
    );
    const gone = new Set([...old, ...surplus]);
    if (gone.size === 0) return 0;
    this.#transaction(() => {
      for (const id of gone) {
        this.#run("DELETE FROM transitions WHERE preview_id = ?", id);
        this.#run("DELETE FROM proposals WHERE preview_id = ?", id);
      }
    });
    this.#db.exec("PRAGMA incremental_vacuum");
    return gone.size;
  }

  /** Every transition of a proposal, oldest first. */
  transitions(
    previewId: string,
  ): { from: ProposalStatus | null; to: ProposalStatus; atMs: number }[] {
    return this.#statement(
      `SELECT old_status AS "from", new_status AS "to", at_ms AS atMs FROM transitions WHERE preview_id = ? ORDER BY seq`,
    ).all(previewId) as unknown as {
      from: ProposalStatus | null;
      to: ProposalStatus;
      atMs: number;
    }[];
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  #note(previewId: string, from: ProposalStatus | null, to: ProposalStatus, atMs: number): void {
    this.#run(
      "INSERT INTO transitions (preview_id, old_status, new_status, at_ms) VALUES (?,?,?,?)",
      previewId,
      from,
      to,
      atMs,
    );
  }

  #slim(previewId: string): void {
    const row = this.#statement(
      "SELECT action FROM proposals WHERE preview_id = ? AND length(action) > ?",
    ).get(previewId, KEPT_ACTION) as { action: string } | undefined;
    if (!row) return;
    const action = JSON.stringify(slimAction(JSON.parse(row.action)));
    this.#run(
      "UPDATE proposals SET action = ?, bytes = ? WHERE preview_id = ?",
      action,
      action.length,
      previewId,
    );
  }

  /** What is still to be acted on must be readable whole, else nothing is acted on at all. */
  #checkRows(): void {
    for (
      const row of this.#statement("SELECT preview_id, status, operation_type FROM proposals")
        .all() as { preview_id: string; status: string; operation_type: string }[]
    ) {
      if (!(STATUSES as string[]).includes(row.status)) {
        throw new Error(`a proposal has the unknown status ${JSON.stringify(row.status)}`);
      }
      if (!(OPERATION_TYPES as readonly string[]).includes(row.operation_type)) {
        throw new Error("a proposal has an unknown type");
      }
      if (TERMINAL.has(row.status as ProposalStatus)) continue;
      const record = this.get(row.preview_id);
      if (record?.action?.operationType !== row.operation_type) {
        throw new Error("a proposal is not whole");
      }
    }
  }

  #ids(sql: string, ...values: SQLInputValue[]): string[] {
    return this.#statement(sql).all(...values).map((row) =>
      String((row as { preview_id: unknown }).preview_id)
    );
  }

  #number(sql: string, ...values: SQLInputValue[]): number {
    return Number((this.#statement(sql).get(...values) as { n: number }).n);
  }

  #run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  #statement(sql: string): StatementSync {
    let known = this.#statements.get(sql);
    if (!known) this.#statements.set(sql, known = this.#db.prepare(sql));
    return known;
  }

  #transaction(work: () => void): void {
    try {
      this.#db.exec("BEGIN IMMEDIATE");
      work();
      this.#db.exec("COMMIT");
    } catch (error) {
      try {
        this.#db.exec("ROLLBACK");
      } catch { /* a failed commit may have ended it already */ }
      throw unwritable(error) ?? error;
    }
  }
}

function marks(list: readonly unknown[]): string {
  return list.map(() => "?").join(",");
}

// deno-lint-ignore no-explicit-any
function toRecord(row: any): ProposalRecord | null {
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
function textOf(stored: unknown): string | null {
  return typeof stored === "string" ? JSON.parse(stored) : null;
}
