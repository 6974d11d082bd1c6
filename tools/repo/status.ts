import { cuttableList, fitTokens } from "../../common/token_budget.ts";
import { readHead } from "../../git/head.ts";
import { readShallow } from "../../git/objects.ts";
import { readOperation } from "../../git/in_progress.ts";
import { readWorkTree } from "../../git/work_tree.ts";
import type { Repository } from "../../git/repository.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { filterWarning, openForTool, warningsMember } from "../open.ts";
import {
  count,
  cut,
  divergence,
  maxTokens,
  nullableString,
  page,
  statusEntry,
  warnings,
} from "../shapes.ts";
import { decodeEntryCursor, encodeEntryCursor, submoduleWarning } from "../status_page.ts";

/** repo.status: `read-tools.md` 3 with `additions.md` 1 and 2. */
export default defineTool({
  name: "repo.status",
  title: "Working tree status",
  description:
    "Branch, divergence from upstream, operation in progress, and changed paths (X and Y as in git status; renames carry origPath). Long lists continue with nextCursor.",
  family: "repo",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    limit: z.int().min(1).max(1000).default(200),
    cursor: z.string().max(32_768).optional(),
    maxTokens: maxTokens(z),
  }),
  output: (z) =>
    z.object({
      bare: z.literal(true).optional(),
      branch: nullableString(z),
      detached: z.boolean(),
      unborn: z.boolean(),
      head: nullableString(z),
      ...divergence(z),
      shallow: z.literal(true).optional(),
      clean: z.boolean().nullable(),
      changedFiles: z.int().min(0).nullable(),
      counts: z.object({
        staged: count(z),
        unstaged: count(z),
        untracked: count(z),
        conflicted: count(z),
      }).nullable(),
      operationInProgress: nullableString(z),
      entries: z.array(statusEntry(z)),
      ...page(z),
      cut: cut(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const repo = await openForTool(args, context);
    if (repo.facts.topLevel === null) {
      return { data: { bare: true, ...await bareStatus(repo, args.limit) } };
    }
    const after = decodeEntryCursor("repo.status", args.cursor);
    const status = await readWorkTree(repo, { limit: args.limit, after });
    const operation = await readOperation(repo, status.counts.conflicted > 0);
    const { entries: _all, ...counts } = status.counts;
    const data = {
      branch: status.branch,
      detached: status.detached,
      unborn: status.unborn,
      head: status.head,
      upstream: status.upstream,
      upstreamGone: status.upstreamGone,
      ahead: status.ahead,
      behind: status.behind,
      // Distances are lower bounds then.
      ...(readShallow(repo).shallow ? { shallow: true as const } : {}),
      clean: status.counts.entries === 0,
      changedFiles: status.counts.entries,
      counts,
      operationInProgress: operation?.kind ?? null,
      ...(operation ? { operation } : {}),
      entries: status.entries,
      limit: args.limit,
      total: status.counts.entries,
      truncated: status.more,
      nextCursor: null as string | null,
      ...warningsMember([...filterWarning(repo), ...submoduleWarning(status.submodulesRead)]),
    };
    const read = data.entries.length;
    // The cursor counts among the tokens, so it is settled with each cut.
    const settle = () => {
      data.truncated = status.more || data.entries.length < read;
      const last = data.entries.at(-1);
      data.nextCursor = !data.truncated
        ? null
        : last
        ? encodeEntryCursor("repo.status", last)
        : args.cursor ?? null;
      return data;
    };
    const cuts = fitTokens(
      settle,
      args.maxTokens,
      [cuttableList("entries", data.entries)],
      args.repoPath,
    );
    settle();
    return { data: cuts.length > 0 ? { ...data, cut: cuts } : data };
  },
});

/** A bare repository has branches but no work tree: what cannot be asked of it is null. */
async function bareStatus(repo: Repository, limit: number) {
  const head = await readHead(repo);
  return {
    branch: head.branch,
    detached: head.detached,
    unborn: head.unborn,
    head: head.oid,
    upstream: null,
    upstreamGone: false,
    ahead: null,
    behind: null,
    clean: null,
    changedFiles: null,
    counts: null,
    operationInProgress: null,
    entries: [],
    limit,
    total: null,
    truncated: false,
    nextCursor: null,
  };
}
