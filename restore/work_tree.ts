import { GitError } from "../git/errors.ts";
import type { Repository } from "../git/repository.ts";
import { writePrivateFile } from "../common/private_file.ts";
import { reasonOf, RestoreError } from "./errors.ts";
import type { HiddenRepository } from "./hidden.ts";
import { RESTORE_LIMITS } from "./limits.ts";
import { changedLately, modesPath, readModes, unusualMode, writeModes } from "./modes.ts";
import { nulInput, openable, rawNames, textOf, toRaw } from "./raw.ts";
import { readBack } from "./read_back.ts";
import type { Named, NotCovered } from "./types.ts";

/** The work tree as it is now, every tracked and untracked file as raw bytes. */
export interface WorkTreeCapture {
  /** Tree in the hidden repository. */
  readonly tree: string;
  readonly files: number;
  /** Permission bits that git does not keep, by raw name: files that have neither 0644 nor 0755. */
  readonly modes: ReadonlyMap<string, number>;
  /** Files and bytes that were looked into because they were not known as they are. */
  readonly copiedFiles: number;
  readonly copiedBytes: number;
  readonly notCovered: Pick<
    NotCovered,
    "ignored" | "nestedRepositories" | "submodules" | "refusedNames"
  >;
}

export interface CaptureOptions {
  /** Raw names to take in although they are ignored now: a restore would overwrite them. */
  readonly include?: readonly string[];
  readonly maxBytes?: number;
}

/**
 * Takes the work tree into the hidden repository: a private index that is kept between points, so only
 * what changed since is read. Ignored files that are not tracked are left out and counted.
 *
 * @throws {RestoreError} `cannot_make` with the reason
 */
export async function captureWorkTree(
  repo: Repository,
  hidden: HiddenRepository,
  options: CaptureOptions = {},
): Promise<WorkTreeCapture> {
  hidden.copyExcludes();
  await clearIndexLock(hidden);
  try {
    return await capture(repo, hidden, options);
  } catch (error) {
    if (error instanceof RestoreError && error.kind !== "cannot_make") throw error;
    if (error instanceof GitError && error.kind === "cancelled") throw error;
    if (error instanceof RestoreError || !exists(hidden.indexPath)) throw cannotMake(error);
    // The private index may be damaged or name objects that are gone: it is made anew, once.
    forgetIndex(hidden);
    try {
      return await capture(repo, hidden, options);
    } catch (again) {
      throw cannotMake(again);
    }
  }
}

/** How long a git that a killed process left running may take to end, milliseconds. */
const ORPHAN_MS = 3_000;

/**
 * Only the holder of the repository's lock comes here, so a lock on the private index is one that a
 * killed process left, or that a git which it started still holds.
 */
async function clearIndexLock(hidden: HiddenRepository): Promise<void> {
  const path = `${hidden.indexPath}.lock`;
  const deadline = performance.now() + ORPHAN_MS;
  while (exists(path) && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  remove(path);
}

/** Drops the private index of this work tree; the next capture reads everything. */
export function forgetIndex(hidden: HiddenRepository): void {
  remove(hidden.indexPath);
  remove(modesPath(hidden));
}

async function capture(
  repo: Repository,
  hidden: HiddenRepository,
  options: CaptureOptions,
): Promise<WorkTreeCapture> {
  const modes = readModes(hidden);
  const cold = modes === null || !exists(hidden.indexPath);
  if (cold) forgetIndex(hidden);
  const big = { maxBytes: 1024 * 1024 * 1024 };
  const none = Promise.resolve([] as string[]);
  const names = async (args: string[]) => rawNames((await hidden.run(args, big)).stdout);
  const [others, changed, stale, ignored] = await settled([
    names(["ls-files", "-o", "-z", "--exclude-standard"]),
    cold ? none : names(["diff-files", "-z", "--name-only"]),
    cold ? none : names(["ls-files", "-c", "-i", "-z", "--exclude-standard"]),
    readIgnored(repo, big),
  ]);
  const places = new Places(repo);
  const nested = others.filter((name) => name.endsWith("/"));
  const inNested = await readInNested(repo, nested);
  const fresh = others.filter((name) => !name.endsWith("/") && !places.isOwn(name));
  const forced = [...ignored.tracked, ...inNested.tracked, ...(options.include ?? [])];
  const refused: string[] = [];
  const take = new Set<string>(), drop = new Set<string>();
  const keep = new Set(forced);
  for (const name of stale) if (!keep.has(name)) drop.add(name);
  // Removals come first, so that a file may stand where a folder was.
  for (const name of [...changed, ...forced]) {
    if (drop.has(name)) continue;
    if (isRefused(name)) refused.push(name);
    else if (places.isReached(name)) take.add(name);
    else drop.add(name);
  }
  for (const name of fresh) {
    if (isRefused(name)) refused.push(name);
    else take.add(name);
  }
  const recent = cold ? [] : changedLately(hidden);
  const seen = lookAt(repo, take, recent, options.maxBytes ?? RESTORE_LIMITS.copiedBytes);
  const nextModes = new Map(cold ? [] : modes);
  for (const name of drop) nextModes.delete(name);
  for (const [name, mode] of seen.modes) {
    if (mode === null) nextModes.delete(name);
    else nextModes.set(name, mode);
  }
  // Before the index: names that it calls clean must have their modes on disk.
  const text = writeModes(nextModes);
  if (modes === null || cold || !equal(text, writeModes(modes))) {
    writePrivateFile(modesPath(hidden), text);
  }
  if (drop.size > 0) {
    await hidden.run(["update-index", "--force-remove", "-z", "--stdin"], {
      stdin: nulInput(drop),
    });
  }
  if (take.size > 0 || cold) {
    const { stderr } = await hidden.run(
      ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"],
      { stdin: nulInput(take) },
    );
    const left = /^Ignoring path (.*)$/m.exec(stderr)?.[1];
    if (left !== undefined) {
      throw new RestoreError(
        "cannot_make",
        `git does not take the name ${JSON.stringify(left.slice(0, 200))} into a snapshot`,
      );
    }
  }
  const tree = await hidden.text(["write-tree"]);
  await readBack(repo, hidden, take);
  return {
    tree,
    files: countEntries(hidden.indexPath),
    modes: nextModes,
    copiedFiles: seen.files,
    copiedBytes: seen.bytes,
    notCovered: {
      ...named("ignored", ignored.others),
      ...named("nestedRepositories", nested.filter((name) => !inNested.submodules.has(name))),
      ...named("submodules", nested.filter((name) => inNested.submodules.has(name))),
      ...named("refusedNames", refused),
    },
  };
}

/** Tracked files that an ignore rule matches, and what is ignored and not tracked. */
async function readIgnored(
  repo: Repository,
  options: { maxBytes: number },
): Promise<{ tracked: string[]; others: string[] }> {
  const out = await repo.run(
    ["ls-files", "-t", "-c", "-o", "-i", "--exclude-standard", "--directory", "-z"],
    { ...options, deadlineMs: RESTORE_LIMITS.deadlineMs },
  );
  const tracked: string[] = [], others: string[] = [];
  for (const line of rawNames(out.stdout)) {
    (line.startsWith("? ") ? others : tracked).push(line.slice(2));
  }
  return { tracked, others };
}

/** What the index says about folders that are repositories of their own. */
async function readInNested(
  repo: Repository,
  nested: readonly string[],
): Promise<{ submodules: Set<string>; tracked: string[] }> {
  const submodules = new Set<string>(), tracked: string[] = [];
  const paths = nested.flatMap((name) => openable(name.slice(0, -1)) ?? []);
  for (let i = 0; i < paths.length; i += 500) {
    const out = await repo.run(["ls-files", "-s", "-z", "--", ...paths.slice(i, i + 500)]);
    for (const line of rawNames(out.stdout)) {
      const path = line.slice(line.indexOf("\t") + 1);
      if (line.startsWith("160000 ")) submodules.add(path + "/");
      else tracked.push(path);
    }
  }
  return { submodules, tracked };
}

/** Answers questions about places in the work tree, each folder looked at once. */
class Places {
  readonly #top: string;
  readonly #own: string[];
  readonly #folders = new Map<string, boolean>();

  constructor(repo: Repository) {
    this.#top = repo.facts.topLevel!;
    const below = (dir: string) =>
      dir.startsWith(`${this.#top}/`) ? dir.slice(this.#top.length + 1) : null;
    this.#own = [repo.facts.gitDir, repo.facts.commonDir].flatMap((dir) => {
      const place = below(dir);
      return place === null ? [] : [toRaw(new TextEncoder().encode(place)) + "/"];
    });
  }

  /** A git directory may lie in the work tree under another name than `.git`. */
  isOwn(name: string): boolean {
    return this.#own.some((place) => name.startsWith(place));
  }

  /** False when a link or a file stands where a folder of the name should be. */
  isReached(name: string): boolean {
    for (let at = name.indexOf("/"); at !== -1; at = name.indexOf("/", at + 1)) {
      const folder = name.slice(0, at);
      let real = this.#folders.get(folder);
      if (real === undefined) {
        const path = openable(folder);
        // What the runtime cannot name is left to git.
        real = path === null || look(`${this.#top}/${path}`)?.isDirectory !== false;
        this.#folders.set(folder, real);
      }
      if (!real) return false;
    }
    return true;
  }
}

function lookAt(
  repo: Repository,
  names: ReadonlySet<string>,
  recent: readonly string[],
  maxBytes: number,
): { files: number; bytes: number; modes: Map<string, number | null> } {
  const modes = new Map<string, number | null>();
  let files = 0, bytes = 0;
  const see = (name: string) => {
    const path = openable(name);
    const info = path === null ? null : look(`${repo.facts.topLevel}/${path}`);
    modes.set(name, info?.isFile ? unusualMode(info.mode) : null);
    return info;
  };
  for (const name of recent) if (!names.has(name)) see(name);
  for (const name of names) {
    const info = see(name);
    if (!info || info.isDirectory) continue;
    files++;
    bytes += info.size;
    if (bytes > maxBytes) {
      throw new RestoreError(
        "cannot_make",
        `more than ${maxBytes} bytes in changed and untracked files would have to be copied ` +
          `(${
            JSON.stringify(textOf(name).slice(0, 200))
          } is one of them); ignore or move what needs no restore point`,
      );
    }
  }
  return { files, bytes, modes };
}

/** Names with a part that is `.git` in some case: git takes none of them into an index. */
function isRefused(name: string): boolean {
  return /(?:^|\/)\.git(?:\/|$)/i.test(name);
}

/** Number of entries in an index file, from its head. */
function countEntries(path: string): number {
  using file = Deno.openSync(path);
  const head = new Uint8Array(12);
  file.readSync(head);
  return new DataView(head.buffer).getUint32(8);
}

/** A count with its first names, when there are any. */
export function named<K extends string>(
  key: K,
  names: readonly string[],
): { readonly [P in K]?: Named } {
  if (names.length === 0) return {};
  const first = names.slice(0, RESTORE_LIMITS.firstNames).map(textOf);
  return { [key]: { count: names.length, first } } as unknown as { readonly [P in K]?: Named };
}

async function settled<A, B, C, D>(
  work: [Promise<A>, Promise<B>, Promise<C>, Promise<D>],
): Promise<[A, B, C, D]> {
  await Promise.allSettled(work);
  return await Promise.all(work);
}

function cannotMake(error: unknown): RestoreError {
  return error instanceof RestoreError
    ? error
    : new RestoreError("cannot_make", `the work tree cannot be copied: ${reasonOf(error)}`);
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

function look(path: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(path);
  } catch {
    return null;
  }
}

function exists(path: string): boolean {
  return look(path) !== null;
}

function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
