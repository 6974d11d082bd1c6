import { previewMerge } from "../../git/merge_preview.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { openForTool, warningsMember } from "../open.ts";
import { nullableCount, nullableString, warnings } from "../shapes.ts";

/** Conflicts listed at most; `conflictCount` speaks of all. */
const MAX_LISTED = 200;

/** repo.conflictPreflight: `read-tools.md` 8, corrected by 27.1 and `additions.md` 3. */
export default defineTool({
  name: "repo.conflictPreflight",
  title: "Merge forecast",
  description:
    "What merging targetRef into currentRef would give: up to date, fast-forward, clean, or the conflicting paths with their kinds. Nothing is fetched or changed; a merge itself needs a person's approval.",
  family: "repo",
  scope: "repository",
  tier: "hybrid",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    currentRef: z.string().max(4096).default("HEAD"),
    targetRef: z.string().min(1).max(4096),
  }),
  output: (z) =>
    z.object({
      currentRef: z.string(),
      targetRef: z.string(),
      currentOid: z.string(),
      targetOid: z.string(),
      mergeBaseOid: nullableString(z),
      mergeBases: z.array(z.string()).optional(),
      status: z.enum([
        "unrelated-histories",
        "already-up-to-date",
        "fast-forward",
        "clean-merge",
        "conflicts",
        "unknown",
      ]),
      conflictingPaths: z.array(z.string()),
      conflictCount: nullableCount(z),
      conflicts: z.array(z.object({
        path: z.string(),
        pathBytes: z.string().optional(),
        kind: z.string(),
        type: z.string().optional(),
      })),
      truncated: z.literal(true).optional(),
      shallow: z.literal(true).optional(),
      readOnly: z.literal(true),
      networkFetchPerformed: z.literal(false),
      workingTreeMutated: z.literal(false),
      approvalRequiredForMerge: z.literal(true),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const repo = await openForTool(args, context);
    const currentRef = args.currentRef.trim() === "" ? "HEAD" : args.currentRef;
    const [currentOid, targetOid] = await Promise.all([
      repo.resolve("currentRef", currentRef),
      repo.resolve("targetRef", args.targetRef),
    ]);
    const preview = await previewMerge(repo, currentOid, targetOid, context.scratch, {
      limit: MAX_LISTED,
    });
    const conflicts = preview.conflicts;
    return {
      data: {
        currentRef,
        targetRef: args.targetRef,
        currentOid,
        targetOid,
        mergeBaseOid: preview.mergeBases[0] ?? null,
        ...(preview.mergeBases.length > 1 ? { mergeBases: preview.mergeBases } : {}),
        status: preview.status,
        conflictingPaths: [...new Set(conflicts.map((c) => c.path))],
        conflictCount: preview.conflictCount,
        conflicts,
        ...((preview.conflictCount ?? 0) > conflicts.length ? { truncated: true } : {}),
        ...(preview.shallow ? { shallow: true } : {}),
        readOnly: true,
        networkFetchPerformed: false,
        workingTreeMutated: false,
        approvalRequiredForMerge: true,
        ...warningsMember(preview.notes),
      },
    };
  },
});
