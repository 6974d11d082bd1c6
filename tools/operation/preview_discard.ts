import { definePreview } from "./preview.ts";
import { checkPath } from "./refusals.ts";
import { paths } from "./shapes.ts";

export default definePreview({
  type: "discard",
  title: "Propose discarding changes",
  description: "Propose throwing away uncommitted changes of paths.",
  risk: "high",
  destructive: true,
  input: (z) => ({ paths: paths(z).min(1) }),
  result: (z) => ({
    pathsDiscarded: z.array(z.string()).optional(),
    restorePointId: z.string().optional(),
  }),
  check: (args) => args.paths.forEach((path, i) => checkPath(`paths[${i}]`, path)),
  members: ({ paths }) => ({ paths }),
});
