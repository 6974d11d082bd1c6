import { openRepository, type Repository } from "../../git/repository.ts";
import type { ProposalRecord } from "./journal.ts";

/** A repository that an operation writes to. */
export interface Place {
  readonly repo: Repository;
  /** Id that it is registered under. */
  readonly repoId: string;
}

/**
 * Every repository that a proposal would write to, the proposal's own first, each once by its common
 * git directory. A target that cannot be opened is left out: the operation itself says so.
 */
export async function writtenPlaces(
  record: ProposalRecord,
  register: (path: string) => Promise<string>,
): Promise<Place[]> {
  const own = await openRepository(record.repoPath);
  const places: Place[] = [{ repo: own, repoId: record.repoId }];
  const add = async (path: string) => {
    let repo: Repository;
    try {
      repo = await openRepository(await Deno.realPath(path));
      // A folder that is no repository of its own is found to belong to the one around it.
      if (places.some((place) => place.repo.facts.commonDir === repo.facts.commonDir)) return;
    } catch {
      return;
    }
    places.push({ repo, repoId: await register(repo.path) });
  };
  const { action } = record;
  if (action.operationType === "branchDelete") {
    for (const target of action.targets) await add(target.repoPath);
  } else if (action.operationType === "submodulePointer") {
    const parent = action.parentPath === "" ? own.path : `${own.path}/${action.parentPath}`;
    await add(action.direction === "record" ? parent : `${parent}/${action.relativePath}`);
  }
  return places;
}

/** Locks are taken in this order by every gateway, so that two can never wait for each other. */
export function inLockOrder(places: readonly Place[]): Place[] {
  return [...places].sort((a, b) => (a.repo.facts.commonDir < b.repo.facts.commonDir ? -1 : 1));
}
