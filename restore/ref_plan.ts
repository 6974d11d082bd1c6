import type { Repository } from "../git/repository.ts";
import { rawNames, textOf } from "./raw.ts";
import type { RawRefChange, RefState, RefValue } from "./refs.ts";
import { refChanges } from "./refs.ts";

/** Which refs a restore moves, and which it leaves as they are. */
export interface RefPlan {
  /** Ordinary refs, with the value they have now. */
  readonly moves: readonly RawRefChange[];
  /** Symbolic refs other than HEAD. */
  readonly symbolic: readonly RawRefChange[];
  /** Differ from the point and stay. */
  readonly left: readonly { readonly name: string; readonly reason: LeftReason }[];
  /** Set when HEAD itself moves (to a branch, or to a commit). */
  readonly head: { readonly ref: string | null; readonly oid: string | null } | null;
  /** Branch that HEAD should be on but that another work tree has checked out. */
  readonly headElsewhere: string | null;
}

export type LeftReason = "made_after_the_point" | "checked_out_in_another_work_tree";

/**
 * Plans the way from the refs as they are to those of a point. A ref that the point does not know is
 * deleted only when the operation itself made it (it is in `after`, with this value) or when HEAD was
 * unborn on it; a branch that another work tree has checked out is left to that work tree.
 */
export function planRefs(
  target: RefState,
  now: RefState,
  after: RefState | null,
  elsewhere: ReadonlySet<string>,
  stashIsStack: boolean,
): RefPlan {
  const moves: RawRefChange[] = [], symbolic: RawRefChange[] = [];
  const left: { name: string; reason: LeftReason }[] = [];
  for (const change of refChanges(now, target)) {
    const { name, from, to } = change;
    // With its log the stash is a stack, which has a plan of its own.
    if (name === "refs/stash" && stashIsStack) continue;
    if (elsewhere.has(name) && from !== null) {
      left.push({ name, reason: "checked_out_in_another_work_tree" });
    } else if (to === null && !madeByOperation(name, from!, after) && name !== target.headRef) {
      left.push({ name, reason: "made_after_the_point" });
    } else if ((to ?? from)!.symref !== null || from?.symref) symbolic.push(change);
    else moves.push(change);
  }
  const headMoves = target.headRef === null
    ? now.headRef !== null || now.headOid !== target.headOid
    : now.headRef !== target.headRef;
  return {
    moves,
    symbolic,
    left,
    head: headMoves ? { ref: target.headRef, oid: target.headOid } : null,
    headElsewhere: headMoves && target.headRef !== null && elsewhere.has(target.headRef)
      ? target.headRef
      : null,
  };
}

function madeByOperation(name: string, value: RefValue, after: RefState | null): boolean {
  const made = after?.refs.get(name);
  return made !== undefined && made.oid === value.oid && made.symref === value.symref;
}

/** Full names of branches that other work trees have checked out. */
export async function checkedOutElsewhere(repo: Repository): Promise<Set<string>> {
  const out = await repo.run([
    "for-each-ref",
    "--format=%(refname)%00%(worktreepath)%00",
    "refs/heads/",
  ], { maxBytes: 64 * 1024 * 1024 });
  const fields = rawNames(out.stdout);
  const found = new Set<string>();
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [name, place] = [fields[i]!.replace(/^\n/, ""), textOf(fields[i + 1]!)];
    // A bare repository's own HEAD is no work tree.
    const own = place === repo.facts.topLevel || place === repo.facts.commonDir;
    if (place !== "" && !own) found.add(name);
  }
  return found;
}

/** Ids that refs will name when the plan is carried out. */
export function idsAfter(plan: RefPlan, now: RefState, target: RefState): Set<string> {
  const refs = new Map(now.refs);
  for (const { name, to } of [...plan.moves, ...plan.symbolic]) {
    if (to === null) refs.delete(name);
    else refs.set(name, to);
  }
  const ids = new Set([...refs.values()].map((value) => value.oid));
  const head = plan.head ? target : now;
  // On a branch HEAD is where the branch will be.
  if (head.headRef === null && head.headOid !== null) ids.add(head.headOid);
  return ids;
}

/**
 * Commits that no ref will lead to any more once the plan is carried out; the new point keeps them.
 * Null when git cannot count them.
 */
export async function countLeftBehind(
  repo: Repository,
  plan: RefPlan,
  now: RefState,
  target: RefState,
): Promise<number | null> {
  const before = new Set(
    [...plan.moves, ...plan.symbolic].flatMap(({ from }) => (from ? [from.oid] : [])),
  );
  if (plan.head && now.headOid !== null) before.add(now.headOid);
  const after = idsAfter(plan, now, target);
  const wanted = [...before].filter((oid) => !after.has(oid));
  if (wanted.length === 0) return 0;
  const out = await repo.run(["rev-list", "--count", "--ignore-missing", "--stdin"], {
    stdin: [...wanted, ...[...after].map((oid) => `^${oid}`)].join("\n") + "\n",
    okCodes: "any",
  });
  const count = Number(new TextDecoder().decode(out.stdout).trim());
  return out.code === 0 && Number.isSafeInteger(count) ? count : null;
}
