import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { approvalRequired, runDir, safetyEvent } from "../flux/shapes.ts";
import { answerFromStore } from "../flux/store.ts";

/** safety.timeline: `read-tools.md` 20. */
export default defineTool({
  name: "safety.timeline",
  title: "Recovery timeline",
  description: "Restore points and movements of HEAD as one list of events, newest first.",
  family: "safety",
  scope: "repository",
  tier: "fluxgit",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    runDir: runDir(z),
    limit: z.int().min(1).max(200).default(50),
    reflogLimit: z.int().min(1).max(100).default(12),
    includeReflog: z.boolean().default(true),
    includeRestorePoints: z.boolean().default(true),
  }),
  output: (z) =>
    z.object({
      events: z.array(safetyEvent(z)),
      eventCount: z.int().min(0),
      readOnly: z.literal(true),
      approvalRequired: approvalRequired(z),
      networkFetchPerformed: z.literal(false),
    }),
  run: (args, context) =>
    answerFromStore(
      {
        tool: "safety.timeline",
        alternative: "repo.reflog, or in a shell: git reflog --date=iso HEAD",
      },
      args,
      context,
    ),
});
