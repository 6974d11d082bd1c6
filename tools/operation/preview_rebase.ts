import { definePreview } from "./preview.ts";
import { checkRef, given } from "./refusals.ts";
import { ref } from "./shapes.ts";

export default definePreview({
  type: "rebase",
  title: "Propose a rebase",
  description: "Propose rebasing currentRef onto ontoRef; rewrites history. Never interactive.",
  risk: "medium",
  destructive: true,
  input: (z) => ({
    ontoRef: ref(z),
    currentRef: z.string().max(4_096).default("HEAD"),
    interactive: z.literal(false).default(false),
  }),
  result: (z) => ({
    newHeadSha: z.string().optional(),
    replayedCommits: z.int().min(0).optional(),
    restorePointId: z.string().optional(),
  }),
  check(args) {
    checkRef("ontoRef", args.ontoRef);
    const current = given(args.currentRef);
    if (current !== undefined) checkRef("currentRef", current);
  },
  members: ({ ontoRef, currentRef, interactive }) => ({
    currentRef: given(currentRef) ?? "HEAD",
    ontoRef,
    interactive,
  }),
});
