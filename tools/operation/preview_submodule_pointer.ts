import { definePreview } from "./preview.ts";
import { checkPath, checkText, given } from "./refusals.ts";
import { pin } from "./shapes.ts";

const when = (direction: string) => ({ properties: { direction: { const: direction } } });

export default definePreview({
  type: "submodulePointer",
  title: "Propose a submodule pointer move",
  description:
    "Propose recording a submodule's checked-out commit in its parent (record, with message) or checking out the recorded one (return). relativePath is below parentPath, parentPath below repoPath; pins as submodule.status gives them.",
  risk: "medium",
  destructive: false,
  input: (z) => ({
    parentPath: z.string().max(32_768).default(""),
    relativePath: z.string().min(1).max(32_768),
    direction: z.enum(["record", "return"]),
    message: z.string().min(1).max(2_000).optional(),
    expectedRecordedOid: pin(z),
    expectedCheckedOutOid: pin(z),
  }),
  rules: {
    allOf: [
      { if: when("record"), then: { required: ["message"] } },
      { if: when("return"), then: { not: { required: ["message"] } } },
    ],
  },
  result: (z) => ({
    commitSha: z.string().optional(),
    submodulePointer: z.object({
      direction: z.enum(["record", "return"]),
      parentPath: z.string(),
      relativePath: z.string(),
      parentHeadRef: z.string().optional(),
      previousParentOid: z.string().optional(),
      commitSha: z.string().optional(),
      pointerOid: z.string().optional(),
      checkedOutOid: z.string().optional(),
      restorePoint: z.object({
        previousRef: z.string().nullable().optional(),
        previousOid: z.string(),
      }).optional(),
    }).optional(),
  }),
  check(args) {
    const parent = given(args.parentPath);
    if (parent !== undefined) checkPath("parentPath", parent);
    checkPath("relativePath", args.relativePath);
    if (args.message !== undefined) checkText("message", args.message);
  },
  members: (args) => ({
    parentPath: given(args.parentPath) ?? "",
    relativePath: args.relativePath,
    direction: args.direction,
    ...(args.direction === "record" ? { message: args.message } : {}),
    ...(args.expectedRecordedOid ? { expectedRecordedOid: args.expectedRecordedOid } : {}),
    ...(args.expectedCheckedOutOid ? { expectedCheckedOutOid: args.expectedCheckedOutOid } : {}),
  }),
});
