import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { warningsMember } from "../open.ts";
import { nullableString, warnings } from "../shapes.ts";
import { ENGINE, semanticDiff, semanticInput, textDiffArguments } from "./semantic_support.ts";

/** diff.semantic: `read-tools.md` 15. The engine is the gateway's. */
export default defineTool({
  name: "diff.semantic",
  title: "Semantic diff",
  description:
    "Syntax-aware diff. Only when supported is true; else call diff.text with textDiffArguments.",
  family: "diff",
  scope: "repository",
  tier: "hybrid",
  sources: ["local-git", "fluxgit-gateway"],
  risk: "none",
  annotations: READ_HINTS,
  input: semanticInput,
  output: (z) =>
    z.union([
      z.object({
        supported: z.literal(false),
        fallback: z.literal("diff.text"),
        reason: z.string(),
        textDiffArguments: textDiffArguments(z),
      }),
      z.object({
        supported: z.literal(true),
        engine: z.string(),
        base: nullableString(z),
        head: nullableString(z),
        path: nullableString(z),
        files: z.array(z.object({
          path: z.string(),
          fallbackToText: z.boolean(),
          hunks: z.array(z.object({ header: z.string(), lines: z.array(z.unknown()) })),
          linesTruncated: z.boolean().optional(),
          reason: z.string().optional(),
          textDiffArguments: textDiffArguments(z).optional(),
        })),
        changedFiles: z.int().min(0),
        filesTruncated: z.boolean(),
        warnings: warnings(z),
      }),
    ]),
  async run(args, context) {
    const diff = await semanticDiff(args, context);
    if (!diff.supported) {
      const { supported, reason, textDiffArguments } = diff;
      return { data: { supported, fallback: "diff.text", reason, textDiffArguments } };
    }
    const { warnings, supported, ...rest } = diff;
    return {
      source: "fluxgit-gateway",
      data: { supported, engine: ENGINE, ...rest, ...warningsMember(warnings) },
    };
  },
});
