import { cancelProposal } from "../../gateway/bridge.ts";
import { defineTool } from "../../registry/define.ts";
import { id, relayed } from "./shapes.ts";

/** operation.cancel: `operations.md` 7. */
export default defineTool({
  name: "operation.cancel",
  title: "Withdraw a proposal",
  description: "Withdraw your own proposal while nobody has decided on it.",
  family: "operation",
  scope: "proposal",
  tier: "fluxgit-write-handshake",
  sources: ["fluxgit-app"],
  risk: "none",
  annotations: {
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  input: (z) => ({ previewId: id(z) }),
  output: relayed,
  run: (args, context) => cancelProposal("operation.cancel", args.previewId, context),
});
