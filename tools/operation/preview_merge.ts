import { definePreview } from "./preview.ts";
import { checkRef } from "./refusals.ts";
import { ref, strategy } from "./shapes.ts";

export default definePreview({
  type: "merge",
  title: "Propose a merge",
  description: "Propose merging sourceRef into targetRef; a person approves or rejects it.",
  risk: "medium",
  destructive: true,
  input: (z) => ({ sourceRef: ref(z), targetRef: ref(z), strategy: strategy(z).default("merge") }),
  result: (z) => ({ mergeCommit: z.string().optional(), summary: z.string().optional() }),
  check(args) {
    checkRef("sourceRef", args.sourceRef);
    checkRef("targetRef", args.targetRef);
  },
  members: ({ sourceRef, targetRef, strategy }) => ({ sourceRef, targetRef, strategy }),
});
