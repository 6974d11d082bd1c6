import { hash } from "node:crypto";
import { openRepository, type Repository } from "../../git/repository.ts";
import { readHead } from "../../git/head.ts";
import { parseBody } from "./admission/body.ts";
import { type Card, type InspectOptions, inspectProposal, makeCard } from "./cards.ts";
import { execute, messageOf } from "./execution.ts";
import type { Channel } from "./human_auth.ts";
import type { ProposalRecord } from "./journal.ts";
import { checkPolicy, namedIn, type Policy } from "./policy.ts";
import type { LedgerPort, RestorePort } from "./ports.ts";
import { PROPOSAL_LIMITS, type Proposals } from "./proposals.ts";
import { invalid, Refusal } from "./refusal.ts";
import { type Action, type Inspection, type Overrides, TERMINAL } from "./types.ts";
import { defaultWorktreePath } from "./worktree_place.ts";

export interface ServiceParts {
  readonly proposals: Proposals;
  readonly policy: Policy | null;
  readonly restore: RestorePort;
  readonly ledger: LedgerPort;
  readonly options: InspectOptions;
  /** Registers a canonical repository path and gives its id. */
  readonly register: (path: string) => Promise<string>;
  readonly log: (line: string) => void;
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

/** Proposals as agents and people act on them; knows no HTTP. */
export class Service {
  /** Facts at admission, to tell a person what moved since; lost at a restart, which is only a hint less. */
  readonly #firstFacts = new Map<string, Inspection["facts"]>();
  /** Inspections and executions under way, so that shutdown can wait for them. */
  readonly #busy = new Set<Promise<unknown>>();

  constructor(readonly parts: ServiceParts) {}

  /** Admits a proposal, in the order of `operations.md` 11.2. Throws {@link Refusal}. */
  async propose(type: string, body: unknown, secret: string | null): Promise<AgentView> {
    const parsed = parseBody(body, type);
    const repo = await this.#openNamed(parsed.envelope.repoPath);
    const path = repo.path;
    const known = this.parts.proposals.existing(parsed, path);
    if (known) return agentView(known);
    const action = await canonicalTargets(parsed.action);
    await this.#checkPolicy(parsed.envelope.agentId, action, repo);
    this.parts.proposals.checkQuota(parsed.envelope.agentId);
    const id = await this.parts.register(path);
    const ownerHash = secret === null ? null : hash("sha256", secret);
    const record = this.parts.proposals.admit({ ...parsed, action }, { path, id }, {
      agentId: parsed.envelope.agentId,
      ownerHash,
    });
    this.#track(this.#rememberFacts(record));
    return agentView(record);
  }

  status(previewId: string): AgentView {
    return agentView(this.parts.proposals.get(previewId));
  }

  cancel(previewId: string, agentId: string, secret: string | null): AgentView {
    const caller = { agentId, ownerHash: secret === null ? null : hash("sha256", secret) };
    return agentView(this.parts.proposals.cancel(previewId, caller));
  }

  /** The card as it is now, with what the person already changed on it. */
  async card(previewId: string, overrides: Overrides = {}): Promise<Card> {
    const record = this.parts.proposals.get(previewId);
    const shown = record.status === "pending" ? overrides : record.overrides;
    const card = await makeCard(
      record,
      checkedOverrides(record.action, shown),
      this.parts.options,
      this.#firstFacts.get(previewId),
    );
    if (record.status !== "approved") return card;
    return {
      ...card,
      warnings: [{
        code: "approved_not_run",
        message: "it was approved but not carried out before the gateway ended: approve it again",
      }, ...card.warnings],
    };
  }

  list(states: readonly ProposalRecord["status"][], limit = 500): ProposalRecord[] {
    this.parts.proposals.settle();
    return this.parts.proposals.journal.list(states, limit);
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
    if (record.status !== "pending" && record.status !== "approved") {
      throw new Refusal(
        409,
        "not_pending",
        `the proposal is ${record.status}`,
        "It has been decided already.",
      );
    }
    const overrides = checkedOverrides(record.action, given.overrides);
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
    const blocker = seen.inspection.blockers[0];
    if (blocker) {
      throw new Refusal(409, blocker.code, blocker.message, "It cannot be approved as things are.");
    }
    checkConfirmations(record.action, seen.inspection, given.words, overrides);
    const approved = record.status === "pending"
      ? this.parts.proposals.approve(previewId, seen.digest, overrides)
      : record;
    if (approved.digest !== seen.digest) {
      throw new Refusal(
        409,
        "card_changed",
        "it was approved in another state of the repository",
        "Reject it and propose again.",
      );
    }
    this.#ledger("approve", approved, channel);
    const run = execute(approved, channel, { ...this.parts });
    this.#track(run);
    return await run;
  }

  reject(previewId: string, reason: string | null, channel: Channel): ProposalRecord {
    const record = this.parts.proposals.reject(previewId, reason);
    this.#ledger("reject", record, channel);
    return record;
  }

  /** Ends an interrupted execution by a person's word on how the repository looks (D2). */
  reconcile(previewId: string, outcome: "completed" | "failed", channel: Channel): ProposalRecord {
    const record = this.parts.proposals.finish(previewId, outcome, {
      status: outcome,
      message: `interrupted; a person looked at the repository and declared it ${outcome}`,
      reconciled: true,
    });
    this.#ledger("reconcile", record, channel);
    return record;
  }

  /** Waits for what is under way. */
  async idle(): Promise<void> {
    await Promise.allSettled([...this.#busy]);
  }

  #ledger(
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

  async #openNamed(path: string): Promise<Repository> {
    let canonical: string;
    try {
      canonical = await Deno.realPath(path);
    } catch {
      throw invalid("body.repoPath cannot be resolved on this machine");
    }
    try {
      return await openRepository(canonical);
    } catch (error) {
      throw invalid(`body.repoPath is not a repository that git opens: ${messageOf(error)}`);
    }
  }

  async #checkPolicy(agentId: string, action: Action, repo: Repository): Promise<void> {
    if (this.parts.policy === null) return;
    const place = action.operationType !== "worktree"
      ? null
      : action.path ?? defaultWorktreePath(repo.path, action.branch);
    const named = namedIn(action, repo.path, place);
    // HEAD and an omitted branch stand for the checked-out one: rules written for its name apply.
    const impliesHead = named.refs.includes("HEAD") ||
      (action.operationType === "push" && action.branch === null) ||
      ["commit", "reset", "patch", "discard", "rebase"].includes(action.operationType);
    const branch = impliesHead ? (await readHead(repo)).branch : null;
    checkPolicy(
      this.parts.policy,
      agentId,
      branch === null ? named : { ...named, refs: [...named.refs, branch] },
    );
  }

  async #rememberFacts(record: ProposalRecord): Promise<void> {
    try {
      const { inspection } = await inspectProposal(record, {}, this.parts.options);
      this.#firstFacts.set(record.previewId, inspection.facts);
      const most = 4 * PROPOSAL_LIMITS.pendingInAll;
      if (this.#firstFacts.size > most) {
        this.#firstFacts.delete(this.#firstFacts.keys().next().value!);
      }
    } catch { /* the card will say why it cannot be computed */ }
  }

  #track(work: Promise<unknown>): void {
    const settled = work.catch(() => {}).finally(() => this.#busy.delete(settled));
    this.#busy.add(settled);
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

/** Canonical paths for every target of a branch deletion, so that policy and locks see one spelling. */
async function canonicalTargets(action: Action): Promise<Action> {
  if (action.operationType !== "branchDelete") return action;
  const targets = await Promise.all(action.targets.map(async (target, i) => {
    try {
      return { ...target, repoPath: await Deno.realPath(target.repoPath) };
    } catch {
      throw invalid(`body.targets[${i}].repoPath cannot be resolved on this machine`);
    }
  }));
  return { ...action, targets };
}

/** Only switches that the operation has: anything else on a card would be ignored silently. */
export function checkedOverrides(action: Action, overrides: Overrides): Overrides {
  const kept: { applyToIndex?: boolean; confirmedSteps?: number[] } = {};
  if (overrides.applyToIndex !== undefined) {
    if (action.operationType !== "patch") {
      throw invalid("applyToIndex is a switch of patch cards only");
    }
    kept.applyToIndex = overrides.applyToIndex;
  }
  if (overrides.confirmedSteps !== undefined && action.operationType === "plan") {
    kept.confirmedSteps = [...new Set(overrides.confirmedSteps)].sort((a, b) => a - b);
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
