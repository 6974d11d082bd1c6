import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { warningsMember } from "../open.ts";
import { nullableString, warnings } from "../shapes.ts";
import { ENGINE, semanticDiff, semanticInput } from "./semantic_support.ts";

/** diff.semanticFallbacks: `read-tools.md` 16. */
export default defineTool({
  name: "diff.semanticFallbacks",
  title: "Semantic fallbacks",
  description: "Which files diff.semantic would show as text only, and why.",
  family: "diff",
  scope: "repository",
  tier: "hybrid",
  sources: ["local-git", "fluxgit-gateway"],
  risk: "none",
  annotations: READ_HINTS,
  input: semanticInput,
  output: (z) =>
    z.object({
      fallbacks: z.array(z.object({
        from: z.literal("diff.semantic"),
        to: z.literal("diff.text"),
        supported: z.literal(false),
        reason: z.string(),
        repoPath: z.string(),
        path: nullableString(z),
      })),
      engine: z.string().optional(),
      analyzedFiles: z.int().min(0).optional(),
      filesTruncated: z.boolean().optional(),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const diff = await semanticDiff(args, context);
    const record = (reason: string, path: string | null) => ({
      from: "diff.semantic",
      to: "diff.text",
      supported: false,
      reason,
      repoPath: args.repoPath,
      path,
    });
    if (!diff.supported) return { data: { fallbacks: [record(diff.reason, diff.path)] } };
    return {
      source: "fluxgit-gateway",
      data: {
        fallbacks: diff.files.flatMap((file) =>
          file.fallbackToText ? [record(file.reason, file.path)] : []
        ),
        engine: ENGINE,
        analyzedFiles: diff.changedFiles,
        filesTruncated: diff.filesTruncated,
        ...warningsMember(diff.warnings),
      },
    };
  },
});
