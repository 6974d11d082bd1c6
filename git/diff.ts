import type { Repository } from "./repository.ts";

/** What is compared with what, and the flags that make a diff the same under any configuration. */

/** Two sides of a diff. Ids are full and of trees or commits. */
export type DiffSides =
  /** A commit against its first parent, or against nothing when it is a root. */
  | { readonly kind: "commit"; readonly oid: string }
  /** Two trees. */
  | { readonly kind: "trees"; readonly from: string; readonly to: string }
  /** A tree, or the index when null, against the work tree. */
  | { readonly kind: "worktree"; readonly from: string | null }
  /** A tree, or HEAD when null (nothing while unborn), against the index. */
  | { readonly kind: "index"; readonly from: string | null };

export interface DiffRequest {
  readonly sides: DiffSides;
  /** Arguments from `--` on. */
  readonly paths: readonly string[];
  /** Paths that go through standard input. */
  readonly stdin?: Uint8Array | undefined;
  /** Set when submodules may not be looked into (`guardSubmodules` was incomplete). */
  readonly ignoreDirtySubmodules?: boolean;
  /** Only exact renames: finding similar content would read objects that may not be here. */
  readonly exactRenamesOnly?: boolean;
}

/** Pairs tried for a rename by content; more falls back to exact renames, as git does by default. */
const RENAME_LIMIT = 1_000;

/**
 * The command line of a diff. Everything that `diff.*` settings could change is set here: prefixes,
 * order, algorithm, renames, submodule form, paths relative to the top.
 *
 * @param output flags that choose the form (`--raw`, `--patch` …)
 */
export function diffArguments(request: DiffRequest, output: readonly string[]): string[] {
  const { sides } = request;
  return [
    ...(sides.kind === "commit" ? COMMIT_DIFF : ["diff"]),
    "--no-relative",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--inter-hunk-context=0",
    "-O/dev/null",
    request.exactRenamesOnly ? "--find-renames=100%" : "--find-renames",
    `-l${RENAME_LIMIT}`,
    "--submodule=short",
    `--ignore-submodules=${request.ignoreDirtySubmodules ? "dirty" : "none"}`,
    ...output,
    ...(sides.kind === "index" ? ["--cached"] : []),
    ...(request.stdin ? ["--stdin"] : []),
    ...idsOf(sides),
    ...request.paths,
  ];
}

const COMMIT_DIFF = [
  "diff-tree",
  "-r",
  "--root",
  "--no-commit-id",
  "--diff-merges=first-parent",
];

function idsOf(sides: DiffSides): string[] {
  switch (sides.kind) {
    case "commit":
      return [sides.oid];
    case "trees":
      return [sides.from, sides.to];
    default:
      return sides.from === null ? [] : [sides.from];
  }
}

/** The repository with settings out of the way for which `git diff` has no flag. */
export function forDiff(repo: Repository): Repository {
  return repo.with([
    ["diff.suppressBlankEmpty", "false"],
    // A line on standard error for each file with other line ends helps nobody here.
    ["core.safecrlf", "false"],
  ]);
}
