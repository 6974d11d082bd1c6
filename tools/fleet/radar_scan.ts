import { readCommitHeaders } from "../../git/commit_headers.ts";
import { type FleetState, readFleetState } from "../../git/fleet_state.ts";
import type { ToolContext } from "../../registry/define.ts";
import type { Warning } from "../open.ts";
import { type Attention, judge, unreadAttention } from "./attention.ts";
import { type Bounds, fleetConcurrency, runBounded, type Settled, type Timers } from "./bounded.ts";
import { type EntryProblem, entryProblem, type FleetTarget } from "./entries.ts";

/** Bounds of fleet.radar: what hosts allow a call is about a minute. */
export const RADAR_BOUNDS: Bounds = {
  concurrency: fleetConcurrency(),
  totalMs: 25_000,
  itemMs: 10_000,
};

/** Conflicting paths named for one repository. */
const MAX_PREDICTED = 20;
/** Time for the commits' times, which are asked for together at the end. */
const TIMES_MS = 3_000;

/** Looks at every repository and gives `entries`, in order, with the warnings about the whole call. */
export async function scanRadar(
  targets: readonly FleetTarget[],
  context: ToolContext,
  timers: Timers,
  bounds: Bounds = RADAR_BOUNDS,
) {
  const readable = targets.filter((target) => target.problem === null);
  const outcomes = await runBounded(
    readable,
    (target, signal) =>
      readFleetState(target.repoPath, {
        signal,
        roots: context.roots,
        scratch: context.scratch,
        previewLimit: MAX_PREDICTED,
      }),
    bounds,
    timers,
    context.signal,
    (settled) => context.progress(settled, readable.length),
  );
  const byTarget = new Map(readable.map((target, i) => [target, outcomes[i]!]));
  const times = await commitTimes(outcomes, context.signal, timers);
  const entries = targets.map((target) => entryOf(target, byTarget.get(target), times));
  const late = outcomes.filter((outcome) => outcome.kind === "timed_out").length;
  const warnings: Warning[] = late === 0 ? [] : [{
    code: "timed_out",
    message: "repositories without an answer in time; ask for them again, in smaller groups",
    count: late,
  }];
  return { entries, scanned: entries.length - late, timedOut: late > 0, warnings };
}

export type RadarEntry = Awaited<ReturnType<typeof scanRadar>>["entries"][number];

/** Committer times of all heads, by id; what cannot be read in time is not known. */
async function commitTimes(
  outcomes: readonly Settled<FleetState>[],
  signal: AbortSignal,
  timers: Timers,
): Promise<ReadonlyMap<string, number | null>> {
  const wanted = outcomes.flatMap((outcome) => {
    if (outcome.kind !== "done" || outcome.value.head === null) return [];
    const { repo, head } = outcome.value;
    return [{ target: repo, commonDir: repo.facts.commonDir, oids: [head] }];
  });
  const own = new AbortController();
  const stop = () => own.abort();
  signal.addEventListener("abort", stop, { once: true });
  const callOff = timers.after(TIMES_MS, stop);
  try {
    const headers = await readCommitHeaders(wanted, own.signal);
    return new Map([...headers].map(([oid, header]) => [oid, header.committedAt]));
  } catch {
    return new Map();
  } finally {
    callOff();
    signal.removeEventListener("abort", stop);
  }
}

function entryOf(
  target: FleetTarget,
  outcome: Settled<FleetState> | undefined,
  times: ReadonlyMap<string, number | null>,
) {
  const state = outcome?.kind === "done" ? outcome.value : null;
  const problem: EntryProblem | null = target.problem ??
    (outcome?.kind === "failed"
      ? entryProblem(outcome.error)
      : outcome?.kind === "done"
      ? null
      : { code: 10010, kind: "timed_out", message: "not read before the deadline" });
  const { status, priority, summary, suggestedActions }: Attention = state
    ? judge(state)
    : unreadAttention(problem?.kind === "timed_out" ? "timed_out" : "failed");
  const work = state?.status ?? null;
  const preview = state?.preview ?? null;
  const predicted = preview?.status === "unknown" ? null : preview;
  const notes = state ? warningsOf(state) : [];
  return {
    repoId: target.repoId,
    label: target.label ?? lastComponent(target.repoPath),
    repoPath: target.repoPath,
    status,
    priority,
    summary,
    ...(state && work === null ? { bare: true as const } : {}),
    clean: work ? work.counts.entries === 0 : null,
    dirty: work ? work.counts.entries > 0 : null,
    changedFiles: work?.counts.entries ?? null,
    branch: state?.branch ?? null,
    detached: state?.detached ?? null,
    unborn: state?.unborn ?? null,
    head: state?.head ?? null,
    shortHead: state?.head?.slice(0, 7) ?? null,
    hasUpstream: work ? work.upstream !== null && !work.upstreamGone : null,
    upstream: work?.upstream ?? null,
    upstreamGone: work?.upstreamGone ?? null,
    ahead: work?.ahead ?? null,
    behind: work?.behind ?? null,
    ...(state?.shallow ? { shallow: true as const } : {}),
    conflictActive: work ? work.counts.conflicted > 0 : null,
    conflictOperation: work && work.counts.conflicted > 0 ? state?.operation?.kind ?? null : null,
    operationInProgress: state?.operation?.kind ?? null,
    ...(state?.operation ? { operation: state.operation } : {}),
    // Nothing to predict is false; a prediction that could not be made is null.
    potentialConflictActive: state === null || (preview && !predicted)
      ? null
      : predicted?.status === "conflicts",
    potentialConflictCount: state === null || (preview && !predicted)
      ? null
      : predicted?.conflictCount ?? 0,
    potentialConflictTarget: preview ? work?.upstream ?? null : null,
    potentialConflictPaths: [...new Set((predicted?.conflicts ?? []).map((c) => c.path))],
    lastCommitTimestamp: state?.head ? times.get(state.head) ?? null : null,
    elapsedMs: outcome?.elapsedMs ?? 0,
    error: problem?.message ?? "",
    ...(problem ? { errorCode: problem.code } : {}),
    ...(problem?.kind ? { errorKind: problem.kind } : {}),
    suggestedActions,
    ...(notes.length > 0 ? { warnings: notes } : {}),
  };
}

function warningsOf(state: FleetState): Warning[] {
  const notes: Warning[] = [...state.preview?.notes ?? []];
  if (!state.submodulesRead) {
    notes.push({
      code: "submodules_unreadable",
      message: "changes inside submodules were not looked at",
    });
  }
  if (state.repo.facts.programs.some((key) => /^filter\..*\.(?:clean|process)$/s.test(key))) {
    notes.push({
      code: "filter_not_run",
      message: "filters named by the repository itself were not run; files can show as changed",
    });
  }
  return notes;
}

function lastComponent(path: string): string {
  return path.split(/[/\\]/).filter(Boolean).at(-1) ?? "repository";
}
