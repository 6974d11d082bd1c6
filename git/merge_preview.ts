import { decodeText, splitNul } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import { gitCapabilities } from "./capabilities.ts";
import { GitError } from "./errors.ts";
import type { Repository } from "./repository.ts";
import { type MergeConflict, MergeTreeParser } from "./merge_tree.ts";

/**
 * What a merge of two commits would give, by the engine that real merges use, without touching index,
 * work tree or object store: the objects that the merge makes go to a throw-away folder.
 */

/** Makes and removes throw-away folders. */
export interface MergeScratch {
  /** Creates an empty folder outside every repository; throws when nothing can be written. */
  makeFolder(): Promise<string>;
  /** Removes such a folder with everything in it; never throws. */
  removeFolder(path: string): Promise<void>;
}

export type MergeStatus =
  | "unrelated-histories"
  | "already-up-to-date"
  | "fast-forward"
  | "clean-merge"
  | "conflicts"
  | "unknown";

/** Something that makes the preview less than the whole truth; codes of `additions.md` section 1. */
export interface MergeNote {
  readonly code:
    | "git_too_old"
    | "missing_objects"
    | "merge_driver_not_run"
    | "source_unavailable"
    | "timed_out";
  readonly message: string;
  readonly count?: number;
}

export interface MergePreview {
  readonly status: MergeStatus;
  /** Best common ancestors, at most 16, in git's order; none for unrelated or unreadable histories. */
  readonly mergeBases: readonly string[];
  /** The first `limit` in order of path. */
  readonly conflicts: readonly MergeConflict[];
  /** All of them; null when the status is `unknown`. */
  readonly conflictCount: number | null;
  /** History is cut off: a better common ancestor may lie beyond the cut. */
  readonly shallow?: true;
  readonly notes: readonly MergeNote[];
}

export interface MergePreviewOptions {
  /** Conflicts to keep. Default 200. */
  readonly limit?: number;
  /** Milliseconds for the merge itself. Default 30,000. */
  readonly deadlineMs?: number;
}

const MAX_BASES = 16;

/**
 * Previews merging `theirs` into `ours`. Both are full ids of commits of `repo`.
 *
 * What cannot be told (an old git, missing objects, no place for throw-away objects, the deadline)
 * gives `status: "unknown"` and a note. Throws {@link GitError} for cancellation and for failures that
 * are none of these.
 */
export async function previewMerge(
  repo: Repository,
  ours: string,
  theirs: string,
  scratch: MergeScratch,
  options: MergePreviewOptions = {},
): Promise<MergePreview> {
  const unknown = (note: MergeNote, mergeBases: readonly string[] = []): MergePreview => ({
    status: "unknown",
    mergeBases,
    conflicts: [],
    conflictCount: null,
    notes: [note],
  });
  const settled = (status: MergeStatus, mergeBases: readonly string[]): MergePreview => ({
    status,
    mergeBases,
    conflicts: [],
    conflictCount: 0,
    notes: [],
  });
  let bases: string[];
  try {
    bases = await commonAncestors(repo, ours, theirs, options);
  } catch (error) {
    return unknown(explain(error));
  }
  if (bases.length === 0) {
    // Where history is cut off, a common ancestor may lie beyond the cut.
    return isShallow(repo)
      ? unknown({
        code: "missing_objects",
        message: "history is cut off (shallow) before any common ancestor",
      })
      : settled("unrelated-histories", []);
  }
  if (bases[0] === theirs) return settled("already-up-to-date", bases);
  if (bases[0] === ours) return settled("fast-forward", bases);
  const { version, mergeTreeWriteTree } = await gitCapabilities();
  if (!mergeTreeWriteTree) {
    return unknown({
      code: "git_too_old",
      message: `git ${version} cannot preview a merge; 2.38 or newer can`,
    }, bases);
  }
  let folder: string;
  try {
    folder = await scratch.makeFolder();
  } catch {
    return unknown({
      code: "source_unavailable",
      message: "there is no place for the objects that a preview makes",
    }, bases);
  }
  try {
    const merged = await mergeIn(folder, repo, ours, theirs, options);
    return { mergeBases: bases, ...merged, ...(isShallow(repo) ? { shallow: true } : {}) };
  } catch (error) {
    return unknown(explain(error), bases);
  } finally {
    await scratch.removeFolder(folder);
  }
}

async function commonAncestors(
  repo: Repository,
  ours: string,
  theirs: string,
  options: MergePreviewOptions,
): Promise<string[]> {
  const text = await repo.run(["merge-base", "--all", ours, theirs], {
    okCodes: [0, 1],
    ...deadline(options),
  });
  return decodeText(text.stdout).split("\n").filter((line) => line !== "")
    .slice(0, MAX_BASES);
}

async function mergeIn(
  folder: string,
  repo: Repository,
  ours: string,
  theirs: string,
  options: MergePreviewOptions,
): Promise<Omit<MergePreview, "mergeBases">> {
  const drivers = neutralisedDrivers(repo);
  const parser = new MergeTreeParser(options.limit ?? 200, drivers.size > 0, [ours, theirs]);
  const args = [
    "merge-tree",
    "--write-tree",
    "-z",
    // A clean merge names the files that it merged only when asked to.
    ...(drivers.size > 0 ? ["--messages"] : []),
    ours,
    theirs,
  ];
  const end = await streamGit(repo.with(THROW_AWAY), args, {
    signal: repo.signal,
    okCodes: [0, 1],
    ...deadline(options),
    env: throwAwayObjects(folder, repo.facts.commonDir),
  }, parser.push);
  // Git also exits with 1 when it cannot read one of the commits; then it names no tree.
  if (!parser.sawTree) throw new GitError("failed", args, end.stderr, end.code);
  const { conflicts, conflictCount, merged } = parser.finish();
  const undriven = drivers.size > 0 ? await countDriven(repo, merged, drivers) : 0;
  return {
    status: end.code === 0 ? "clean-merge" : "conflicts",
    conflicts,
    conflictCount,
    notes: undriven === 0 ? [] : [{
      code: "merge_driver_not_run",
      message:
        "merge drivers named by the repository's own configuration were not run; these files were merged as text",
      count: undriven,
    }],
  };
}

/** Objects that nobody keeps need not reach the disk. */
const THROW_AWAY: readonly (readonly [string, string])[] = [
  ["core.fsync", "none"],
  ["core.looseCompression", "0"],
];

function deadline(options: MergePreviewOptions): { deadlineMs?: number } {
  return options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs };
}

/** New objects go to `folder`; the repository's own (with what it borrows) are read beside it. */
function throwAwayObjects(folder: string, commonDir: string): Record<string, string> {
  return {
    GIT_OBJECT_DIRECTORY: folder,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: quoteAlternate(`${commonDir}/objects`),
  };
}

/** A leading quote makes git unquote, so that a name may hold the list separator. Exported for tests. */
export function quoteAlternate(path: string): string {
  const escape = (c: string) => "\\" + c.charCodeAt(0).toString(8).padStart(3, "0");
  // deno-lint-ignore no-control-regex
  return `"${path.replace(/[\u0000-\u001f"\\]/g, escape)}"`;
}

function isShallow(repo: Repository): boolean {
  try {
    return Deno.statSync(`${repo.facts.commonDir}/shallow`).size > 0;
  } catch {
    return false;
  }
}

/** Tells which failures mean "not known here"; throws the others again. */
function explain(error: unknown): MergeNote {
  if (!(error instanceof GitError)) throw error;
  if (error.kind === "timed_out") {
    return { code: "timed_out", message: "git did not finish the preview in time" };
  }
  const details = String(error.data?.["details"] ?? "");
  // Git says this too when the folder for its objects is gone: the repository was just read.
  if (error.kind !== "failed" && error.kind !== "not_a_repository") throw error;
  if (
    /could not fetch|unable to read|could not read|unable to parse|missing|bad (?:tree|object)|not a valid|not something we can merge|lazy fetching/i
      .test(details)
  ) {
    return {
      code: "missing_objects",
      message: "objects that the merge needs are not here, and nothing was fetched",
    };
  }
  if (
    /unable to (?:write|create|add)|no space left|insufficient permission|not a git repository|read-only file/i
      .test(details)
  ) {
    return {
      code: "source_unavailable",
      message: "the objects that a preview makes could not be written",
    };
  }
  throw error;
}

/** Names of merge drivers that the repository's own files name and that were replaced. */
function neutralisedDrivers(repo: Repository): Set<string> {
  const names = new Set<string>();
  for (const [key, value] of repo.overrides) {
    const name = /^merge\.(.*)\.driver$/s.exec(key)?.[1];
    if (name !== undefined && repo.facts.config.get(key) !== value) names.add(name);
  }
  return names;
}

/** How many of these paths would have been merged by one of the drivers. */
async function countDriven(
  repo: Repository,
  paths: readonly Uint8Array[],
  drivers: ReadonlySet<string>,
): Promise<number> {
  if (paths.length === 0) return 0;
  const size = paths.reduce((sum, path) => sum + path.length + 1, 0);
  const stdin = new Uint8Array(size);
  let at = 0;
  for (const path of paths) {
    stdin.set(path, at);
    at += path.length + 1;
  }
  const out = await repo.run(["check-attr", "-z", "--stdin", "merge"], {
    stdin,
    maxBytes: size + paths.length * 4_200,
  });
  const fallback = repo.facts.config.get("merge.default") ?? "";
  const fields = splitNul(out.stdout);
  let count = 0;
  for (let i = 2; i < fields.length; i += 3) {
    const value = decodeText(fields[i]!);
    if (drivers.has(value === "unspecified" ? fallback : value)) count++;
  }
  return count;
}
