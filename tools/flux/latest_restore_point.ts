import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { warningsMember } from "../open.ts";
import { warnings } from "../shapes.ts";
import { approvalRequired, restorePoint, runDir } from "./shapes.ts";
import { readRecovery } from "./store.ts";
import { shown } from "./view.ts";

/** flux.latestRestorePoint: `read-tools.md` 22. */
export default defineTool({
  name: "flux.latestRestorePoint",
  title: "Newest restore point",
  description: "The newest restore point; a person undoes or redoes, never a tool.",
  family: "flux",
  scope: "repository",
  tier: "fluxgit",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({ runDir: runDir(z) }),
  output: (z) =>
    z.object({
      latestRestorePoint: restorePoint(z).nullable(),
      restorePoints: z.array(restorePoint(z)),
      restoreCount: z.int().min(0),
      total: z.int().min(0),
      approvalRequired: approvalRequired(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const { points, warnings: notes } = await readRecovery(
      {
        tool: "flux.latestRestorePoint",
        alternative: "repo.reflog, or in a shell: git reflog --date=iso -n 1",
      },
      args,
      context,
    );
    const latest = points[0] ? shown(points[0]) : null;
    return {
      data: {
        latestRestorePoint: latest,
        restorePoints: latest ? [latest] : [],
        restoreCount: latest ? 1 : 0,
        total: points.length,
        approvalRequired: true,
        ...warningsMember(notes),
      },
    };
  },
});
