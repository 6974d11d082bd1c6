import { decodeCursor, encodeCursor } from "../../common/cursor.ts";
import { fromBase64, toBase64 } from "../../common/bytes.ts";
import { readSubmodules, type SubmoduleList } from "../../git/submodules.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { filterWarning, openForTool, type Warning, warningsMember } from "../open.ts";
import { readPaths } from "../path_argument.ts";
import { nullableString, page, warnings } from "../shapes.ts";
import { requireWorkTree } from "../status_page.ts";

const NAME = "submodule.status";

/** submodule.status: `read-tools.md` 13, corrected by 27.2 and `additions.md` 3. */
export default defineTool({
  name: NAME,
  title: "Submodule pins",
  description:
    "Submodules at every depth: recorded and checked-out commit, state (space same, + differs, - not checked out, U conflict, null unreadable), changes inside. path limits the list to one place.",
  family: "submodule",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    path: z.string().max(32_768).optional(),
    pathBytes: z.string().max(43_692).optional(),
    limit: z.int().min(1).max(1000).default(200),
    cursor: z.string().max(65_536).optional(),
  }),
  output: (z) =>
    z.object({
      submodules: z.array(z.object({
        state: z.enum([" ", "-", "+", "U"]).nullable(),
        commit: z.string(),
        path: z.string(),
        pathBytes: z.string().optional(),
        description: z.literal(""),
        recorded: nullableString(z),
        checkedOut: nullableString(z),
        initialized: z.boolean().nullable(),
        declared: z.boolean().nullable(),
        dirty: z.object({ modified: z.boolean(), untracked: z.boolean() }).nullable(),
        conflict: z.object({
          base: nullableString(z),
          ours: nullableString(z),
          theirs: nullableString(z),
        }).optional(),
      })),
      ...page(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const repo = await openForTool(args, context);
    requireWorkTree(repo);
    const below = readPaths(repo, args)[0]?.bytes;
    const after = decodePlace(args.cursor);
    const list = await readSubmodules(repo, { limit: args.limit, after, below });
    const last = list.submodules.at(-1);
    return {
      data: {
        submodules: list.submodules.map(({ chain: _place, ...one }) => ({
          ...one,
          description: "",
        })),
        limit: args.limit,
        total: list.total,
        truncated: list.more || list.skipped,
        nextCursor: list.more && last
          ? encodeCursor(NAME, last.chain.map((part) => toBase64(part)))
          : null,
        ...warningsMember([...filterWarning(repo), ...notes(list)]),
      },
    };
  },
});

function decodePlace(cursor: string | undefined): Uint8Array[] | undefined {
  if (cursor === undefined || cursor === "") return undefined;
  const parts = decodeCursor(NAME, cursor);
  try {
    if (parts.length > 0) return parts.map((part) => fromBase64(String(part)));
  } catch { /* said below */ }
  return decodeCursor(NAME, "-") as never;
}

function notes(list: SubmoduleList): Warning[] {
  const notes: Warning[] = [];
  const first = list.unreadable[0];
  if (first) {
    notes.push({
      code: "submodules_unreadable",
      message: "these submodules could not be looked into",
      count: list.unreadable.length,
      path: first.path,
    });
  }
  if (list.skipped) {
    notes.push({
      code: "submodules_unreadable",
      message: "more than 1,000 submodules in one repository or 16 levels were not followed",
    });
  }
  if (list.undeclared) {
    notes.push({ code: "config_unreadable", message: "a .gitmodules file could not be read" });
  }
  return notes;
}
