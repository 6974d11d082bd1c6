import { decodeText } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import { GitError, lacksObjects } from "./errors.ts";
import { type Field, FieldRecords } from "./fields.ts";
import { nulFormat, wholeCharacters } from "./log.ts";
import type { Pathspecs } from "./pathspec.ts";
import type { Repository } from "./repository.ts";

/** A commit in one line, for orientation; `repo.history` has the rest. */
export interface ShortCommit {
  /** Abbreviated id. */
  readonly sha: string;
  readonly subject: string;
  readonly subjectTruncated?: true;
}

/** Why there is nothing (more) to read. */
export type HistoryEnd = "read" | "unborn" | "missing-objects";

/** Subjects are cut here; in bytes. A message can be one line of 50 MB. */
const MAX_SUBJECT = 240;
/** With subjects that long, the walk ends after this much of them. */
const MAX_BYTES = 8 * 1024 * 1024;

const QUIET = ["-z", "--no-patch", "--no-follow"] as const;

/**
 * Reads the newest commits of HEAD, at most `max`, and hands each to `onCommit`.
 * Throws {@link GitError} for what is neither an unborn branch nor missing history.
 */
export async function readRecent(
  repo: Repository,
  max: number,
  onCommit: (commit: ShortCommit) => void,
  paths: Pathspecs = { args: ["--"] },
): Promise<HistoryEnd> {
  return await walk(
    repo,
    [nulFormat(["%h", "%s"]), `--max-count=${max}`],
    [64, MAX_SUBJECT],
    paths,
    ([sha, subject]) =>
      onCommit({
        sha: decodeText(sha!.bytes),
        subject: wholeCharacters(decodeText(subject!.bytes), subject!),
        ...(subject!.size > MAX_SUBJECT ? { subjectTruncated: true as const } : {}),
      }),
  );
}

/** Commits and different author names of a time up to now. */
export interface Churn {
  readonly commits: number;
  /** null when there are more than are kept apart. */
  readonly authors: number | null;
  readonly end: HistoryEnd;
}

const MAX_AUTHORS = 20_000;
const MAX_NAME = 200;

/** Counts what touched `paths` since a time, in Unix seconds; names as the mailmap has them. */
export async function readChurn(
  repo: Repository,
  sinceSeconds: number,
  paths: Pathspecs,
): Promise<Churn> {
  const names = new Set<string>();
  let commits = 0;
  const end = await walk(
    repo,
    [nulFormat(["%aN"]), "--use-mailmap", `--since=@${sinceSeconds} +0000`],
    [MAX_NAME],
    paths,
    ([name]) => {
      commits++;
      if (names.size <= MAX_AUTHORS) names.add(decodeText(name!.bytes));
    },
  );
  return { commits, authors: names.size > MAX_AUTHORS ? null : names.size, end };
}

async function walk(
  repo: Repository,
  flags: readonly string[],
  keep: readonly number[],
  paths: Pathspecs,
  onRecord: (fields: Field[]) => void,
): Promise<HistoryEnd> {
  const args = [
    "log",
    ...QUIET,
    ...flags,
    ...(paths.stdin ? ["--stdin"] : []),
    "HEAD",
    ...paths.args,
  ];
  const records = new FieldRecords(keep);
  let bytes = 0;
  const end = await streamGit(
    repo,
    args,
    {
      signal: repo.signal,
      okCodes: "any",
      ...(paths.stdin ? { stdin: paths.stdin } : {}),
    },
    (chunk) => {
      bytes += chunk.length;
      return records.push(chunk, (fields) => {
        onRecord(fields);
        return true;
      }) && bytes <= MAX_BYTES;
    },
  );
  if (end.stopped || end.code === 0) return "read";
  if (
    /does not have any commits yet|bad revision 'HEAD'|ambiguous argument 'HEAD'/.test(end.stderr)
  ) {
    return "unborn";
  }
  if (lacksObjects(end.stderr)) return "missing-objects";
  throw new GitError("failed", args, end.stderr, end.code);
}
