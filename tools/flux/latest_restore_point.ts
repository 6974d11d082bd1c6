import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { approvalRequired, restorePoint, runDir } from "./shapes.ts";
import { answerFromStore } from "./store.ts";

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
      approvalRequired: approvalRequired(z),
    }),
  run: (args, context) =>
    answerFromStore(
      {
        tool: "flux.latestRestorePoint",
        alternative: "repo.reflog, or in a shell: git reflog --date=iso -n 1",
      },
      args,
      context,
    ),
});
