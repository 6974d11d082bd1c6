import { runGit } from "../../../../git/command.ts";
import { diffArguments, type DiffRequest, forDiff } from "../../../../git/diff.ts";
import type { DiffFile } from "../../../../git/diff_records.ts";
import { readDiffSummary } from "../../../../git/diff_summary.ts";
import { decodeText } from "../../../../common/bytes.ts";
import type { Repository } from "../../../../git/repository.ts";
import type { CommitEffect, Effect, FileEffect } from "../../types.ts";

/** Ceilings of what a card carries; totals are always real. */
export const CARD_LIMITS = { files: 2_000, commits: 500, diffBytes: 256 * 1_024 } as const;

/** An effect with nothing in it, to be filled in. */
export function emptyEffect(summary: string): Effect {
  return {
    summary,
    refs: [],
    files: [],
    filesTotal: 0,
    commits: [],
    commitsTotal: 0,
    diff: null,
    diffTruncated: false,
    details: {},
  };
}

/** Files and text of a diff as it will really be. */
export async function diffEffect(
  repo: Repository,
  request: DiffRequest,
): Promise<Pick<Effect, "files" | "filesTotal" | "diff" | "diffTruncated">> {
  const summary = await readDiffSummary(repo, request, { skip: 0, limit: CARD_LIMITS.files });
  const text = await runGit(forDiff(repo), diffArguments(request, ["--patch", "--unified=3"]), {
    signal: repo.signal,
    maxBytes: CARD_LIMITS.diffBytes,
    overflow: "cut",
    ...(request.stdin ? { stdin: request.stdin } : {}),
  });
  return {
    files: summary.files.map(fileEffect),
    filesTotal: summary.totals.files ?? summary.files.length,
    diff: decodeText(text.stdout),
    diffTruncated: text.cut,
  };
}

export function fileEffect(file: DiffFile): FileEffect {
  const modes = file.oldMode !== null && file.newMode !== null && file.oldMode !== file.newMode &&
    !/^0+$/.test(file.oldMode) && !/^0+$/.test(file.newMode);
  return {
    path: file.path.path,
    ...(file.path.pathBytes ? { pathBytes: file.path.pathBytes } : {}),
    ...(file.origPath ? { origPath: file.origPath.path } : {}),
    status: file.status,
    added: file.added,
    deleted: file.deleted,
    ...(file.binary ? { binary: true as const } : {}),
    ...(modes ? { modes: { old: file.oldMode!, new: file.newMode! } } : {}),
  };
}

/** Commits reachable from `include` and not from `exclude`, newest first, bounded; with the real total. */
export async function commitEffects(
  repo: Repository,
  include: string,
  exclude: readonly string[],
  fate: CommitEffect["fate"],
): Promise<{ commits: CommitEffect[]; total: number }> {
  const range = [include, ...exclude.map((oid) => `^${oid}`)];
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
    repo.text(["rev-list", "--count", ...range, "--"]),
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
  return { commits, total: Number(count) };
}
