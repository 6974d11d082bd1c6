import {
  type DecodedPath,
  decodePath,
  decodeText,
  encodeText,
  latin1,
  NulRecords,
} from "../common/bytes.ts";
import { gitCapabilities } from "./capabilities.ts";
import { streamGit } from "./command.ts";
import { type Operation, operationAt } from "./in_progress.ts";
import type { Repository } from "./repository.ts";

/** One work tree of a repository, or the bare repository itself. */
export interface Worktree extends DecodedPath {
  /** The first one, which holds (or is) the repository. */
  readonly isMain: boolean;
  /** The one that was asked. */
  readonly current: boolean;
  readonly bare: boolean;
  /** Full id; null while unborn and for a bare repository. */
  readonly head: string | null;
  /** Short name, null when detached or bare. */
  readonly branch: string | null;
  readonly detached: boolean;
  readonly unborn: boolean;
  readonly locked: boolean;
  readonly lockedReason?: string;
  readonly prunable: boolean;
  readonly prunableReason?: string;
  /** What is unfinished there; its branch is the one that a rebase detached HEAD from. */
  readonly operation?: Operation;
}

export interface WorktreeList {
  readonly worktrees: readonly Worktree[];
  /** All of them, kept or not. */
  readonly total: number;
}

/** Longest reason that is repeated, in UTF-16 units. */
const MAX_REASON = 1_000;
/** Administrative folders that are read. */
const MAX_ADMIN = 2_000;

/** Lists the work trees in git's order, the main one first, keeping at most `limit`. Reads no work tree's state. */
export async function listWorktrees(repo: Repository, limit: number): Promise<WorktreeList> {
  const { worktreeListZ } = await gitCapabilities();
  const raw: RawWorktree[] = [];
  let total = 0;
  const take = (one: RawWorktree) => {
    total++;
    if (raw.length < limit) raw.push(one);
  };
  const parser = worktreeListZ ? new RecordParser(take) : new LineParser(take);
  const args = ["worktree", "list", "--porcelain", ...(worktreeListZ ? ["-z"] : [])];
  await streamGit(repo, args, { signal: repo.signal }, parser.push);
  parser.finish();
  const admin = readAdmin(repo.facts.commonDir);
  return { worktrees: raw.map((one, i) => finish(repo, one, i === 0, admin)), total };
}

/** One record as git prints it; paths are bytes as one character each, so that nothing is lost. */
interface RawWorktree {
  path: string;
  head?: string;
  branch?: string;
  bare?: true;
  detached?: true;
  locked?: string;
  prunable?: string;
}

interface Parser {
  readonly push: (chunk: Uint8Array) => boolean;
  finish(): void;
}

/** `-z`: attributes end with NUL, records with an empty attribute. Exported for tests. */
export class RecordParser implements Parser {
  readonly #records = new NulRecords();
  #current: RawWorktree | null = null;
  constructor(readonly take: (one: RawWorktree) => void) {}

  readonly push = (chunk: Uint8Array): boolean =>
    this.#records.push(chunk, (record) => {
      const text = latin1(record);
      if (text === "") this.finish();
      else if (this.#current === null) this.#current = { path: text.replace(/^worktree /, "") };
      else attribute(this.#current, text);
      return true;
    });

  finish(): void {
    if (this.#current) this.take(this.#current);
    this.#current = null;
  }
}

/**
 * Lines, for git before 2.36. A path may hold a newline and is not quoted, so it goes on until the line that
 * always follows it: `HEAD <id>` or `bare`. Exported for tests.
 */
export class LineParser implements Parser {
  #text = "";
  constructor(readonly take: (one: RawWorktree) => void) {}

  readonly push = (chunk: Uint8Array): boolean => {
    this.#text += latin1(chunk);
    return this.#text.length < 64 * 1024 * 1024;
  };

  finish(): void {
    const start = /(?:^|\n\n)worktree ([^]*?)\n(?=HEAD (?:[0-9a-f]{40}|[0-9a-f]{64})\n|bare\n)/g;
    const records = [...this.#text.matchAll(start)];
    records.forEach((match, i) => {
      const one: RawWorktree = { path: match[1]! };
      const body = this.#text.slice(match.index + match[0].length, records[i + 1]?.index);
      for (const line of body.split("\n")) {
        if (line !== "") attribute(one, line.replace(/ "(.*)"$/, (_, text) => " " + unquote(text)));
      }
      this.take(one);
    });
    this.#text = "";
  }
}

function attribute(one: RawWorktree, text: string): void {
  const at = text.indexOf(" ");
  const word = at === -1 ? text : text.slice(0, at);
  const value = at === -1 ? "" : text.slice(at + 1);
  if (word === "HEAD") one.head = value;
  else if (word === "branch") one.branch = value;
  else if (word === "bare") one.bare = true;
  else if (word === "detached") one.detached = true;
  else if (word === "locked") one.locked = value;
  else if (word === "prunable") one.prunable = value;
}

function finish(
  repo: Repository,
  raw: RawWorktree,
  isMain: boolean,
  admin: readonly Admin[],
): Worktree {
  const { commonDir, gitDir } = repo.facts;
  // Git before 2.48 prints a relative entry as it is written; it is relative to its own folder.
  const own = isMain ? undefined : admin.find((a) => a.written === raw.path || a.path === raw.path);
  const path = isMain ? mainPath(repo, raw) : own?.path ?? raw.path;
  const foundAfterAll = own !== undefined && own.written !== own.path && existsRaw(`${path}/.git`);
  const prunable = raw.prunable !== undefined && !foundAfterAll;
  const unborn = raw.head !== undefined && /^0+$/.test(raw.head);
  const dir = isMain ? commonDir : own?.dir;
  const operation = raw.bare || dir === undefined ? null : operationAt(dir);
  return {
    ...decodePath(bytes(path)),
    isMain,
    current: isMain ? gitDir === commonDir : gitDir !== commonDir && own?.id === lastPart(gitDir),
    bare: raw.bare === true,
    head: unborn ? null : raw.head ?? null,
    branch: raw.branch === undefined ? null : shown(raw.branch).replace(/^refs\/heads\//, ""),
    detached: raw.detached === true,
    unborn: unborn && raw.branch !== undefined,
    locked: raw.locked !== undefined,
    ...(raw.locked ? { lockedReason: bounded(shown(raw.locked)) } : {}),
    prunable,
    ...(prunable && raw.prunable ? { prunableReason: bounded(shown(raw.prunable)) } : {}),
    ...(operation ? { operation } : {}),
  };
}

/**
 * Git names the git directory where that is not called `.git` (submodules, `--separate-git-dir`): say where
 * the work tree is when that is known.
 */
function mainPath(repo: Repository, raw: RawWorktree): string {
  const { commonDir, gitDir, topLevel } = repo.facts;
  if (raw.bare || raw.path !== latin1(encodeText(commonDir))) return raw.path;
  let known = gitDir === commonDir ? topLevel : null;
  const elsewhere = known === null ? repo.facts.config.get("core.worktree") : null;
  if (elsewhere) {
    try {
      known = Deno.realPathSync(
        elsewhere.startsWith("/") ? elsewhere : `${commonDir}/${elsewhere}`,
      );
    } catch { /* as git says it */ }
  }
  return known === null ? raw.path : latin1(encodeText(known));
}

/** What the repository keeps of one linked work tree; paths one character a byte. */
interface Admin {
  /** Name of the folder below `worktrees`, unlike any other. */
  readonly id: string;
  readonly dir: string;
  /** Of the work tree, as the file has it. */
  readonly written: string;
  /** Absolute. */
  readonly path: string;
}

function readAdmin(commonDir: string): Admin[] {
  const found: Admin[] = [];
  try {
    for (const entry of Deno.readDirSync(`${commonDir}/worktrees`)) {
      if (found.length >= MAX_ADMIN) break;
      const dir = `${commonDir}/worktrees/${entry.name}`;
      const written = readGitdir(`${dir}/gitdir`);
      if (written === null) continue;
      const path = /^(?:\/|[A-Za-z]:[\\/])/.test(written)
        ? written
        : plain(`${latin1(encodeText(dir))}/${written}`);
      found.push({ id: entry.name, dir, written: tree(written), path: tree(path) });
    }
  } catch { /* there are none */ }
  return found;
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function tree(gitFile: string): string {
  return gitFile.replace(/\/\.git$/, "");
}

function readGitdir(file: string): string | null {
  try {
    const info = Deno.statSync(file);
    if (!info.isFile || info.size > 64 * 1024) return null;
    return latin1(Deno.readFileSync(file)).trimEnd();
  } catch {
    return null;
  }
}

/** Removes `.` and `..` by text; git writes these paths between resolved folders. */
function plain(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return "/" + parts.join("/");
}

function existsRaw(path: string): boolean {
  try {
    Deno.lstatSync(shown(path));
    return true;
  } catch {
    return false;
  }
}

function bounded(text: string): string {
  return text.length > MAX_REASON ? text.slice(0, MAX_REASON) + "…" : text;
}

function bytes(text: string): Uint8Array {
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

function shown(text: string): string {
  return decodeText(bytes(text));
}

const ESCAPES: Record<string, string> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** Undoes git's C-style quoting, bytes as characters. */
function unquote(text: string): string {
  return text.replace(
    /\\(?:([0-7]{3})|(.))/g,
    (_, octal, letter) =>
      octal === undefined
        ? ESCAPES[letter] ?? letter
        : String.fromCharCode(parseInt(octal, 8) & 0xff),
  );
}
