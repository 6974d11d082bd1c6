import { NulRecords } from "../../../../common/bytes.ts";
import { streamGit } from "../../../../git/command.ts";
import { guardSubmodules } from "../../../../git/index_scan.ts";
import type { Repository } from "../../../../git/repository.ts";
import { type StatusEntry, StatusParser } from "../../../../git/status.ts";

/** A changed path, renames taken apart, untracked files one by one. */
export interface ChangedPath {
  readonly entry: StatusEntry;
  readonly kind: "tracked" | "unmerged" | "untracked";
}

/** Most changed paths that one proposal may touch; more is refused, never cut. */
export const MAX_CHANGED_PATHS = 100_000;
/** Longest list of paths put on a command line, in UTF-16 units. */
const MAX_ARGUMENTS = 64 * 1_024;

/** True when a list of paths can stand on a command line. */
export function fitsArguments(paths: readonly string[]): boolean {
  return paths.reduce((sum, path) => sum + path.length + 1, 0) <= MAX_ARGUMENTS;
}

/** The first of the paths that fit on a command line, at most `most`. */
export function firstArguments(paths: readonly string[], most: number): readonly string[] {
  let size = 0;
  const end = paths.findIndex((path, i) => i >= most || (size += path.length + 1) > MAX_ARGUMENTS);
  return end === -1 ? paths : paths.slice(0, end);
}

/**
 * Everything that differs at or below the given literal paths; no paths means everywhere. `complete`
 * is false when there is more than may be touched at once.
 */
export async function changedBelow(
  repo: Repository,
  paths: readonly string[],
): Promise<{ changed: ChangedPath[]; complete: boolean }> {
  const guard = await guardSubmodules(repo);
  const changed: ChangedPath[] = [];
  let complete = true;
  // What git cannot be told on its command line is picked out here.
  const narrow = fitsArguments(paths);
  const named = narrow ? null : new NamedPaths(paths);
  const parser = new StatusParser((_key, make, kind) => {
    if (changed.length >= MAX_CHANGED_PATHS) {
      complete = false;
      return;
    }
    const entry = make();
    if (named === null || named.covers(entry.path)) changed.push({ entry, kind });
  });
  const records = new NulRecords();
  await streamGit(
    repo.with(guard.overrides),
    [
      "status",
      "--porcelain=v2",
      "-z",
      "--no-renames",
      "--untracked-files=all",
      `--ignore-submodules=${guard.complete ? "none" : "dirty"}`,
      "--",
      ...(narrow ? paths : []),
    ],
    { signal: repo.signal },
    (chunk) => records.push(chunk, parser.record) && complete,
  );
  return { changed, complete };
}

/** The paths that a proposal names, each standing for itself and all below it. */
export class NamedPaths {
  readonly #paths: ReadonlySet<string>;
  constructor(paths: readonly string[]) {
    this.#paths = new Set(paths.map((path) => path.replace(/\/+$/, "")));
  }

  covers(path: string): boolean {
    return this.#coverOf(path) !== null;
  }

  /** Those under which none of the entries lies, in their order. */
  without(entries: readonly ChangedPath[]): string[] {
    const left = new Set(this.#paths);
    for (const { entry } of entries) {
      for (const path of ancestry(entry.path)) left.delete(path);
      left.delete(".");
    }
    return [...left];
  }

  #coverOf(path: string): string | null {
    if (this.#paths.has(".")) return ".";
    for (const place of ancestry(path)) if (this.#paths.has(place)) return place;
    return null;
  }
}

/** The path itself and every folder above it: `a/b/c`, `a/b`, `a`. */
export function ancestry(path: string): string[] {
  const plain = path.replace(/\/+$/, "");
  const places = [plain];
  for (let at = plain.lastIndexOf("/"); at > 0; at = plain.lastIndexOf("/", at - 1)) {
    places.push(plain.slice(0, at));
  }
  return places;
}

/** NUL-separated literal pathspecs for `--pathspec-from-file=- --pathspec-file-nul` of approved commands. */
export function literalPathspecs(paths: readonly string[]): string {
  return paths.map((path) => path === "." ? ":/\0" : `:(top,literal)${path.replace(/\/+$/, "")}\0`)
    .join("");
}

/** A path whose name is not UTF-8, which a proposal's list of strings cannot name; null when there is none. */
export function firstUnnameable(changed: readonly ChangedPath[]): string | null {
  return changed.find(({ entry }) => entry.pathBytes !== undefined)?.entry.path ?? null;
}

/** Names of the paths, for a note. */
export function namesOf(changed: readonly ChangedPath[], most = 50): string[] {
  return changed.slice(0, most).map(({ entry }) => entry.path);
}
