import { DatabaseSync } from "node:sqlite";
import type { Action, Overrides, ProposalStatus } from "./types.ts";

/** A proposal as the journal holds it. Times are Unix milliseconds of the gateway's clock. */
export interface ProposalRecord {
  readonly previewId: string;
  readonly agentId: string;
  /** SHA-256 of the proposing process's secret; null when it gave none (a reference sidecar). */
  readonly ownerHash: string | null;
  readonly idempotencyKey: string;
  readonly bodyHash: string;
  readonly repoPath: string;
  readonly repoId: string;
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
  readonly result: Record<string, unknown> | null;
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

const SCHEMA = `
CREATE TABLE IF NOT EXISTS proposals (
  preview_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, owner_hash TEXT, idempotency_key TEXT NOT NULL,
  body_hash TEXT NOT NULL, repo_path TEXT NOT NULL, repo_id TEXT NOT NULL, action TEXT NOT NULL,
  reason TEXT NOT NULL, requested_at TEXT, status TEXT NOT NULL, created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL, ended_ms INTEGER, digest TEXT, overrides TEXT NOT NULL DEFAULT '{}',
  result TEXT, rejection_reason TEXT);
CREATE UNIQUE INDEX IF NOT EXISTS proposals_key ON proposals (agent_id, repo_path, idempotency_key);
CREATE INDEX IF NOT EXISTS proposals_status ON proposals (status, expires_ms);
CREATE TABLE IF NOT EXISTS transitions (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, preview_id TEXT NOT NULL, old_status TEXT, new_status TEXT NOT NULL,
  at_ms INTEGER NOT NULL);
`;
const VERSION = 1;

/**
 * The durable journal (`operations.md` 11.6): every transition is on disk before it is acted on or
 * answered. SQLite in WAL mode with full synchronisation; a file of another version is refused.
 */
export class Journal {
  readonly #db: DatabaseSync;

  /** @param path of the database; its folder exists and is private. Throws when it cannot be used. */
  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=2000; PRAGMA trusted_schema=OFF;",
    );
    const { user_version: version } = this.#db.prepare("PRAGMA user_version").get() as {
      user_version: number;
    };
    if (version !== 0 && version !== VERSION) {
      this.#db.close();
      throw new Error(
        `the journal ${path} has version ${version}; this program knows version ${VERSION}`,
      );
    }
    this.#db.exec(SCHEMA);
    this.#db.exec(`PRAGMA user_version=${VERSION}`);
  }

  insert(record: ProposalRecord): void {
    this.#transaction(() => {
      this.#db.prepare(
        `INSERT INTO proposals (preview_id, agent_id, owner_hash, idempotency_key, body_hash, repo_path, repo_id, action,
         reason, requested_at, status, created_ms, expires_ms) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`,
      ).run(
        record.previewId,
        record.agentId,
        record.ownerHash,
        record.idempotencyKey,
        record.bodyHash,
        record.repoPath,
        record.repoId,
        JSON.stringify(record.action),
        record.reason,
        record.requestedAt,
        record.status,
        record.createdAtMs,
        record.expiresAtMs,
      );
      this.#note(record.previewId, null, record.status, record.createdAtMs);
    });
  }

  get(previewId: string): ProposalRecord | null {
    return toRecord(
      this.#db.prepare("SELECT * FROM proposals WHERE preview_id = ?").get(previewId),
    );
  }

  byKey(agentId: string, repoPath: string, key: string): ProposalRecord | null {
    return toRecord(
      this.#db.prepare(
        "SELECT * FROM proposals WHERE agent_id = ? AND repo_path = ? AND idempotency_key = ?",
      ).get(agentId, repoPath, key),
    );
  }

  /** Proposals in any of the states, newest first, at most `limit`. */
  list(states: readonly ProposalStatus[], limit: number): ProposalRecord[] {
    const marks = states.map(() => "?").join(",");
    return this.#db.prepare(
      `SELECT * FROM proposals WHERE status IN (${marks}) ORDER BY created_ms DESC, rowid DESC LIMIT ?`,
    )
      .all(...states, limit).map((row) => toRecord(row)!);
  }

  count(states: readonly ProposalStatus[], agentId?: string): number {
    const marks = states.map(() => "?").join(",");
    const row = this.#db.prepare(
      `SELECT count(*) AS n FROM proposals WHERE status IN (${marks})${
        agentId === undefined ? "" : " AND agent_id = ?"
      }`,
    ).get(...states, ...(agentId === undefined ? [] : [agentId])) as { n: number };
    return row.n;
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
      const done = this.#db.prepare(
        `UPDATE proposals SET status = ?, ended_ms = coalesce(?, ended_ms), expires_ms = coalesce(?, expires_ms),
         digest = coalesce(?, digest), overrides = coalesce(?, overrides), result = coalesce(?, result),
         rejection_reason = coalesce(?, rejection_reason) WHERE preview_id = ? AND status = ?`,
      ).run(
        to,
        change.endedAtMs ?? null,
        change.expiresAtMs ?? null,
        change.digest ?? null,
        change.overrides ? JSON.stringify(change.overrides) : null,
        change.result ? JSON.stringify(change.result) : null,
        change.rejectionReason ?? null,
        previewId,
        from,
      );
      moved = Number(done.changes) === 1;
      if (moved) this.#note(previewId, from, to, atMs);
    });
    return moved;
  }

  /** Ids in a state whose time is over at `nowMs`. */
  due(state: ProposalStatus, nowMs: number): string[] {
    return this.#db.prepare("SELECT preview_id FROM proposals WHERE status = ? AND expires_ms <= ?")
      .all(state, nowMs)
      .map((row) => String((row as { preview_id: unknown }).preview_id));
  }

  /** Forgets ended proposals whose end is older than `beforeMs`, with their transitions. */
  prune(beforeMs: number): number {
    let gone = 0;
    this.#transaction(() => {
      this.#db.prepare(
        "DELETE FROM transitions WHERE preview_id IN (SELECT preview_id FROM proposals WHERE ended_ms IS NOT NULL AND ended_ms < ?)",
      )
        .run(beforeMs);
      gone = Number(
        this.#db.prepare("DELETE FROM proposals WHERE ended_ms IS NOT NULL AND ended_ms < ?").run(
          beforeMs,
        ).changes,
      );
    });
    return gone;
  }

  /** Every transition of a proposal, oldest first. */
  transitions(
    previewId: string,
  ): { from: ProposalStatus | null; to: ProposalStatus; atMs: number }[] {
    return this.#db.prepare(
      "SELECT old_status, new_status, at_ms FROM transitions WHERE preview_id = ? ORDER BY seq",
    ).all(previewId)
      .map((row) => {
        const { old_status, new_status, at_ms } = row as {
          old_status: ProposalStatus | null;
          new_status: ProposalStatus;
          at_ms: number;
        };
        return { from: old_status, to: new_status, atMs: at_ms };
      });
  }

  close(): void {
    this.#db.close();
  }

  #note(previewId: string, from: ProposalStatus | null, to: ProposalStatus, atMs: number): void {
    this.#db.prepare(
      "INSERT INTO transitions (preview_id, old_status, new_status, at_ms) VALUES (?,?,?,?)",
    ).run(previewId, from, to, atMs);
  }

  #transaction(work: () => void): void {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.#db.exec("COMMIT");
    } catch (error) {
      this.#db.exec("ROLLBACK");
      throw error;
    }
  }
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
    repoPath: row.repo_path,
    repoId: row.repo_id,
    action: JSON.parse(row.action),
    reason: row.reason,
    requestedAt: row.requested_at,
    status: row.status,
    createdAtMs: row.created_ms,
    expiresAtMs: row.expires_ms,
    endedAtMs: row.ended_ms,
    digest: row.digest,
    overrides: JSON.parse(row.overrides),
    result: row.result === null ? null : JSON.parse(row.result),
    rejectionReason: row.rejection_reason,
  };
}
