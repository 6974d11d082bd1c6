import { definePreview } from "./preview.ts";
import { checkText } from "./refusals.ts";
import { patchContent } from "./shapes.ts";

export default definePreview({
  type: "patch",
  title: "Propose a patch",
  description: "Propose applying a unified diff to the work tree, optionally to the index too.",
  risk: "medium",
  destructive: true,
  input: (z) => ({ patchContent: patchContent(z), applyToIndex: z.boolean().default(false) }),
  result: (z) => ({
    appliedFiles: z.array(z.string()).optional(),
    stagedToIndex: z.boolean().optional(),
    restorePointId: z.string().optional(),
  }),
  check: (args) => checkText("patchContent", args.patchContent),
  members: ({ patchContent, applyToIndex }) => ({ patchContent, applyToIndex }),
});
