import type { FleetState } from "../../git/fleet_state.ts";

/** How urgent a repository is, and why: `read-tools.md` 17, with paused operations told apart from conflicts. */

export const RADAR_STATUSES = [
  "conflict",
  "operation_paused",
  "potential_conflict",
  "divergent",
  "local_changes",
  "behind",
  "ahead",
  "no_upstream",
  "unknown",
  "clean",
] as const;
export type RadarStatus = typeof RADAR_STATUSES[number];

export interface Attention {
  readonly status: RadarStatus;
  /** 0 to 100. */
  readonly priority: number;
  /** Fixed words and numbers; never text out of the repository. */
  readonly summary: string;
  /** Short codes. */
  readonly suggestedActions: readonly string[];
}

const PRIORITY: Readonly<Record<RadarStatus, number>> = {
  conflict: 100,
  operation_paused: 97,
  potential_conflict: 95,
  divergent: 90,
  local_changes: 80,
  behind: 70,
  ahead: 60,
  no_upstream: 40,
  unknown: 10,
  clean: 0,
};

const ACTIONS: Readonly<Record<RadarStatus, readonly string[]>> = {
  conflict: ["resolve-conflicts", "continue-or-abort"],
  operation_paused: ["continue-or-abort"],
  potential_conflict: ["review-predicted-paths", "propose-merge"],
  divergent: ["review-both-sides", "propose-merge-or-rebase"],
  local_changes: ["review-changes", "propose-commit-or-discard"],
  behind: ["review-incoming", "propose-merge-or-rebase"],
  ahead: ["review-outgoing", "propose-push"],
  no_upstream: ["publish-branch"],
  unknown: ["check-repository"],
  clean: [],
};

/** What a repository that could not be read, or not in time, is said to be: never clean. */
export function unreadAttention(why: "failed" | "timed_out"): Attention {
  return attention("unknown", why === "failed" ? "could not be read" : "not read in time");
}

/** Judges what was read; first match wins. */
export function judge(state: FleetState): Attention {
  const { status, operation, preview } = state;
  if (status === null) return attention("unknown", "bare repository: no work tree to look at");
  const step = operation?.step !== undefined && operation.total !== undefined
    ? `, step ${operation.step} of ${operation.total}`
    : "";
  const paused = operation ? `${operation.kind} in progress${step}` : null;
  const { conflicted, entries } = status.counts;
  if (conflicted > 0) {
    return attention(
      "conflict",
      [`${files(conflicted)} in conflict`, paused].filter(Boolean).join("; "),
    );
  }
  if (paused !== null) return attention("operation_paused", paused);
  const ahead = status.ahead ?? 0, behind = status.behind ?? 0;
  const sides = `${ahead} ahead, ${behind} behind`;
  if (preview?.status === "conflicts") {
    return attention(
      "potential_conflict",
      `${sides}; ${files(preview.conflictCount ?? 0)} would conflict`,
    );
  }
  if (ahead > 0 && behind > 0) {
    return attention(
      "divergent",
      preview?.status === "clean-merge" ? `${sides}; would merge cleanly` : sides,
    );
  }
  if (entries > 0) return attention("local_changes", `${files(entries)} changed`);
  if (behind > 0) return attention("behind", `${commits(behind)} to take in`);
  if (ahead > 0) return attention("ahead", `${commits(ahead)} to push`);
  if (status.upstream === null || status.upstreamGone) {
    return attention(
      "no_upstream",
      status.upstreamGone
        ? "the upstream is gone"
        : status.detached
        ? "detached HEAD"
        : "no upstream",
    );
  }
  if (status.ahead === null || status.behind === null) {
    return attention("unknown", "no changed files; distance from the upstream not known");
  }
  return attention("clean", "nothing to do");
}

function attention(status: RadarStatus, summary: string): Attention {
  return { status, priority: PRIORITY[status], summary, suggestedActions: ACTIONS[status] };
}

function files(n: number): string {
  return n === 1 ? "1 file" : `${n} files`;
}

function commits(n: number): string {
  return n === 1 ? "1 commit" : `${n} commits`;
}
