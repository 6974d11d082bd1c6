import { decodeCursor, encodeCursor } from "../../common/cursor.ts";
import { CodedError } from "../../common/errors.ts";
import { printable } from "../../git/errors.ts";
import { lookUpMoves, type Move } from "../../git/reflog_moves.ts";
import { findReflog, type ReflogPlace } from "../../git/reflog_place.ts";
import {
  readReflogFile,
  readReflogThroughGit,
  type ReflogCursor,
  type ReflogEntry,
  type ReflogPage,
} from "../../git/reflog_read.ts";
import type { Repository } from "../../git/repository.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { openForTool, type Warning, warningsMember } from "../open.ts";
import { count, nullableCount, nullableString, page, warnings } from "../shapes.ts";

const NAME = "repo.reflog";

/** repo.reflog: `read-tools.md` 7 with `additions.md` 1 and 3. */
export default defineTool({
  name: NAME,
  title: "Ref movements",
  description:
    "Where a ref (default HEAD) pointed before, newest first: old and new id, action, rewrote (left commits behind; null unknown), recovery for old tips no ref reaches. Recovering goes through operation.preview.branch or reset with oldCommit.",
  family: "repo",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    refName: z.string().optional(),
    limit: z.int().min(1).max(100).default(12),
    cursor: z.string().optional(),
  }),
  output: (z) =>
    z.object({
      refName: z.string(),
      ref: z.string().optional(),
      entries: z.array(
        z.object({
          index: count(z),
          refName: z.string(),
          selector: z.string(),
          oldCommit: nullableString(z),
          newCommit: nullableString(z),
          shortNewCommit: nullableString(z),
          message: z.string(),
          messageTruncated: z.literal(true).optional(),
          action: z.string(),
          authorName: z.string(),
          authorEmail: z.string(),
          timestamp: z.int().nullable(),
          timestampRaw: z.string().optional(),
          canCompare: z.boolean(),
          rewrote: z.boolean().nullable(),
          recovery: nullableString(z),
          unreachableCommits: count(z).optional(),
          unreachableCapped: z.literal(true).optional(),
          oldCommitMissing: z.literal(true).optional(),
        }),
      ),
      entryCount: count(z),
      reflogEnabled: z.boolean(),
      oldCommitsDerived: z.literal(true).optional(),
      unborn: z.literal(true).optional(),
      readOnly: z.literal(true),
      ...page(z),
      total: nullableCount(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const refName = args.refName?.trim() || "HEAD";
    const repo = await openForTool(args, context);
    const place = await findReflog(repo, refName);
    const after = readCursor(args.cursor, place.ref);
    const notes: Warning[] = [];
    const read = await readPage(repo, place, args.limit, after, notes);
    if (after && !read.found) {
      throw invalid(
        "arguments.cursor names an entry that is no longer in this reflog (expired or rewritten); leave it out to start from the newest",
      );
    }
    const { moves, problems } = await lookUpMoves(repo, place.ref, read.entries);
    for (const code of problems) notes.push({ code, message: PROBLEMS[code] });
    if (!place.enabled) {
      notes.push({
        code: "reflog_disabled",
        message:
          "movements of this ref are not recorded; commits can have been lost without a trace",
      });
    }
    const last = read.entries.at(-1);
    return {
      data: {
        refName,
        ...(place.ref === refName ? {} : { ref: place.ref }),
        entries: read.entries.map((entry, i) => entryMembers(refName, entry, moves[i]!)),
        entryCount: read.entries.length,
        reflogEnabled: place.enabled,
        ...(place.file === null ? { oldCommitsDerived: true } : {}),
        ...(place.refExists ? {} : { unborn: true }),
        readOnly: true,
        limit: args.limit,
        total: read.total,
        truncated: read.more,
        nextCursor: read.more && last
          ? encodeCursor(NAME, [place.ref, last.cursor.at, last.cursor.hash])
          : null,
        ...warningsMember(notes),
      },
    };
  },
});

const PROBLEMS = {
  missing_objects: "some commits could not be looked up; their rewrote and recovery are null",
  timed_out: "looking commits up took too long; some rewrote and recovery are null",
} as const;

const EMPTY: ReflogPage = { entries: [], more: false, total: 0, found: true };

async function readPage(
  repo: Repository,
  place: ReflogPlace,
  limit: number,
  after: ReflogCursor | undefined,
  notes: Warning[],
): Promise<ReflogPage> {
  try {
    if (place.file === null) {
      return place.refExists ? await readReflogThroughGit(repo, place.ref, limit, after) : EMPTY;
    }
    if (!place.logExists) return { ...EMPTY, found: after === undefined };
    return await readReflogFile(
      place.file,
      [repo.facts.commonDir, repo.facts.gitDir],
      limit,
      after,
    );
  } catch (error) {
    if (error instanceof CodedError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    notes.push({
      code: "reflog_unreadable",
      message: `the reflog could not be read: ${printable(why, 200)}`,
    });
    return { ...EMPTY, total: null };
  }
}

const MAX_MESSAGE = 500;
const MAX_NAME = 256;

function entryMembers(refName: string, entry: ReflogEntry, move: Move) {
  const { oldOid, newOid } = entry;
  return {
    index: entry.index,
    refName,
    selector: `${refName}@{${entry.index}}`,
    oldCommit: oldOid,
    newCommit: newOid,
    shortNewCommit: move.shortNewOid ?? newOid?.slice(0, 7) ?? null,
    message: clip(entry.message, MAX_MESSAGE),
    ...(entry.message.length > MAX_MESSAGE ? { messageTruncated: true as const } : {}),
    action: move.action,
    authorName: clip(entry.name, MAX_NAME),
    authorEmail: clip(entry.email, MAX_NAME),
    timestamp: entry.seconds,
    ...(entry.seconds === null ? { timestampRaw: clip(entry.secondsRaw, 64) } : {}),
    canCompare: oldOid !== null && newOid !== null && oldOid !== newOid && !move.oldMissing &&
      move.shortNewOid !== null,
    rewrote: move.rewrote,
    recovery: move.recovery,
    ...(move.unreachableCommits > 0 ? { unreachableCommits: move.unreachableCommits } : {}),
    ...(move.unreachableCapped ? { unreachableCapped: true as const } : {}),
    ...(move.oldMissing ? { oldCommitMissing: true as const } : {}),
  };
}

/** The first characters of a text, never half of one. */
function clip(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = text.charCodeAt(max - 1);
  return text.slice(0, end >= 0xd800 && end <= 0xdbff ? max - 1 : max);
}

function readCursor(cursor: string | undefined, ref: string): ReflogCursor | undefined {
  if (cursor === undefined || cursor === "") return undefined;
  const [madeFor, at, hash] = decodeCursor(NAME, cursor);
  if (
    typeof madeFor !== "string" || !Number.isSafeInteger(at) || (at as number) < 0 ||
    typeof hash !== "string"
  ) {
    return decodeCursor(NAME, "") as never;
  }
  if (madeFor !== ref) {
    throw invalid("arguments.cursor belongs to a call with another refName; repeat it unchanged");
  }
  return { at: at as number, hash };
}

function invalid(details: string): CodedError {
  return new CodedError(-32602, "Invalid params", { details });
}
