import { definePreview } from "./preview.ts";
import { checkBranch, refuse } from "./refusals.ts";
import { ref } from "./shapes.ts";

/** Over all targets together; no schema can say it. */
const MAX_BRANCHES = 100;

export default definePreview({
  type: "branchDelete",
  title: "Propose branch cleanup",
  description:
    "Propose deleting local branches, by short name, in up to 20 repositories (repoPath one of them; 100 branches in all). Unmerged and checked-out ones are kept.",
  risk: "medium",
  destructive: true,
  input: (z) => ({
    targets: z.array(z.strictObject({
      repoPath: z.string().min(1).max(32_768),
      branches: z.array(ref(z)).min(1).max(20).meta({ uniqueItems: true }),
    })).min(1).max(20),
  }),
  result: (z) => ({
    error: z.string().optional(),
    branchDelete: z.object({
      deleted: z.int().min(0),
      failed: z.int().min(0),
      skipped: z.int().min(0),
      repositories: z.array(z.object({
        repoPath: z.string(),
        branches: z.array(z.object({
          branch: z.string(),
          status: z.enum(["deleted", "failed", "skipped"]),
          tipOid: z.string().optional(),
          restoreOid: z.string().optional(),
          fleetBatchId: z.string().optional(),
          reason: z.string().optional(),
        })),
      })),
    }).optional(),
  }),
  check(args) {
    let total = 0;
    for (const [t, target] of args.targets.entries()) {
      total += target.branches.length;
      target.branches.forEach((name, b) => checkBranch(`targets[${t}].branches[${b}]`, name));
    }
    if (total > MAX_BRANCHES) {
      refuse("targets", String(total), `branches in all; at most ${MAX_BRANCHES} are allowed`);
    }
    if (!args.targets.some((target) => target.repoPath === args.repoPath)) {
      refuse("repoPath", args.repoPath, "is not among targets[].repoPath");
    }
  },
  members: ({ targets }) => ({
    targets: targets.map(({ repoPath, branches }) => ({ repoPath, branches })),
  }),
});
