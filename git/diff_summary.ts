import { diffArguments, type DiffRequest, forDiff } from "./diff.ts";
import { readWithoutObjects } from "./diff_missing.ts";
import { type DiffSummary, type FileWindow, streamRecords, SummaryParser } from "./diff_records.ts";
import { GitError, lacksObjects } from "./errors.ts";
import type { Repository } from "./repository.ts";

/**
 * Reads which files differ. Memory is bounded by the window. Where a partial clone lacks content,
 * names are still given. Throws {@link GitError} for other failures.
 */
export async function readDiffSummary(
  repo: Repository,
  request: DiffRequest,
  window: FileWindow,
): Promise<DiffSummary> {
  const parser = new SummaryParser(window);
  const end = await streamRecords(
    forDiff(repo),
    request,
    ["--raw", "--numstat", "-z", "--no-abbrev"],
    parser,
  );
  if (end.code === 0) return parser.finish();
  if (lacksObjects(end.stderr)) return await readWithoutObjects(repo, request, window);
  throw new GitError(
    "failed",
    diffArguments(request, ["--raw", "--numstat"]),
    end.stderr,
    end.code,
  );
}
