import type { ParsedBody } from "./admission/body.ts";
import { type ContentHashes, contentHashes } from "./digest.ts";
import type { Journal, Progress, ProposalRecord } from "./journal.ts";
import { Refusal } from "./refusal.ts";
import { boundedResult } from "./slim.ts";
import { type Overrides, type ProposalStatus, TERMINAL } from "./types.ts";

/** Times and ceilings of proposals (`operations.md` 10, 11.2). Milliseconds and characters. */
export const PROPOSAL_LIMITS = {
  lifeMs: 5 * 60_000,
  memoryMs: 60 * 60_000,
  pendingPerAgent: 10,
  pendingInAll: 200,
  /** All pending proposals together: a few of the largest patches. */
  pendingCharacters: 64 * 1_024 * 1_024,
  /** Proposals of one agent that are remembered, whatever became of them. */
  rememberedPerAgent: 1_000,
  /** Ended proposals that nobody approved; beyond, the oldest are forgotten early. */
  unapproved: 5_000,
} as const;

/** Told after each transition is durable. */
export type TransitionListener = (record: ProposalRecord, from: ProposalStatus | null) => void;

/** A valid request with what is derived from it once. */
export interface Asked extends ParsedBody {
  /** Canonical. */
  readonly repoPath: string;
  readonly hashes: ContentHashes;
  /** Characters that it will hold in the journal. */
  readonly size: number;
}

export function asked(parsed: ParsedBody, repoPath: string): Asked {
  const { action, envelope } = parsed;
  return {
    ...parsed,
    repoPath,
    hashes: contentHashes(action, envelope.reason, repoPath),
    size: JSON.stringify(action).length + envelope.reason.length,
  };
}

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
  existing({ envelope, repoPath, hashes }: Asked): ProposalRecord | null {
    this.settle();
    const known = this.journal.byKey(envelope.agentId, repoPath, envelope.idempotencyKey) ??
      this.journal.get(envelope.previewId);
    if (!known) return null;
    if (
      known.agentId === envelope.agentId && known.repoPath === repoPath &&
      known.bodyHash === hashes.body
    ) return known;
    throw new Refusal(
      409,
      "idempotency_conflict",
      "this idempotency key or previewId already stands for another proposal",
      "Use a fresh idempotencyKey for a new intent, or repeat the first proposal unchanged.",
    );
  }

  /**
   * Throws a 429 {@link Refusal} when the agent, or all agents together, have too much open (A6).
   *
   * @param characters of the new proposal
   */
  checkQuota(agentId: string, characters: number): void {
    this.settle();
    const limits = PROPOSAL_LIMITS;
    if (this.journal.countOf(agentId, ["pending"]) >= limits.pendingPerAgent) {
      throw new Refusal(
        429,
        "agent_pending_cap_exceeded",
        `${limits.pendingPerAgent} proposals of this agent are pending`,
        "Wait for a decision on the pending proposals, or cancel those that are no longer wanted.",
      );
    }
    if (this.journal.countOf(agentId, ALL) >= limits.rememberedPerAgent) {
      throw new Refusal(
        429,
        "agent_rate_exceeded",
        `this agent made ${limits.rememberedPerAgent} proposals within an hour`,
        "Stop proposing; ask the person what is wanted.",
      );
    }
    if (
      this.journal.count(["pending"]) >= limits.pendingInAll ||
      this.journal.size("pending") + characters > limits.pendingCharacters
    ) {
      throw new Refusal(
        429,
        "pending_cap_exceeded",
        "too many proposals are pending in this gateway",
        "Wait until a person has decided some of them.",
      );
    }
  }

  /**
   * Records a new pending proposal, durable before this returns (A7). What was looked at before is
   * looked at again in the same turn: two requests at once neither exceed a quota nor share a key.
   * Throws 409 and 429 {@link Refusal}.
   */
  admit(
    asked: Asked,
    repoId: string,
    ownerHash: string | null,
  ): { record: ProposalRecord; fresh: boolean } {
    const known = this.existing(asked);
    if (known) return { record: known, fresh: false };
    const { envelope, action, hashes } = asked;
    this.checkQuota(envelope.agentId, asked.size);
    const now = this.now();
    const record: ProposalRecord = {
      previewId: envelope.previewId,
      agentId: envelope.agentId,
      ownerHash,
      idempotencyKey: envelope.idempotencyKey,
      bodyHash: hashes.body,
      groupHash: hashes.group,
      repoPath: asked.repoPath,
      repoId,
      action,
      reason: envelope.reason,
      requestedAt: envelope.requestedAt,
      status: "pending",
      createdAtMs: now,
      expiresAtMs: now + PROPOSAL_LIMITS.lifeMs,
      endedAtMs: null,
      digest: null,
      overrides: {},
      progress: null,
      result: null,
      rejectionReason: null,
    };
    this.journal.insert(record);
    this.#tell(record, null);
    return { record, fresh: true };
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
    return this.#decide(previewId, "executing", outcome, {
      endedAtMs: this.now(),
      result: boundedResult(result),
    });
  }

  /** Notes how far an execution has come, durable before this returns. */
  progress(previewId: string, progress: Progress): void {
    this.journal.progress(previewId, progress);
  }

  /** Forgets what ended over an hour ago, and the surplus of what nobody approved. */
  prune(): void {
    this.journal.prune(this.now() - PROPOSAL_LIMITS.memoryMs, PROPOSAL_LIMITS.unapproved);
  }

  /** Expires what is due: nothing is decided, shown or answered before. */
  settle(): void {
    for (const { previewId, from } of this.journal.expire(this.now())) {
      this.#tell(this.journal.get(previewId)!, from);
    }
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

const ALL: readonly ProposalStatus[] = ["pending", "approved", "executing", ...TERMINAL];
