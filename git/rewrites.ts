import { type CommitHeader, readCommitHeaders } from "./commit_headers.ts";
import { GitError } from "./errors.ts";
import { rewroteByForm } from "./reflog.ts";
import type { Repository } from "./repository.ts";

/** A movement whose effect on history is asked for. */
export interface Movement {
  readonly repo: Repository;
  readonly refName: string;
  readonly oldOid: string | null;
  readonly newOid: string | null;
  readonly message: string;
}

/** Questions to git at most; what is left is answered with null. */
const MAX_QUESTIONS = 400;
const MAX_KNOWN = 5_000;
/** Answers stay true: both ids name fixed histories. */
const known = new Map<string, boolean>();

/**
 * Whether each movement left commits behind: true exactly when the old commit is not an ancestor of
 * the new one, null when that could not be found out (pruned commits, cut history, no time left).
 *
 * `unasked` counts those that were not looked into because there were too many.
 *
 * Nearly all are told by the parents of the two commits, which are read for all repositories together;
 * git is asked only about the others.
 */
export async function rewroteHistory(
  moves: readonly Movement[],
  signal: AbortSignal,
): Promise<{ answers: (boolean | null)[]; unasked: number }> {
  const answers: (boolean | null)[] = moves.map((move) => rewroteByForm(move.refName, move));
  const open = moves.map((_, i) => i).filter((i) => answers[i] === null);
  for (const i of open) answers[i] = known.get(pair(moves[i]!)) ?? null;
  const unread = open.filter((i) => answers[i] === null);
  if (unread.length === 0) return { answers, unasked: 0 };
  const headers = await readCommitHeaders(
    wanted(unread.map((i) => moves[i]!)),
    signal,
  ).catch(() => new Map<string, CommitHeader>());
  const hard: number[] = [];
  for (const i of unread) {
    const told = byParents(moves[i]!, headers);
    if (told === null) hard.push(i);
    else remember(moves[i]!, answers[i] = told);
  }
  await Promise.all(
    hard.slice(0, MAX_QUESTIONS).map(async (i) => {
      const told = await byAncestry(moves[i]!, signal);
      answers[i] = told;
      if (told !== null) remember(moves[i]!, told);
    }),
  );
  return { answers, unasked: Math.max(0, hard.length - MAX_QUESTIONS) };
}

function pair(move: Movement): string {
  return `${move.oldOid} ${move.newOid}`;
}

function remember(move: Movement, rewrote: boolean): void {
  known.set(pair(move), rewrote);
  if (known.size > MAX_KNOWN) known.delete(known.keys().next().value!);
}

function wanted(moves: readonly Movement[]) {
  const byRepo = new Map<Repository, Set<string>>();
  for (const { repo, oldOid, newOid } of moves) {
    const oids = byRepo.get(repo) ?? new Set();
    byRepo.set(repo, oids.add(oldOid!).add(newOid!));
  }
  return [...byRepo].map(([repo, oids]) => ({
    target: repo,
    commonDir: repo.facts.commonDir,
    oids: [...oids],
  }));
}

/** What the parents alone decide: a commit on top, an amended one, a step back. */
function byParents(move: Movement, headers: ReadonlyMap<string, CommitHeader>): boolean | null {
  const before = headers.get(move.oldOid!), after = headers.get(move.newOid!);
  if (after?.parents.includes(move.oldOid!)) return false;
  if (!before || !after) return null;
  // A commit is no ancestor of its parent, nor of a sibling with the same parents.
  if (before.parents.includes(move.newOid!)) return true;
  const same = before.parents.length === after.parents.length &&
    before.parents.every((parent, i) => parent === after.parents[i]);
  return same ? true : null;
}

async function byAncestry(move: Movement, signal: AbortSignal): Promise<boolean | null> {
  try {
    const { code } = await move.repo.run(
      ["merge-base", "--is-ancestor", move.oldOid!, move.newOid!],
      { okCodes: "any", signal },
    );
    return code === 0 ? false : code === 1 && !isShallow(move.repo) ? true : null;
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}

/** Where history is cut off, "not an ancestor" may only mean "not in the part that is here". */
function isShallow(repo: Repository): boolean {
  try {
    return Deno.lstatSync(`${repo.facts.commonDir}/shallow`).size > 0;
  } catch {
    return false;
  }
}
