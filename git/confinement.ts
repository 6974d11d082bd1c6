import { isInside } from "../common/allowed_roots.ts";
import { CodedError } from "../common/errors.ts";
import type { RepositoryFacts } from "./repository_facts.ts";

/**
 * Keeps a repository inside the allowed roots (`security.md` S-13, S-22). Whoever may write below a root could
 * otherwise make this program read what lies outside, through a work tree, a git directory, borrowed objects
 * or links that lead there.
 */

/** Parts of a git directory that tell about another repository when a link replaces them. */
const COMMON_PARTS = [
  "objects",
  "objects/pack",
  "refs",
  "refs/heads",
  "packed-refs",
  "reftable",
  "logs",
  "worktrees",
];
const OWN_PARTS = ["index", "logs"];

/** Throws `CodedError` -32011, with the way that leads outside as `data.details`. */
export function checkRoots(
  facts: Omit<RepositoryFacts, "config"> & { config: Pick<RepositoryFacts["config"], "get"> },
  roots: readonly string[],
): void {
  const top = facts.topLevel;
  const inside = (path: string) => isInside(path, roots);
  // A root may be a subfolder of the repository; a work tree somewhere else (core.worktree) may not.
  const around = top ?? facts.gitDir;
  const aroundAsked = isBelow(facts.askedPath, around);
  if (!aroundAsked && !inside(around)) {
    throw outside(
      top === null
        ? "its git directory lies outside"
        : "its work tree lies outside (core.worktree)",
    );
  }
  const commonDir = realPath(facts.commonDir), gitDir = realPath(facts.gitDir);
  if (commonDir === null || gitDir === null) throw outside("its git directory cannot be resolved");
  const own = aroundAsked && isBelow(commonDir, around);
  if (!own && !inside(commonDir) && !pointsBack(facts, gitDir, commonDir)) {
    throw outside("its git directory lies outside and does not name this work tree");
  }
  const allowed = (path: string) => inside(path) || isBelow(path, commonDir);
  for (const path of leads(facts)) {
    const real = realPath(path);
    if (real !== null && !allowed(real)) {
      throw outside("a part of its git directory is a link to outside");
    }
  }
  const borrowed = alternates(facts.commonDir);
  if (borrowed === null || !borrowed.every(allowed)) {
    throw outside("it borrows objects from outside (objects/info/alternates)");
  }
}

function outside(why: string): CodedError {
  return new CodedError(-32011, "Repository path is outside the MCP allowed roots", {
    environmentVariable: "FLUXGIT_MCP_ALLOWED_ROOTS",
    details: why,
  });
}

/**
 * A linked work tree or a submodule whose repository lies outside is fine when that repository says so itself:
 * nobody who can only write below a root could have made it say so.
 */
function pointsBack(
  facts: Parameters<typeof checkRoots>[0],
  gitDir: string,
  commonDir: string,
): boolean {
  if (facts.topLevel === null) return false;
  if (gitDir !== commonDir) {
    if (!isBelow(gitDir, `${commonDir}/worktrees`)) return false;
    const written = readText(`${gitDir}/gitdir`)?.trimEnd();
    return written !== undefined &&
      realPath(absolute(written, gitDir)) === realPath(`${facts.topLevel}/.git`);
  }
  const workTree = facts.config.get("core.worktree");
  return workTree !== undefined && workTree !== null &&
    realPath(absolute(workTree, gitDir)) === realPath(facts.topLevel);
}

/** Paths of the git directory that may be links: the parts above, and links among the object folders. */
function* leads(facts: Pick<RepositoryFacts, "commonDir" | "gitDir">): Generator<string> {
  for (const part of COMMON_PARTS) yield `${facts.commonDir}/${part}`;
  for (const part of OWN_PARTS) yield `${facts.gitDir}/${part}`;
  for (const folder of ["objects", "objects/pack"]) {
    try {
      for (const entry of Deno.readDirSync(`${facts.commonDir}/${folder}`)) {
        if (entry.isSymlink) yield `${facts.commonDir}/${folder}/${entry.name}`;
      }
    } catch { /* it is not there */ }
  }
}

/** True when a part of a git directory that could lead elsewhere is a link. */
export function hasLinkedParts(gitDir: string): boolean {
  for (const path of leads({ commonDir: gitDir, gitDir })) {
    try {
      if (Deno.lstatSync(path).isSymlink) return true;
    } catch { /* it is not there */ }
  }
  return false;
}

/** As deep as git follows alternates of alternates. */
const MAX_DEPTH = 5;
const MAX_ALTERNATES = 256;
const MAX_FILE = 1024 * 1024;

/**
 * Canonical object directories that a repository borrows from, directly or through others; those that do not
 * exist are left out. null when there are too many to follow, or a file that lists them is too large.
 */
export function alternates(commonDir: string): string[] | null {
  const found = new Set<string>();
  let level = [`${commonDir}/objects`];
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++) {
    const next: string[] = [];
    for (const objects of level) {
      const text = readText(`${objects}/info/alternates`);
      if (text === null) return null;
      for (const line of text?.split("\n") ?? []) {
        if (line === "" || line.startsWith("#")) continue;
        const real = realPath(absolute(unquote(line), objects));
        if (real === null || found.has(real)) continue;
        if (found.size >= MAX_ALTERNATES) return null;
        found.add(real);
        next.push(real);
      }
    }
    level = next;
  }
  return [...found];
}

/** Undoes the quoting that git understands in the file; a quote that is not closed is part of the name. */
function unquote(line: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"/s.exec(line)?.[1];
  if (quoted === undefined) return line;
  const letters: Record<string, string> = {
    a: "\x07",
    b: "\b",
    f: "\f",
    n: "\n",
    r: "\r",
    t: "\t",
    v: "\v",
  };
  const bytes: number[] = [];
  for (const [part, octal, letter] of quoted.matchAll(/\\([0-7]{3})|\\(.)|[^\\]/gsu)) {
    if (octal !== undefined) bytes.push(parseInt(octal, 8) & 0xff);
    else {bytes.push(
        ...new TextEncoder().encode(letter === undefined ? part : letters[letter] ?? letter),
      );}
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

/** The text of a small regular file; undefined when there is none, null when it is too large. */
function readText(path: string): string | null | undefined {
  try {
    // Not from a pipe, which would block the whole program.
    const info = Deno.statSync(path);
    if (!info.isFile) return undefined;
    return info.size > MAX_FILE ? null : Deno.readTextFileSync(path);
  } catch {
    return undefined;
  }
}

function absolute(path: string, base: string): string {
  return /^(?:\/|[A-Za-z]:[\\/])/.test(path) ? path : `${base}/${path}`;
}

function realPath(path: string): string | null {
  try {
    return Deno.realPathSync(path);
  } catch {
    return null;
  }
}

function isBelow(path: string, root: string): boolean {
  return isInside(path, [root]);
}
