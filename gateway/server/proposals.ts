import type { ParsedBody } from "./admission/body.ts";
import { bodyHash } from "./digest.ts";
import type { Journal, ProposalRecord } from "./journal.ts";
import { Refusal } from "./refusal.ts";
import { type Overrides, type ProposalStatus, TERMINAL } from "./types.ts";

/** Times and ceilings of proposals (`operations.md` 10, 11.2). Milliseconds. */
export const PROPOSAL_LIMITS = {
  lifeMs: 5 * 60_000,
  memoryMs: 60 * 60_000,
  pendingPerAgent: 10,
  pendingInAll: 200,
} as const;

/** Told after each transition is durable. */
export type TransitionListener = (record: ProposalRecord, from: ProposalStatus | null) => void;

/** Owner of a proposal as far as the gateway can tell. */
export interface Caller {
  readonly agentId: string;
  /** SHA-256 of the process's secret, null when it sent none. */
  readonly ownerHash: string | null;
}

/**
 * The life of proposals. Every change is a compare-and-set in the journal; time comes from the
 * gateway's clock alone. Nothing here knows HTTP or Git.
 */
export class Proposals {
  readonly #listeners = new Set<TransitionListener>();

  constructor(readonly journal: Journal, readonly now: () => number) {}

  /** Calls `listener` after each durable transition; gives the function that stops it. */
  listen(listener: TransitionListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * What a repeated request resolves to, or null for a new intent. Throws a 409 {@link Refusal} when
   * the key or the id stands for another proposal (A3, A4).
   */
  existing(parsed: ParsedBody, repoPath: string): ProposalRecord | null {
    this.settle();
    const { envelope, action } = parsed;
    const hash = bodyHash(action, envelope.reason);
    const known = this.journal.byKey(envelope.agentId, repoPath, envelope.idempotencyKey) ??
      this.journal.get(envelope.previewId);
    if (!known) return null;
    if (
      known.bodyHash === hash && known.agentId === envelope.agentId && known.repoPath === repoPath
    ) return known;
    throw new Refusal(
      409,
      "idempotency_conflict",
      "this idempotency key or previewId already stands for another proposal",
      "Use a fresh idempotencyKey for a new intent, or repeat the first proposal unchanged.",
    );
  }

  /** Throws a 429 {@link Refusal} when the agent, or all agents together, have too much pending (A6). */
  checkQuota(agentId: string): void {
    this.settle();
    if (this.journal.count(["pending"], agentId) >= PROPOSAL_LIMITS.pendingPerAgent) {
      throw new Refusal(
        429,
        "agent_pending_cap_exceeded",
        `${PROPOSAL_LIMITS.pendingPerAgent} proposals of this agent are pending`,
        "Wait for a decision on the pending proposals, or cancel those that are no longer wanted.",
      );
    }
    if (this.journal.count(["pending"]) >= PROPOSAL_LIMITS.pendingInAll) {
      throw new Refusal(
        429,
        "pending_cap_exceeded",
        "too many proposals are pending in this gateway",
        "Wait until a person has decided some of them.",
      );
    }
  }

  /** Records a new pending proposal, durable before this returns (A7). */
  admit(parsed: ParsedBody, repo: { path: string; id: string }, caller: Caller): ProposalRecord {
    const now = this.now();
    const { envelope, action } = parsed;
    const record: ProposalRecord = {
      previewId: envelope.previewId,
      agentId: envelope.agentId,
      ownerHash: caller.ownerHash,
      idempotencyKey: envelope.idempotencyKey,
      bodyHash: bodyHash(action, envelope.reason),
      repoPath: repo.path,
      repoId: repo.id,
      action,
      reason: envelope.reason,
      requestedAt: envelope.requestedAt,
      status: "pending",
      createdAtMs: now,
      expiresAtMs: now + PROPOSAL_LIMITS.lifeMs,
      endedAtMs: null,
      digest: null,
      overrides: {},
      result: null,
      rejectionReason: null,
    };
    this.journal.insert(record);
    this.#tell(record, null);
    return record;
  }

  /** The record, settled against the clock. Throws a 404 {@link Refusal} for an unknown id (T7). */
  get(previewId: string): ProposalRecord {
    this.settle();
    const record = this.journal.get(previewId);
    if (record) return record;
    throw new Refusal(
      404,
      "unknown_preview",
      "no proposal of this id is known; it may be wrong or older than an hour",
      "Do not propose again blindly: look at the repository first if the operation may have run.",
    );
  }

  /** Withdraws a pending proposal; repeating it is no error. Throws 403, 404 or 409 {@link Refusal}. */
  cancel(previewId: string, caller: Caller): ProposalRecord {
    const record = this.get(previewId);
    const mine = record.ownerHash === null
      ? record.agentId === caller.agentId
      : record.ownerHash === caller.ownerHash;
    if (!mine) {
      throw new Refusal(
        403,
        "not_the_owner",
        "this proposal belongs to another agent",
        "Only the agent that proposed it may cancel it.",
      );
    }
    if (record.status === "cancelled") return record;
    return this.#decide(previewId, "pending", "cancelled", { endedAtMs: this.now() });
  }

  /** A person's no. Throws 404 or 409 {@link Refusal}. */
  reject(previewId: string, reason: string | null): ProposalRecord {
    const { status } = this.get(previewId);
    const from = status === "approved" ? "approved" : "pending";
    return this.#decide(previewId, from, "rejected", {
      endedAtMs: this.now(),
      rejectionReason: reason,
    });
  }

  /** A person's yes to what the digest covers; it expires unless claimed (D5). */
  approve(previewId: string, digest: string, overrides: Overrides): ProposalRecord {
    return this.#decide(this.get(previewId).previewId, "pending", "approved", {
      digest,
      overrides,
      expiresAtMs: this.now() + PROPOSAL_LIMITS.lifeMs,
    });
  }

  /** Takes an approved proposal for execution; exactly one caller succeeds (E1). */
  claim(previewId: string): ProposalRecord {
    return this.#decide(previewId, "approved", "executing", {});
  }

  /** Stores the outcome of an execution or of a reconciliation. */
  finish(
    previewId: string,
    outcome: "completed" | "failed",
    result: Record<string, unknown>,
  ): ProposalRecord {
    return this.#decide(previewId, "executing", outcome, { endedAtMs: this.now(), result });
  }

  /** Expires what is due and forgets what ended over an hour ago. */
  settle(): void {
    const now = this.now();
    for (const state of ["pending", "approved"] as const) {
      for (const id of this.journal.due(state, now)) {
        if (this.journal.move(id, state, "expired", now, { endedAtMs: now })) {
          this.#tell(this.journal.get(id)!, state);
        }
      }
    }
    this.journal.prune(now - PROPOSAL_LIMITS.memoryMs);
  }

  #decide(
    previewId: string,
    from: ProposalStatus,
    to: ProposalStatus,
    change: Parameters<Journal["move"]>[4],
  ): ProposalRecord {
    if (!this.journal.move(previewId, from, to, this.now(), change)) {
      const now = this.get(previewId).status;
      throw new Refusal(
        409,
        "not_" + from,
        `the proposal is ${now}, not ${from}`,
        TERMINAL.has(now)
          ? "It has ended; read operation.status for the outcome."
          : "Read operation.status and wait.",
      );
    }
    const record = this.journal.get(previewId)!;
    this.#tell(record, from);
    return record;
  }

  #tell(record: ProposalRecord, from: ProposalStatus | null): void {
    for (const listener of this.#listeners) listener(record, from);
  }
}
