import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { warningsMember } from "../open.ts";
import { warnings } from "../shapes.ts";
import { approvalRequired, restorePoint, runDir } from "./shapes.ts";
import { readRecovery } from "./store.ts";
import { details, shown } from "./view.ts";

/** flux.restorePointDetails: `read-tools.md` 24. */
export default defineTool({
  name: "flux.restorePointDetails",
  title: "Restore point",
  description: "One restore point by id; the newest without one.",
  family: "flux",
  scope: "repository",
  tier: "fluxgit",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({ runDir: runDir(z), restorePointId: z.string().max(4_096).optional() }),
  output: (z) =>
    z.object({
      restorePoint: restorePoint(z).nullable(),
      restoreCount: z.int().min(0),
      approvalRequired: approvalRequired(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const { points, stored, warnings: notes } = await readRecovery(
      {
        tool: "flux.restorePointDetails",
        alternative: "repo.reflog and commit.details, or in a shell: git show --stat HEAD@{1}",
      },
      args,
      context,
    );
    const id = args.restorePointId?.trim();
    const found = id ? points.find((point) => point.id === id) : points[0];
    const more = found && stored.get(found.id);
    return {
      data: {
        restorePoint: found ? { ...shown(found), ...(more ? details(more) : {}) } : null,
        restoreCount: points.length,
        approvalRequired: true,
        ...warningsMember(notes),
      },
    };
  },
});
