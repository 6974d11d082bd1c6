import { fromBase64, toBase64 } from "../../common/bytes.ts";
import { decodeCursor, encodeCursor } from "../../common/cursor.ts";
import { type Cuttable, cuttableList, fitTokens } from "../../common/token_budget.ts";
import { readConflictCommits } from "../../git/conflict_sides.ts";
import {
  listUnmerged,
  readRegions,
  readSides,
  type SideContent,
  type Stage,
  type UnmergedPath,
} from "../../git/conflicts.ts";
import { readOperation } from "../../git/in_progress.ts";
import { defineTool, READ_HINTS, type Z } from "../../registry/define.ts";
import { openForTool, type Warning, warningsMember } from "../open.ts";
import { count, cut, maxTokens, nullableString, warnings } from "../shapes.ts";

const NAME = "conflict.read";
/** Contents of all sides together, in bytes; a smaller share for each when there are many. */
const MAX_CONTENT = 2 * 1024 * 1024;
const LEAST_SHARE = 4 * 1024;

/** conflict.read: `read-tools.md` 9, corrected by 27.5, 27.29 and `additions.md` 2 and 3. */
export default defineTool({
  name: NAME,
  title: "Active conflict data",
  description:
    "Unmerged paths with base, ours and theirs as text, and where the markers stand. labels says what the sides are (a rebase swaps them). Resolve by proposing operation.preview.patch, not by writing the files.",
  family: "conflict",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    maxFiles: z.int().min(1).max(200).default(20),
    maxBytesPerSide: z.int().min(1).max(1_048_576).default(16_384),
    cursor: z.string().max(65_536).optional(),
    maxTokens: maxTokens(z),
  }),
  output: (z) =>
    z.object({
      inConflict: z.boolean(),
      operationInProgress: nullableString(z),
      operation: z.object({ kind: z.string() }).optional(),
      labels: z.object({ ours: z.string(), theirs: z.string() }).optional(),
      base: commit(z).optional(),
      ours: commit(z).optional(),
      theirs: commit(z).optional(),
      conflictedFileCount: count(z),
      files: z.array(z.object({
        path: z.string(),
        pathBytes: z.string().optional(),
        kind: z.string(),
        modes: z.object({}).optional(),
        sides: z.object({ base: side(z), ours: side(z), theirs: side(z) }),
        regions: z.array(z.object({
          startLine: z.int(),
          baseLine: z.int().optional(),
          sepLine: z.int(),
          endLine: z.int(),
          ambiguous: z.literal(true).optional(),
        })),
        regionsTruncated: z.literal(true).optional(),
      })).optional(),
      fileListTruncated: z.boolean().optional(),
      nextCursor: nullableString(z).optional(),
      maxBytesPerSide: count(z).optional(),
      cut: cut(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const repo = await openForTool(args, context);
    const after = decodePlace(args.cursor);
    const list = await listUnmerged(repo, args.maxFiles, after);
    const inConflict = list.total > 0;
    const operation = await readOperation(repo, inConflict);
    const state = {
      inConflict,
      operationInProgress: operation?.kind ?? null,
      ...(operation ? { operation } : {}),
      conflictedFileCount: list.total,
    };
    if (!inConflict) return { data: state };
    const stages = list.paths.flatMap((p) => [p.base, p.ours, p.theirs]).filter((s) => s !== null);
    const share = Math.max(LEAST_SHARE, Math.floor(MAX_CONTENT / Math.max(1, stages.length)));
    // More than a token limit can hold is not worth carrying: a token is hardly over 20 bytes of text.
    const useful = args.maxTokens === undefined ? Infinity : args.maxTokens * 20;
    const maxBytes = Math.min(args.maxBytesPerSide, share, useful);
    const [sides, regions, commits] = await Promise.all([
      readSides(repo, list.paths, maxBytes),
      readRegions(repo, list.paths),
      readConflictCommits(repo, operation),
    ]);
    const room = { left: MAX_CONTENT };
    const files = list.paths.map((path, i) => {
      const { regions: found, truncated } = regions.files[i]!;
      return {
        path: path.path,
        ...(path.pathBytes ? { pathBytes: path.pathBytes } : {}),
        kind: path.kind,
        ...modes(path),
        sides: {
          base: sideOf(path.base, sides.sides, room),
          ours: sideOf(path.ours, sides.sides, room),
          theirs: sideOf(path.theirs, sides.sides, room),
        },
        regions: [...found],
        ...(truncated ? { regionsTruncated: true } : {}),
      };
    });
    const notes = warningsOf(sides, regions.unreadable);
    const data = () => {
      const truncated = list.more || files.length < list.paths.length;
      const last = list.paths[files.length - 1];
      return {
        ...state,
        ...commits,
        files,
        fileListTruncated: truncated,
        // With no room for even one file the list goes on from where it was.
        nextCursor: !truncated
          ? null
          : last
          ? encodeCursor(NAME, [toBase64(last.bytes)])
          : args.cursor ?? null,
        maxBytesPerSide: maxBytes,
        ...warningsMember(notes),
      };
    };
    const all = files.map((file) => file.sides);
    const cuts = fitTokens(data, args.maxTokens, [
      contents("files.sides.base.content", all.map((s) => s.base)),
      contents("files.sides.content", all.flatMap((s) => [s.ours, s.theirs])),
      cuttableList("files", files),
      subjects([commits.base, commits.ours, commits.theirs]),
    ], args.repoPath);
    return { data: cuts.length > 0 ? { ...data(), cut: cuts } : data() };
  },
});

type Side =
  | null
  | { sha: string; error: string }
  | { sha: string; size: number; binary: true }
  | { sha: string; size: number; truncated: boolean; content: string; notUtf8?: true };

function commit(z: Z) {
  return z.object({ sha: z.string(), subject: z.string() }).nullable();
}

function side(z: Z) {
  return z.object({
    sha: z.string(),
    size: z.int().optional(),
    binary: z.literal(true).optional(),
    truncated: z.boolean().optional(),
    content: z.string().optional(),
    notUtf8: z.literal(true).optional(),
    error: z.string().optional(),
  }).nullable();
}

function decodePlace(cursor: string | undefined): Uint8Array | undefined {
  if (cursor === undefined || cursor === "") return undefined;
  const [place] = decodeCursor(NAME, cursor);
  try {
    if (typeof place === "string") return fromBase64(place);
  } catch { /* said below */ }
  return decodeCursor(NAME, "-") as never;
}

/** Octal modes, said when they differ or one is no ordinary file. */
function modes(path: UnmergedPath): { modes?: Record<string, string> } {
  const present = Object.entries({ base: path.base, ours: path.ours, theirs: path.theirs })
    .flatMap(([name, stage]) => stage ? [[name, stage.mode] as const] : []);
  const kinds = new Set(present.map(([, mode]) => mode));
  return kinds.size === 1 && [...kinds][0]!.startsWith("100")
    ? {}
    : { modes: Object.fromEntries(present) };
}

function sideOf(
  stage: Stage | null,
  contents: ReadonlyMap<string, SideContent>,
  room: { left: number },
): Side {
  if (stage === null) return null;
  const found = contents.get(stage.oid) ?? { error: "not read" };
  if (!("content" in found)) return { sha: stage.oid, ...found };
  // Counted as JSON, which can be six times as long; an answer over the server's limit helps nobody.
  const cost = JSON.stringify(found.content).length;
  const content = cost <= room.left
    ? found.content
    : wholeStart(found.content, Math.floor(room.left / 6));
  room.left -= Math.min(cost, room.left);
  const truncated = found.truncated || content.length < found.content.length;
  return { sha: stage.oid, ...found, content, truncated };
}

/** The contents of some sides, shortened together to the same number of characters. */
function contents(name: string, sides: readonly Side[]): Cuttable {
  const texts = sides.flatMap((side) =>
    side && "content" in side ? [{ side, content: side.content, truncated: side.truncated }] : []
  );
  return {
    name,
    size: Math.max(0, ...texts.map((t) => t.content.length)),
    keep: (n) => {
      for (const { side, content, truncated } of texts) {
        side.content = wholeStart(content, n);
        side.truncated = truncated || side.content.length < content.length;
      }
    },
  };
}

/** The subjects of the commits, which can be long. */
function subjects(commits: readonly ({ subject: string } | null | undefined)[]): Cuttable {
  const texts = commits.flatMap((commit) => commit ? [{ commit, subject: commit.subject }] : []);
  return {
    name: "subject",
    size: Math.max(0, ...texts.map((t) => t.subject.length)),
    keep: (n) => {
      for (const { commit, subject } of texts) commit.subject = wholeStart(subject, n);
    },
  };
}

/** The first `n` UTF-16 units, one less where that would tear a character. */
function wholeStart(text: string, n: number): string {
  const last = text.charCodeAt(n - 1);
  return text.slice(0, n < text.length && last >= 0xd800 && last < 0xdc00 ? n - 1 : n);
}

function warningsOf(sides: { timedOut: boolean; missing: number }, unreadable: number): Warning[] {
  const notes: Warning[] = [];
  if (sides.timedOut) {
    notes.push({ code: "timed_out", message: "git did not read the sides in time" });
  }
  if (sides.missing > 0) {
    notes.push({
      code: "missing_objects",
      message: "sides whose objects are not here; nothing was fetched",
      count: sides.missing,
    });
  }
  if (unreadable > 0) {
    notes.push({
      code: "path_not_utf8",
      message: "markers were not looked for in files whose names are not UTF-8",
      count: unreadable,
    });
  }
  return notes;
}
