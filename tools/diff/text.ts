import { both } from "../../common/both.ts";
import { decodeCursor, encodeCursor } from "../../common/cursor.ts";
import { CodedError } from "../../common/errors.ts";
import { shortHash } from "../../common/short_hash.ts";
import { estimateTokens, fitTokens } from "../../common/token_budget.ts";
import type { DiffRequest, DiffSides } from "../../git/diff.ts";
import type { DiffSummary } from "../../git/diff_records.ts";
import { readDiffOnce } from "../../git/diff_once.ts";
import { readDiffSummary } from "../../git/diff_summary.ts";
import { cutPage, type DiffWindow, NO_WINDOW, readDiffWindow } from "../../git/diff_text.ts";
import { GitError } from "../../git/errors.ts";
import { guardSubmodules } from "../../git/index_scan.ts";
import { type LiteralPath, pathspecs } from "../../git/pathspec.ts";
import type { Repository } from "../../git/repository.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { diffCounts, diffCountsMember, diffFile, diffFileMembers } from "../diff_shape.ts";
import { filterWarning, openForTool, type Warning, warningsMember } from "../open.ts";
import { readPaths } from "../path_argument.ts";
import { count, cut, maxTokens, nullableCount, nullableString, warnings } from "../shapes.ts";

const NAME = "diff.text";
const MAX_FILES = 200;
const MAX_BYTES = 1_048_576;

/** diff.text: `read-tools.md` 14 with `additions.md` 1 and 3. */
export default defineTool({
  name: NAME,
  title: "Text diff",
  description:
    "Unified diff. base and head: those two; one of them: it against the work tree; neither: index against work tree; staged: HEAD (or base) against index. Never untracked files. files sums up the whole diff; nextCursor continues the text, refused once the diff changed.",
  family: "diff",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    base: z.string().optional(),
    head: z.string().optional(),
    path: z.string().optional(),
    pathBytes: z.string().max(65_536).optional(),
    paths: z.array(z.string().min(1).max(32_768)).max(1_000).optional(),
    staged: z.boolean().optional(),
    contextLines: z.int().min(0).max(1_000).default(3),
    maxBytes: z.int().min(1).max(MAX_BYTES).default(65_536),
    maxLines: z.int().min(1).optional(),
    cursor: z.string().optional(),
    maxTokens: maxTokens(z),
  }),
  output: (z) =>
    z.object({
      format: z.literal("text"),
      base: nullableString(z),
      head: nullableString(z),
      path: nullableString(z),
      diff: z.string(),
      truncated: z.boolean(),
      totalBytes: nullableCount(z),
      totalLines: nullableCount(z),
      maxBytes: count(z),
      scanCeiling: count(z).optional(),
      files: z.array(diffFile(z)).optional(),
      filesTruncated: z.literal(true).optional(),
      counts: diffCounts(z).optional(),
      nextCursor: nullableString(z),
      cut: cut(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const base = args.base?.trim() || null, head = args.head?.trim() || null;
    if (args.staged && head !== null) {
      throw invalid("arguments.staged compares base (default HEAD) with the index; leave head out");
    }
    const opened = await openForTool(args, context);
    const paths = readPaths(opened, args);
    const tag = shortHash(JSON.stringify([
      base,
      head,
      paths.map((path) => path.pathBytes ?? path.path),
      args.staged ?? false,
      args.contextLines,
    ]));
    const from = readCursor(args.cursor, tag);
    const notes: Warning[] = [];
    const sides = await chooseSides(opened, base, head, args.staged ?? false);
    const { repo, request } = await prepare(opened, sides, paths, notes);
    const page = { context: args.contextLines, offset: from?.offset ?? 0, bytes: args.maxBytes };
    const [summary, window] = await readDiff(repo, request, page, from === null);
    if (from) refuseChanged(window, from);
    noteMissing(summary, notes);
    if (window.end === "timed_out") {
      notes.push({
        code: "timed_out",
        message: "reading the diff was stopped at the deadline; narrow it with path",
      });
    }
    const lines = args.maxLines ?? Number.MAX_SAFE_INTEGER;
    let text = cutPage(window, args.maxBytes, lines);
    const whole = text;
    const listed = from === null && summary
      ? summary.files.map((file) => diffFileMembers(file))
      : [];
    let kept = listed.length;
    const answer = () => {
      const end = window.offset + text.bytes;
      const incomplete = window.end !== "whole" || (summary?.missing ?? 0) !== 0;
      return {
        format: "text" as const,
        base,
        head,
        path: paths.length === 0 ? null : args.path ?? paths[0]!.path,
        diff: text.text,
        truncated: end < window.size || incomplete,
        totalBytes: incomplete ? null : window.size,
        totalLines: incomplete ? null : window.lines,
        maxBytes: args.maxBytes,
        ...(window.end === "ceiling" ? { scanCeiling: window.size } : {}),
        ...(from === null && summary
          ? {
            files: listed.slice(0, kept),
            ...(summary.more || kept < listed.length ? { filesTruncated: true as const } : {}),
            ...diffCountsMember(summary.totals),
          }
          : {}),
        nextCursor: end < window.size && window.end !== "timed_out"
          ? encodeCursor(NAME, [tag, end, window.size, window.hash])
          : null,
        ...warningsMember(notes),
      };
    };
    const least = filesWithin(listed, 0.3 * (args.maxTokens ?? 0));
    const cuts = fitTokens(answer, args.maxTokens, [
      { name: "files", size: kept, keep: (n) => kept = Math.max(n, least) },
      {
        name: "diff",
        size: whole.bytes,
        keep: (n) => text = n === 0 ? { text: "", bytes: 0 } : cutPage(window, n, lines),
      },
      { name: "files", size: least, keep: (n) => kept = n },
    ], args.repoPath);
    if (cuts.length === 0) return { data: answer() };
    const said = [
      { list: "files", kept, of: listed.length },
      { list: "diff", kept: text.bytes, of: whole.bytes },
    ].filter((note) => note.kept < note.of);
    return { data: { ...answer(), cut: said } };
  },
});

/** How many of the files take no more than a number of tokens. */
function filesWithin(files: readonly unknown[], tokens: number): number {
  let sum = 0, n = 0;
  for (; n < files.length; n++) {
    sum += estimateTokens(JSON.stringify(files[n]) + ",");
    if (sum > tokens) break;
  }
  return n;
}

/** What `base`, `head` and `staged` mean; revisions become tree ids, so that none can be read as a path. */
async function chooseSides(
  repo: Repository,
  base: string | null,
  head: string | null,
  staged: boolean,
): Promise<DiffSides> {
  const resolve = (field: string, revision: string | null) =>
    revision === null ? Promise.resolve(null) : repo.resolve(field, revision, "tree");
  const [from, to] = await both(resolve("base", base), resolve("head", head));
  if (from !== null && to !== null) return { kind: "trees", from, to };
  if (repo.facts.topLevel === null) {
    throw new CodedError(10010, "Local git fallback failed", {
      command: ["git", "-C", "<repoPath>", "diff"],
      details: "this is a bare repository: it has no work tree and no index",
      kind: "bare_repository",
      hint: "Give both base and head.",
    });
  }
  return { kind: staged ? "index" : "worktree", from: from ?? to };
}

/** The command's request, with submodules guarded when the work tree is looked at. */
async function prepare(
  repo: Repository,
  sides: DiffSides,
  paths: readonly LiteralPath[],
  notes: Warning[],
): Promise<{ repo: Repository; request: DiffRequest }> {
  const { args, stdin } = pathspecs(paths);
  const request: DiffRequest = { sides, paths: args, stdin };
  if (sides.kind !== "worktree") return { repo, request };
  notes.push(...filterWarning(repo));
  const guard = await guardSubmodules(repo);
  if (!guard.complete) {
    notes.push({
      code: "submodules_unreadable",
      message: "changes inside submodules were not looked at",
    });
  }
  return {
    repo: repo.with(guard.overrides),
    request: { ...request, ignoreDirtySubmodules: !guard.complete },
  };
}

interface PageRequest {
  readonly context: number;
  readonly offset: number;
  readonly bytes: number;
}

/** Summary and text; where content is missing, the text of the files that can be read. */
async function readDiff(
  repo: Repository,
  request: DiffRequest,
  page: PageRequest,
  withSummary: boolean,
): Promise<[DiffSummary | null, DiffWindow]> {
  const files = { skip: 0, limit: MAX_FILES };
  const text = (what: DiffRequest) =>
    readDiffWindow(repo, what, page.context, page.offset, page.bytes);
  if (withSummary) {
    const once = await readDiffOnce(repo, request, files, page.context, page.bytes);
    if (typeof once === "object") return [once.summary, once.window];
  }
  const [first, window] = await both(
    withSummary ? readDiffSummary(repo, request, files) : Promise.resolve(null),
    text(request),
  );
  if (window.end !== "missing_objects") return [first, window];
  const summary = first ?? await readDiffSummary(repo, request, files);
  const readable = summary.readable ?? [];
  if (readable.length === 0) return [summary, NO_WINDOW];
  const { args, stdin } = pathspecs(readable);
  return [summary, await text({ ...request, paths: args, stdin, exactRenamesOnly: true })];
}

function noteMissing(summary: DiffSummary | null, notes: Warning[]): void {
  if (summary?.readable === undefined) return;
  if (summary.missing === null) {
    notes.push({
      code: "missing_objects",
      message:
        "trees are not here (a partial clone or a damaged repository); nothing can be compared and nothing is fetched",
    });
    return;
  }
  notes.push({
    code: "missing_objects",
    message:
      "content is not here (a partial clone or a damaged repository) and nothing is fetched: those files have no counts and no text, and only exact renames are found",
    count: summary.missing,
  });
}

interface Position {
  readonly offset: number;
  readonly size: number;
  readonly hash: string;
}

function readCursor(cursor: string | undefined, tag: string): Position | null {
  if (cursor === undefined || cursor === "") return null;
  const [madeFor, offset, size, hash] = decodeCursor(NAME, cursor);
  if (
    typeof madeFor !== "string" || !Number.isSafeInteger(offset) || (offset as number) < 0 ||
    !Number.isSafeInteger(size) || typeof hash !== "string"
  ) {
    return decodeCursor(NAME, "") as never;
  }
  if (madeFor !== tag) {
    throw invalid(
      "arguments.cursor belongs to a call with other arguments; repeat base, head, paths, staged and contextLines unchanged",
    );
  }
  return { offset: offset as number, size: size as number, hash };
}

/** A page of another diff would not fit the pages before it. */
function refuseChanged(window: DiffWindow, from: Position): void {
  if (window.end === "timed_out") {
    throw new GitError("timed_out", ["diff"], "the diff could not be read as far as the cursor");
  }
  if (window.size === from.size && window.hash === from.hash) return;
  throw new CodedError(-32602, "Invalid params", {
    details:
      "arguments.cursor: the diff changed since the page before; leave the cursor out to read it from the start",
    reason: "diff_changed",
  });
}

function invalid(details: string): CodedError {
  return new CodedError(-32602, "Invalid params", { details });
}
