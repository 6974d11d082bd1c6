import type { Repository } from "../git/repository.ts";
import { RestoreError } from "./errors.ts";
import { fromRaw, openable, toRaw } from "./raw.ts";
import type { RefPlan } from "./ref_plan.ts";
import type { RawRefChange, RefState } from "./refs.ts";

/**
 * Moves refs as planned. Every move names the value that the ref must have now, so a race is refused
 * by git itself; deletions come before the rest, because a name may stand in the way of another.
 *
 * @param reason text for the reflogs
 * @throws {import("../git/errors.ts").GitError} a ref has moved meanwhile; none of its step was moved
 */
export async function moveRefs(repo: Repository, plan: RefPlan, reason: string): Promise<void> {
  const gone = plan.moves.filter((move) => move.to === null);
  const rest = plan.moves.filter((move) => move.to !== null);
  // One transaction is safer; two are needed only where a branch gives way to one below or above it.
  const steps = standsInTheWay(gone, rest) ? [gone, rest] : [plan.moves];
  for (const step of steps) {
    if (step.length > 0) await transaction(repo, step, reason);
  }
  for (const { name, to } of plan.symbolic) {
    const ref = argument(name);
    await repo.run(
      to?.symref
        ? ["symbolic-ref", "-m", reason, ref, argument(to.symref)]
        : to
        ? ["update-ref", "--no-deref", "-m", reason, ref, to.oid]
        : ["symbolic-ref", "--delete", ref],
      { profile: "store" },
    );
  }
}

/** The plan that takes back what {@link moveRefs} did. */
export function reversed(plan: RefPlan, now: RefState): RefPlan {
  const turn = ({ name, from, to }: RawRefChange): RawRefChange => ({ name, from: to, to: from });
  return {
    moves: plan.moves.map(turn),
    symbolic: plan.symbolic.map(turn),
    left: [],
    head: plan.head ? { ref: now.headRef, oid: now.headOid } : null,
    headElsewhere: null,
  };
}

/** Points HEAD at a branch or a commit. The caller has just compared HEAD with what it should be. */
export async function moveHead(
  repo: Repository,
  head: { readonly ref: string | null; readonly oid: string | null },
  reason: string,
): Promise<void> {
  if (head.ref !== null) {
    await repo.run(["symbolic-ref", "-m", reason, "HEAD", argument(head.ref)], {
      profile: "store",
    });
  } else if (head.oid !== null) {
    await repo.run(["update-ref", "--no-deref", "-m", reason, "HEAD", head.oid], {
      profile: "store",
    });
  }
}

async function transaction(
  repo: Repository,
  moves: readonly RawRefChange[],
  reason: string,
): Promise<void> {
  const zero = "0".repeat(repo.facts.objectFormat === "sha256" ? 64 : 40);
  let text = "";
  for (const { name, from, to } of moves) {
    if (to === null) text += `delete ${name}\0${from!.oid}\0`;
    else text += `update ${name}\0${to.oid}\0${from?.oid ?? zero}\0`;
  }
  await repo.run(["update-ref", "-m", reason, "--stdin", "-z"], {
    profile: "store",
    stdin: fromRaw(text),
  });
}

function standsInTheWay(gone: readonly RawRefChange[], rest: readonly RawRefChange[]): boolean {
  if (gone.length === 0) return false;
  const names = new Set(gone.map((move) => move.name));
  const folders = new Set(gone.flatMap((move) => parents(move.name)));
  return rest.some(({ name, from }) =>
    from === null && (folders.has(name) || parents(name).some((parent) => names.has(parent)))
  );
}

function parents(name: string): string[] {
  const found: string[] = [];
  for (let at = name.lastIndexOf("/"); at > 4; at = name.lastIndexOf("/", at - 1)) {
    found.push(name.slice(0, at));
  }
  return found;
}

function argument(raw: string): string {
  const text = openable(raw);
  if (text === null) {
    throw new RestoreError("failed", "a symbolic ref whose name is not UTF-8 cannot be moved");
  }
  return text;
}

/** One entry of the stash, as its log has it. */
interface StashEntry {
  readonly oid: string;
  /** `Name <mail> seconds zone` as raw text. */
  readonly identity: string;
  readonly message: string;
}

/** What becomes of the stash: its entries from the oldest, and how many the point does not know. */
export interface StashPlan {
  readonly entries: readonly StashEntry[];
  readonly newer: number;
}

/**
 * Plans the stash: the point's entries, and above them what was stashed since, but for what the
 * operation itself stashed (`after`). Null: it stays as it is.
 */
export function planStash(
  target: Uint8Array | null,
  now: Uint8Array | null,
  after: Uint8Array | null,
): StashPlan | null {
  const [wanted, present] = [parseStash(target), parseStash(now)];
  const known = new Set([...wanted, ...parseStash(after)].map((entry) => entry.oid));
  const newer = present.filter((entry) => !known.has(entry.oid));
  const entries = [...wanted, ...newer];
  const same = entries.length === present.length &&
    entries.every((entry, i) => entry.oid === present[i]!.oid);
  return same ? null : { entries, newer: newer.length };
}

function parseStash(log: Uint8Array | null): StashEntry[] {
  if (log === null) return [];
  return toRaw(log).split("\n").flatMap((line) => {
    const match = /^[0-9a-f]+ ([0-9a-f]{40,64}) (.*>\s\d+ [+-]\d{4})\t?(.*)$/.exec(line);
    return match && !/^0+$/.test(match[1]!)
      ? [{ oid: match[1]!, identity: match[2]!, message: match[3]! }]
      : [];
  });
}

/** Builds the stash anew, entry by entry, with the names and times it had. */
export async function writeStash(
  repo: Repository,
  plan: StashPlan,
  now: RefState,
): Promise<void> {
  const old = now.refs.get("refs/stash")?.oid;
  if (old !== undefined) {
    await repo.run(["update-ref", "-d", "refs/stash", old], { profile: "store" });
  }
  let previous = "0".repeat(repo.facts.objectFormat === "sha256" ? 64 : 40);
  for (const { oid, identity, message } of plan.entries) {
    const who = /^(.*) <(.*)> (\d+ [+-]\d{4})$/.exec(identity);
    await repo.run(
      [
        "update-ref",
        "-m",
        openable(message) ?? "stash",
        "--create-reflog",
        "refs/stash",
        oid,
        previous,
      ],
      {
        profile: "store",
        env: who
          ? {
            GIT_COMMITTER_NAME: openable(who[1]!) ?? "unknown",
            GIT_COMMITTER_EMAIL: openable(who[2]!) ?? "unknown",
            GIT_COMMITTER_DATE: `@${who[3]!}`,
          }
          : {},
      },
    );
    previous = oid;
  }
}
