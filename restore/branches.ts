import type { Repository } from "../git/repository.ts";
import { RestoreError } from "./errors.ts";
import { bringHistory } from "./objects.ts";
import {
  checkLock,
  openHidden,
  readListForWriting,
  saveList,
  type WriteContext,
} from "./points.ts";
import { toRaw } from "./raw.ts";
import { moveRefs } from "./ref_moves.ts";
import { headState, readRefState } from "./refs.ts";
import type { RestorePreview } from "./plan.ts";
import type { BranchTip } from "./types.ts";

/** The kept tip with an id; null when there is none. */
export async function findBranchTip(
  repo: Repository,
  context: WriteContext,
  tipId: string,
): Promise<BranchTip | null> {
  checkLock(repo, context);
  const list = await readListForWriting(repo, openHidden(repo), context);
  return list.branchTips.find((candidate) => candidate.id === tipId) ?? null;
}

/** What creating the branch again changes; errors as {@link restoreBranch}. */
export async function previewBranch(repo: Repository, tip: BranchTip): Promise<RestorePreview> {
  const now = await readRefState(repo);
  const exists = now.refs.has(toRaw(new TextEncoder().encode(tip.ref)));
  const head = headState(now);
  const none = { count: 0, first: [] };
  const facts = JSON.stringify(["fluxgit branch tip 1", tip.id, tip.ref, tip.oid, exists, head]);
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(facts));
  return {
    pointId: tip.id,
    digest: new Uint8Array(hash).toHex(),
    head: { from: head, to: head },
    refs: exists ? [] : [{ ref: tip.ref, before: null, after: tip.oid }],
    refsTotal: exists ? 0 : 1,
    refsLeft: [],
    refsLeftTotal: 0,
    files: { created: none, overwritten: none, removed: none, left: none },
    lines: null,
    index: "same",
    operationState: none,
    stash: { changes: false, newerKept: 0 },
    commitsLeftBehind: 0,
    blockers: exists
      ? [{
        code: "branch_exists",
        message: "a branch of that name exists again; rename it first",
        count: 1,
        first: [tip.ref],
      }]
      : [],
    nothingToDo: false,
  };
}

/**
 * Creates a deleted branch again at the tip it had, with the commits brought back when a gc has taken
 * them. Its settings (upstream) are not known any more. The caller holds the lock.
 *
 * @param tipId id from the list's `branchTips`
 * @throws {RestoreError} `not_found`; `would_lose` when a branch of that name exists;
 * `objects_missing`
 */
export async function restoreBranch(
  repo: Repository,
  context: WriteContext,
  tipId: string,
): Promise<BranchTip> {
  checkLock(repo, context);
  const hidden = openHidden(repo);
  const list = await readListForWriting(repo, hidden, context);
  const tip = list.branchTips.find((candidate) => candidate.id === tipId);
  if (!tip) {
    throw new RestoreError(
      "not_found",
      `no tip ${
        JSON.stringify(tipId.slice(0, 60))
      } of a deleted branch is kept for this repository`,
    );
  }
  const now = await readRefState(repo);
  const name = toRaw(new TextEncoder().encode(tip.ref));
  if (now.refs.has(name)) {
    throw new RestoreError(
      "would_lose",
      `${tip.ref} exists again; rename it first, or make another branch at ${tip.oid.slice(0, 12)}`,
    );
  }
  const known = new Set([...now.refs.values()].map((value) => value.oid));
  await bringHistory(repo, hidden, [tip.oid], known, true);
  await moveRefs(repo, {
    moves: [{ name, from: null, to: { oid: tip.oid, symref: null } }],
    symbolic: [],
    left: [],
    head: null,
    headElsewhere: null,
  }, `fluxgit restore: branch ${tip.id}`);
  await saveList(repo, hidden, context, {
    ...list,
    branchTips: list.branchTips.filter((other) => other.id !== tip.id),
  });
  return tip;
}
