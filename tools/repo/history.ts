import { decodeCursor, encodeCursor } from "../../common/cursor.ts";
import { CodedError } from "../../common/errors.ts";
import { cuttableList, fitTokens } from "../../common/token_budget.ts";
import { both } from "../../common/both.ts";
import { shortHash } from "../../common/short_hash.ts";
import { GitError, printable } from "../../git/errors.ts";
import { readHead } from "../../git/head.ts";
import {
  interpretDates,
  type LogCommit,
  type LogFilter,
  settleCommits,
  type WalkEnd,
  walkLog,
} from "../../git/log.ts";
import { readShallow } from "../../git/objects.ts";
import { pathspecs } from "../../git/pathspec.ts";
import type { Repository } from "../../git/repository.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { commitTimes, historyCommit } from "../commit_shape.ts";
import { openForTool, type Warning, warningsMember } from "../open.ts";
import { readPaths } from "../path_argument.ts";
import { cut, maxTokens, page, warnings } from "../shapes.ts";

const NAME = "repo.history";

/** repo.history: `read-tools.md` 6 with `additions.md` 1 and 3. */
export default defineTool({
  name: NAME,
  title: "Commit pages",
  description:
    "Commits of HEAD or ref, newest first. Filters: path; author and grep (literal text); since and until (dates as git reads them). Continue with nextCursor and the same filters. parents is [] only for real roots.",
  family: "repo",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    ref: z.string().optional(),
    path: z.string().optional(),
    pathBytes: z.string().max(65_536).optional(),
    author: z.string().optional(),
    since: z.string().optional(),
    until: z.string().optional(),
    grep: z.string().optional(),
    limit: z.int().min(1).max(200).default(50),
    cursor: z.string().optional(),
    maxTokens: maxTokens(z),
  }),
  output: (z) =>
    z.object({
      commits: z.array(historyCommit(z)),
      ...page(z),
      unborn: z.literal(true).optional(),
      shallow: z.literal(true).optional(),
      sinceTime: z.int().optional(),
      untilTime: z.int().optional(),
      cut: cut(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const filter = { ...args, ref: args.ref?.trim() || undefined };
    for (const field of ["author", "grep", "since", "until"] as const) {
      filter[field] = literal(field, filter[field]);
    }
    const repo = await openForTool(args, context);
    const paths = readPaths(repo, args);
    const tag = shortHash(JSON.stringify([
      filter.ref ?? "HEAD",
      paths.map((path) => path.pathBytes ?? path.path),
      ...[filter.author, filter.grep, filter.since, filter.until].map((value) => value ?? null),
    ]));
    const from = readCursor(args.cursor, tag);
    const start = from?.start ?? await resolveStart(repo, filter.ref);
    if (start === null) return { data: unbornHistory(args.limit) };
    const specs = pathspecs(paths);
    const [dates, walked] = await both(
      interpretDates(repo, filter.since, filter.until),
      readPage(
        repo,
        start,
        {
          author: filter.author,
          grep: filter.grep,
          since: filter.since,
          until: filter.until,
          paths: specs.args,
          stdin: specs.stdin,
        },
        from,
        args.limit,
      ),
    );
    refuseNonsense("since", filter.since, dates.since, context.now());
    refuseNonsense("until", filter.until, dates.until, context.now());
    const commits = (await settleCommits(repo, walked.commits)).map(commitMembers);
    const notes = END_NOTES[walked.end];
    const data = {
      commits,
      limit: args.limit,
      total: null as number | null,
      truncated: walked.more,
      nextCursor: null as string | null,
      ...(readShallow(repo).shallow ? { shallow: true } : {}),
      ...(dates.since === null ? {} : { sinceTime: dates.since }),
      ...(dates.until === null ? {} : { untilTime: dates.until }),
      ...warningsMember(notes),
    };
    const settle = () => {
      const last = data.commits.at(-1);
      const given = walked.before + data.commits.length;
      const all = !walked.more && data.commits.length === walked.commits.length;
      const whole = all && walked.end === "done";
      data.truncated = !whole;
      data.total = whole ? given : null;
      // Where objects are missing a further call would find no more.
      data.nextCursor = whole || !last || (all && walked.end === "missing_objects")
        ? null
        : encodeCursor(NAME, [start, given, last.hash.slice(0, 12), tag]);
      return data;
    };
    const cuts = fitTokens(
      settle,
      args.maxTokens,
      [cuttableList("commits", commits)],
      args.repoPath,
    );
    settle();
    return { data: cuts.length > 0 ? { ...data, cut: cuts } : data };
  },
});

/** What is said about a walk that ended too early. */
const END_NOTES: Record<WalkEnd, Warning[]> = {
  done: [],
  missing_objects: [{
    code: "missing_objects",
    message:
      "the walk stopped where objects are missing (a partial clone or a damaged repository); older commits may match too",
  }],
  timed_out: [{
    code: "timed_out",
    message: "the walk was stopped at the deadline; older commits may match too",
  }],
};

/** No commit yet: an empty history, which is not an error. */
function unbornHistory(limit: number) {
  return { commits: [], limit, total: 0, truncated: false, nextCursor: null, unborn: true };
}

/** A commit as the answer carries it; what has nothing to say is left out. */
function commitMembers(commit: LogCommit) {
  return {
    hash: commit.hash,
    shortHash: commit.shortHash,
    authorName: commit.authorName,
    authorEmail: commit.authorEmail,
    ...commitTimes(commit),
    subject: commit.subject,
    ...(commit.subjectTruncated ? { subjectTruncated: true as const } : {}),
    parents: commit.parents,
    ...(commit.parentCount === undefined ? {} : { parentCount: commit.parentCount }),
    ...(commit.shallowBoundary ? { shallowBoundary: true as const } : {}),
    ...(commit.refs.length > 0 ? { refs: commit.refs } : {}),
    ...(commit.refsTruncated ? { refsTruncated: true as const } : {}),
  };
}

/** Git takes a line end in these as "or": they are literal here. Blank means not given. */
function literal(field: string, value: string | undefined): string | undefined {
  if (value === undefined || value === "") return undefined;
  if (/[\0\n\r]/.test(value)) {
    throw invalid(
      `arguments.${field} ${JSON.stringify(printable(value, 200))} may not hold line ends or NUL`,
    );
  }
  return value;
}

const DATE_WORD =
  /now|today|yesterday|noon|midnight|tea|never|ago|last|sec|min|hour|day|week|month|year|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun/i;

/** Git reads words that are no date as "now", which would look like an empty history. */
function refuseNonsense(
  field: string,
  value: string | undefined,
  seconds: number | null,
  nowMs: number,
): void {
  if (value === undefined || /\d/.test(value) || DATE_WORD.test(value)) return;
  if (seconds !== null && Math.abs(seconds - nowMs / 1000) > 86_400) return;
  throw invalid(
    `arguments.${field} ${
      JSON.stringify(printable(value, 200))
    } is not a date that git can read; give for example 2026-01-31, a Unix time, or "2 weeks ago"`,
  );
}

function invalid(details: string): CodedError {
  return new CodedError(-32602, "Invalid params", { details });
}

/** Full id of where the walk begins; null for HEAD of an unborn branch. */
async function resolveStart(repo: Repository, ref: string | undefined): Promise<string | null> {
  try {
    return await repo.resolve("ref", ref ?? "HEAD");
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const head = await readHead(repo);
    const asked = ref ?? "HEAD";
    if (head.unborn && ["HEAD", "@", head.branch, head.ref].includes(asked)) return null;
    throw error;
  }
}

interface Position {
  readonly start: string;
  /** Commits given so far. */
  readonly given: number;
  /** Beginning of the id of the last one given. */
  readonly last: string;
}

function readCursor(cursor: string | undefined, tag: string): Position | null {
  if (cursor === undefined || cursor === "") return null;
  const [start, given, last, madeFor] = decodeCursor(NAME, cursor);
  if (
    typeof start !== "string" || !/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(start) ||
    !Number.isSafeInteger(given) || (given as number) < 1 || typeof last !== "string" ||
    !/^[0-9a-f]{12}$/.test(last)
  ) {
    return decodeCursor(NAME, "") as never;
  }
  if (madeFor !== tag) {
    throw invalid(
      "arguments.cursor belongs to a call with another ref or other filters; repeat them unchanged",
    );
  }
  return { start, given: given as number, last };
}

interface WalkedPage {
  readonly commits: LogCommit[];
  readonly more: boolean;
  /** Commits given on earlier pages. */
  readonly before: number;
  readonly end: WalkEnd;
}

/**
 * One page. The walk from a fixed commit never changes, so skipping what was given is exact; the last
 * commit given is read again to make sure (a date such as "1 hour ago", or a deepened clone, can
 * move it: then it is looked for).
 */
async function readPage(
  repo: Repository,
  start: string,
  filter: LogFilter,
  from: Position | null,
  limit: number,
): Promise<WalkedPage> {
  const commits: LogCommit[] = [];
  let more = false;
  const collect = (commit: LogCommit) => {
    if (commits.length < limit) return commits.push(commit) > 0;
    more = true;
    return false;
  };
  if (from === null) {
    const end = await walkLog(repo, start, filter, 0, limit + 1, collect);
    return { commits, more, before: 0, end };
  }
  let found = false, first = true;
  const quick = await walkLog(repo, start, filter, from.given - 1, limit + 2, (commit) => {
    if (!first) return collect(commit);
    first = false;
    found = commit.hash.startsWith(from.last);
    return found;
  });
  if (found) return { commits, more, before: from.given, end: quick };
  let before = 0;
  const search = await walkLog(repo, start, filter, 0, null, (commit) => {
    if (found) return collect(commit);
    before++;
    found = commit.hash.startsWith(from.last);
    return true;
  });
  if (!found && search === "timed_out") {
    throw new GitError(
      "timed_out",
      ["log", start],
      "the place of the cursor was not found in time",
    );
  }
  if (!found) {
    throw invalid(
      "arguments.cursor names a commit that this history no longer shows; leave it out to start from the beginning",
    );
  }
  return { commits, more, before, end: search };
}
