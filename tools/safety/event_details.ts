import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { approvalRequired, runDir, safetyEvent } from "../flux/shapes.ts";
import { readRecovery } from "../flux/store.ts";
import { details } from "../flux/view.ts";
import { warningsMember } from "../open.ts";
import { warnings } from "../shapes.ts";
import { findEvent, inOrder, pointEvents, reflogEvents } from "./events.ts";

/** safety.eventDetails: `read-tools.md` 21 with `additions.md` 3 (ids are looked up directly). */
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
      warnings: warnings(z),
    }),
  async run(args, context) {
    const recovery = await readRecovery(
      {
        tool: "safety.eventDetails",
        alternative: "repo.reflog and commit.details, or in a shell: git reflog --date=iso HEAD",
      },
      args,
      context,
    );
    const notes = [...recovery.warnings];
    const event = args.eventId === undefined || args.eventId.trim() === ""
      ? inOrder([...pointEvents(recovery), ...await reflogEvents(recovery.repo, 1, notes)])[0] ??
        null
      : await findEvent(recovery, args.eventId, notes);
    const point = event?.["restorePoint"] as { id: string } | undefined;
    const more = point && recovery.stored.get(point.id);
    return {
      data: {
        event: more ? { ...event, restorePoint: { ...point, ...details(more) } } : event,
        eventFound: event !== null,
        readOnly: true,
        approvalRequired: true,
        ...warningsMember(notes),
      },
    };
  },
});
