import { decodeText } from "../common/bytes.ts";
import { GitError } from "./errors.ts";
import { FieldRecords } from "./fields.ts";
import { streamGit } from "./command.ts";
import { LOG_FLAGS, nulFormat } from "./log.ts";
import { readShallow } from "./objects.ts";
import { type ReflogKind, reflogKind, type ReflogLine, rewroteByForm } from "./reflog.ts";
import type { Repository } from "./repository.ts";

/** What movements of a ref left behind: the part of a reflog that the graph of commits tells. */

/** How the old commit of a movement can be asked for again. */
export type Recovery = "lost-commit" | "reset" | "amend" | "rebase" | "checkout" | "none";

export interface Move {
  readonly action: ReflogKind;
  /** Unique abbreviation of the new id; null when that commit is not here. */
  readonly shortNewOid: string | null;
  /** The old commit is no ancestor of the new one; null when that could not be found out. */
  readonly rewrote: boolean | null;
  /** `none` while a ref reaches the old commit; null when unknown, or when it is not here any more. */
  readonly recovery: Recovery | null;
  /** Commits that only the old one reaches; a lower bound when `unreachableCapped`. */
  readonly unreachableCommits: number;
  readonly unreachableCapped: boolean;
  /** The old commit was removed from the repository. */
  readonly oldMissing: boolean;
}

export interface Moves {
  readonly moves: Move[];
  /** What could not be looked at. */
  readonly problems: readonly ("missing_objects" | "timed_out")[];
}

/** Commits that no ref reaches are followed up to this many. */
const MAX_LOST = 5_000;
const MAX_COUNT = 1_000;
/** For all questions of one call. */
const DEADLINE_MS = 5_000;

/**
 * Looks movements up in the graph: two commands, and one more for each movement whose old commit is
 * still reached by some ref and is no parent of the new one. Restore points of this project (below
 * `refs/fluxgit/`) do not count as refs that reach a commit.
 */
export async function lookUpMoves(
  repo: Repository,
  refName: string,
  lines: readonly ReflogLine[],
): Promise<Moves> {
  const until = performance.now() + DEADLINE_MS;
  const oids = [...new Set(lines.flatMap((l) => [l.oldOid, l.newOid]).filter((o) => o !== null))];
  if (oids.length === 0) return { moves: lines.map((l) => plainMove(l)), problems: [] };
  const problems = new Set<"missing_objects" | "timed_out">();
  const [known, lost] = await Promise.all([
    orProblem(readKnown(repo, oids), problems, new Map<string, Known>()),
    // Older entries of a stash are alive by being in its reflog.
    refName === "refs/stash"
      ? { parents: new Map<string, string[]>(), cut: false }
      : orProblem(readLost(repo, oids), problems, null),
  ]);
  const shallow = readShallow(repo).shallow;
  const moves = await Promise.all(lines.map(async (line): Promise<Move> => {
    const form = refName === "refs/stash" ? false : rewroteByForm(refName, line);
    const graph = form ?? rewroteByGraph(line, known, lost);
    const rewrote = graph === "ask"
      ? await isLeftBehind(repo, line, until - performance.now(), shallow, problems)
      : graph;
    return {
      ...plainMove(line),
      ...recoveryOf(line, known, lost),
      rewrote,
      ...shortOf(line, known),
    };
  }));
  return { moves, problems: [...problems] };
}

interface Known {
  readonly short: string;
  readonly parents: readonly string[];
}

interface Lost {
  /** Commits that no ref reaches, with their parents. */
  readonly parents: ReadonlyMap<string, readonly string[]>;
  /** True when there are more. */
  readonly cut: boolean;
}

function plainMove(line: ReflogLine): Move {
  return {
    action: reflogKind(line.message),
    shortNewOid: null,
    rewrote: false,
    recovery: "none",
    unreachableCommits: 0,
    unreachableCapped: false,
    oldMissing: false,
  };
}

function shortOf(line: ReflogLine, known: ReadonlyMap<string, Known>): Pick<Move, "shortNewOid"> {
  return { shortNewOid: line.newOid === null ? null : known.get(line.newOid)?.short ?? null };
}

function recoveryOf(
  line: ReflogLine,
  known: ReadonlyMap<string, Known>,
  lost: Lost | null,
): Partial<Move> {
  const old = line.oldOid;
  if (old === null) return {};
  if (!known.has(old)) return { recovery: null, oldMissing: known.size > 0 };
  if (lost === null) return { recovery: null };
  if (!lost.parents.has(old)) return lost.cut ? { recovery: null } : {};
  const kind = reflogKind(line.message);
  const named = kind === "reset" || kind === "amend" || kind === "rebase" || kind === "checkout";
  const seen = reach(old, lost);
  return {
    recovery: named ? kind : "lost-commit",
    unreachableCommits: Math.min(seen.size, MAX_COUNT),
    unreachableCapped: seen.size > MAX_COUNT || lost.cut,
  };
}

/** Commits reached from one without leaving those that no ref reaches. */
function reach(from: string, lost: Lost): Set<string> {
  const seen = new Set<string>();
  const open = [from];
  for (let oid = open.pop(); oid !== undefined; oid = open.pop()) {
    const parents = lost.parents.get(oid);
    if (parents === undefined || seen.has(oid)) continue;
    seen.add(oid);
    open.push(...parents);
  }
  return seen;
}

function rewroteByGraph(
  line: ReflogLine,
  known: ReadonlyMap<string, Known>,
  lost: Lost | null,
): boolean | null | "ask" {
  const old = known.get(line.oldOid!), now = known.get(line.newOid!);
  if (!old || !now) return null;
  if (now.parents.includes(line.oldOid!)) return false;
  if (old.parents.includes(line.newOid!)) return true;
  if (lost === null || lost.cut || !lost.parents.has(line.oldOid!)) return "ask";
  // Whatever lies between an unreachable commit and a descendant of it is unreachable too.
  return !reach(line.newOid!, lost).has(line.oldOid!);
}

async function isLeftBehind(
  repo: Repository,
  line: ReflogLine,
  leftMs: number,
  shallow: boolean,
  problems: Set<"missing_objects" | "timed_out">,
): Promise<boolean | null> {
  if (leftMs <= 0) {
    problems.add("timed_out");
    return null;
  }
  const asked = repo.run(["merge-base", "--is-ancestor", line.oldOid!, line.newOid!], {
    okCodes: "any",
    deadlineMs: leftMs,
  });
  const code = await orProblem(asked.then((out) => out.code), problems, -1);
  if (code === 0) return false;
  // Where history is cut off, a way from one to the other can be hidden.
  return code === 1 && !shallow ? true : null;
}

/** Which commits are here, with abbreviations and parents. */
async function readKnown(repo: Repository, oids: readonly string[]): Promise<Map<string, Known>> {
  const known = new Map<string, Known>();
  const records = new FieldRecords([64, 64, 64 * 65]);
  await streamGit(
    repo,
    [
      "log",
      ...LOG_FLAGS.filter((flag) => !flag.startsWith("--decorate")),
      "--no-walk=unsorted",
      "--ignore-missing",
      nulFormat(["%H", "%h", "%P"]),
      "--stdin",
    ],
    { signal: repo.signal, deadlineMs: DEADLINE_MS, stdin: oids.join("\n") + "\n" },
    (chunk) =>
      records.push(chunk, (fields) => {
        const [hash, short, parents] = fields.map((field) => decodeText(field.bytes));
        known.set(hash!, { short: short!, parents: parents!.split(" ") });
        return true;
      }),
  );
  return known;
}

/** Which of the commits, and of what they reach, no ref reaches. */
async function readLost(repo: Repository, oids: readonly string[]): Promise<Lost> {
  const out = await repo.run([
    "rev-list",
    "--parents",
    "--ignore-missing",
    `--max-count=${MAX_LOST + 1}`,
    "--stdin",
    "--not",
    "--exclude=refs/fluxgit/*",
    "--all",
  ], { stdin: oids.join("\n") + "\n", deadlineMs: DEADLINE_MS, overflow: "cut" });
  const parents = new Map<string, string[]>();
  const rows = decodeText(out.stdout).split("\n");
  // A last row without its line end is a piece of one.
  rows.pop();
  for (const row of rows) {
    const [oid, ...more] = row.split(" ");
    parents.set(oid!, more);
  }
  return { parents, cut: out.cut || parents.size > MAX_LOST };
}

/** A failure becomes a problem that is said; cancellation stays a failure. */
async function orProblem<T, F>(
  work: Promise<T>,
  problems: Set<"missing_objects" | "timed_out">,
  fallback: F,
): Promise<T | F> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof GitError) || error.kind === "cancelled") throw error;
    problems.add(error.kind === "timed_out" ? "timed_out" : "missing_objects");
    return fallback;
  }
}
