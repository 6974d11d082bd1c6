import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { approvalRequired, runDir, safetyEvent } from "../flux/shapes.ts";
import { readRecovery } from "../flux/store.ts";
import { warningsMember } from "../open.ts";
import { count, warnings } from "../shapes.ts";
import { inOrder, pointEvents, reflogEvents } from "./events.ts";

/** safety.timeline: `read-tools.md` 20 with `additions.md` 3. */
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
      limit: count(z),
      truncated: z.boolean(),
      readOnly: z.literal(true),
      approvalRequired: approvalRequired(z),
      networkFetchPerformed: z.literal(false),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const recovery = await readRecovery(
      {
        tool: "safety.timeline",
        alternative: "repo.reflog, or in a shell: git reflog --date=iso HEAD",
      },
      args,
      context,
    );
    const notes = args.includeRestorePoints ? [...recovery.warnings] : [];
    const events = inOrder([
      ...(args.includeRestorePoints ? pointEvents(recovery) : []),
      ...(args.includeReflog ? await reflogEvents(recovery.repo, args.reflogLimit, notes) : []),
    ]);
    return {
      data: {
        events: events.slice(0, args.limit),
        eventCount: Math.min(events.length, args.limit),
        limit: args.limit,
        truncated: events.length > args.limit,
        readOnly: true,
        approvalRequired: true,
        networkFetchPerformed: false,
        ...warningsMember(notes),
      },
    };
  },
});
