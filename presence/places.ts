import { isInside } from "../common/allowed_roots.ts";
import { decodeText } from "../common/bytes.ts";

/** Where a repository's work trees are, read from its files alone: a hint must not wait for git. */
export interface RepositoryPlaces {
  /** Top of the work tree that a path lies in; the path itself when that is no work tree. */
  readonly top: string;
  /** Other work trees of the same repository, canonical, with what is checked out there. */
  readonly others: readonly { readonly path: string; readonly branch: string | null }[];
  /** Branch that is checked out at the top; null when detached or unknown. */
  readonly branch: string | null;
}

const MAX_SMALL_BYTES = 16 * 1024;
const MAX_WORK_TREES = 200;
const MAX_LEVELS = 256;

/**
 * Reads the places around a canonical path. Never throws.
 *
 * @param allowed canonical allowed roots; what lies outside is not looked at; null for no restriction
 */
export function repositoryPlaces(
  path: string,
  allowed: readonly string[] | null = null,
): RepositoryPlaces {
  const found = findGitDir(path);
  if (found === null || (allowed && !isInside(found.top, allowed))) {
    return { top: path, others: [], branch: null };
  }
  const { top, gitDir } = found;
  const common = realOrNull(resolveIn(gitDir, smallText(`${gitDir}/commondir`)?.trim() ?? "."));
  const others: { path: string; branch: string | null }[] = [];
  const add = (place: string | null, branch: string | null) => {
    if (allowed && place !== null && !isInside(place, allowed)) return;
    if (place !== null && place !== top && !others.some((one) => one.path === place)) {
      others.push({ path: place, branch });
    }
  };
  if (common !== null) {
    // The main work tree stands around its own git directory.
    const main = /^(.+)[/\\]\.git$/.exec(common)?.[1];
    if (main !== undefined) add(realOrNull(main), headBranch(common));
    for (const name of folderNames(`${common}/worktrees`)) {
      const admin = `${common}/worktrees/${name}`;
      const link = smallText(`${admin}/gitdir`)?.replace(/\n$/, "");
      const place = link === undefined
        ? undefined
        : /^(.+)[/\\]\.git$/.exec(resolveIn(admin, link));
      if (place) add(realOrNull(place[1]!), headBranch(admin));
    }
  }
  return { top, others, branch: headBranch(gitDir) };
}

function findGitDir(path: string): { top: string; gitDir: string } | null {
  let at = path;
  for (let i = 0; i < MAX_LEVELS; i++) {
    const dotGit = `${at}/.git`;
    try {
      const info = Deno.statSync(dotGit);
      if (info.isDirectory) return { top: at, gitDir: dotGit };
      const named = /^gitdir: (.+)$/m.exec(smallText(dotGit) ?? "")?.[1];
      return named === undefined ? null : { top: at, gitDir: resolveIn(at, named.trimEnd()) };
    } catch { /* look further up */ }
    const cut = Math.max(at.lastIndexOf("/"), at.lastIndexOf("\\"));
    if (cut <= 0) return null;
    at = at.slice(0, cut);
  }
  return null;
}

function headBranch(gitDir: string): string | null {
  const branch = /^ref:[ \t]*refs\/heads\/(\S+)\s*$/.exec(smallText(`${gitDir}/HEAD`) ?? "")?.[1];
  // A reftable keeps a stub there.
  return branch === undefined || branch === ".invalid" ? null : branch;
}

function folderNames(folder: string): string[] {
  const names: string[] = [];
  try {
    for (const { name, isDirectory } of Deno.readDirSync(folder)) {
      if (isDirectory) names.push(name);
      if (names.length >= MAX_WORK_TREES) break;
    }
  } catch { /* none */ }
  return names.sort();
}

function smallText(path: string): string | null {
  try {
    const info = Deno.lstatSync(path);
    if (!info.isFile || info.size > MAX_SMALL_BYTES) return null;
    return decodeText(Deno.readFileSync(path));
  } catch {
    return null;
  }
}

function resolveIn(base: string, path: string): string {
  return /^(?:[/\\]|[A-Za-z]:)/.test(path) ? path : `${base}/${path}`;
}

function realOrNull(path: string): string | null {
  try {
    return Deno.realPathSync(path);
  } catch {
    return null;
  }
}
