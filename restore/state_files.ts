import type { Repository } from "../git/repository.ts";
import { list } from "./hold.ts";
import { RESTORE_LIMITS } from "./limits.ts";

/**
 * The files in which git remembers an unfinished operation (merge, rebase, cherry-pick, revert,
 * bisect, am). A point keeps them, so that a conflict can be gone back to.
 */

const FILES = [
  "MERGE_HEAD",
  "MERGE_MODE",
  "MERGE_MSG",
  "MERGE_RR",
  "MERGE_AUTOSTASH",
  "SQUASH_MSG",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "REBASE_HEAD",
  "ORIG_HEAD",
  "AUTO_MERGE",
  "BISECT_LOG",
  "BISECT_START",
  "BISECT_TERMS",
  "BISECT_NAMES",
  "BISECT_EXPECTED_REV",
  "BISECT_ANCESTORS_OK",
  "BISECT_FIRST_PARENT",
  "BISECT_RUN",
];
const FOLDERS = ["rebase-merge", "rebase-apply", "sequencer"];
const MAX_DEPTH = 4;

/** Names below the git directory of this work tree, with `/` between the parts. */
export interface StateFiles {
  readonly files: readonly string[];
  /** Left out: past the limits, or with names or kinds that git does not make. */
  readonly leftOut: readonly string[];
}

/** Lists the state files that exist now. */
export function listStateFiles(repo: Repository): StateFiles {
  const dir = repo.facts.gitDir;
  const files: string[] = [], leftOut: string[] = [];
  let bytes = 0;
  const take = (name: string, size: number) => {
    bytes += size;
    const fits = files.length < RESTORE_LIMITS.stateFiles && bytes <= RESTORE_LIMITS.stateBytes;
    (fits && isStateName(name) ? files : leftOut).push(name);
  };
  for (const name of FILES) {
    const info = look(`${dir}/${name}`);
    if (info?.isFile) take(name, info.size);
    else if (info) leftOut.push(name);
  }
  const walk = (folder: string, depth: number): void => {
    for (const entry of list(`${dir}/${folder}`).sort()) {
      const name = `${folder}/${entry}`;
      const info = look(`${dir}/${name}`);
      if (info?.isFile) take(name, info.size);
      else if (info?.isDirectory && depth < MAX_DEPTH) walk(name, depth + 1);
      else if (info) leftOut.push(name);
      if (leftOut.length > RESTORE_LIMITS.stateFiles) return;
    }
  };
  for (const folder of FOLDERS) if (look(`${dir}/${folder}`)?.isDirectory) walk(folder, 1);
  return { files, leftOut };
}

/** True for a name that this room may write below a git directory. */
export function isStateName(name: string): boolean {
  if (FILES.includes(name)) return true;
  const [folder, ...rest] = name.split("/");
  return FOLDERS.includes(folder!) && rest.length > 0 && rest.length <= MAX_DEPTH &&
    rest.every((part) => /^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,120}$/.test(part) && part !== "..");
}

/** Folders that state files may stand in, deepest first, to be removed when they are empty. */
export function stateFolders(repo: Repository): string[] {
  const dir = repo.facts.gitDir;
  const found: string[] = [];
  const walk = (folder: string, depth: number): void => {
    if (depth > MAX_DEPTH || !look(`${dir}/${folder}`)?.isDirectory) return;
    for (const entry of list(`${dir}/${folder}`)) {
      if (look(`${dir}/${folder}/${entry}`)?.isDirectory) walk(`${folder}/${entry}`, depth + 1);
    }
    found.push(folder);
  };
  for (const folder of FOLDERS) walk(folder, 1);
  return found;
}

function look(path: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(path);
  } catch {
    return null;
  }
}
