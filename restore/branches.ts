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
import { readRefState } from "./refs.ts";
import type { BranchTip } from "./types.ts";

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
