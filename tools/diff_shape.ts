import type { DiffFile, DiffTotals } from "../git/diff_records.ts";
import type { Z } from "../registry/define.ts";
import { nullableCount } from "./shapes.ts";

/** The changed file of `commit.details` and `diff.text`: schema, and how it is made. */

export const diffFile = (z: Z) =>
  z.object({
    status: z.string(),
    path: z.string(),
    pathBytes: z.string().optional(),
    origPath: z.string().optional(),
    origPathBytes: z.string().optional(),
    score: z.int().optional(),
    modes: z.object({ old: z.string(), new: z.string() }).optional(),
    added: nullableCount(z),
    deleted: nullableCount(z),
    binary: z.literal(true).optional(),
    submodule: z.literal(true).optional(),
    lfsPointer: z.object({ oid: z.string(), size: nullableCount(z) }).optional(),
  });

/** Sums over the whole diff. */
export const diffCounts = (z: Z) =>
  z.object({
    files: nullableCount(z),
    added: nullableCount(z),
    deleted: nullableCount(z),
    binary: nullableCount(z),
  });

const NO_FILE = "000000", GITLINK = "160000";

/** Members of one file; what has nothing to say is left out. */
export function diffFileMembers(file: DiffFile) {
  const { path, origPath, oldMode, newMode } = file;
  const modes = oldMode !== null && newMode !== null && oldMode !== newMode &&
      oldMode !== NO_FILE && newMode !== NO_FILE
    ? { modes: { old: oldMode, new: newMode } }
    : {};
  return {
    status: file.status,
    path: path.path,
    ...(path.pathBytes ? { pathBytes: path.pathBytes } : {}),
    ...(origPath ? { origPath: origPath.path } : {}),
    ...(origPath?.pathBytes ? { origPathBytes: origPath.pathBytes } : {}),
    ...(file.score === undefined ? {} : { score: file.score }),
    ...modes,
    added: file.added,
    deleted: file.deleted,
    ...(file.binary ? { binary: true as const } : {}),
    ...(oldMode === GITLINK || newMode === GITLINK ? { submodule: true as const } : {}),
  };
}

/** The sums, left out where one file or none says the same. */
export function diffCountsMember(totals: DiffTotals) {
  const { files, added, deleted, binary } = totals;
  return files !== null && files <= 1 ? {} : { counts: { files, added, deleted, binary } };
}
