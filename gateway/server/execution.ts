import { openRepository } from "../../git/repository.ts";
import { changedFacts, type InspectOptions, inspectProposal } from "./cards.ts";
import type { ProposalRecord } from "./journal.ts";
import { loadOperation } from "./operations.ts";
import type { HeldRepository, LedgerPort, MadePoint, PointRequest, RestorePort } from "./ports.ts";
import type { Proposals } from "./proposals.ts";
import type { ExecutionResult } from "./types.ts";

export interface ExecutionParts {
  readonly proposals: Proposals;
  readonly restore: RestorePort;
  readonly ledger: LedgerPort;
  readonly options: InspectOptions;
  readonly log: (line: string) => void;
}

/**
 * Carries out an approved proposal, once (`operations.md` 11.5): claim, lock the repository, look
 * again and compare digests, make the restore point, act, and if that fails bring everything back.
 * The outcome is in the journal before this resolves; it never rejects for the operation's sake.
 */
export async function execute(
  record: ProposalRecord,
  channel: string,
  parts: ExecutionParts,
): Promise<ProposalRecord> {
  const claimed = parts.proposals.claim(record.previewId);
  let outcome: ExecutionResult & { ids?: Record<string, string | null> };
  try {
    const repo = await openRepository(claimed.repoPath);
    outcome = await parts.restore.locked(
      repo,
      claimed.repoId,
      (held) => underLock(claimed, held, parts),
    );
  } catch (error) {
    outcome = failed(`nothing was changed: ${messageOf(error)}`);
  }
  const result = { status: outcome.status, message: outcome.message, ...outcome.members };
  const done = parts.proposals.finish(claimed.previewId, outcome.status, result);
  parts.ledger.record({
    kind: "execute",
    operationType: claimed.action.operationType,
    previewId: claimed.previewId,
    agentId: claimed.agentId,
    repoPath: claimed.repoPath,
    channel,
    digest: claimed.digest,
    result: outcome.status === "completed" ? "success" : "error",
    ...(outcome.ids ? { ids: outcome.ids } : {}),
  });
  return done;
}

async function underLock(
  record: ProposalRecord,
  held: HeldRepository,
  parts: ExecutionParts,
): Promise<ExecutionResult & { ids?: Record<string, string | null> }> {
  const seen = await inspectProposal(record, record.overrides, parts.options);
  if (seen.digest !== record.digest) {
    return failed(
      "stale: the repository changed after the approval; nothing was changed. Propose again.",
      { stale: true },
    );
  }
  if (seen.inspection.blockers[0]) {
    return failed(`nothing was changed: ${seen.inspection.blockers[0].message}`);
  }
  const request: PointRequest = {
    operation: record.action.operationType,
    previewId: record.previewId,
    agentId: record.agentId,
  };
  const before = await held.fingerprint();
  const point = await held.make(request);
  // Making the point took time: the last look before the first write.
  const again = await inspectProposal(record, record.overrides, parts.options);
  if (again.digest !== record.digest) {
    const what = changedFacts(seen.inspection.facts, again.inspection.facts).slice(0, 5).join(", ");
    return failed(
      `stale: changed while the restore point was made (${what}); nothing was changed. Propose again.`,
      { stale: true },
    );
  }
  const operation = await loadOperation(record.action.operationType);
  let result: ExecutionResult;
  try {
    result = await operation.execute(record.action, again.inspection, again.context);
  } catch (error) {
    result = failed(messageOf(error));
  }
  if (result.status === "failed") {
    return await afterFailure(result, before, point, held);
  }
  await held.settle(point, "completed").catch((error) =>
    parts.log(`the restore point's index was not brought up to date: ${messageOf(error)}`)
  );
  const notCovered = point.notCovered.length > 0
    ? { restorePointNotCovered: point.notCovered }
    : {};
  return {
    ...result,
    members: { restorePointId: point.id, ...notCovered, ...result.members },
    ids: { before: point.before.commit, ...idsOf(result.members) },
  };
}

/** A failed operation must leave the repository as it was; where it did not, the restore point does. */
async function afterFailure(
  result: ExecutionResult,
  before: string,
  point: MadePoint,
  held: HeldRepository,
): Promise<ExecutionResult> {
  const members = { ...result.members, restorePointId: point.id };
  try {
    let same = await held.fingerprint() === before;
    if (same) {
      await held.settle(point, "failed").catch(() => {});
      return { ...result, members: { ...members, repositoryUnchanged: true } };
    }
    await held.bringBack(point);
    same = await held.fingerprint() === before;
    const tail = same
      ? "the repository was brought back to how it was"
      : "most of it was brought back; compare it with the restore point";
    return {
      ...result,
      message: `${result.message}; ${tail}`,
      members: { ...members, repositoryUnchanged: same },
    };
  } catch (error) {
    return {
      ...result,
      message: `${result.message}; the repository is changed and could not be brought back (${
        messageOf(error)
      }): use the restore point`,
      members: { ...members, repositoryUnchanged: false },
    };
  }
}

function failed(message: string, members: Record<string, unknown> = {}): ExecutionResult {
  return { status: "failed", message, members };
}

/** Full object ids among the result's members, for the ledger. */
function idsOf(members: Readonly<Record<string, unknown>>): Record<string, string> {
  const ids: Record<string, string> = {};
  for (const [name, value] of Object.entries(members)) {
    if (typeof value === "string" && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value)) {
      ids[name] = value;
    }
  }
  return ids;
}

/** What an error tells a person: git's own words where there are any, bounded. */
export function messageOf(error: unknown): string {
  const data = (error as { data?: { details?: unknown } } | null)?.data;
  const text = typeof data?.details === "string"
    ? data.details
    : error instanceof Error
    ? error.message
    : String(error);
  return text.length > 1_000 ? text.slice(0, 1_000) + "…" : text;
}
