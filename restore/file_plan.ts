import type { Repository } from "../git/repository.ts";
import type { HiddenRepository } from "./hidden.ts";
import { fromRaw, openable, rawNames, toRaw } from "./raw.ts";

/** A path whose file differs between the work tree now and a point. */
export interface FileChange {
  /** Raw text. */
  readonly name: string;
  /** `000000` where there is no file. */
  readonly oldMode: string;
  readonly newMode: string;
  readonly oldOid: string;
  readonly newOid: string;
}

/** What happens to the files of the work tree. */
export interface FilePlan {
  /** Tree that the work tree will be: the point's, and files that the point does not know. */
  readonly tree: string;
  /** Files that are missing now. */
  readonly created: readonly FileChange[];
  /** Files with other content, mode or kind now; what they hold is in the new point. */
  readonly overwritten: readonly FileChange[];
  /** Files that are known to git or were made by the operation itself; they go. */
  readonly removed: readonly FileChange[];
  /** Files that the point does not know; they stay. */
  readonly left: readonly string[];
  /** Places where something that may not be removed stands in the way of a file. */
  readonly blocked: readonly string[];
}

const ABSENT = "000000";
/** Commits of an operation in progress that are asked whether they know a file. */
const MAX_COMMITS = 20;
const BIG = { maxBytes: 1024 * 1024 * 1024 };

/** Raw differences between two trees of the hidden repository, in order of name. */
export async function treeChanges(
  hidden: HiddenRepository,
  from: string,
  to: string,
): Promise<FileChange[]> {
  if (from === to) return [];
  const { stdout } = await hidden.run(
    ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to],
    BIG,
  );
  const fields = rawNames(stdout);
  const changes: FileChange[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [oldMode, newMode, oldOid, newOid] = fields[i]!.slice(1).split(" ");
    changes.push({
      name: fields[i + 1]!,
      oldMode: oldMode!,
      newMode: newMode!,
      oldOid: oldOid!,
      newOid: newOid!,
    });
  }
  return changes;
}

/**
 * Files of a point that are on disk but not in the capture: ignored since. A capture that is to keep
 * what a restore overwrites must take them in.
 */
export function hiddenByRules(repo: Repository, changes: readonly FileChange[]): string[] {
  return changes.filter((change) => {
    if (change.oldMode !== ABSENT) return false;
    const info = look(repo, change.name);
    return info !== null && (info.isFile || info.isSymlink);
  }).map((change) => change.name);
}

/**
 * Plans the way from the work tree as captured to that of a point.
 *
 * @param now tree of the capture; @param target tree of the point
 * @param after tree of the work tree when the operation was over; null when not known
 * @param commits commits whose files count as known to git (HEAD, those of an operation in progress)
 */
export async function planFiles(
  repo: Repository,
  hidden: HiddenRepository,
  trees: { readonly now: string; readonly target: string; readonly after: string | null },
  commits: readonly string[],
): Promise<FilePlan> {
  const changes = await treeChanges(hidden, trees.now, trees.target);
  const created = changes.filter((change) => change.oldMode === ABSENT);
  const overwritten = changes.filter(({ oldMode, newMode }) =>
    oldMode !== ABSENT && newMode !== ABSENT
  );
  const extra = changes.filter((change) => change.newMode === ABSENT);
  const known = await knownFiles(repo, hidden, extra, trees.after, commits);
  const removed = extra.filter((change) => known.has(change.name));
  const unknown = extra.filter((change) => !known.has(change.name));
  const blocked = inTheWay(repo, created, removed, unknown);
  const stuck = new Set(blocked);
  const left = unknown.filter((change) => !stuck.has(change.name));
  return {
    tree: left.length === 0 ? trees.target : await withFiles(hidden, trees.target, left),
    created,
    overwritten,
    removed,
    left: left.map((change) => change.name),
    blocked,
  };
}

async function knownFiles(
  repo: Repository,
  hidden: HiddenRepository,
  extra: readonly FileChange[],
  after: string | null,
  commits: readonly string[],
): Promise<Set<string>> {
  const known = new Set<string>();
  if (extra.length === 0) return known;
  const byName = new Map(extra.map((change) => [change.name, change]));
  if (after !== null) {
    // Made by the operation and not touched since: content and mode are as it left them.
    const { stdout } = await hidden.run(["ls-tree", "-r", "-z", after], BIG);
    for (const line of rawNames(stdout)) {
      const tab = line.indexOf("\t");
      const change = byName.get(line.slice(tab + 1));
      const [mode, , oid] = line.slice(0, tab).split(" ");
      if (change && change.oldMode === mode && change.oldOid === oid) known.add(change.name);
    }
  }
  for (const commit of commits.slice(0, MAX_COMMITS)) {
    const out = await repo.run(["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit], {
      ...BIG,
      okCodes: "any",
    });
    if (out.code !== 0) continue;
    for (const name of rawNames(out.stdout)) if (byName.has(name)) known.add(name);
  }
  return known;
}

/** Names of what stands in the way and may not go: unknown, ignored, nested or special files. */
function inTheWay(
  repo: Repository,
  created: readonly FileChange[],
  removed: readonly FileChange[],
  unknown: readonly FileChange[],
): string[] {
  if (created.length === 0) return [];
  const going = new Set(removed.map((change) => change.name));
  const staying = new Set(unknown.map((change) => change.name));
  const files = new Set(created.map((change) => change.name));
  const blocked = new Set<string>();
  for (const name of staying) {
    if (parents(name).some((parent) => files.has(parent))) blocked.add(name);
  }
  const checked = new Map<string, string | null>();
  for (const name of files) {
    for (const parent of parents(name)) {
      let problem = checked.get(parent);
      if (problem === undefined) {
        const info = look(repo, parent);
        problem = info !== null && !info.isDirectory && !going.has(parent) ? parent : null;
        checked.set(parent, problem);
      }
      if (problem !== null) blocked.add(problem);
    }
    const info = look(repo, name);
    if (info?.isDirectory) {
      for (const found of contents(repo, name)) if (!going.has(found)) blocked.add(found);
    } else if (info && !info.isFile && !info.isSymlink) blocked.add(name);
  }
  return [...blocked].sort();
}

/** Files below a folder that stands where a file should; bounded, one unknown is enough to refuse. */
function contents(repo: Repository, folder: string): string[] {
  const found: string[] = [];
  const walk = (raw: string): void => {
    const path = openable(raw);
    if (path === null) return void found.push(raw);
    for (const entry of Deno.readDirSync(`${repo.facts.topLevel}/${path}`)) {
      if (found.length > 1_000) return;
      const name = `${raw}/${toRaw(new TextEncoder().encode(entry.name))}`;
      if (entry.isDirectory) walk(name);
      else found.push(name);
    }
  };
  try {
    walk(folder);
  } catch {
    found.push(folder);
  }
  return found;
}

/** The tree with more files in it. */
async function withFiles(
  hidden: HiddenRepository,
  tree: string,
  files: readonly FileChange[],
): Promise<string> {
  const index = `${hidden.path}/tmp/${crypto.randomUUID()}.index`;
  const env = { GIT_INDEX_FILE: index };
  try {
    await hidden.run(["read-tree", tree], { env });
    const lines = files.map(({ oldMode, oldOid, name }) => `${oldMode} ${oldOid} 0\t${name}\0`);
    await hidden.run(["update-index", "-z", "--index-info"], {
      env,
      stdin: fromRaw(lines.join("")),
    });
    return await hidden.text(["write-tree"], { env });
  } finally {
    for (const path of [index, `${index}.lock`]) {
      try {
        Deno.removeSync(path);
      } catch { /* never made */ }
    }
  }
}

/** Folders above a name. */
export function parents(name: string): string[] {
  const found: string[] = [];
  for (let at = name.indexOf("/"); at !== -1; at = name.indexOf("/", at + 1)) {
    found.push(name.slice(0, at));
  }
  return found;
}

function look(repo: Repository, raw: string): Deno.FileInfo | null {
  const path = openable(raw);
  if (path === null) return null;
  try {
    return Deno.lstatSync(`${repo.facts.topLevel}/${path}`);
  } catch {
    return null;
  }
}
