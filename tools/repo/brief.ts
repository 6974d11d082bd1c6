import { type CutNote, cuttableList, fitTokens } from "../../common/token_budget.ts";
import {
  type HistoryBrief,
  type Missing,
  readHistoryBrief,
  readTreeBrief,
  type TreeBrief,
} from "../../git/brief_parts.ts";
import { defaultBranch } from "../../git/conventions.ts";
import { type Head, readHead } from "../../git/head.ts";
import { type Operation, readOperation } from "../../git/in_progress.ts";
import { mainWorkTree, peculiarities } from "../../git/peculiarities.ts";
import { shortRef } from "../../git/ref_names.ts";
import type { Repository } from "../../git/repository.ts";
import { configuredUpstream } from "../../git/upstream.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { filterWarning, openForTool, type Warning, warningsMember } from "../open.ts";
import { count, cut, maxTokens, nullableCount, nullableString, warnings } from "../shapes.ts";
import { submoduleWarning } from "../status_page.ts";

const MAX_PROGRAMS = 20;
const MAX_PROGRAM_NAME = 200;

/**
 * repo.brief: `read-tools.md` 1 with `additions.md` 1 and 2. What is all zero or false is left out,
 * so that a quiet repository costs few tokens (`DESIGN.md`, budgets).
 */
export default defineTool({
  name: "repo.brief",
  title: "Repository briefing",
  description:
    "Start here: HEAD, divergence, operation in progress, first changed paths (conflicts first), stashes, submodules, recent commits, conventions and what is unusual, in one call. Blocks with nothing to say are left out; null means unknown.",
  family: "repo",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    recentCommits: z.int().min(1).max(20).default(10),
    maxTokens: maxTokens(z),
  }),
  output: (z) =>
    z.object({
      head: z.object({
        branch: nullableString(z),
        detached: z.boolean(),
        unborn: z.boolean(),
        oid: nullableString(z),
        sha: nullableString(z),
        upstream: nullableString(z),
        upstreamGone: z.literal(true).optional(),
        ahead: nullableCount(z),
        behind: nullableCount(z),
      }),
      operationInProgress: nullableString(z),
      operation: z.object({ kind: z.string() }).optional(),
      workingTree: z.object({
        clean: z.boolean(),
        staged: count(z).optional(),
        unstaged: count(z).optional(),
        untracked: count(z).optional(),
        conflicted: count(z).optional(),
        changed: count(z).optional(),
        entries: z.array(z.object({ status: z.string(), path: z.string() })).optional(),
        truncated: z.literal(true).optional(),
      }).nullable(),
      stashes: nullableCount(z).optional(),
      submodules: z.object({
        total: count(z),
        clean: nullableCount(z),
        drifted: count(z),
        uninitialized: count(z),
        conflicts: count(z),
        dirty: count(z).optional(),
        unreadable: count(z).optional(),
        attention: z.array(z.object({
          state: nullableString(z),
          commit: z.string(),
          path: z.string(),
          dirty: z.object({ modified: z.boolean(), untracked: z.boolean() }).optional(),
        })),
        attentionTruncated: z.literal(true).optional(),
      }).optional(),
      recentCommits: z.array(z.object({
        sha: z.string(),
        subject: z.string(),
        subjectTruncated: z.literal(true).optional(),
      })),
      conventions: z.object({
        conventionalCommitRatio: z.number().min(0).max(1).nullable(),
        defaultBranch: z.string().optional(),
      }).optional(),
      repository: z.array(z.string()).optional(),
      hiddenByFlag: z.int().optional(),
      topLevel: z.string().optional(),
      commonDir: z.string().optional(),
      mainWorktree: nullableString(z).optional(),
      repositoryPrograms: z.array(z.string()).optional(),
      repositoryProgramsTotal: z.int().optional(),
      hints: z.array(z.string()).optional(),
      cut: cut(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const repo = await openForTool(args, context);
    const bare = repo.facts.topLevel === null;
    const [tree, history, base] = await settled([
      bare ? Promise.resolve(null) : readTreeBrief(repo),
      readHistoryBrief(repo, args.recentCommits),
      defaultBranch(repo),
    ]);
    const state = tree === null || typeof tree === "string" ? null : tree;
    const head = state ? headOf(state) : await bareHead(repo);
    const conflicted = state?.status.counts.conflicted ?? 0;
    const operation = bare ? null : await readOperation(repo, state ? conflicted > 0 : undefined);
    const programs = repo.facts.programs.slice(0, MAX_PROGRAMS)
      .map((key) => key.slice(0, MAX_PROGRAM_NAME));
    const unusual = await peculiarities(repo, state?.scan ?? null);
    const data = {
      head: { ...head, sha: shortId(head.oid, history) },
      operationInProgress: operation?.kind ?? null,
      ...(operation ? { operation } : {}),
      workingTree: state && workingTree(state),
      ...(state?.stashes === 0 || !state ? {} : { stashes: state.stashes }),
      ...(state?.submodules ? { submodules: state.submodules } : {}),
      recentCommits: history.commits,
      ...conventionsMember(history, base),
      ...(unusual.length > 0 ? { repository: unusual } : {}),
      ...(state && state.scan.hidden > 0 ? { hiddenByFlag: state.scan.hidden } : {}),
      ...placeMembers(repo),
      ...(programs.length > 0 ? { repositoryPrograms: programs } : {}),
      ...(repo.facts.programs.length > MAX_PROGRAMS
        ? { repositoryProgramsTotal: repo.facts.programs.length }
        : {}),
      ...hintsMember(head, operation, state),
      ...warningsMember(warningsOf(repo, tree, history)),
    };
    return { data: shorten(data, state, args.maxTokens, args.repoPath) };
  },
});

type BriefHead = Pick<Head, "branch" | "oid" | "detached" | "unborn"> & {
  upstream: string | null;
  upstreamGone?: true;
  ahead: number | null;
  behind: number | null;
};

function headOf({ status }: TreeBrief): BriefHead {
  return {
    branch: status.branch,
    detached: status.detached,
    unborn: status.unborn,
    oid: status.head,
    upstream: status.upstream,
    ...(status.upstreamGone ? { upstreamGone: true as const } : {}),
    ahead: status.ahead,
    behind: status.behind,
  };
}

/** HEAD where no `git status` told of it: what it did not count is unknown. */
async function bareHead(repo: Repository): Promise<BriefHead> {
  const head = await readHead(repo);
  const upstream = head.branch === null ? null : configuredUpstream(repo, head.branch);
  return {
    branch: head.branch,
    detached: head.detached,
    unborn: head.unborn,
    oid: head.oid,
    upstream: upstream && shortRef(upstream),
    ahead: null,
    behind: null,
  };
}

/** The abbreviated id that git gave the newest commit, unless HEAD moved in between. */
function shortId(oid: string | null, history: HistoryBrief): string | null {
  if (oid === null) return null;
  const newest = history.commits[0]?.sha;
  return newest !== undefined && oid.startsWith(newest) ? newest : oid.slice(0, 7);
}

function workingTree({ status, entries }: TreeBrief) {
  const { entries: changed, ...counts } = status.counts;
  if (changed === 0) return { clean: true };
  return {
    clean: false,
    ...counts,
    changed,
    entries,
    ...(entries.length < changed ? { truncated: true as const } : {}),
  };
}

/** Left out when no subject follows the convention and no default branch is known. */
function conventionsMember(history: HistoryBrief, defaultBranch: string | null) {
  const { conventionalRatio } = history;
  if (!conventionalRatio && defaultBranch === null) return {};
  return {
    conventions: {
      conventionalCommitRatio: conventionalRatio,
      ...(defaultBranch === null ? {} : { defaultBranch }),
    },
  };
}

/** Where the answer speaks of, when `repoPath` alone does not say it. */
function placeMembers(repo: Repository) {
  const { askedPath, topLevel, gitDir, commonDir } = repo.facts;
  return {
    ...(topLevel !== null && topLevel !== askedPath ? { topLevel } : {}),
    ...(gitDir === commonDir ? {} : { commonDir, mainWorktree: mainWorkTree(repo) }),
  };
}

/** Fixed words and numbers only (`security.md` S-28), the most urgent three. */
function hintsMember(
  head: BriefHead,
  operation: Operation | null,
  state: TreeBrief | null,
): { hints?: string[] } {
  const hints: string[] = [];
  const conflicted = state?.status.counts.conflicted ?? 0;
  if (conflicted > 0) {
    hints.push(`${conflicted} conflicted: resolve before proposing anything (conflict.read).`);
  }
  if (operation) hints.push(`${operation.kind} in progress: finish or abort it first.`);
  if (head.detached) hints.push("HEAD is detached: create a branch before changing history.");
  if ((head.behind ?? 0) > 0 && conflicted === 0) {
    hints.push(
      `${head.behind} behind upstream: run repo.conflictPreflight before a merge or rebase.`,
    );
  }
  const modules = state?.submodules;
  const unsettled = modules ? modules.total - (modules.clean ?? 0) : 0;
  if (modules && modules.clean !== null && unsettled > 0) {
    hints.push(`${unsettled} submodule(s) need attention: see submodule.status.`);
  }
  return hints.length > 0 ? { hints: hints.slice(0, 3) } : {};
}

const MISSING: Record<Missing, string> = {
  missing_objects: "objects of this partial clone are missing",
  timed_out: "git did not finish in time",
};

function warningsOf(
  repo: Repository,
  tree: TreeBrief | Missing | null,
  history: HistoryBrief,
): Warning[] {
  const notes: Warning[] = [];
  if (typeof tree === "string") {
    notes.push({ code: tree, message: `workingTree is unknown: ${MISSING[tree]}` });
  } else if (tree !== null) {
    notes.push(...filterWarning(repo), ...submoduleWarning(tree.submodulesRead));
  }
  if (history.missing) {
    notes.push({
      code: history.missing,
      message: `recentCommits ends early: ${MISSING[history.missing]}`,
    });
  }
  return notes;
}

/** Cuts what matters least first. */
function shorten(
  data: {
    workingTree: { clean: boolean; entries?: unknown[]; truncated?: true } | null;
    recentCommits: unknown[];
    repositoryPrograms?: string[];
    submodules?: { attention: unknown[]; attentionTruncated?: true };
  },
  state: TreeBrief | null,
  tokens: number | undefined,
  repoPath: string,
): Record<string, unknown> {
  const { workingTree: tree, submodules } = data;
  const total = state?.status.counts.entries ?? 0;
  const attention = submodules?.attention.length ?? 0;
  const settle = () => {
    if (tree?.entries && tree.entries.length < total) tree.truncated = true;
    if (submodules && submodules.attention.length < attention) submodules.attentionTruncated = true;
    return data;
  };
  const cuts: CutNote[] = fitTokens(settle, tokens, [
    ...(submodules ? [cuttableList("submodules.attention", submodules.attention)] : []),
    cuttableList("recentCommits", data.recentCommits),
    ...(tree?.entries ? [cuttableList("workingTree.entries", tree.entries)] : []),
    ...(data.repositoryPrograms
      ? [cuttableList("repositoryPrograms", data.repositoryPrograms)]
      : []),
  ], repoPath);
  settle();
  return cuts.length > 0 ? { ...data, cut: cuts } : data;
}

/** Waits for all three before the first failure is thrown, so that no child is left behind. */
async function settled<A, B, C>(
  work: [Promise<A>, Promise<B>, Promise<C>],
): Promise<[A, B, C]> {
  const [a, b, c] = await Promise.allSettled(work);
  for (const result of [a, b, c]) if (result.status === "rejected") throw result.reason;
  return [a, b, c].map((r) => (r as PromiseFulfilledResult<unknown>).value) as [A, B, C];
}
