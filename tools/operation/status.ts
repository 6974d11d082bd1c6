import { operationStatus } from "../../gateway/bridge.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { id, relayed } from "./shapes.ts";

/** operation.status: `operations.md` 7, with `waitMs` and the corrected `isError` of `additions.md` 3. */
export default defineTool({
  name: "operation.status",
  title: "Proposal status",
  description:
    "State of a proposal. waitMs waits for its end. Terminal: completed (ok), rejected, failed, expired, cancelled; all but completed are errors.",
  family: "operation",
  scope: "proposal",
  tier: "fluxgit-write-handshake",
  sources: ["fluxgit-app"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({ previewId: id(z), waitMs: z.int().min(0).max(30_000).optional() }),
  output: relayed,
  run: (args, context) =>
    operationStatus("operation.status", {
      previewId: args.previewId,
      waitMs: args.waitMs ?? 0,
    }, context),
});
