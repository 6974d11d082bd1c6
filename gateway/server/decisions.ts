import { openRepository } from "../../git/repository.ts";
import { closing } from "./bodies.ts";
import { inspectProposal } from "./cards.ts";
import { carryOut, type ExecutionParts, messageOf } from "./execution.ts";
import type { Channel } from "./human_auth.ts";
import type { ProposalRecord } from "./journal.ts";
import { invalid, Refusal } from "./refusal.ts";
import type { Action, Inspection, Note, Overrides } from "./types.ts";

/** A person's decisions, and the executions that follow from them in this process. */
export class Decisions {
  /** Executions under way here, by proposal. Those in the journal that are not here were interrupted. */
  readonly #running = new Map<string, Promise<ProposalRecord>>();
  #stopped = false;

  constructor(readonly parts: ExecutionParts) {}

  isRunning(previewId: string): boolean {
    return this.#running.has(previewId);
  }

  get busy(): boolean {
    return this.#running.size > 0;
  }

  /** Takes no more approvals and waits for the executions under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.allSettled(this.#running.values());
  }

  /**
   * A person's yes to the digest they saw, with typed words where the card asks for them. Carries the
   * operation out and resolves when it has ended. Throws {@link Refusal} while nothing was changed.
   */
  async approve(
    previewId: string,
    given: { digest: string; words: string | null; overrides: Overrides },
    channel: Channel,
  ): Promise<ProposalRecord> {
    const record = this.parts.proposals.get(previewId);
    if (record.status !== "pending" && record.status !== "approved") throw decided(record);
    const overrides = checkedOverrides(record.action, given.overrides);
    const [inTheWay] = await this.inTheWay(record);
    if (inTheWay) throw blocked(inTheWay);
    let seen;
    try {
      seen = await inspectProposal(record, overrides, this.parts.options);
    } catch (error) {
      throw new Refusal(
        409,
        "cannot_inspect",
        `the effect cannot be computed: ${messageOf(error)}`,
        "Look at the repository first.",
      );
    }
    if (seen.digest !== given.digest) {
      throw new Refusal(
        409,
        "card_changed",
        "the card changed since it was shown; look at it again",
        "Show the card again and decide on what it says now.",
      );
    }
    const [blocker] = seen.inspection.blockers;
    if (blocker) throw blocked(blocker);
    checkConfirmations(record.action, seen.inspection, given.words, overrides);
    if (this.#stopped) throw closing();
    // Up to the claim nothing is awaited; of two at once one fails here with 409.
    if (record.status === "pending") {
      this.parts.proposals.approve(previewId, seen.digest, overrides);
    } else this.#checkStillApproved(previewId, seen.digest);
    const claimed = this.parts.proposals.claim(previewId);
    this.#record("approve", claimed, channel);
    const run = carryOut(claimed, channel, this.parts);
    this.#running.set(previewId, run);
    try {
      return await run;
    } finally {
      this.#running.delete(previewId);
    }
  }

  reject(previewId: string, reason: string | null, channel: Channel): ProposalRecord {
    const record = this.parts.proposals.reject(previewId, reason);
    this.#record("reject", record, channel);
    return record;
  }

  /**
   * Ends an interrupted execution by a person's word on how the repository looks (D2). Throws a 409
   * {@link Refusal} while it is still being carried out here, and when there is nothing to reconcile.
   */
  reconcile(previewId: string, outcome: "completed" | "failed", channel: Channel): ProposalRecord {
    if (this.isRunning(previewId)) {
      throw new Refusal(
        409,
        "still_running",
        "it is being carried out at this moment; there is nothing to reconcile",
        "Wait for its end.",
      );
    }
    const { progress } = this.parts.proposals.get(previewId);
    const record = this.parts.proposals.finish(previewId, outcome, {
      status: outcome,
      message: `interrupted; a person looked at the repository and declared it ${outcome}`,
      reconciled: true,
      ...(progress?.repositories[0]
        ? { restorePointId: progress.repositories[0].restorePointId }
        : {}),
    });
    this.#record("reconcile", record, channel);
    return record;
  }

  /** An interrupted execution in the same repository: it may have left anything, so it comes first. */
  async inTheWay(record: ProposalRecord): Promise<Note[]> {
    const { journal } = this.parts.proposals;
    for (const row of journal.rows(["executing"], 500)) {
      if (this.isRunning(row.previewId)) continue;
      if (row.repoPath !== record.repoPath && !await shareGitDir(row.repoPath, record.repoPath)) {
        continue;
      }
      return [{
        code: "interrupted_execution",
        message:
          `an earlier operation here (${row.previewId}) was interrupted: look at the repository and reconcile it first`,
      }];
    }
    return [];
  }

  /** An approval that outlived its gateway counts only for the same state, and asked for anew (D2). */
  #checkStillApproved(previewId: string, digest: string): void {
    const record = this.parts.proposals.get(previewId);
    if (record.status !== "approved") throw decided(record);
    if (record.digest === digest) return;
    throw new Refusal(
      409,
      "card_changed",
      "it was approved in another state of the repository",
      "Reject it and propose again.",
    );
  }

  #record(
    kind: "approve" | "reject" | "reconcile",
    record: ProposalRecord,
    channel: Channel,
  ): void {
    this.parts.ledger.record({
      kind,
      operationType: record.action.operationType,
      previewId: record.previewId,
      agentId: record.agentId,
      repoPath: record.repoPath,
      channel,
      digest: record.digest,
      result: kind === "reject" ? "denied" : "success",
    });
  }
}

/** Work trees of one repository stand or fall together. */
async function shareGitDir(a: string, b: string): Promise<boolean> {
  try {
    const [one, two] = await Promise.all([openRepository(a), openRepository(b)]);
    return one.facts.commonDir === two.facts.commonDir;
  } catch {
    return false;
  }
}

function decided(record: ProposalRecord): Refusal {
  return new Refusal(
    409,
    "not_pending",
    `the proposal is ${record.status}`,
    "It has been decided already.",
  );
}

function blocked(note: Note): Refusal {
  return new Refusal(409, note.code, note.message, "It cannot be approved as things are.");
}

/** Only switches that the operation has: one that means nothing would be ignored silently. */
export function checkedOverrides(action: Action, overrides: Overrides): Overrides {
  const kept: { applyToIndex?: boolean; confirmedSteps?: number[] } = {};
  if (overrides.applyToIndex !== undefined) {
    if (action.operationType !== "patch") {
      throw invalid("applyToIndex is a switch of patch cards only");
    }
    kept.applyToIndex = overrides.applyToIndex;
  }
  const steps = overrides.confirmedSteps;
  if (steps !== undefined) {
    if (action.operationType !== "plan") {
      throw invalid("confirmedSteps are boxes of plan cards only");
    }
    if (steps.some((step) => !(step >= 0 && step < action.steps.length))) {
      throw invalid(
        `confirmedSteps names a step that is not there (0 to ${action.steps.length - 1})`,
      );
    }
    kept.confirmedSteps = [...new Set(steps)].sort((a, b) => a - b);
  }
  return kept;
}

function checkConfirmations(
  action: Action,
  inspection: Inspection,
  words: string | null,
  overrides: Overrides,
): void {
  if (inspection.words !== null && (words ?? "").trim().replace(/\s+/g, " ") !== inspection.words) {
    throw new Refusal(
      422,
      "words_missing",
      `this cannot be taken back easily: type exactly: ${inspection.words}`,
      "Only a person can confirm this.",
    );
  }
  if (action.operationType !== "plan") return;
  const wanted = (inspection.effect.details["destructiveSteps"] as number[] | undefined) ?? [];
  const missing = wanted.filter((step) => !overrides.confirmedSteps?.includes(step));
  if (missing.length > 0) {
    throw new Refusal(
      422,
      "steps_not_confirmed",
      `confirm each destructive step: ${missing.map((step) => step + 1).join(", ")}`,
      "Only a person can confirm this.",
    );
  }
}
