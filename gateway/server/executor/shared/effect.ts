import { decodeText, NulRecords } from "../../../../common/bytes.ts";
import { runGit, streamGit } from "../../../../git/command.ts";
import { diffArguments, type DiffRequest, forDiff } from "../../../../git/diff.ts";
import { type DiffFile, SummaryParser } from "../../../../git/diff_records.ts";
import { GitError } from "../../../../git/errors.ts";
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
  const parser = new SummaryParser({ skip: 0, limit: CARD_LIMITS.files });
  const records = new NulRecords();
  const options = {
    signal: repo.signal,
    env,
    ...(request.stdin ? { stdin: request.stdin } : {}),
  };
  const args = diffArguments(request, ["--raw", "--numstat", "-z", "--no-abbrev"]);
  const listed = await streamGit(
    forDiff(repo),
    args,
    { ...options, okCodes: "any" },
    (chunk) => records.push(chunk, parser.record),
  );
  if (listed.code !== 0) throw new GitError("failed", args, listed.stderr, listed.code);
  const text = await runGit(forDiff(repo), diffArguments(request, ["--patch", "--unified=3"]), {
    ...options,
    maxBytes: diffBytes,
    overflow: "cut",
  });
  const summary = parser.finish();
  return {
    files: summary.files.map(fileEffect),
    filesTotal: summary.totals.files ?? summary.files.length,
    diff: decodeText(text.stdout),
    diffTruncated: text.cut,
  };
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
