import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { warningsMember } from "../open.ts";
import { count, warnings } from "../shapes.ts";
import { approvalRequired, restorePoint, runDir } from "./shapes.ts";
import { readRecovery } from "./store.ts";
import { shown } from "./view.ts";

/** flux.restorePoints: `read-tools.md` 23. */
export default defineTool({
  name: "flux.restorePoints",
  title: "Restore points",
  description: "Restore points of the repository, newest first.",
  family: "flux",
  scope: "repository",
  tier: "fluxgit",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({ runDir: runDir(z), limit: z.int().min(1).max(200).default(50) }),
  output: (z) =>
    z.object({
      restorePoints: z.array(restorePoint(z)),
      restoreCount: z.int().min(0),
      limit: count(z),
      total: count(z),
      truncated: z.boolean(),
      approvalRequired: approvalRequired(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const { points, warnings: notes } = await readRecovery(
      {
        tool: "flux.restorePoints",
        alternative: "repo.reflog, or in a shell: git reflog --date=iso",
      },
      args,
      context,
    );
    return {
      data: {
        restorePoints: points.slice(0, args.limit).map(shown),
        restoreCount: Math.min(points.length, args.limit),
        limit: args.limit,
        total: points.length,
        truncated: points.length > args.limit,
        approvalRequired: true,
        ...warningsMember(notes),
      },
    };
  },
});
