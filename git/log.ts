import { decodeText } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import { GitError, lacksObjects } from "./errors.ts";
import { type Field, FieldRecords } from "./fields.ts";
import { type CommitHeader, readCommitHeaders, readShallow } from "./objects.ts";
import type { Repository } from "./repository.ts";

/** Commits as `git log` tells them: mailmap applied, text in UTF-8, fields that no message can forge. */

/** Seconds as answers carry them: an integer when it is safe; the recorded text when that says more. */
export interface CommitTime {
  /** Unix seconds; null when not a safe integer, or when git cannot read what is recorded. */
  readonly time: number | null;
  /** Present when `time` is null or lies beyond the year 9999. */
  readonly raw?: string;
}

/** A commit of a history. */
export interface LogCommit {
  readonly hash: string;
  readonly shortHash: string;
  readonly authorName: string;
  readonly authorEmail: string;
  readonly author: CommitTime;
  readonly committer: CommitTime;
  /** Recorded parents, at most {@link MAX_PARENTS}. */
  readonly parents: readonly string[];
  /** Present when there are more than are given. */
  readonly parentCount?: number;
  /** The parents exist, but not in this shallow clone. */
  readonly shallowBoundary?: true;
  /** Full names of branches, tags and remote-tracking refs here, and `HEAD`. */
  readonly refs: readonly string[];
  readonly refsTruncated?: true;
  readonly subject: string;
  readonly subjectTruncated?: true;
}

export const MAX_PARENTS = 64;
const MAX_REFS = 30;
const MAX_SUBJECT = 2_048;
const LAST_DATE = 253_402_300_799;

/** What to walk. Values are passed to git in one word each, so none can become an option. */
export interface LogFilter {
  /** Literal text in the author's name or address. */
  readonly author?: string | undefined;
  /** Literal text in the message. */
  readonly grep?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Arguments from `--` on, made by the caller. */
  readonly paths: readonly string[];
  readonly stdin?: Uint8Array | undefined;
}

const NAME = 512;
const FIELDS: readonly (readonly [placeholder: string, keep: number])[] = [
  ["%H", 64],
  ["%h", 64],
  ["%aN", NAME],
  ["%aE", NAME],
  ["%at", 64],
  ["%ct", 64],
  ["%P", MAX_PARENTS * 65],
  ["%D", 4_096],
  ["%s", MAX_SUBJECT],
];

/** Flags that take the user's own `log.*` settings out of the answer. */
export const LOG_FLAGS = [
  "-z",
  "--no-patch",
  "--no-follow",
  "--use-mailmap",
  "--decorate=full",
  "--decorate-refs=HEAD",
  "--decorate-refs=refs/heads/",
  "--decorate-refs=refs/tags/",
  "--decorate-refs=refs/remotes/",
  "--decorate-refs=refs/stash",
] as const;

/** Joins placeholders to a format whose fields are parted by NUL. */
export function nulFormat(placeholders: readonly string[]): string {
  return `--format=tformat:${placeholders.join("%x00")}`;
}

/** Why a walk ended: at its end or the caller's wish, or too early. */
export type WalkEnd = "done" | "missing_objects" | "timed_out";

/**
 * Walks the history of `start` newest first and hands each commit to `onCommit` until it gives
 * false. A walk that cannot go on (objects of a partial clone, the deadline) keeps what it found.
 *
 * Throws {@link GitError} for everything else that fails.
 */
export async function walkLog(
  repo: Repository,
  start: string,
  filter: LogFilter,
  skip: number,
  max: number | null,
  onCommit: (commit: LogCommit) => boolean,
): Promise<WalkEnd> {
  const args = [
    "log",
    ...LOG_FLAGS,
    nulFormat(FIELDS.map(([placeholder]) => placeholder)),
    "--fixed-strings",
    ...(skip > 0 ? [`--skip=${skip}`] : []),
    ...(max === null ? [] : [`--max-count=${max}`]),
    ...option("--author", filter.author),
    ...option("--grep", filter.grep),
    ...option("--since", filter.since),
    ...option("--until", filter.until),
    ...(filter.stdin ? ["--stdin"] : []),
    start,
    ...filter.paths,
  ];
  const records = new FieldRecords(FIELDS.map(([, keep]) => keep));
  try {
    const end = await streamGit(
      repo,
      args,
      {
        signal: repo.signal,
        okCodes: "any",
        ...(filter.stdin ? { stdin: filter.stdin } : {}),
      },
      (chunk) => records.push(chunk, (fields) => onCommit(parseCommit(fields, repo))),
    );
    if (end.stopped || end.code === 0) return "done";
    if (lacksObjects(end.stderr)) return "missing_objects";
    throw new GitError("failed", args, end.stderr, end.code);
  } catch (error) {
    if (error instanceof GitError && error.kind === "timed_out") return "timed_out";
    throw error;
  }
}

function option(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [`${name}=${value}`];
}

function parseCommit(fields: Field[], repo: Repository): LogCommit {
  const text = fields.map((field) => decodeText(field.bytes));
  const parents = parseParents(fields[6]!, repo);
  const refs = parseRefs(fields[7]!);
  const subject = fields[8]!;
  return {
    hash: text[0]!,
    shortHash: text[1]!,
    authorName: text[2]!,
    authorEmail: text[3]!,
    author: commitTime(text[4]!),
    committer: commitTime(text[5]!),
    ...parents,
    ...refs,
    subject: wholeCharacters(text[8]!, subject),
    ...(subject.size > subject.bytes.length ? { subjectTruncated: true as const } : {}),
  };
}

/** A cut can leave the beginning of a character: its U+FFFD is not part of the text. */
export function wholeCharacters(text: string, field: Field): string {
  return field.size > field.bytes.length ? text.replace(/\uFFFD$/, "") : text;
}

export function parseParents(
  field: Field,
  repo: Repository,
): Pick<LogCommit, "parents" | "parentCount"> {
  const hex = repo.facts.objectFormat === "sha256" ? 64 : 40;
  const count = Math.floor((field.size + 1) / (hex + 1));
  const parents = decodeText(field.bytes).split(" ").filter((oid) => oid.length === hex).slice(
    0,
    MAX_PARENTS,
  );
  return { parents, ...(count > parents.length ? { parentCount: count } : {}) };
}

/** `HEAD -> refs/heads/x, tag: refs/tags/y`: no ref name holds a space, so the commas are clear. */
export function parseRefs(field: Field): Pick<LogCommit, "refs" | "refsTruncated"> {
  const parts = decodeText(field.bytes).split(", ").filter(Boolean);
  let cut = field.size > field.bytes.length;
  if (cut) parts.pop();
  const refs = parts.flatMap((part) => part.split(" -> ")).map((ref) => ref.replace(/^tag: /, ""));
  if (refs.length > MAX_REFS) {
    cut = true;
    refs.length = MAX_REFS;
  }
  return { refs, ...(cut ? { refsTruncated: true as const } : {}) };
}

/** Reads the digits that git printed; empty means that git could not read the date. */
export function commitTime(text: string): CommitTime {
  if (!/^\d+$/.test(text)) return { time: null };
  const time = Number(text);
  if (!Number.isSafeInteger(time)) return { time: null, raw: text };
  return time > LAST_DATE ? { time, raw: text } : { time };
}

/**
 * Puts right what `git log` hides: dates that it cannot read come from the object itself, and the
 * parents of a shallow boundary are the recorded ones. Costs one command when any commit needs it.
 */
export async function settleCommits<
  C extends Pick<LogCommit, "hash" | "author" | "committer" | "parents">,
>(repo: Repository, commits: readonly C[]): Promise<C[]> {
  const shallow = readShallow(repo);
  const boundary = (commit: C) => commit.parents.length === 0 && shallow.isBoundary(commit.hash);
  const needed = commits.filter((commit) =>
    commit.author.time === null || commit.committer.time === null || boundary(commit)
  );
  const headers = await readCommitHeaders(repo, needed.map((commit) => commit.hash));
  return commits.map((commit) => {
    const header = headers.get(commit.hash);
    if (!header) return commit;
    return {
      ...commit,
      author: settleTime(commit.author, header.authorTime),
      committer: settleTime(commit.committer, header.committerTime),
      // In a boundary file too large to read, a commit without parents is a real root.
      ...(boundary(commit) && header.parents.length > 0 ? boundaryMembers(header) : {}),
    };
  });
}

function boundaryMembers(
  header: CommitHeader,
): Pick<LogCommit, "parents" | "parentCount" | "shallowBoundary"> {
  const parents = header.parents.slice(0, MAX_PARENTS);
  return {
    parents,
    ...(header.parents.length > parents.length ? { parentCount: header.parents.length } : {}),
    shallowBoundary: true,
  };
}

function settleTime(time: CommitTime, recorded: string | null): CommitTime {
  if (time.time !== null || time.raw !== undefined || recorded === null) return time;
  return { time: null, raw: recorded };
}

/** How git reads dates such as "2 weeks ago", as Unix seconds; null when it was not given. */
export async function interpretDates(
  repo: Repository,
  since: string | undefined,
  until: string | undefined,
): Promise<{ since: number | null; until: number | null }> {
  if (since === undefined && until === undefined) return { since: null, until: null };
  const out = await repo.text([
    "rev-parse",
    ...option("--since", since),
    ...option("--until", until),
  ]);
  const seconds = (name: string) => {
    const digits = new RegExp(`^--${name}=(\\d+)$`, "m").exec(out)?.[1];
    return digits === undefined ? null : Number(digits);
  };
  return { since: seconds("max-age"), until: seconds("min-age") };
}
