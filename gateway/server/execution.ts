import { changedFacts, type Inspected, type InspectOptions, inspectProposal } from "./cards.ts";
import type { ProposalRecord } from "./journal.ts";
import { inLockOrder, type Place, writtenPlaces } from "./places.ts";
import type { HeldRepository, LedgerPort, MadePoint, RestorePort } from "./ports.ts";
import type { Proposals } from "./proposals.ts";
import { JOURNAL_UNWRITABLE } from "./journal_errors.ts";
import { Refusal } from "./refusal.ts";
import type { ExecutionResult, OperationContext } from "./types.ts";

export interface ExecutionParts {
  readonly proposals: Proposals;
  readonly restore: RestorePort;
  readonly ledger: LedgerPort;
  readonly options: InspectOptions;
  /** Registers a canonical repository path and gives its id. */
  readonly register: (path: string) => Promise<string>;
  readonly log: (line: string) => void;
  /** How long an outcome waits for a journal that takes nothing; a minute when not given. */
  readonly patience?: { readonly tries: number; readonly pauseMs: number };
}

type Ids = Record<string, string | null>;
type Outcome = ExecutionResult & { readonly ids?: Ids };

/** A locked repository with the point that was made of it. */
interface Secured {
  readonly place: Place;
  readonly held: HeldRepository;
  readonly fingerprint: string;
  readonly point: MadePoint;
}

/** Claims an approved proposal and carries it out. Throws a 409 `Refusal` when another one has the claim. */
export function execute(
  record: ProposalRecord,
  channel: string,
  parts: ExecutionParts,
): Promise<ProposalRecord> {
  return carryOut(parts.proposals.claim(record.previewId), channel, parts);
}

/**
 * Carries out a claimed proposal (`operations.md` 11.5): lock every repository that it writes to, look
 * again and compare digests, make the restore points, act, and if that fails bring everything back.
 * The outcome is in the journal before this resolves; what goes wrong with the operation is an outcome
 * too. Rejects only when the journal itself fails: then the proposal stays to be reconciled.
 */
export async function carryOut(
  claimed: ProposalRecord,
  channel: string,
  parts: ExecutionParts,
): Promise<ProposalRecord> {
  let outcome: Outcome;
  try {
    const places = await writtenPlaces(claimed, parts.register);
    outcome = await lockAll(inLockOrder(places), [], parts.restore, (locked) => {
      // The proposal's own repository first, whatever the order of locks.
      const own = locked.findIndex(({ place }) => place === places[0]);
      return underLock(claimed, [...locked.splice(own, 1), ...locked], parts);
    });
  } catch (error) {
    outcome = failed(`nothing was changed: ${messageOf(error)}`);
  }
  const result = { status: outcome.status, message: outcome.message, ...outcome.members };
  const done = await recorded(
    () => parts.proposals.finish(claimed.previewId, outcome.status, result),
    parts,
  );
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

/** A full disk may have room again a moment later: an outcome is worth some patience. */
async function recorded(
  finish: () => ProposalRecord,
  parts: ExecutionParts,
): Promise<ProposalRecord> {
  const { tries, pauseMs } = parts.patience ?? PATIENCE;
  for (let i = 1;; i++) {
    try {
      return finish();
    } catch (error) {
      const full = error instanceof Refusal && error.code === JOURNAL_UNWRITABLE;
      if (!full || i >= tries) throw error;
      if (i === 1) parts.log(`an outcome cannot be recorded yet: ${error.message}`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

const PATIENCE = { tries: 60, pauseMs: 1_000 };

type Locked = { place: Place; held: HeldRepository };

function lockAll<T>(
  [place, ...rest]: readonly Place[],
  locked: readonly Locked[],
  restore: RestorePort,
  work: (locked: Locked[]) => Promise<T>,
): Promise<T> {
  if (place === undefined) return work([...locked]);
  return restore.locked(
    place.repo,
    place.repoId,
    (held) => lockAll(rest, [...locked, { place, held }], restore, work),
  );
}

async function underLock(
  record: ProposalRecord,
  locked: readonly Locked[],
  parts: ExecutionParts,
): Promise<Outcome> {
  const seen = await inspectProposal(record, record.overrides, parts.options);
  if (seen.digest !== record.digest) {
    return stale("the repository changed after the approval");
  }
  if (seen.inspection.blockers[0]) {
    return failed(`nothing was changed: ${seen.inspection.blockers[0].message}`);
  }
  const secured: Secured[] = [];
  let again: Inspected & { context: OperationContext };
  try {
    for (const { place, held } of locked) {
      const fingerprint = await held.fingerprint();
      const point = await held.make({
        operation: record.action.operationType,
        previewId: record.previewId,
        agentId: record.agentId,
      });
      secured.push({ place, held, fingerprint, point });
    }
    // Making the points took time: the last look before the first write.
    again = await inspectProposal(record, record.overrides, parts.options);
    if (again.digest !== record.digest) {
      const what = changedFacts(seen.inspection.facts, again.inspection.facts).slice(0, 5);
      await settleAll(secured, "failed", parts);
      return stale(`it changed while the restore point was made (${what.join(", ")})`);
    }
    parts.proposals.progress(record.previewId, {
      phase: "acting",
      repositories: secured.map(({ place, point, fingerprint }) => ({
        repoPath: place.repo.path,
        restorePointId: point.id,
        fingerprint,
        head: point.before.commit,
      })),
    });
  } catch (error) {
    await settleAll(secured, "failed", parts);
    throw error;
  }
  let result: ExecutionResult;
  try {
    result = await again.operation.execute(record.action, again.inspection, again.context);
  } catch (error) {
    result = failed(messageOf(error));
  }
  if (result.status === "failed") return await afterFailure(result, secured, parts);
  const after = await settleAll(secured, "completed", parts);
  return completed(record, result, secured, after);
}

/** Result and ids of a completed operation, with what is known about the way back. */
function completed(
  record: ProposalRecord,
  result: ExecutionResult,
  secured: readonly Secured[],
  after: MadePoint["before"] | null,
): Outcome {
  const { point } = secured[0]!;
  const { branchRef, commit } = point.before;
  const moved = branchRef !== null && commit !== null && after !== null &&
    after.branchRef === branchRef && after.commit !== null && after.commit !== commit;
  const notCovered = secured.flatMap((one) => one.point.notCovered);
  return {
    ...result,
    members: {
      restorePointId: point.id,
      // The contract keeps it out of submodulePointer: undoing that must not reset the repository.
      ...(moved && record.action.operationType !== "submodulePointer"
        ? {
          restorePoint: {
            operation: record.action.operationType,
            branchRef,
            beforeCommit: commit,
            afterCommit: after.commit,
            canUndo: true,
          },
        }
        : {}),
      ...(secured.length > 1
        ? {
          restorePoints: secured.map((one) => ({
            repoPath: one.place.repo.path,
            restorePointId: one.point.id,
          })),
        }
        : {}),
      ...(notCovered.length > 0 ? { restorePointNotCovered: notCovered } : {}),
      ...result.members,
    },
    ids: { before: commit, ...(after ? { after: after.commit } : {}), ...idsOf(result.members) },
  };
}

/** Records the end in every point; gives where HEAD of the first repository stands. Never throws. */
async function settleAll(
  secured: readonly Secured[],
  outcome: "completed" | "failed",
  parts: ExecutionParts,
): Promise<MadePoint["before"] | null> {
  let first: MadePoint["before"] | null = null;
  for (const { held, point } of secured) {
    try {
      const after = await held.settle(point, outcome);
      if (point === secured[0]!.point) first = after ?? null;
    } catch (error) {
      parts.log(`the restore point ${point.id} was not brought up to date: ${messageOf(error)}`);
    }
  }
  return first;
}

/** A failed operation must leave the repository as it was; where it did not, the restore point does. */
async function afterFailure(
  result: ExecutionResult,
  secured: readonly Secured[],
  parts: ExecutionParts,
): Promise<Outcome> {
  const ids = { before: secured[0]!.point.before.commit };
  const members = { ...result.members, restorePointId: secured[0]!.point.id };
  const words: string[] = [];
  let unchanged = true;
  for (const one of secured) {
    const where = secured.length > 1 ? ` (${one.place.repo.path})` : "";
    try {
      const same = await one.held.fingerprint() === one.fingerprint;
      if (same || result.leaveAsIs) {
        // What differs then is somebody else's: nothing is brought back over it.
        unchanged &&= same;
        await settleAll([one], "failed", parts);
        continue;
      }
      await one.held.bringBack(one.point);
      if (await one.held.fingerprint() === one.fingerprint) {
        words.push(`the repository was brought back to how it was${where}`);
      } else {
        unchanged = false;
        words.push(`most of it was brought back; compare it with the restore point${where}`);
      }
    } catch (error) {
      unchanged = false;
      words.push(
        `the repository is changed and could not be brought back${where} (${
          messageOf(error)
        }): use the restore point ${one.point.id}`,
      );
    }
  }
  return {
    ...result,
    message: [result.message, ...words].join("; "),
    members: { ...members, repositoryUnchanged: unchanged },
    ids,
  };
}

function stale(why: string): ExecutionResult {
  return failed(`stale: ${why}; nothing was changed. Propose again.`, { stale: true });
}

function failed(message: string, members: Record<string, unknown> = {}): ExecutionResult {
  return { status: "failed", message, members };
}

/** Full object ids among the result's members, for the ledger. */
function idsOf(members: Readonly<Record<string, unknown>>): Ids {
  const ids: Ids = {};
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
