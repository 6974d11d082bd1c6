import { type DecodedPath, decodePath, NulRecords } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import { settledMs } from "./config_stamp.ts";
import { openRepository, type Repository } from "./repository.ts";

/** A submodule entry of the index. */
export interface Gitlink extends DecodedPath {
  /** Recorded commit, full id. */
  readonly oid: string;
  /** 0, or 1–3 in a conflict. */
  readonly stage: number;
}

/** What one pass over the index tells that `status` does not. */
export interface IndexScan {
  readonly entries: number;
  readonly gitlinks: readonly Gitlink[];
  /** True when there are more gitlinks than are kept. */
  readonly gitlinksCut: boolean;
  /** Entries with the skip-worktree flag, and with assume-unchanged. */
  readonly skipWorktree: number;
  readonly assumeUnchanged: number;
  /** Entries with one of these flags or both: changes to their files do not show. */
  readonly hidden: number;
}

const MAX_GITLINKS = 1_000;
const MAX_KEPT = 256;
const scans = new Map<string, { key: string; scan: IndexScan }>();

/**
 * Reads gitlinks and hidden flags off the index. The pass costs about as much as a third of a
 * `status`, so it is kept while the index file is the same (identity, size, times and the checksum
 * at its end) and was not written within the last second.
 */
export async function scanIndex(repo: Repository): Promise<IndexScan> {
  const file = `${repo.facts.gitDir}/index`;
  const key = indexKey(file);
  const known = scans.get(file);
  if (known && key !== null && known.key === key) return known.scan;
  const scan = await readIndex(repo);
  scans.delete(file);
  if (key !== null && key === indexKey(file)) scans.set(file, { key, scan });
  if (scans.size > MAX_KEPT) scans.delete(scans.keys().next().value!);
  return scan;
}

async function readIndex(repo: Repository): Promise<IndexScan> {
  let entries = 0, skipWorktree = 0, assumeUnchanged = 0, hidden = 0, gitlinksCut = false;
  const gitlinks: Gitlink[] = [];
  const records = new NulRecords();
  await streamGit(
    repo,
    ["ls-files", "-v", "-s", "-z"],
    { signal: repo.signal },
    (chunk) =>
      records.push(chunk, (record) => {
        // "<tag> <mode> <oid> <stage>\t<path>"; a lower-case tag means assume-unchanged, S skip-worktree.
        const tag = record[0]!;
        entries++;
        if (tag === 0x53 || tag === 0x73) skipWorktree++;
        if (tag >= 0x61 && tag <= 0x7a) assumeUnchanged++;
        if (tag === 0x53 || (tag >= 0x61 && tag <= 0x7a)) hidden++;
        if (record[2] === 0x31 && record[3] === 0x36) {
          if (gitlinks.length >= MAX_GITLINKS) gitlinksCut = true;
          else gitlinks.push(parseGitlink(record));
        }
        return true;
      }),
  );
  return { entries, gitlinks, gitlinksCut, skipWorktree, assumeUnchanged, hidden };
}

function parseGitlink(record: Uint8Array): Gitlink {
  const tab = record.indexOf(0x09);
  const [, , oid, stage] = new TextDecoder().decode(record.subarray(0, tab)).split(" ");
  return { ...decodePath(record.subarray(tab + 1)), oid: oid ?? "", stage: Number(stage) };
}

function indexKey(file: string): string | null {
  try {
    // A pipe in its place would block the whole program; git is left to find out, under its deadline.
    if (!Deno.statSync(file).isFile) return null;
    using handle = Deno.openSync(file);
    const info = handle.statSync();
    if (info.size < 32) return null;
    const tail = new Uint8Array(32);
    handle.seekSync(-32, Deno.SeekMode.End);
    handle.readSync(tail);
    // The checksum is not one that git verifies, so it does not stand alone.
    if (settledMs(info) >= Date.now()) return null;
    const { dev, ino, size, mtime, ctime } = info;
    return `${dev}:${ino}:${size}:${mtime?.getTime()}:${ctime?.getTime()}:${tail.join(",")}`;
  } catch {
    return null;
  }
}

const MAX_DEPTH = 8;
const MAX_SUBMODULES = 200;
const MAX_DRIVERS = 500;

/** Overrides for the drivers that initialised submodules name in their own files. */
export interface SubmoduleGuard {
  readonly overrides: readonly (readonly [string, string])[];
  /** False when some could not be read: then git must be told not to look inside submodules. */
  readonly complete: boolean;
}

/**
 * `git status` and `git diff` run inside submodules, whose configuration can name programs too, and
 * hand the overrides of the command line down (`security.md` part 1).
 */
export async function guardSubmodules(repo: Repository, depth = 0): Promise<SubmoduleGuard> {
  if (repo.facts.topLevel === null) return { overrides: [], complete: true };
  const scan = await scanIndex(repo);
  if (scan.gitlinks.length === 0) return { overrides: [], complete: true };
  if (depth >= MAX_DEPTH || scan.gitlinks.length > MAX_SUBMODULES) {
    return { overrides: [], complete: false };
  }
  const parts = await Promise.all(scan.gitlinks.map(async (link): Promise<SubmoduleGuard> => {
    const sub = await openSubmodule(repo, link);
    if (sub === "uninitialised") return { overrides: [], complete: true };
    if (sub === "unreadable") return { overrides: [], complete: false };
    const inner = await guardSubmodules(sub, depth + 1);
    return { overrides: [...sub.overrides, ...inner.overrides], complete: inner.complete };
  }));
  // The same key twice says the same: it is emptied or the user's own.
  const unique = new Map(parts.flatMap((part) => part.overrides));
  if (unique.size > MAX_DRIVERS) return { overrides: [], complete: false };
  return {
    overrides: [...unique],
    complete: !scan.gitlinksCut && parts.every((part) => part.complete),
  };
}

/** Opens the repository checked out at a gitlink. An empty directory is not its parent's repository. */
export async function openSubmodule(
  repo: Repository,
  link: Gitlink,
): Promise<Repository | "uninitialised" | "unreadable"> {
  const top = repo.facts.topLevel;
  if (top === null || link.pathBytes !== undefined) return "unreadable";
  const path = `${top}/${link.path}`;
  try {
    Deno.lstatSync(`${path}/.git`);
  } catch {
    return "uninitialised";
  }
  try {
    const real = Deno.realPathSync(path);
    // A link in the way would lead somewhere that this repository does not contain.
    if (real !== path && real !== `${Deno.realPathSync(top)}/${link.path}`) return "unreadable";
    const sub = await openRepository(real, { signal: repo.signal, roots: repo.roots });
    return sub.facts.topLevel === real ? sub : "unreadable";
  } catch {
    return "unreadable";
  }
}
