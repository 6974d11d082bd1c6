import { definePreview } from "./preview.ts";
import { checkPath, checkText } from "./refusals.ts";
import { paths } from "./shapes.ts";

export default definePreview({
  type: "commit",
  title: "Propose a commit",
  description:
    "Propose a commit of exactly paths, else of everything (stageAll), else of what is staged. Never amends.",
  risk: "low",
  destructive: false,
  input: (z) => ({
    message: z.string().min(1).max(65_536),
    paths: paths(z).optional(),
    stageAll: z.boolean().default(false),
  }),
  result: (z) => ({ commitSha: z.string().optional() }),
  check(args) {
    checkText("message", args.message);
    args.paths?.forEach((path, i) => checkPath(`paths[${i}]`, path));
  },
  members: ({ message, paths, stageAll }) => ({
    message,
    stageAll,
    ...(paths === undefined ? {} : { paths }),
  }),
});
