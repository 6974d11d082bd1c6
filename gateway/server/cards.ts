import { proposalRisk } from "../../audit/labels.ts";
import { isInside } from "../../common/allowed_roots.ts";
import { openRepository, type Repository } from "../../git/repository.ts";
import type { ReadVariable } from "../../common/platform.ts";
import type { OtherAgents } from "../../presence/mod.ts";
import { lookForAgents } from "./card_agents.ts";
import { cardDigest, readIdentity } from "./digest.ts";
import { contentPrograms } from "./executor/shared/content_programs.ts";
import type { ProposalRecord } from "./journal.ts";
import { loadOperation } from "./operations.ts";
import type { Recovery } from "./recovery.ts";
import {
  type Inspection,
  type Note,
  type Operation,
  type OperationContext,
  type OperationType,
  type Overrides,
  TERMINAL,
} from "./types.ts";

/** What a person is shown: recomputed each time, never what the agent said it would be. */
export interface Card {
  readonly previewId: string;
  readonly operationType: string;
  readonly status: string;
  /** The agent's own word; never an identity. */
  readonly agentId: string;
  /** The agent's text, to be shown as a quotation. */
  readonly reason: string;
  readonly repoPath: string;
  readonly repoId: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly timeLeftMs: number;
  /**
   * What an approval must carry; null when the card could not be computed or is no longer open. Of
   * an ended proposal the digest that was approved.
   */
  readonly digest: string | null;
  readonly risk: Inspection["risk"];
  readonly destructive: boolean;
  readonly words: string | null;
  readonly blockers: readonly Note[];
  readonly warnings: readonly Note[];
  readonly effect: Inspection["effect"] | null;
  readonly overrides: Overrides;
  /** It is being carried out at this moment. */
  readonly running: boolean;
  /** For an execution that was interrupted: what is known about it. */
  readonly recovery: Recovery | null;
  readonly result: Record<string, unknown> | null;
  readonly rejectionReason: string | null;
  /** Who else works in the repository, as far as is known; never part of what is approved. */
  readonly otherAgents?: OtherAgents;
}

/** An inspection with the digest that stands for it. */
export interface Inspected {
  readonly repo: Repository;
  readonly operation: Operation;
  readonly inspection: Inspection;
  readonly digest: string;
}

export interface InspectOptions {
  readonly runDir: string;
  readonly now: () => number;
  readonly signal?: AbortSignal;
  /** Where stores of other agents are found; without it cards say nothing of them. */
  readonly env?: ReadVariable | undefined;
  /** Ceiling of a card's diff where it is not the usual one. Bytes. */
  readonly diffBytes?: number;
  /** Milliseconds for one approved git command, its hooks included; ten minutes when not given. */
  readonly approvedDeadlineMs?: number;
  /** Gives the operation of a type; for tests. */
  readonly load?: (type: OperationType) => Promise<Operation>;
}

/** Looks at the repository as it is now. Throws what git or the operation throws. */
export async function inspectProposal(
  record: ProposalRecord,
  overrides: Overrides,
  options: InspectOptions,
): Promise<Inspected & { context: OperationContext }> {
  // The card names this path, and the policy was asked about it: a link in its place leads elsewhere.
  if (await Deno.realPath(record.repoPath) !== record.repoPath) {
    throw new Error("the repository's path leads to another place than when this was proposed");
  }
  const repo = await openRepository(record.repoPath, { signal: options.signal });
  const { load = loadOperation, env: _forCards, ...rest } = options;
  const operation = await load(record.action.operationType);
  const context: OperationContext = { repo, overrides, ...rest };
  const looked = await operation.inspect(record.action, context);
  const programs = contentPrograms(repo, record.action);
  const inspection: Inspection = {
    ...looked,
    facts: { ...looked.facts, ...programs.facts },
    warnings: [...elsewhere(repo), ...looked.warnings, ...programs.warnings],
  };
  // Ticked boxes confirm; they change nothing of what will happen.
  const { confirmedSteps: _ticked, ...switches } = overrides;
  const digest = cardDigest(record.action, readIdentity(repo), inspection.facts, switches);
  return { repo, operation, inspection, digest, context };
}

/** A `.git` file can name any git directory: whose branches would change is said, but for submodules. */
function elsewhere(repo: Repository): Note[] {
  const { commonDir } = repo.facts;
  const parent = /^(.+)[\\/]\.git[\\/]modules[\\/]/.exec(commonDir)?.[1];
  if (isInside(commonDir, [repo.path]) || parent && isInside(repo.path, [parent])) return [];
  return [{
    code: "git_directory_elsewhere",
    message: `branches and commits are those of ${commonDir.slice(0, 1_000)}`,
  }];
}

export interface CardParts {
  readonly options: InspectOptions;
  /** Facts at admission, to tell what moved since; undefined when not known. */
  readonly firstFacts?: Inspection["facts"] | undefined;
  /** What stands in the way besides the operation's own blockers. */
  readonly blockers: readonly Note[];
  readonly running: boolean;
  readonly recovery: Recovery | null;
  /** Told the inspection, for the queue's headline. */
  readonly seen?: (inspection: Inspection) => void;
}

/**
 * The card of a proposal. What cannot be computed becomes a blocker, so that nobody approves what
 * nobody saw. A proposal that is being carried out or has ended is told as it is: what it would do
 * now is no longer the question.
 */
export async function makeCard(
  record: ProposalRecord,
  overrides: Overrides,
  parts: CardParts,
): Promise<Card> {
  const base = {
    previewId: record.previewId,
    operationType: record.action.operationType,
    status: record.status,
    agentId: record.agentId,
    reason: record.reason,
    repoPath: record.repoPath,
    repoId: record.repoId,
    createdAtMs: record.createdAtMs,
    expiresAtMs: record.expiresAtMs,
    timeLeftMs: isOpen(record) ? Math.max(0, record.expiresAtMs - parts.options.now()) : 0,
    overrides,
    running: parts.running,
    recovery: parts.recovery,
    result: record.result,
    rejectionReason: record.rejectionReason,
  };
  if (!isOpen(record)) {
    return {
      ...base,
      digest: record.digest,
      risk: riskOf(record.action.operationType),
      destructive: false,
      words: null,
      blockers: [],
      warnings: [],
      effect: null,
    };
  }
  const agents = lookForAgents(record, parts.options);
  try {
    const { inspection, digest } = await inspectProposal(record, overrides, parts.options);
    parts.seen?.(inspection);
    const moved = parts.firstFacts ? changedFacts(parts.firstFacts, inspection.facts) : [];
    const warnings = moved.length === 0 ? inspection.warnings : [
      {
        code: "moved_since_proposal",
        message: `changed since it was proposed: ${moved.slice(0, 8).join(", ")}`,
      },
      ...inspection.warnings,
    ];
    const { risk, destructive, words, effect } = inspection;
    const blockers = [...parts.blockers, ...inspection.blockers];
    const card = { ...base, digest, risk, destructive, words, blockers, warnings, effect };
    return fitCard({ ...card, ...await agents(inspection.paths) });
  } catch (error) {
    const message = error instanceof Error ? describe(error) : String(error);
    return {
      ...base,
      digest: null,
      risk: "high",
      destructive: false,
      words: null,
      blockers: [{
        code: "cannot_inspect",
        message: `the effect cannot be computed: ${message.slice(0, 1_000)}`,
      }],
      warnings: [],
      effect: null,
    };
  }
}

/** True while a person's decision is awaited. */
export function isOpen(record: { readonly status: ProposalRecord["status"] }): boolean {
  return !TERMINAL.has(record.status) && record.status !== "executing";
}

/** Risk by type alone, for what was not looked at (`operations.md` 8.9). */
export function riskOf(operationType: string): Inspection["risk"] {
  return proposalRisk(`operation.preview.${operationType}`) ?? "high";
}

/** Names of facts that differ. */
export function changedFacts(before: Inspection["facts"], now: Inspection["facts"]): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].filter((name) => (before[name] ?? null) !== (now[name] ?? null)).sort();
}

/** Most bytes of a card as JSON: below what an answer may hold. */
const MAX_CARD = 2_500_000;

/** Leaves out the longest parts of a card that would not fit an answer, and says so on it. */
function fitCard(card: Card & { effect: Inspection["effect"] }): Card {
  const size = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length;
  if (size(card) <= MAX_CARD) return card;
  let effect = { ...card.effect };
  const cuts: (() => void)[] = [
    () => effect = { ...effect, diff: null, diffTruncated: true },
    () => effect = { ...effect, files: effect.files.slice(0, 500) },
    () => effect = { ...effect, commits: effect.commits.slice(0, 100) },
    () => effect = { ...effect, details: {} },
    () => effect = { ...effect, files: [], commits: [], refs: effect.refs.slice(0, 100) },
  ];
  for (const cut of cuts) {
    cut();
    if (size({ ...card, effect }) <= MAX_CARD) break;
  }
  const warning = {
    code: "card_cut",
    message: "the card is too long to be shown whole: look at the repository before you decide",
  };
  return { ...card, effect, warnings: [warning, ...card.warnings].slice(0, 100) };
}

function describe(error: Error): string {
  const data = (error as { data?: { details?: unknown } }).data;
  return typeof data?.details === "string" ? data.details : error.message;
}
