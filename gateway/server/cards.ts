import { openRepository, type Repository } from "../../git/repository.ts";
import { cardDigest, readIdentity } from "./digest.ts";
import type { ProposalRecord } from "./journal.ts";
import { loadOperation } from "./operations.ts";
import type { Inspection, Note, OperationContext, Overrides } from "./types.ts";

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
  /** What an approval must carry; null when the card could not be computed. */
  readonly digest: string | null;
  readonly risk: Inspection["risk"];
  readonly destructive: boolean;
  readonly words: string | null;
  readonly blockers: readonly Note[];
  readonly warnings: readonly Note[];
  readonly effect: Inspection["effect"] | null;
  readonly overrides: Overrides;
  readonly result: Record<string, unknown> | null;
  readonly rejectionReason: string | null;
}

/** An inspection with the digest that stands for it. */
export interface Inspected {
  readonly repo: Repository;
  readonly inspection: Inspection;
  readonly digest: string;
}

export interface InspectOptions {
  readonly runDir: string;
  readonly now: () => number;
  readonly signal?: AbortSignal;
}

/** Looks at the repository as it is now. Throws what git or the operation throws. */
export async function inspectProposal(
  record: ProposalRecord,
  overrides: Overrides,
  options: InspectOptions,
): Promise<Inspected & { context: OperationContext }> {
  const repo = await openRepository(record.repoPath, { signal: options.signal });
  const operation = await loadOperation(record.action.operationType);
  const context: OperationContext = { repo, overrides, ...options };
  const inspection = await operation.inspect(record.action, context);
  // Ticked boxes confirm; they change nothing of what will happen.
  const { confirmedSteps: _ticked, ...switches } = overrides;
  const digest = cardDigest(record.action, readIdentity(repo), inspection.facts, switches);
  return { repo, inspection, digest, context };
}

/**
 * The card of a proposal. What cannot be computed becomes a blocker, so that nobody approves what
 * nobody saw.
 *
 * @param firstFacts facts at admission, to tell what moved since; undefined when not known
 */
export async function makeCard(
  record: ProposalRecord,
  overrides: Overrides,
  options: InspectOptions,
  firstFacts?: Inspection["facts"],
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
    timeLeftMs: Math.max(0, record.expiresAtMs - options.now()),
    overrides,
    result: record.result,
    rejectionReason: record.rejectionReason,
  };
  try {
    const { inspection, digest } = await inspectProposal(record, overrides, options);
    const moved = firstFacts ? changedFacts(firstFacts, inspection.facts) : [];
    const warnings = moved.length === 0 ? inspection.warnings : [
      {
        code: "moved_since_proposal",
        message: `changed since it was proposed: ${moved.slice(0, 8).join(", ")}`,
      },
      ...inspection.warnings,
    ];
    const { risk, destructive, words, blockers, effect } = inspection;
    return { ...base, digest, risk, destructive, words, blockers, warnings, effect };
  } catch (error) {
    const message = error instanceof Error ? describe(error) : String(error);
    return {
      ...base,
      digest: null,
      risk: "high",
      destructive: false,
      words: null,
      blockers: [{ code: "cannot_inspect", message: `the effect cannot be computed: ${message}` }],
      warnings: [],
      effect: null,
    };
  }
}

/** Names of facts that differ. */
export function changedFacts(before: Inspection["facts"], now: Inspection["facts"]): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].filter((name) => (before[name] ?? null) !== (now[name] ?? null)).sort();
}

function describe(error: Error): string {
  const data = (error as { data?: { details?: unknown } }).data;
  return typeof data?.details === "string" ? data.details : error.message;
}
