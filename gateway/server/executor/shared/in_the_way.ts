import { decodePath, decodeText, NulRecords, splitNul } from "../../../../common/bytes.ts";
import { streamGit } from "../../../../git/command.ts";
import type { Repository } from "../../../../git/repository.ts";
import type { Note } from "../../types.ts";
import { ancestry, type ChangedPath, firstArguments, namesOf } from "./changed.ts";

/**
 * What stands where an operation would write. Git refuses to lose most of it, but takes ignored files
 * for worthless, and no restore point holds those: where one would be overwritten the operation stops.
 */
export interface InTheWay {
  /** Untracked files that a restore point holds. */
  readonly untracked: readonly string[];
  /** Ignored files and others that git does not list. */
  readonly ignored: readonly string[];
}

type Env = Readonly<Record<string, string>>;

/** Paths that are looked at; more is said to be too many. */
const MAX_LOOKED_AT = 200_000;

/**
 * Finds what lies at paths that `to` (a tree or commit) has and the index does not.
 *
 * @param changed everything that differs, from `changedBelow` without paths
 * @param env variables for git, for a tree that lies in a throw-away folder
 */
export async function findInTheWay(
  repo: Repository,
  to: string,
  changed: readonly ChangedPath[],
  env: Env = {},
): Promise<InTheWay> {
  const places = await newPaths(repo, to, env);
  return await lookAtPlaces(repo, places, changed);
}

/** As {@link findInTheWay}, for paths that are known to be new to the index. */
export async function lookAtPlaces(
  repo: Repository,
  places: readonly string[],
  changed: readonly ChangedPath[],
): Promise<InTheWay> {
  const top = repo.facts.topLevel!;
  const untracked = new Set(
    changed.filter(({ kind }) => kind === "untracked").map(({ entry }) => entry.path),
  );
  const kinds = new Map<string, "folder" | "other" | "nothing">();
  const kindOf = (path: string) => {
    let kind = kinds.get(path);
    if (kind === undefined) kinds.set(path, kind = kindAt(`${top}/${path}`));
    return kind;
  };
  const standing = new Set<string>(), folders: string[] = [];
  for (const place of places) {
    let blocked = false;
    // From the top down: below what is not there nothing else can be.
    for (const part of ancestry(place).reverse()) {
      const kind = kindOf(part);
      if (kind === "other") standing.add(part);
      if (kind !== "folder") {
        blocked = true;
        break;
      }
    }
    if (!blocked) folders.push(place);
  }
  for (const path of await unlistedIn(repo, folders)) standing.add(path);
  const tracked = await trackedAmong(repo, [...standing]);
  const found = { untracked: [] as string[], ignored: [] as string[] };
  for (const path of standing) {
    if (tracked.has(path)) continue;
    (untracked.has(path) ? found.untracked : found.ignored).push(path);
  }
  return found;
}

/** Blockers for operations that git itself refuses over untracked files. */
export function inTheWayBlockers({ untracked, ignored }: InTheWay): Note[] {
  const notes: Note[] = [];
  if (untracked.length > 0) {
    notes.push({
      code: "untracked_in_the_way",
      message: "files that git does not track stand where it would write: move them away first",
      paths: untracked.slice(0, 50),
    });
  }
  return [...notes, ...ignoredBlockers(ignored)];
}

/** The blocker over files that nothing would bring back. */
export function ignoredBlockers(ignored: readonly string[]): Note[] {
  return ignored.length === 0 ? [] : [{
    code: "ignored_in_the_way",
    message:
      "ignored files would be overwritten, and no restore point holds them: move them away first",
    paths: ignored.slice(0, 50),
  }];
}

/**
 * Blockers for an operation that takes the work tree from one tree to another and keeps local changes:
 * changed files that differ between the two, and what {@link findInTheWay} finds.
 */
export async function carryBlockers(
  repo: Repository,
  from: string,
  to: string,
  changed: readonly ChangedPath[],
  env: Env = {},
): Promise<Note[]> {
  const dirty = changed.filter(({ kind }) => kind !== "untracked");
  const overlap = dirty.length === 0 ? [] : await differing(repo, from, to, dirty, env);
  const local: Note[] = overlap.length === 0 ? [] : [{
    code: "local_changes",
    message: "uncommitted changes stand in the way: commit or discard them first",
    paths: namesOf(overlap),
  }];
  return [...local, ...inTheWayBlockers(await findInTheWay(repo, to, changed, env))];
}

/** Those of the changed paths that are not the same in both trees, or lie above or below such a path. */
async function differing(
  repo: Repository,
  from: string,
  to: string,
  dirty: readonly ChangedPath[],
  env: Env,
): Promise<ChangedPath[]> {
  const moved = new Set<string>();
  await streamNames(
    repo,
    ["diff-tree", "-r", "--no-renames", "--name-only", "-z", from, to, "--"],
    env,
    (path) => {
      for (const place of ancestry(path)) moved.add(place);
    },
  );
  return dirty.filter(({ entry }) => ancestry(entry.path).some((place) => moved.has(place)));
}

/** Paths of a tree that the index does not have. */
async function newPaths(repo: Repository, to: string, env: Env): Promise<string[]> {
  const paths: string[] = [];
  await streamNames(
    repo,
    [
      "diff-index",
      "--cached",
      "--no-renames",
      "--diff-filter=D",
      "--name-only",
      "-z",
      to,
      "--",
    ],
    env,
    (path) => {
      if (paths.push(path) > MAX_LOOKED_AT) {
        throw new Error(`more than ${MAX_LOOKED_AT} new files: too many to look at one by one`);
      }
    },
  );
  return paths;
}

async function streamNames(
  repo: Repository,
  args: readonly string[],
  env: Env,
  onPath: (path: string) => void,
): Promise<void> {
  const records = new NulRecords();
  await streamGit(
    repo,
    args,
    { signal: repo.signal, env },
    (chunk) =>
      records.push(chunk, (record) => {
        // A name that is not UTF-8 is looked up as it shows: then nothing is found there.
        onPath(decodePath(record).path);
        return true;
      }),
  );
}

/** What git does not track inside folders that stand where a file would be written. */
async function unlistedIn(repo: Repository, folders: readonly string[]): Promise<string[]> {
  if (folders.length === 0) return [];
  const some = firstArguments(folders, 500);
  const out = await repo.run(["ls-files", "--others", "-z", "--", ...some]);
  const inside = splitNul(out.stdout).map(decodeText);
  // More folders than can be asked about: each stands in the way as a whole.
  return [...inside, ...folders.slice(some.length)];
}

/** Those of the paths that the index has, as entries or as folders of entries. */
async function trackedAmong(repo: Repository, paths: readonly string[]): Promise<Set<string>> {
  const tracked = new Set<string>();
  for (let at = 0; at < paths.length;) {
    const some = firstArguments(paths.slice(at), 1_000);
    // One that is longer than a whole list is still asked about.
    const asked = some.length === 0 ? [paths[at]!] : some;
    const out = await repo.run(["ls-files", "-z", "--", ...asked], {
      maxBytes: 256 * 1024 * 1024,
    });
    for (const name of splitNul(out.stdout)) {
      for (const place of ancestry(decodeText(name))) tracked.add(place);
    }
    at += asked.length;
  }
  return tracked;
}

function kindAt(path: string): "folder" | "other" | "nothing" {
  try {
    return Deno.lstatSync(path).isDirectory ? "folder" : "other";
  } catch {
    return "nothing";
  }
}
