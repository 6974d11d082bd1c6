import { definePreview } from "./preview.ts";
import { checkBranch, checkRef, given } from "./refusals.ts";
import { ref } from "./shapes.ts";

export default definePreview({
  type: "branch",
  title: "Propose a branch",
  description:
    "Propose creating branch name at startPoint and, unless checkout is false, switching to it.",
  risk: "low",
  destructive: false,
  input: (z) => ({
    name: ref(z),
    startPoint: z.string().max(4_096).default("HEAD"),
    checkout: z.boolean().default(true),
  }),
  result: (z) => ({ branch: z.string().optional(), checkedOut: z.boolean().optional() }),
  check(args) {
    checkBranch("name", args.name);
    const start = given(args.startPoint);
    if (start !== undefined) checkRef("startPoint", start);
  },
  members({ name, startPoint, checkout }) {
    // The gateway takes HEAD by itself (`operations.md` 4.4); the schema has filled the default in.
    const start = given(startPoint) ?? "HEAD";
    return { name, ...(start === "HEAD" ? {} : { startPoint: start }), checkout };
  },
});
