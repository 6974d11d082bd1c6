import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { damaged, openJournalFile } from "./journal_file.ts";
import { unwritable } from "./journal_errors.ts";
import { slimAction } from "./slim.ts";
import {
  type Change,
  type Progress,
  type ProposalRecord,
  type ProposalRow,
  textOf,
  toRecord,
} from "./journal_record.ts";
import { OPERATION_TYPES, type ProposalStatus, TERMINAL } from "./types.ts";

export type { Change, Progress, ProposalRecord, ProposalRow } from "./journal_record.ts";

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

  /** Expires, in one go, all that nobody decided or began in time; gives their ids and old states. */
  expire(nowMs: number): { previewId: string; from: ProposalStatus }[] {
    const due = this.#statement(
      `SELECT preview_id AS previewId, status AS "from" FROM proposals
       WHERE status IN ('pending', 'approved') AND expires_ms <= ?`,
    ).all(nowMs) as unknown as { previewId: string; from: ProposalStatus }[];
    if (due.length === 0) return [];
    this.#transaction(() => {
      for (const { previewId, from } of due) {
        this.#run(
          "UPDATE proposals SET status = 'expired', ended_ms = ? WHERE preview_id = ?",
          nowMs,
          previewId,
        );
        this.#note(previewId, from, "expired", nowMs);
        this.#slim(previewId);
      }
    });
    return due;
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
