import { both } from "../../common/both.ts";
import { decodeCursor, encodeCursor } from "../../common/cursor.ts";
import { CodedError } from "../../common/errors.ts";
import { shortHash } from "../../common/short_hash.ts";
import { type Cuttable, cuttableList, fitTokens } from "../../common/token_budget.ts";
import { type Commit, readCommit } from "../../git/commit.ts";
import type { DiffFile, DiffSummary } from "../../git/diff_records.ts";
import { readDiffSummary } from "../../git/diff_summary.ts";
import { GitError } from "../../git/errors.ts";
import { type LfsPointer, readLfsPointers, readShallow } from "../../git/objects.ts";
import type { Repository } from "../../git/repository.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { commitTimes, detailedCommit } from "../commit_shape.ts";
import { diffCounts, diffCountsMember, diffFile, diffFileMembers } from "../diff_shape.ts";
import { openForTool, type Warning, warningsMember } from "../open.ts";
import { cut, maxTokens, nullableString, page, warnings } from "../shapes.ts";

const NAME = "commit.details";

/** commit.details: `read-tools.md` 10 with `additions.md` 1, 3 and 6. */
export default defineTool({
  name: NAME,
  title: "One commit",
  description:
    "One commit (tags are followed): people, times (the committer's only where they differ from the author's), message, and changed files with line counts against its first parent (comparedTo; null for a root). Long file lists continue with nextCursor.",
  family: "commit",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    commit: z.string(),
    limit: z.int().min(1).max(1000).default(200),
    cursor: z.string().optional(),
    maxTokens: maxTokens(z),
  }),
  output: (z) =>
    z.object({
      commit: detailedCommit(z),
      comparedTo: nullableString(z),
      files: z.array(diffFile(z)),
      counts: diffCounts(z).optional(),
      ...page(z),
      cut: cut(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const repo = await openForTool(args, context);
    const tag = shortHash(args.commit);
    const from = readCursor(args.cursor, tag);
    const oid = from?.oid ?? await repo.resolve("commit", args.commit);
    const notes: Warning[] = [];
    const [commit, summary] = await both(
      readCommit(repo, oid),
      readFiles(repo, oid, { skip: from?.given ?? 0, limit: args.limit }, notes),
    );
    const pointers = await findPointers(repo, summary.files);
    const files = summary.files.map((file, i) => ({
      ...diffFileMembers(file),
      ...(pointers[i] ? { lfsPointer: pointers[i] } : {}),
    }));
    const message = { text: commit.message, whole: commit.message };
    const answer = () => {
      const given = (from?.given ?? 0) + files.length;
      const more = summary.more || files.length < summary.files.length;
      return {
        commit: commitMembers(commit, message.text),
        comparedTo: commit.parents[0] ?? null,
        files,
        ...diffCountsMember(summary.totals),
        limit: args.limit,
        total: summary.totals.files,
        truncated: more,
        nextCursor: more ? encodeCursor(NAME, [oid, given, tag]) : null,
        ...warningsMember(notes),
      };
    };
    const cuts = fitTokens(answer, args.maxTokens, [
      cuttableList("files", files),
      cuttableText("message", message),
    ], args.repoPath);
    return { data: cuts.length > 0 ? { ...answer(), cut: cuts } : answer() };
  },
});

const UNKNOWN: DiffSummary = {
  files: [],
  totals: { files: null, added: null, deleted: null, binary: null },
  more: false,
  missing: null,
};

/** Files against the first parent; where that cannot be known, nothing is claimed. */
async function readFiles(
  repo: Repository,
  oid: string,
  window: { skip: number; limit: number },
  notes: Warning[],
): Promise<DiffSummary> {
  // Git would show every file of a shallow boundary as new.
  if (readShallow(repo).isBoundary(oid) && await hasHiddenParents(repo, oid)) {
    notes.push({
      code: "missing_objects",
      message: "the parents lie beyond the end of this shallow clone, so changed files are unknown",
    });
    return UNKNOWN;
  }
  const summary = await readDiffSummary(
    repo,
    { sides: { kind: "commit", oid }, paths: ["--"] },
    window,
  );
  if (summary.missing === null) {
    notes.push({
      code: "missing_objects",
      message:
        "trees or parents of this commit are not here (a partial clone or a damaged repository), so changed files are unknown",
    });
  } else if (summary.missing > 0) {
    notes.push({
      code: "missing_objects",
      message:
        "content of some files is not here (a partial clone or a damaged repository): their counts are null",
      count: summary.missing,
    });
  }
  return summary;
}

async function hasHiddenParents(repo: Repository, oid: string): Promise<boolean> {
  return (await readCommit(repo, oid)).shallowBoundary === true;
}

/** Most commits are committed by their author at once: saying so twice costs tokens. */
function committerMembers(commit: Commit) {
  const { committerName, committerEmail } = commit;
  const same = committerName === commit.authorName && committerEmail === commit.authorEmail;
  const { committerTime, ...times } = commitTimes(commit);
  return {
    ...(same ? {} : { committerName, committerEmail }),
    ...times,
    ...(committerTime === times.authorTime && committerTime !== null ? {} : { committerTime }),
  };
}

function commitMembers(commit: Commit, message: string) {
  const cutMessage = message.length < commit.message.length || commit.messageBytes !== undefined;
  return {
    hash: commit.hash,
    shortHash: commit.shortHash,
    authorName: commit.authorName,
    authorEmail: commit.authorEmail,
    ...(commit.recordedAuthor ? { recordedAuthor: commit.recordedAuthor } : {}),
    ...committerMembers(commit),
    parents: commit.parents,
    ...(commit.parentCount === undefined ? {} : { parentCount: commit.parentCount }),
    ...(commit.shallowBoundary ? { shallowBoundary: true as const } : {}),
    ...(commit.refs.length > 0 ? { refs: commit.refs } : {}),
    ...(commit.refsTruncated ? { refsTruncated: true as const } : {}),
    ...(commit.encoding === undefined ? {} : { encoding: commit.encoding }),
    message,
    ...(cutMessage
      ? {
        messageTruncated: true as const,
        messageBytes: commit.messageBytes ?? new TextEncoder().encode(commit.message).length,
      }
      : {}),
  };
}

/** A text that may be shortened, never in the middle of a character. */
function cuttableText(name: string, holder: { text: string; whole: string }): Cuttable {
  return {
    name,
    size: holder.whole.length,
    keep: (n) => {
      const code = holder.whole.charCodeAt(n - 1);
      holder.text = holder.whole.slice(0, code >= 0xd800 && code <= 0xdbff ? n - 1 : n);
    },
  };
}

/** A pointer has three lines; only files that could be one are looked at. */
async function findPointers(
  repo: Repository,
  files: readonly DiffFile[],
): Promise<(LfsPointer | undefined)[]> {
  const candidates = files.map((file) => {
    const deleted = file.status === "D";
    const mode = deleted ? file.oldMode : file.newMode;
    const lines = deleted ? file.deleted : file.added;
    if (!mode?.startsWith("100") || lines === null || lines < 1 || lines > 3) return null;
    return deleted ? file.oldOid : file.newOid;
  });
  try {
    const oids = [...new Set(candidates.filter((oid) => oid !== null))];
    const pointers = await readLfsPointers(repo, oids);
    return candidates.map((oid) => oid === null ? undefined : pointers.get(oid));
  } catch (error) {
    if (error instanceof GitError && error.kind === "cancelled") throw error;
    // Sizes of a partial clone cannot be asked for; the files are listed all the same.
    return [];
  }
}

function readCursor(
  cursor: string | undefined,
  tag: string,
): { oid: string; given: number } | null {
  if (cursor === undefined || cursor === "") return null;
  const [oid, given, madeFor] = decodeCursor(NAME, cursor);
  if (
    typeof oid !== "string" || !/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(oid) ||
    !Number.isSafeInteger(given) || (given as number) < 0
  ) {
    return decodeCursor(NAME, "") as never;
  }
  if (madeFor !== tag) {
    throw new CodedError(-32602, "Invalid params", {
      details: "arguments.cursor belongs to a call with another commit; repeat it unchanged",
    });
  }
  return { oid, given: given as number };
}
