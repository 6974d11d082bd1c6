import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { approvalRequired, restorePoint, runDir } from "./shapes.ts";
import { answerFromStore } from "./store.ts";

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
      approvalRequired: approvalRequired(z),
    }),
  run: (args, context) =>
    answerFromStore(
      {
        tool: "flux.restorePoints",
        alternative: "repo.reflog, or in a shell: git reflog --date=iso",
      },
      args,
      context,
    ),
});
