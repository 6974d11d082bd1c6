import { diffArguments, type DiffRequest, forDiff } from "./diff.ts";
import {
  type DiffFile,
  type DiffSummary,
  type FileWindow,
  streamRecords,
  SummaryParser,
} from "./diff_records.ts";
import { GitError, lacksObjects } from "./errors.ts";
import { findMissing } from "./objects.ts";
import { fitsLines, type LiteralPath, pathspecs } from "./pathspec.ts";
import type { Repository } from "./repository.ts";

/**
 * The summary of a diff whose content is partly not here (a partial clone, nothing is fetched): names
 * by exact renames only, and numbers of the files that can be read.
 */
export async function readWithoutObjects(
  repo: Repository,
  request: DiffRequest,
  window: FileWindow,
): Promise<DiffSummary> {
  const names = new SummaryParser(window, true);
  const exact: DiffRequest = { ...request, exactRenamesOnly: true };
  const quiet = forDiff(repo);
  const end = await streamRecords(quiet, exact, ["--raw", "-z", "--no-abbrev"], names);
  if (end.code !== 0 && lacksObjects(end.stderr)) return NOT_EVEN_NAMES;
  if (end.code !== 0) {
    throw new GitError("failed", diffArguments(exact, ["--raw"]), end.stderr, end.code);
  }
  const summary = names.finish();
  const lost = await findMissing(repo, reachedFrom(request), blobsOf(summary.files));
  const isLost = (file: DiffFile) =>
    (file.oldOid !== null && lost.has(file.oldOid)) ||
    (file.newOid !== null && lost.has(file.newOid));
  const readable = summary.files.filter((file) => !isLost(file))
    .flatMap((file) => file.origPath ? [file.path, file.origPath] : [file.path])
    .filter(fitsLines);
  const numbers = await readNumbers(quiet, exact, readable, window.limit);
  const files = summary.files.flatMap((file) => {
    if (isLost(file)) return [file];
    const counted = numbers.get(file.path.path + (file.path.pathBytes ?? ""));
    if (counted) {
      const { added, deleted, binary } = counted;
      return [{ ...file, added, deleted, binary }];
    }
    // Read, and no difference found: touched only.
    return file.status === "M" && file.newOid === null && fitsLines(file.path) ? [] : [file];
  });
  return {
    ...summary,
    files,
    totals: {
      ...summary.totals,
      files: (summary.totals.files ?? 0) - summary.files.length + files.length,
    },
    missing: summary.files.filter(isLost).length,
    readable,
  };
}

/** Trees are missing too (a treeless clone): not even the names are known. */
const NOT_EVEN_NAMES: DiffSummary = {
  files: [],
  totals: { files: null, added: null, deleted: null, binary: null },
  more: false,
  missing: null,
  readable: [],
};

function blobsOf(files: readonly DiffFile[]): Set<string> {
  const oids = new Set<string>();
  for (const file of files) {
    if (file.oldOid !== null && file.oldMode !== "160000") oids.add(file.oldOid);
    if (file.newOid !== null && file.newMode !== "160000") oids.add(file.newOid);
  }
  return oids;
}

function reachedFrom({ sides }: DiffRequest): string[] {
  if (sides.kind === "trees") return [sides.from, sides.to];
  if (sides.kind === "commit") return [sides.oid, `${sides.oid}^@`];
  if (sides.from !== null) return ["--indexed-objects", sides.from];
  return sides.kind === "index" ? ["--indexed-objects", "HEAD"] : ["--indexed-objects"];
}

async function readNumbers(
  repo: Repository,
  request: DiffRequest,
  paths: readonly LiteralPath[],
  limit: number,
): Promise<Map<string, DiffFile>> {
  if (paths.length === 0) return new Map();
  const { args, stdin } = pathspecs(paths);
  const parser = new SummaryParser({ skip: 0, limit });
  const end = await streamRecords(
    repo,
    { ...request, paths: args, stdin },
    ["--raw", "--numstat", "-z", "--no-abbrev"],
    parser,
  );
  if (end.code !== 0) return new Map();
  return new Map(
    parser.finish().files.map((file) => [file.path.path + (file.path.pathBytes ?? ""), file]),
  );
}
