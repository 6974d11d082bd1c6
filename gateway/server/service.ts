import { admit, ownerHash } from "./admission/admit.ts";
import { type Card, type InspectOptions, isOpen, makeCard, riskOf } from "./cards.ts";
import { checkedOverrides, Decisions } from "./decisions.ts";
import { FirstLooks } from "./first_looks.ts";
import type { Channel } from "./human_auth.ts";
import type { ProposalRecord, ProposalRow } from "./journal.ts";
import type { Policy } from "./policy.ts";
import type { LedgerPort, RestorePort } from "./ports.ts";
import type { Proposals } from "./proposals.ts";
import { lookAtRemains } from "./recovery.ts";
import { type Inspection, type Overrides, type ProposalStatus, TERMINAL } from "./types.ts";

export { checkedOverrides } from "./decisions.ts";

export interface ServiceParts {
  readonly proposals: Proposals;
  readonly policy: Policy | null;
  readonly restore: RestorePort;
  readonly ledger: LedgerPort;
  readonly options: InspectOptions;
  /** Registers a canonical repository path and gives its id. */
  readonly register: (path: string) => Promise<string>;
  readonly log: (line: string) => void;
  /** Told when something new is known about a proposal that did not change its state. */
  readonly onLooked?: (previewId: string) => void;
}

/** What the agent routes answer about a proposal (`operations.md` section 9). */
export interface AgentView {
  readonly previewId: string;
  readonly status: string;
  readonly operationType: string;
  readonly expiresAt: string;
  readonly result?: Record<string, unknown>;
  readonly rejectionReason?: string;
}

/** A line of the queue as people's windows get it. */
export interface QueueRow
  extends Omit<ProposalRow, "message" | "restorePointId" | "rejectionReason"> {
  readonly timeLeftMs: number;
  readonly ageMs: number;
  readonly risk: Inspection["risk"];
  /** What it would do, in one line; null until it was looked at. */
  readonly headline: string | null;
  readonly running: boolean;
  /** Open proposals that ask for the very same thing, this one included. */
  readonly equal: number;
  readonly result?: {
    readonly status: string;
    readonly message: string;
    readonly restorePointId?: string;
  };
  readonly rejectionReason?: string;
}

/** Proposals as agents and people act on them; knows no HTTP. */
export class Service {
  readonly #looks: FirstLooks;
  readonly #decisions: Decisions;

  constructor(readonly parts: ServiceParts) {
    const { proposals } = parts;
    this.#looks = new FirstLooks(
      parts.options,
      (id) => proposals.journal.get(id),
      parts.onLooked,
    );
    this.#decisions = new Decisions(parts);
    proposals.listen((record) => {
      if (!isOpen(record)) this.#looks.forget(record.previewId);
    });
  }

  /** Admits a proposal, in the order of `operations.md` 11.2. Throws {@link Refusal}. */
  async propose(type: string, body: unknown, secret: string | null): Promise<AgentView> {
    const { record, fresh } = await admit(type, body, secret, this.parts);
    if (fresh) this.#looks.add(record.previewId);
    return agentView(record);
  }

  status(previewId: string): AgentView {
    return agentView(this.parts.proposals.get(previewId));
  }

  cancel(previewId: string, agentId: string, secret: string | null): AgentView {
    const caller = { agentId, ownerHash: ownerHash(secret) };
    return agentView(this.parts.proposals.cancel(previewId, caller));
  }

  /** What the journal holds of it. Throws a 404 {@link Refusal}. */
  record(previewId: string): ProposalRecord {
    return this.parts.proposals.get(previewId);
  }

  /** The card as it is now, with what the person already changed on it. */
  async card(previewId: string, overrides: Overrides = {}): Promise<Card> {
    const record = this.parts.proposals.get(previewId);
    const running = this.#decisions.isRunning(previewId);
    const shown = record.status === "pending" ? overrides : record.overrides;
    const card = await makeCard(record, checkedOverrides(record.action, shown), {
      options: this.parts.options,
      firstFacts: this.#looks.of(previewId)?.facts,
      blockers: isOpen(record) ? await this.#decisions.inTheWay(record) : [],
      running,
      recovery: record.status === "executing" && !running
        ? await lookAtRemains(record, this.parts.restore)
        : null,
      seen: (inspection) => this.#looks.seen(previewId, inspection),
    });
    if (record.status !== "approved") return card;
    return {
      ...card,
      warnings: [{
        code: "approved_not_run",
        message: "it was approved but not carried out before the gateway ended: approve it again",
      }, ...card.warnings],
    };
  }

  /** The queue, newest first, and how many there are in all. */
  list(
    states: readonly ProposalStatus[],
    limit = 500,
  ): { proposals: QueueRow[]; total: number } {
    const { proposals, options } = this.parts;
    proposals.settle();
    const now = options.now();
    const rows = proposals.journal.rows(states, limit);
    const equal = new Map<string, number>();
    for (const row of rows) {
      if (isOpen(row)) equal.set(row.groupHash, (equal.get(row.groupHash) ?? 0) + 1);
    }
    return {
      total: proposals.journal.count(states),
      proposals: rows.map(({ message, restorePointId, rejectionReason, ...row }) => {
        const look = this.#looks.of(row.previewId);
        return {
          ...row,
          timeLeftMs: isOpen(row) ? Math.max(0, row.expiresAtMs - now) : 0,
          ageMs: Math.max(0, now - row.createdAtMs),
          risk: look?.risk ?? riskOf(row.operationType),
          headline: look?.headline ?? null,
          running: this.#decisions.isRunning(row.previewId),
          equal: equal.get(row.groupHash) ?? 1,
          ...(rejectionReason === null ? {} : { rejectionReason }),
          ...(message === null ? {} : {
            result: {
              status: row.status,
              message,
              ...(restorePointId === null ? {} : { restorePointId }),
            },
          }),
        };
      }),
    };
  }

  /** See {@link Decisions.approve}. */
  approve(
    previewId: string,
    given: { digest: string; words: string | null; overrides: Overrides },
    channel: Channel,
  ): Promise<ProposalRecord> {
    return this.#decisions.approve(previewId, given, channel);
  }

  reject(previewId: string, reason: string | null, channel: Channel): ProposalRecord {
    return this.#decisions.reject(previewId, reason, channel);
  }

  /** See {@link Decisions.reconcile}. */
  reconcile(previewId: string, outcome: "completed" | "failed", channel: Channel): ProposalRecord {
    return this.#decisions.reconcile(previewId, outcome, channel);
  }

  /** Begins nothing more and waits for what is under way. */
  async idle(): Promise<void> {
    await Promise.all([this.#looks.stop(), this.#decisions.stop()]);
  }

  /** True while an operation is being carried out. */
  get busy(): boolean {
    return this.#decisions.busy;
  }
}

/** What an agent may know. Long patches and lists stay out (T4). */
export function agentView(record: ProposalRecord): AgentView {
  return {
    previewId: record.previewId,
    status: record.status,
    operationType: record.action.operationType,
    expiresAt: new Date(record.expiresAtMs).toISOString(),
    ...(record.result && TERMINAL.has(record.status) ? { result: record.result } : {}),
    ...(record.rejectionReason !== null ? { rejectionReason: record.rejectionReason } : {}),
  };
}
