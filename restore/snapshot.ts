import { decodeText, encodeText } from "../common/bytes.ts";
import { stringifyJson } from "../common/json.ts";
import { readPrivateFile } from "../common/private_file.ts";
import { IndexFormatError, readIndexNeeds } from "../git/index_file.ts";
import type { Repository } from "../git/repository.ts";
import { RestoreError } from "./errors.ts";
import type { HiddenRepository } from "./hidden.ts";
import { holdObjects } from "./hold.ts";
import { parseModes, writeModes } from "./modes.ts";
import { fromRaw } from "./raw.ts";
import { parseRefState, readRefState, readStashLog, type RefState, writeRefState } from "./refs.ts";
import { isStateName, listStateFiles, type StateFiles } from "./state_files.ts";
import type { NotCovered } from "./types.ts";
import { type CaptureOptions, captureWorkTree, named, type WorkTreeCapture } from "./work_tree.ts";

/**
 * A snapshot is one tree in the hidden repository:
 *
 * | entry | what |
 * |---|---|
 * | `worktree` | tree of every covered file, raw bytes; absent in a bare repository |
 * | `modes` | permission bits that trees do not keep |
 * | `index`, `sharedindex.<id>` | git's index files, byte for byte; absent where there is none |
 * | `index-time` | when the index was written, Unix milliseconds |
 * | `refs` | HEAD and every ref |
 * | `stash` | the log of the stash |
 * | `state` | files of an operation in progress |
 * | `meta.json` | what the list of points says, should it be lost |
 */
export interface Snapshot {
  readonly root: string;
  readonly refs: RefState;
  /** Null in a bare repository. */
  readonly workTree: WorkTreeCapture | null;
  /** Bytes of the index file; null when there is none. */
  readonly index: Uint8Array | null;
  readonly notCovered: NotCovered;
}

/** Largest index file that is kept. */
const MAX_INDEX = 1024 * 1024 * 1024;

/**
 * Takes everything into the hidden repository and gives the root. The caller holds the lock and makes
 * a ref to the root.
 *
 * @throws {RestoreError} `cannot_make`
 */
export async function takeSnapshot(
  repo: Repository,
  hidden: HiddenRepository,
  meta: (snapshot: Omit<Snapshot, "root">) => unknown,
  options: CaptureOptions = {},
): Promise<Snapshot> {
  for (let tries = 1;; tries++) {
    const seen = await look(repo, hidden, options);
    // Another git that wrote the index meanwhile may have left halves of two states.
    if (indexStamp(repo) === seen.stamp) return await store(hidden, meta, seen);
    if (tries === 3) {
      throw new RestoreError(
        "cannot_make",
        "the repository is being changed at this moment; wait for the other git to end",
      );
    }
  }
}

/** Everything that a snapshot is made from, read but for the work tree not stored yet. */
interface Seen {
  readonly stamp: string;
  readonly index: Uint8Array | null;
  readonly indexTime: number | null;
  readonly shared: { name: string; content: Uint8Array } | null;
  readonly stash: Uint8Array | null;
  readonly state: StateFiles;
  readonly stateContents: Uint8Array[];
  readonly refs: RefState;
  readonly workTree: WorkTreeCapture | null;
}

async function look(
  repo: Repository,
  hidden: HiddenRepository,
  options: CaptureOptions,
): Promise<Seen> {
  const stamp = indexStamp(repo);
  const indexTime = indexTimeMs(repo);
  const index = readIndexFile(repo);
  const shared = index === null ? null : sharedIndexOf(repo, index);
  const stash = readStashLog(repo);
  const state = listStateFiles(repo);
  const stateContents = state.files.map((name) =>
    readPrivateFile(`${repo.facts.gitDir}/${name}`, MAX_INDEX) ?? new Uint8Array()
  );
  const looking = Promise.allSettled([
    readRefState(repo),
    repo.facts.topLevel === null ? null : captureWorkTree(repo, hidden, options),
  ]);
  // Most links are made while git reads the work tree; what came meanwhile is linked below.
  await holdObjects(hidden);
  const [refsRead, treeRead] = await looking;
  if (refsRead.status === "rejected") throw refsRead.reason;
  if (treeRead.status === "rejected") throw treeRead.reason;
  const refs = refsRead.value, workTree = treeRead.value;
  return { stamp, index, indexTime, shared, stash, state, stateContents, refs, workTree };
}

async function store(
  hidden: HiddenRepository,
  meta: (snapshot: Omit<Snapshot, "root">) => unknown,
  seen: Seen,
): Promise<Snapshot> {
  const { index, indexTime, shared, stash, state, stateContents, refs, workTree } = seen;
  const hold = await holdObjects(hidden);
  const notCovered: NotCovered = {
    ...workTree?.notCovered,
    ...named("operationState", state.leftOut),
    ...named("brokenRefs", refs.broken),
    ...(hold.supported ? {} : { historyKeptByReflogOnly: true as const }),
  };
  const parts: { name: string; content: Uint8Array }[] = [
    { name: "refs", content: writeRefState(refs) },
    {
      name: "meta.json",
      content: encodeText(stringifyJson(meta({ refs, workTree, index, notCovered }))),
    },
    ...(workTree ? [{ name: "modes", content: writeModes(workTree.modes) }] : []),
    ...(index === null ? [] : [
      { name: "index", content: index },
      { name: "index-time", content: encodeText(String(indexTime ?? "")) },
    ]),
    ...(shared === null ? [] : [{ name: shared.name, content: shared.content }]),
    ...(stash === null ? [] : [{ name: "stash", content: stash }]),
  ];
  const blobs = await hidden.storeBlobs([...parts.map((part) => part.content), ...stateContents]);
  const entries = parts.map(({ name }, i) => `100644 blob ${blobs[i]}\t${name}\0`);
  if (workTree) entries.push(`040000 tree ${workTree.tree}\tworktree\0`);
  if (state.files.length > 0) {
    const files = state.files.map((name, i) =>
      `100644 blob ${blobs[parts.length + i]}\t${encodeURIComponent(name)}\0`
    );
    entries.push(`040000 tree ${await makeTree(hidden, files)}\tstate\0`);
  }
  return { root: await makeTree(hidden, entries), refs, workTree, index, notCovered };
}

/** A smaller snapshot for the state after an operation: refs, files and modes. */
export async function takeAfterSnapshot(
  repo: Repository,
  hidden: HiddenRepository,
): Promise<{ root: string; refs: RefState }> {
  const looking = Promise.allSettled([
    readRefState(repo),
    repo.facts.topLevel === null ? null : captureWorkTree(repo, hidden),
  ]);
  const [refsRead, treeRead] = await looking;
  if (refsRead.status === "rejected") throw refsRead.reason;
  if (treeRead.status === "rejected") throw treeRead.reason;
  await holdObjects(hidden);
  const refs = refsRead.value, workTree = treeRead.value;
  const stash = readStashLog(repo);
  const parts: { name: string; content: Uint8Array }[] = [
    { name: "refs", content: writeRefState(refs) },
    ...(workTree ? [{ name: "modes", content: writeModes(workTree.modes) }] : []),
    ...(stash === null ? [] : [{ name: "stash", content: stash }]),
  ];
  const blobs = await hidden.storeBlobs(parts.map((part) => part.content));
  const entries = parts.map(({ name }, i) => `100644 blob ${blobs[i]}\t${name}\0`);
  if (workTree) entries.push(`040000 tree ${workTree.tree}\tworktree\0`);
  return { root: await makeTree(hidden, entries), refs };
}

async function makeTree(hidden: HiddenRepository, entries: readonly string[]): Promise<string> {
  return await hidden.text(["mktree", "-z"], { stdin: fromRaw(entries.join("")) });
}

/** What a stored snapshot holds. */
export interface StoredSnapshot {
  readonly root: string;
  /** Tree of the files; null in a bare repository. */
  readonly tree: string | null;
  readonly modes: ReadonlyMap<string, number>;
  readonly refs: RefState;
  readonly index: Uint8Array | null;
  /** When the index was written, Unix milliseconds; null when not known. */
  readonly indexTimeMs: number | null;
  readonly sharedIndex: { readonly name: string; readonly content: Uint8Array } | null;
  readonly stash: Uint8Array | null;
  readonly state: ReadonlyMap<string, Uint8Array>;
}

/**
 * Reads a snapshot back.
 *
 * @throws {RestoreError} `objects_missing` when a part of it cannot be read
 */
export async function readSnapshot(
  hidden: HiddenRepository,
  root: string,
): Promise<StoredSnapshot> {
  try {
    const entries = await listTree(hidden, root);
    const state = entries.get("state");
    const files = state ? [...await listTree(hidden, state)] : [];
    const names = ["refs", "modes", "index", "index-time", "stash"].filter((name) =>
      entries.has(name)
    );
    const shared = [...entries.keys()].find((name) =>
      /^sharedindex\.(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(name)
    );
    if (shared !== undefined) names.push(shared);
    const contents = await readBlobs(hidden, [
      ...names.map((name) => entries.get(name)!),
      ...files.map(([, oid]) => oid),
    ]);
    const part = (name: string) => {
      const i = names.indexOf(name);
      return i === -1 ? null : contents[i]!;
    };
    const refs = part("refs");
    if (refs === null) throw new Error("it has no refs");
    return {
      root,
      tree: entries.get("worktree") ?? null,
      modes: parseModes(part("modes") ?? new Uint8Array()),
      refs: parseRefState(refs),
      index: part("index"),
      indexTimeMs: Number(decodeText(part("index-time") ?? new Uint8Array())) || null,
      sharedIndex: shared === undefined ? null : { name: shared, content: part(shared)! },
      stash: part("stash"),
      state: new Map(
        files.map(([name], i) => [decodeURIComponent(name), contents[names.length + i]!] as const)
          .filter(([name]) => isStateName(name)),
      ),
    };
  } catch (error) {
    if (error instanceof RestoreError) throw error;
    throw new RestoreError(
      "objects_missing",
      `the snapshot ${root.slice(0, 12)} cannot be read: ${
        error instanceof Error ? error.message : error
      }`,
    );
  }
}

async function listTree(hidden: HiddenRepository, tree: string): Promise<Map<string, string>> {
  const text = await hidden.text(["ls-tree", "-z", tree]);
  const entries = new Map<string, string>();
  for (const line of text.split("\0")) {
    const match = /^\d{6} (?:blob|tree) ([0-9a-f]+)\t(.+)$/s.exec(line);
    if (match) entries.set(match[2]!, match[1]!);
  }
  return entries;
}

/** Contents of blobs, in order. Throws when one is missing. */
export async function readBlobs(
  hidden: HiddenRepository,
  oids: readonly string[],
): Promise<Uint8Array[]> {
  if (oids.length === 0) return [];
  const { stdout } = await hidden.run(["cat-file", "--batch"], {
    stdin: oids.join("\n") + "\n",
    maxBytes: 2 * MAX_INDEX,
  });
  const found: Uint8Array[] = [];
  let at = 0;
  for (const oid of oids) {
    const end = stdout.indexOf(0x0a, at);
    const head = new TextDecoder().decode(stdout.subarray(at, end));
    const size = /^[0-9a-f]+ blob (\d+)$/.exec(head)?.[1];
    if (end === -1 || size === undefined) throw new Error(`object ${oid} is missing`);
    found.push(stdout.slice(end + 1, end + 1 + Number(size)));
    at = end + 1 + Number(size) + 1;
  }
  return found;
}

/** Bytes of the index of this work tree; null when there is none. Throws `cannot_make`. */
export function readIndexFile(repo: Repository): Uint8Array | null {
  try {
    return readPrivateFile(`${repo.facts.gitDir}/index`, MAX_INDEX);
  } catch (error) {
    throw new RestoreError(
      "cannot_make",
      `the index cannot be kept: ${error instanceof Error ? error.message : error}`,
    );
  }
}

/** The same while nobody writes the index. */
function indexStamp(repo: Repository): string {
  try {
    const info = Deno.lstatSync(`${repo.facts.gitDir}/index`);
    return `${info.dev}:${info.ino}:${info.size}:${info.mtime?.getTime()}`;
  } catch {
    return "none";
  }
}

function indexTimeMs(repo: Repository): number | null {
  try {
    return Deno.lstatSync(`${repo.facts.gitDir}/index`).mtime?.getTime() ?? null;
  } catch {
    return null;
  }
}

function sharedIndexOf(
  repo: Repository,
  index: Uint8Array,
): { name: string; content: Uint8Array } | null {
  try {
    const hashBytes = repo.facts.objectFormat === "sha256" ? 32 : 20;
    const { sharedIndex } = readIndexNeeds(index, hashBytes);
    if (sharedIndex === null) return null;
    const name = `sharedindex.${sharedIndex}`;
    const content = readPrivateFile(`${repo.facts.gitDir}/${name}`, MAX_INDEX);
    if (content === null) throw new Error(`${name} is missing`);
    return { name, content };
  } catch (error) {
    if (error instanceof IndexFormatError) {
      throw new RestoreError("cannot_make", `the index cannot be kept: ${error.message}`);
    }
    throw new RestoreError(
      "cannot_make",
      `the shared index cannot be kept: ${error instanceof Error ? error.message : error}`,
    );
  }
}
