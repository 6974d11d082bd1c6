import { isAbsolutePath } from "../../common/allowed_roots.ts";
import { definePreview } from "./preview.ts";
import { checkBranch, checkNewFolder, given } from "./refusals.ts";
import { ref } from "./shapes.ts";

export default definePreview({
  type: "worktree",
  title: "Propose a worktree",
  description:
    "Propose adding a worktree for a new or existing branch. Without path it is made beside the repository.",
  risk: "low",
  destructive: false,
  input: (z) => ({ branch: ref(z), path: z.string().max(32_768).optional() }),
  result: (z) => ({ worktreePath: z.string().optional(), branch: z.string().optional() }),
  check(args, context) {
    checkBranch("branch", args.branch);
    const path = given(args.path);
    if (path !== undefined) checkNewFolder("path", path, context.roots);
  },
  members({ branch, path, repoPath }) {
    const place = given(path);
    if (place === undefined) return { branch };
    const whole = isAbsolutePath(place, Deno.build.os === "windows");
    return { branch, path: whole ? place : `${repoPath}/${place}` };
  },
});
