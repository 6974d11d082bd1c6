import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { approvalRequired, restorePoint, runDir } from "./shapes.ts";
import { answerFromStore } from "./store.ts";

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
    }),
  run: (args, context) =>
    answerFromStore(
      {
        tool: "flux.restorePointDetails",
        alternative: "repo.reflog and commit.details, or in a shell: git show --stat HEAD@{1}",
      },
      args,
      context,
    ),
});
