import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { approvalRequired, runDir, safetyEvent } from "../flux/shapes.ts";
import { answerFromStore } from "../flux/store.ts";

/** safety.eventDetails: `read-tools.md` 21. */
export default defineTool({
  name: "safety.eventDetails",
  title: "Recovery event",
  description: "One event of safety.timeline by id; the newest without one.",
  family: "safety",
  scope: "repository",
  tier: "fluxgit",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({ runDir: runDir(z), eventId: z.string().max(4_096).optional() }),
  output: (z) =>
    z.object({
      event: safetyEvent(z).nullable(),
      eventFound: z.boolean(),
      readOnly: z.literal(true),
      approvalRequired: approvalRequired(z),
    }),
  run: (args, context) =>
    answerFromStore(
      {
        tool: "safety.eventDetails",
        alternative: "repo.reflog and commit.details, or in a shell: git reflog --date=iso HEAD",
      },
      args,
      context,
    ),
});
