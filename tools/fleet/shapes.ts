import type { Z } from "../../registry/define.ts";

/** Paths of a fleet; each is judged by itself. */
export const repoPaths = (z: Z) => z.array(z.string().min(1).max(32_768)).min(1).max(500);

/** What went wrong with one repository, besides the text in `error`. */
export const entryError = (z: Z) => ({
  errorCode: z.int().optional(),
  errorKind: z.string().optional(),
});
