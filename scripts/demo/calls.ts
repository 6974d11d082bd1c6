/** What the demo asks, what it makes of the answers, and which plain commands it compares with. */

// deno-lint-ignore no-explicit-any
type Json = any;

/** One question of the demo. */
export interface DemoCall {
  readonly tool: string;
  readonly args: Record<string, unknown>;
  /** The plain git commands that an agent would run for the same. */
  readonly plain: readonly (readonly string[])[];
  /** At most a few short lines that say what the agent now knows. */
  readonly tell: (data: Json) => string[];
}

const count = (n: number, one: string, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** Where a branch stands beside its upstream. */
function standing(head: Json): string {
  if (head.unborn) return `on ${head.branch}, no commit yet`;
  const where = head.branch === null ? "detached HEAD" : `on ${head.branch}`;
  if (!head.upstream) return `${where}, no upstream`;
  if (head.upstreamGone) return `${where}, upstream ${head.upstream} is gone`;
  if (head.ahead === 0 && head.behind === 0) return `${where}, level with ${head.upstream}`;
  return `${where}, ${head.ahead} ahead and ${head.behind} behind ${head.upstream}`;
}

/**
 * The five questions about a repository.
 *
 * @param target branch for the merge forecast; null leaves the forecast out
 */
export function demoCalls(repoPath: string, target: string | null): DemoCall[] {
  const calls: DemoCall[] = [
    {
      tool: "repo.brief",
      args: { repoPath },
      plain: [
        ["status"],
        ["branch", "-vv"],
        ["log", "-10"],
        ["stash", "list"],
        ["submodule", "status"],
      ],
      tell: ({ head, workingTree, stashes, operationInProgress }) => [
        standing(head),
        ...(workingTree ? [treeLine(workingTree, stashes ?? 0)] : []),
        ...(operationInProgress ? [`a ${operationInProgress} is in progress`] : []),
      ],
    },
    {
      tool: "repo.status",
      args: { repoPath },
      plain: [["status"]],
      tell: ({ entries, total }) => [
        ...entries.slice(0, 3).map((entry: Json) => `${entry.status} ${entry.path}`),
        ...(total > 3 ? [`and ${total - 3} more`] : []),
      ],
    },
    {
      tool: "repo.branchStack",
      args: { repoPath },
      plain: [
        ["branch", "-avv"],
        ["log", "--oneline", "--graph", "--all", "-30"],
        ...(target === null ? [] : [["rev-list", "--left-right", "--count", `${target}...HEAD`]]),
      ],
      tell: (data) => stackLines(data),
    },
  ];
  if (target !== null) {
    calls.push({
      tool: "repo.conflictPreflight",
      args: { repoPath, targetRef: target },
      // The three-way form writes nothing; it prints the whole merged text of what differs.
      plain: [["merge-base", "HEAD", target], ["merge-tree", "$(merge-base)", "HEAD", target]],
      tell: (data) => forecastLines(data, target),
    });
  }
  calls.push({
    tool: "diff.text",
    args: { repoPath },
    plain: [["diff", "--stat"], ["diff"]],
    tell: ({ files }) =>
      (files ?? []).slice(0, 3).map((file: Json) =>
        `${file.status ?? "M"} ${file.path} +${file.added ?? "?"} -${file.deleted ?? "?"}`
      ),
  });
  return calls;
}

function treeLine(tree: Json, stashes: number): string {
  const parts = [
    [tree.conflicted, "conflicted"],
    [tree.staged, "staged"],
    [tree.unstaged, "changed"],
    [tree.untracked, "untracked"],
  ].filter(([n]) => n > 0).map(([n, what]) => `${n} ${what}`);
  const stash = stashes > 0 ? `; ${count(stashes, "stash", "stashes")}` : "";
  return `${parts.length === 0 ? "clean" : parts.join(", ")}${stash}`;
}

function stackLines({ base, related, relatedTotal, summary }: Json): string[] {
  const distance = base?.distance;
  const names = related.slice(0, 3).map((one: Json) => one.label).join(", ");
  return [
    summary,
    ...(distance
      ? [`${distance.aheadFromBase} ahead and ${distance.behindBase} behind base ${base.label}`]
      : []),
    ...(names === "" ? [] : [
      `${count(relatedTotal ?? related.length, "related branch", "related branches")}: ${names}`,
    ]),
  ];
}

function forecastLines(data: Json, target: string): string[] {
  if (data.conflicts?.length > 0) {
    return [
      `merging ${target} would conflict:`,
      ...data.conflicts.slice(0, 3).map((one: Json) => `  ${one.path} (${one.kind})`),
    ];
  }
  return [`merging ${target}: ${data.status ?? "no conflict"}`];
}
