import { definePreview } from "./preview.ts";
import { checkRef } from "./refusals.ts";
import { ref, resetMode } from "./shapes.ts";

export default definePreview({
  type: "reset",
  title: "Propose a reset",
  description: "Propose moving the branch to targetRef; hard also loses uncommitted work.",
  risk: "high",
  destructive: true,
  input: (z) => ({ targetRef: ref(z), mode: resetMode(z).default("mixed") }),
  result: (z) => ({
    newHeadSha: z.string().optional(),
    mode: resetMode(z).optional(),
    restorePointId: z.string().optional(),
  }),
  check: (args) => checkRef("targetRef", args.targetRef),
  members: ({ targetRef, mode }) => ({ targetRef, mode }),
});
