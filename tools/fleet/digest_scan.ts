import { readMoves } from "../../git/fleet_moves.ts";
import { reflogKind, reflogSource } from "../../git/reflog.ts";
import { hasLinkedParts } from "../../git/confinement.ts";
import { acceptedPlainRepository } from "../../git/plain_repository.ts";
import { openRepository } from "../../git/repository.ts";
import { rewroteHistory } from "../../git/rewrites.ts";
import type { ToolContext } from "../../registry/define.ts";
import type { Warning } from "../open.ts";
import { type Bounds, fleetConcurrency, runBounded, type Timers } from "./bounded.ts";
import { entryProblem, type FleetTarget } from "./entries.ts";

/** Bounds of fleet.digest; the rest of a host's minute is for telling rewrites. */
export const DIGEST_BOUNDS: Bounds & { readonly rewritesMs: number } = {
  concurrency: fleetConcurrency(),
  totalMs: 20_000,
  itemMs: 10_000,
  rewritesMs: 8_000,
};

const MAX_MESSAGE = 200;
const MAX_IDENTITY = 256;
/** Warnings about single repositories; a last one counts those that are left out. */
const MAX_WARNINGS = 50;

/** Reads what moved in every repository; `events` newest first, at most `maxEvents`. */
export async function scanDigest(
  targets: readonly FleetTarget[],
  sinceMs: number,
  maxEvents: number,
  context: ToolContext,
  timers: Timers,
  bounds: Bounds & { readonly rewritesMs: number } = DIGEST_BOUNDS,
) {
  const readable = targets.filter((target) => target.problem === null);
  const outcomes = await runBounded(
    readable,
    async (target, signal) => {
      const plain = await acceptedPlainRepository(target.repoPath, signal);
      const confined = plain && !(context.roots && hasLinkedParts(plain.facts.gitDir));
      const repo = confined
        ? plain
        : await openRepository(target.repoPath, { signal, roots: context.roots });
      return { repo, ...await readMoves(repo, Math.ceil(sinceMs / 1000), signal) };
    },
    bounds,
    timers,
    context.signal,
    (settled) => context.progress(settled, readable.length),
  );
  const byTarget = new Map(readable.map((target, i) => [target, outcomes[i]!]));
  const notes: Warning[] = [];
  let late = 0;
  const all: { repo: Awaited<ReturnType<typeof openRepository>>; repoPath: string; move: Move }[] =
    [];
  const repos = targets.map((target) => {
    const outcome = byTarget.get(target);
    const { repoPath } = target;
    if (outcome?.kind === "done") {
      const { repo, moves, truncated, notes: own } = outcome.value;
      for (const move of moves) all.push({ repo, repoPath, move });
      for (const note of own) notes.push({ ...note, path: repoPath });
      return { repoPath, error: null, truncated, eventCount: moves.length };
    }
    if (outcome?.kind === "timed_out") late++;
    const problem = target.problem ??
      (outcome?.kind === "failed" ? entryProblem(outcome.error) : {
        code: 10010,
        kind: "timed_out",
        message: "not read before the deadline",
      });
    return {
      repoPath,
      error: problem.message,
      errorCode: problem.code,
      ...(problem.kind ? { errorKind: problem.kind } : {}),
      truncated: false,
      // Unknown, not none.
      eventCount: null,
    };
  });
  all.sort((a, b) =>
    b.move.seconds - a.move.seconds ||
    (a.repoPath < b.repoPath ? -1 : a.repoPath > b.repoPath ? 1 : 0)
  );
  const kept = all.slice(0, maxEvents);
  const { answers, unasked, cutShort } = await tellRewrites(
    kept,
    context.signal,
    timers,
    bounds.rewritesMs,
  );
  const timedOut = (message: string, count?: number): Warning => ({
    code: "timed_out",
    message,
    ...(count === undefined ? {} : { count }),
  });
  const first: Warning[] = [];
  if (late > 0) {
    first.push(
      timedOut("repositories without an answer in time; ask again in smaller groups", late),
    );
  }
  if (cutShort) first.push(timedOut("movements were not compared in time; their rewrote is null"));
  if (unasked > 0) {
    first.push(
      timedOut("movements left uncompared, too many at once; their rewrote is null", unasked),
    );
  }
  return {
    events: kept.map(({ repoPath, move }, i) => ({
      repoPath,
      atMs: move.seconds * 1000,
      refName: move.refName,
      kind: reflogKind(move.message),
      oldOid: move.oldOid,
      newOid: move.newOid,
      message: clip(move.message, MAX_MESSAGE),
      identity: clip(move.identity, MAX_IDENTITY),
      rewrote: answers[i]!,
      source: reflogSource(move.message),
    })),
    dropped: all.length > kept.length,
    repos,
    timedOut: late > 0 || cutShort,
    warnings: [...first, ...bounded(notes)],
  };
}

type Move = Awaited<ReturnType<typeof readMoves>>["moves"][number];

async function tellRewrites(
  kept: readonly { repo: Awaited<ReturnType<typeof openRepository>>; move: Move }[],
  signal: AbortSignal,
  timers: Timers,
  ms: number,
): Promise<{ answers: (boolean | null)[]; unasked: number; cutShort: boolean }> {
  const own = new AbortController();
  const stop = () => own.abort();
  signal.addEventListener("abort", stop, { once: true });
  const callOff = timers.after(ms, stop);
  try {
    const told = await rewroteHistory(
      kept.map(({ repo, move }) => ({ repo, ...move })),
      own.signal,
    );
    return { ...told, cutShort: own.signal.aborted };
  } finally {
    callOff();
    signal.removeEventListener("abort", stop);
  }
}

function bounded(notes: Warning[]): Warning[] {
  if (notes.length <= MAX_WARNINGS) return notes;
  return [...notes.slice(0, MAX_WARNINGS), {
    code: "reflog_unreadable",
    message: "further repositories have warnings of the same kinds",
    count: notes.length - MAX_WARNINGS,
  }];
}

/** Cuts by characters, never through a surrogate pair. */
function clip(text: string, max: number): string {
  if (text.length <= max) return text;
  return text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "") + "…";
}
