import { decodeText } from "./bytes.ts";
import { isAbsolutePath } from "./allowed_roots.ts";

/**
 * The registry of repositories in the run directory: `<run_dir>/repos/<id>.path`, a small text file
 * that holds an absolute path (`read-tools.md` 0.7). Files written by others are read with care.
 */

/** One registered repository. */
export interface RegisteredRepository {
  readonly repoId: string;
  /** Canonical. */
  readonly repoPath: string;
}

export interface Registry {
  /** Each path once, in order of path. */
  readonly repositories: readonly RegisteredRepository[];
  /** Files that name no repository any more, or are not what such a file should be. */
  readonly unusable: number;
  /** The folder holds more entries than are looked at. */
  readonly cut: boolean;
}

export const REGISTRY_LIMITS = { entries: 4_096, fileBytes: 32_768 } as const;

/** Reads the registry; an absent folder is an empty one. Throws when the folder cannot be read. */
export function readRegistry(
  runDir: string,
  windows = Deno.build.os === "windows",
): Registry {
  const folder = `${runDir}/repos`;
  const found = new Map<string, RegisteredRepository>();
  let seen = 0, unusable = 0;
  try {
    for (const entry of Deno.readDirSync(folder)) {
      if (++seen > REGISTRY_LIMITS.entries) break;
      const repoId = /^(.+)\.path$/s.exec(entry.name)?.[1];
      if (repoId === undefined) continue;
      const repoPath = entry.isFile ? readEntry(`${folder}/${entry.name}`, windows) : null;
      if (repoPath === null) unusable++;
      else if (!found.has(repoPath)) found.set(repoPath, { repoId, repoPath });
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const repositories = [...found.values()].sort((a, b) => (a.repoPath < b.repoPath ? -1 : 1));
  return { repositories, unusable, cut: seen > REGISTRY_LIMITS.entries };
}

function readEntry(file: string, windows: boolean): string | null {
  try {
    const info = Deno.lstatSync(file);
    if (!info.isFile || info.size > REGISTRY_LIMITS.fileBytes) return null;
    const path = decodeText(Deno.readFileSync(file)).trim();
    return path.includes("\0") || !isAbsolutePath(path, windows) ? null : Deno.realPathSync(path);
  } catch {
    return null;
  }
}
