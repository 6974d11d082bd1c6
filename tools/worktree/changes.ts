import { compareBytes, encodeText, fromBase64 } from "../../common/bytes.ts";
import { decodeCursor, encodeCursor } from "../../common/cursor.ts";
import type { StatusEntry } from "../../git/status.ts";
import { markNested, streamWorkTree } from "../../git/work_tree.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { filterWarning, openForTool, warningsMember } from "../open.ts";
import { count, page, warnings } from "../shapes.ts";
import { requireWorkTree, submoduleWarning } from "../status_page.ts";

const NAME = "worktree.changes";
const LISTS = ["staged", "unstaged", "untracked", "conflicted"] as const;
type ListName = typeof LISTS[number];

/** Where a list begins: at its first entry, after one, or not at all because it was given whole. */
type Start = "first" | "done" | Uint8Array;

/** Names of 4 KB are legal: past this a list ends as at its limit. In bytes of paths. */
const MAX_LIST_BYTES = 1_000_000;

/** worktree.changes: `read-tools.md` 11 with `additions.md` 1 and 3. */
export default defineTool({
  name: NAME,
  title: "Change lists",
  description:
    "Staged, unstaged, untracked and conflicted paths as four lists; a file with both staged and unstaged changes is in both. limit counts per list; nextCursor continues all of them.",
  family: "worktree",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    limit: z.int().min(1).max(1000).default(200),
    cursor: z.string().max(32_768).optional(),
  }),
  output: (z) => {
    // Entries as in repo.status, whose schema spells out every member.
    const list = () => z.array(z.object({ status: z.string(), path: z.string() }));
    return z.object({
      staged: list(),
      unstaged: list(),
      untracked: list(),
      conflicted: list(),
      counts: z.object({
        staged: count(z),
        unstaged: count(z),
        untracked: count(z),
        conflicted: count(z),
      }),
      ...page(z),
      more: z.array(z.string()).optional(),
      warnings: warnings(z),
    });
  },
  async run(args, context) {
    const repo = await openForTool(args, context);
    requireWorkTree(repo);
    const starts = decodeStarts(args.cursor);
    const lists = new Map(LISTS.map((name, i) => [name, new PartialList(args.limit, starts[i]!)]));
    const status = await streamWorkTree(repo, {}, ({ path }, make, kind, staged, unstaged) => {
      let made: StatusEntry | undefined;
      const give = (name: ListName) =>
        lists.get(name)!.offer(path, () => made ??= markNested(repo, make()));
      if (kind === "unmerged") return give("conflicted");
      if (kind === "untracked") return give("untracked");
      if (staged) give("staged");
      if (unstaged) give("unstaged");
    });
    const { entries: total, ...counts } = status.counts;
    const more = LISTS.filter((name) => lists.get(name)!.more);
    const entries = Object.fromEntries(LISTS.map((name) => [name, lists.get(name)!.entries]));
    return {
      data: {
        ...entries,
        counts,
        limit: args.limit,
        total,
        truncated: more.length > 0,
        nextCursor: more.length > 0 ? encodeStarts(LISTS.map((name) => lists.get(name)!)) : null,
        ...(more.length > 0 ? { more } : {}),
        ...warningsMember([...filterWarning(repo), ...submoduleWarning(status.submodulesRead)]),
      },
    };
  },
});

/** One of the lists, from its start up to its limit. */
class PartialList {
  readonly entries: StatusEntry[] = [];
  more = false;
  #bytes = 0;

  constructor(readonly limit: number, readonly start: Start) {}

  offer(path: Uint8Array, make: () => StatusEntry): void {
    const { start } = this;
    if (this.more || start === "done") return;
    if (start !== "first" && compareBytes(path, start) <= 0) return;
    if (this.entries.length >= this.limit || this.#bytes > MAX_LIST_BYTES) {
      this.more = true;
      return;
    }
    this.#bytes += path.length;
    this.entries.push(make());
  }
}

/** Two parts a list: 1 done, 2 after a path, 3 after a path given as base64. */
function encodeStarts(lists: readonly PartialList[]): string {
  return encodeCursor(
    NAME,
    lists.flatMap(({ more, entries }): (string | number)[] => {
      const last = entries.at(-1);
      if (!more || !last) return [1, ""];
      return last.pathBytes ? [3, last.pathBytes] : [2, last.path];
    }),
  );
}

function decodeStarts(cursor: string | undefined): Start[] {
  if (cursor === undefined || cursor === "") return LISTS.map(() => "first");
  const parts = decodeCursor(NAME, cursor);
  return LISTS.map((_, i) => {
    const kind = parts[2 * i], path = parts[2 * i + 1];
    if (kind === 1) return "done";
    try {
      if (kind === 2) return encodeText(path as string);
      if (kind === 3) return fromBase64(path as string);
    } catch { /* refused below, as any cursor that was tampered with */ }
    return decodeCursor(NAME, "") as never;
  });
}
