import { listWorktrees } from "../../git/worktrees.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { openForTool } from "../open.ts";
import { count, nullableString } from "../shapes.ts";

const MAX_LISTED = 500;

/** worktree.list: `read-tools.md` 12 with `additions.md` 3. */
export default defineTool({
  name: "worktree.list",
  title: "Worktrees",
  description:
    "Main and linked worktrees: path, HEAD, branch, locks, stale entries, unfinished operations, and which one this is (current). Changes in them are not looked at; ask repo.status there.",
  family: "worktree",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: () => ({}),
  output: (z) =>
    z.object({
      total: count(z),
      truncated: z.literal(true).optional(),
      worktrees: z.array(z.object({
        path: z.string(),
        pathBytes: z.string().optional(),
        isMain: z.boolean(),
        current: z.literal(true).optional(),
        bare: z.literal(true).optional(),
        head: nullableString(z),
        headSha: z.string().optional(),
        branch: z.string().optional(),
        detached: z.boolean(),
        unborn: z.literal(true).optional(),
        locked: z.boolean(),
        lockedReason: z.string().optional(),
        prunable: z.boolean(),
        prunableReason: z.string().optional(),
        operation: z.object({ kind: z.string() }).optional(),
      })),
    }),
  async run(args, context) {
    const repo = await openForTool(args, context);
    const { worktrees, total } = await listWorktrees(repo, MAX_LISTED);
    return {
      data: {
        total,
        ...(total > worktrees.length ? { truncated: true } : {}),
        worktrees: worktrees.map((one) => {
          const { current, bare, branch, unborn, ...rest } = one;
          return {
            ...rest,
            ...(current ? { current } : {}),
            ...(bare ? { bare } : {}),
            ...(one.head ? { headSha: one.head.slice(0, 12) } : {}),
            ...(branch === null ? {} : { branch }),
            ...(unborn ? { unborn } : {}),
          };
        }),
      },
    };
  },
});
