import { encodeText, fromBase64 } from "../../common/bytes.ts";
import { decodeCursor, encodeCursor } from "../../common/cursor.ts";
import { GitError } from "../../git/errors.ts";
import { readHead, readHeadRef } from "../../git/head.ts";
import { type Ref, refKind, shortRef } from "../../git/ref_names.ts";
import { readRefs, type RefPage } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import { readStashes } from "../../git/stashes.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { openForTool, type Warning, warningsMember } from "../open.ts";
import { cut, nullableString, page, warnings } from "../shapes.ts";

const NAME = "repo.refs";
const MAX_REMOTES = 200;

/** repo.refs: `read-tools.md` 4 with `additions.md` 1 and 3. */
export default defineTool({
  name: NAME,
  title: "Refs and stashes",
  description:
    "HEAD, branches (local and remote-tracking), tags, remote names (never URLs) and stashes. limit and cursor page through branches and tags; stashes come with the first page. Broken refs are marked, not hidden.",
  family: "repo",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    limit: z.int().min(1).max(1000).default(100),
    cursor: z.string().max(32_768).optional(),
  }),
  output: (z) =>
    z.object({
      head: z.string(),
      detached: z.literal(true).optional(),
      unborn: z.literal(true).optional(),
      branches: z.array(z.string()),
      tags: z.array(z.string()),
      remotes: z.array(z.string()),
      stashes: z.array(z.string()),
      refs: z.array(z.object({
        name: z.string(),
        ref: z.string(),
        refBytes: z.string().optional(),
        oid: nullableString(z),
        peeled: nullableString(z).optional(),
        symref: z.string().optional(),
        upstream: z.string().optional(),
        upstreamGone: z.literal(true).optional(),
        worktree: z.string().optional(),
        broken: z.literal(true).optional(),
      })),
      stashEntries: z.array(z.object({
        index: z.int(),
        oid: z.string(),
        subject: z.string(),
        subjectTruncated: z.literal(true).optional(),
        hasUntracked: z.boolean(),
      })),
      ...page(z),
      cut: cut(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const repo = await openForTool(args, context);
    const after = decodeAfter(args.cursor);
    const first = after === undefined;
    const notes: Warning[] = [];
    const [head, found, stash] = await Promise.all([
      readHeadRef(repo),
      readRefs(repo, { limit: args.limit, after }),
      first ? stashes(repo, args.limit, notes) : { entries: [], total: 0 },
    ]);
    notes.push(...refWarnings(found));
    const remotes = repo.facts.config.subsections("remote");
    const named = (...kinds: string[]) =>
      found.refs.filter((ref) => !ref.broken && kinds.includes(refKind(ref.ref)))
        .map((ref) => ref.name);
    const cuts = [
      ...(remotes.length > MAX_REMOTES
        ? [{ list: "remotes", kept: MAX_REMOTES, of: remotes.length }]
        : []),
      ...(stash.total > stash.entries.length
        ? [{ list: "stashEntries", kept: stash.entries.length, of: stash.total }]
        : []),
    ];
    const last = found.refs.at(-1);
    return {
      data: {
        head: head.ref === null ? "HEAD" : shortRef(head.ref),
        ...(head.ref === null ? { detached: true } : {}),
        ...(head.ref !== null && !await headExists(repo, head.ref, found) ? { unborn: true } : {}),
        branches: named("branch", "remote"),
        tags: named("tag"),
        remotes: remotes.slice(0, MAX_REMOTES),
        stashes: stash.entries.map(({ index, subject }) => `stash@{${index}}: ${subject}`),
        refs: found.refs,
        stashEntries: stash.entries,
        limit: args.limit,
        total: found.total,
        truncated: found.more,
        nextCursor: found.more && last ? encodeAfter(last) : null,
        ...(cuts.length > 0 ? { cut: cuts } : {}),
        ...warningsMember(notes),
      },
    };
  },
});

/** HEAD may name a ref outside the listed namespaces. */
async function headExists(repo: Repository, ref: string, found: RefPage): Promise<boolean> {
  if (ref.startsWith("refs/heads/")) return found.headExists;
  return !(await readHead(repo)).unborn;
}

async function stashes(repo: Repository, limit: number, notes: Warning[]) {
  try {
    return await readStashes(repo, limit);
  } catch (error) {
    if (!(error instanceof GitError) || error.kind !== "failed") throw error;
    notes.push({ code: "reflog_unreadable", message: "the stash could not be read" });
    return { entries: [], total: 0 };
  }
}

function refWarnings(found: RefPage): Warning[] {
  const notes: Warning[] = [];
  if (found.unpeeled > 0) {
    notes.push({
      code: "missing_objects",
      message: "tags whose objects are not here have peeled null",
      count: found.unpeeled,
    });
  }
  if (!found.brokenComplete) {
    notes.push({
      code: "source_unavailable",
      message: "there are too many loose refs to look for broken ones among all of them",
    });
  }
  return notes;
}

function encodeAfter(ref: Ref): string {
  return ref.refBytes ? encodeCursor(NAME, [ref.refBytes, 1]) : encodeCursor(NAME, [ref.ref]);
}

function decodeAfter(cursor: string | undefined): Uint8Array | undefined {
  if (cursor === undefined || cursor === "") return undefined;
  const [name, raw] = decodeCursor(NAME, cursor);
  try {
    if (typeof name === "string") return raw === 1 ? fromBase64(name) : encodeText(name);
  } catch { /* refused below, as any cursor that was tampered with */ }
  return decodeCursor(NAME, "") as never;
}
