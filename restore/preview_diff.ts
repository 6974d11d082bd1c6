import { decodeText } from "../common/bytes.ts";
import type { Repository } from "../git/repository.ts";
import { findPoint } from "./apply.ts";
import { clearInterrupted } from "./index_lock.ts";
import { planRestore } from "./plan.ts";
import { checkLock, openHidden, type WriteContext } from "./points.ts";

/** What a restore would do to the files, as a unified diff. */
export interface RestoreDiff {
  /** Of the preview that it belongs to: another one means that the repository changed meanwhile. */
  readonly digest: string;
  /** From the files as they are to the files as they will be; null in a bare repository. */
  readonly text: string | null;
  readonly truncated: boolean;
}

/** Bytes of a diff that are given out. */
const MAX_DIFF = 256 * 1_024;

/**
 * The diff that belongs to a preview. Changes nothing but the hidden repository; the caller holds the
 * lock.
 *
 * @throws {RestoreError} `not_found`, `objects_missing`, `store_unreadable`
 */
export async function previewDiff(
  repo: Repository,
  context: WriteContext,
  pointId: string,
): Promise<RestoreDiff> {
  checkLock(repo, context);
  const hidden = openHidden(repo);
  clearInterrupted(hidden);
  const point = await findPoint(repo, hidden, context, pointId);
  const { preview, now, files } = await planRestore(repo, hidden, point);
  const from = now.workTree?.tree, to = files?.tree;
  const { digest } = preview;
  if (from === undefined || to === undefined) return { digest, text: null, truncated: false };
  if (from === to) return { digest, text: "", truncated: false };
  const args = ["diff-tree", "-r", "--patch", "--unified=3", "--no-renames", "--no-ext-diff"];
  const flags = ["--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"];
  const { stdout, cut } = await hidden.run([...args, ...flags, from, to], {
    maxBytes: MAX_DIFF,
    overflow: "cut",
  });
  return { digest, text: decodeText(stdout), truncated: cut };
}
