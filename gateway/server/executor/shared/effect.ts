import { decodeText, NulRecords } from "../../../../common/bytes.ts";
import { runGit, streamGit } from "../../../../git/command.ts";
import { diffArguments, type DiffRequest, forDiff } from "../../../../git/diff.ts";
import {
  type DiffFile,
  type DiffSummary,
  type FileWindow,
  SummaryParser,
} from "../../../../git/diff_records.ts";
import { readDiffSummary } from "../../../../git/diff_summary.ts";
import { GitError, lacksObjects } from "../../../../git/errors.ts";
import type { Repository } from "../../../../git/repository.ts";
import type { CommitEffect, Effect, FileEffect } from "../../types.ts";

/** Ceilings of what a card carries; totals are always real. */
export const CARD_LIMITS = { files: 2_000, commits: 500, diffBytes: 256 * 1_024 } as const;

/** Files and text of a diff, as a card has them. */
export type DiffPart = Pick<Effect, "files" | "filesTotal" | "diff" | "diffTruncated">;

export const NO_DIFF: DiffPart = { files: [], filesTotal: 0, diff: null, diffTruncated: false };

/** An effect with nothing in it, to be filled in. */
export function emptyEffect(summary: string): Effect {
  return {
    summary,
    refs: [],
    ...NO_DIFF,
    commits: [],
    commitsTotal: 0,
    details: {},
  };
}

/** How a diff for a card is made. */
export interface DiffOptions {
  /** Variables for git, such as the place of objects that exist for this look alone. */
  readonly env?: Readonly<Record<string, string>>;
  /** Ceiling of the text in bytes, where a person asked for more than a card usually holds. */
  readonly diffBytes?: number | undefined;
}

/** Files and text of a diff as it will really be. */
export async function diffEffect(
  repo: Repository,
  request: DiffRequest,
  { env = {}, diffBytes = CARD_LIMITS.diffBytes }: DiffOptions = {},
): Promise<DiffPart> {
  const window = { skip: 0, limit: CARD_LIMITS.files };
  const summary = Object.keys(env).length === 0
    ? await readDiffSummary(repo, request, window)
    : await listWith(repo, request, window, env);
  const files = { files: summary.files.map(fileEffect), filesTotal: summary.totals.files ?? 0 };
  const args = diffArguments(request, ["--patch", "--unified=3"]);
  const text = await runGit(forDiff(repo), args, {
    signal: repo.signal,
    env,
    ...(request.stdin ? { stdin: request.stdin } : {}),
    maxBytes: diffBytes,
    overflow: "cut",
    okCodes: "any",
  });
  if (text.cut || text.code === 0) {
    return { ...files, diff: decodeText(text.stdout), diffTruncated: text.cut };
  }
  // A partial clone has names without contents; nothing is fetched for a look.
  if (lacksObjects(text.stderr)) return { ...files, diff: null, diffTruncated: true };
  throw new GitError("failed", args, text.stderr, text.code);
}

/** As `readDiffSummary`, for objects that git sees only with these variables. */
async function listWith(
  repo: Repository,
  request: DiffRequest,
  window: FileWindow,
  env: Readonly<Record<string, string>>,
): Promise<DiffSummary> {
  const parser = new SummaryParser(window);
  const records = new NulRecords();
  await streamGit(
    forDiff(repo),
    diffArguments(request, ["--raw", "--numstat", "-z", "--no-abbrev"]),
    { signal: repo.signal, env },
    (chunk) => records.push(chunk, parser.record),
  );
  return parser.finish();
}

export function fileEffect(file: DiffFile): FileEffect {
  const { oldMode, newMode } = file;
  const modes = oldMode !== null && newMode !== null && oldMode !== newMode &&
      !/^0+$/.test(oldMode) && !/^0+$/.test(newMode)
    ? { modes: { old: oldMode, new: newMode } }
    : {};
  const kind = file.status === "A" && newMode === "120000"
    ? { note: "a symbolic link" }
    : file.status === "A" && newMode === "100755"
    ? { note: "executable" }
    : {};
  return {
    path: file.path.path,
    ...(file.path.pathBytes ? { pathBytes: file.path.pathBytes } : {}),
    ...(file.origPath ? { origPath: file.origPath.path } : {}),
    status: file.status,
    added: file.added,
    deleted: file.deleted,
    ...(file.binary ? { binary: true as const } : {}),
    ...modes,
    ...kind,
  };
}

/**
 * Commits reachable from `include` and not from `exclude`, newest first, bounded; with the real total.
 *
 * @param selection options in front; @param more revisions behind, such as `--not --remotes`
 */
export async function commitEffects(
  repo: Repository,
  include: string,
  exclude: readonly string[],
  fate: CommitEffect["fate"],
  selection: readonly string[] = [],
  more: readonly string[] = [],
): Promise<{ commits: CommitEffect[]; total: number }> {
  const range = [...selection, include, ...exclude.map((oid) => `^${oid}`), ...more];
  const [log, count] = await Promise.all([
    repo.run([
      "log",
      "-z",
      "--format=%H%x00%P%x00%aN%x00%s",
      `--max-count=${CARD_LIMITS.commits}`,
      ...range,
      "--",
    ], {
      maxBytes: 8 * 1_024 * 1_024,
    }),
    countCommits(repo, range),
  ]);
  const fields = decodeText(log.stdout).split("\0");
  const commits: CommitEffect[] = [];
  for (let i = 0; i + 3 < fields.length; i += 4) {
    commits.push({
      oid: fields[i]!.trim(),
      parents: fields[i + 1]!.split(" ").filter(Boolean),
      author: fields[i + 2]!.slice(0, 200),
      subject: fields[i + 3]!.slice(0, 300),
      fate,
    });
  }
  return { commits, total: count };
}

/** Commits that `rev-list` finds for these arguments. */
export async function countCommits(repo: Repository, args: readonly string[]): Promise<number> {
  return Number(await repo.text(["rev-list", "--count", ...args, "--"]));
}

/** Commits that a branch lets go of and that no other branch, remote-tracking branch or tag holds. */
export async function countUnheld(
  repo: Repository,
  oid: string,
  kept: readonly string[],
  exceptBranch: string | null,
): Promise<number> {
  return await countCommits(repo, [
    oid,
    "--not",
    ...kept,
    ...(exceptBranch === null ? [] : [`--exclude=${exceptBranch.replace(/^refs\/heads\//, "")}`]),
    "--branches",
    "--remotes",
    "--tags",
  ]);
}

/** Parents of a commit, in order. */
export async function parentsOf(repo: Repository, oid: string): Promise<string[]> {
  return (await repo.text(["rev-list", "--parents", "-1", oid, "--"])).split(" ").slice(1);
}
