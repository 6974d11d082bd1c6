import { decodeText } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import type { Repository } from "./repository.ts";

/** Reading objects in bulk with bounded memory, and knowing what a repository does not have. */

/** The beginning of one object. */
export interface ObjectHead {
  readonly type: string;
  /** Size of the whole object in bytes. */
  readonly size: number;
  readonly bytes: Uint8Array;
}

const MAX_HEADER = 256;

/**
 * Reads the first `keep` bytes of each object by `cat-file --batch`; ids of objects that are not
 * there are not in the map. Throws `GitError` when a partial clone lacks one of them.
 */
export async function readObjectHeads(
  repo: Repository,
  oids: readonly string[],
  keep: number,
): Promise<Map<string, ObjectHead>> {
  const found = new Map<string, ObjectHead>();
  if (oids.length === 0) return found;
  const parser = new BatchParser(keep, (oid, head) => found.set(oid, head));
  await streamGit(
    repo,
    ["cat-file", "--batch", "--buffer"],
    { signal: repo.signal, stdin: oids.join("\n") + "\n" },
    (chunk) => parser.push(chunk),
  );
  return found;
}

/** Takes `cat-file --batch` apart: `<oid> <type> <size>` LF content LF, or `<oid> missing` LF. */
export class BatchParser {
  #header: number[] = [];
  #current: { oid: string; type: string; size: number; kept: Uint8Array; got: number } | null =
    null;
  #left = 0;
  readonly #keep: number;
  readonly #onObject: (oid: string, head: ObjectHead) => void;

  constructor(keep: number, onObject: (oid: string, head: ObjectHead) => void) {
    this.#keep = keep;
    this.#onObject = onObject;
  }

  push(chunk: Uint8Array): boolean {
    let at = 0;
    while (at < chunk.length) {
      const current = this.#current;
      if (current === null) {
        const end = chunk.indexOf(0x0a, at);
        const stop = end === -1 ? chunk.length : end;
        for (let i = at; i < stop && this.#header.length < MAX_HEADER; i++) {
          this.#header.push(chunk[i]!);
        }
        if (end === -1) return true;
        this.#begin();
        at = end + 1;
        continue;
      }
      const take = Math.min(this.#left, chunk.length - at);
      const room = Math.min(take, current.kept.length - current.got);
      if (room > 0) {
        current.kept.set(chunk.subarray(at, at + room), current.got);
        current.got += room;
      }
      this.#left -= take;
      at += take;
      if (this.#left > 0) return true;
      this.#current = null;
      const { oid, type, size, kept } = current;
      this.#onObject(oid, { type, size, bytes: kept });
    }
    return true;
  }

  #begin(): void {
    const [oid, type, size] = decodeText(Uint8Array.from(this.#header)).split(" ");
    this.#header = [];
    const bytes = Number(size);
    if (oid === undefined || type === undefined || !Number.isSafeInteger(bytes)) return;
    // The line end after the content belongs to the record.
    this.#left = bytes + 1;
    this.#current = {
      oid,
      type,
      size: bytes,
      kept: new Uint8Array(Math.min(bytes, this.#keep)),
      got: 0,
    };
  }
}

/** Sizes of objects in bytes; those that are not there are left out. Errors as {@link readObjectHeads}. */
export async function readObjectSizes(
  repo: Repository,
  oids: readonly string[],
): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  if (oids.length === 0) return sizes;
  const out = await repo.run(
    ["cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer"],
    { stdin: oids.join("\n") + "\n" },
  );
  for (const line of decodeText(out.stdout).split("\n")) {
    const [oid, size] = line.split(" ");
    if (oid && /^\d+$/.test(size ?? "")) sizes.set(oid, Number(size));
  }
  return sizes;
}

/** What a Git LFS pointer stands for. */
export interface LfsPointer {
  /** Id of the content, 64 hexadecimal digits. */
  readonly oid: string;
  /** Bytes of the content; null when the pointer's number is not a safe integer. */
  readonly size: number | null;
}

/** Smallest and largest blob that can be a pointer (the format allows less than 1,024 bytes). */
export const LFS_POINTER_BYTES = { least: 100, most: 1_023 } as const;

/** Reads a Git LFS pointer file; null for anything else. */
export function parseLfsPointer(bytes: Uint8Array): LfsPointer | null {
  if (bytes.length > LFS_POINTER_BYTES.most) return null;
  const text = decodeText(bytes);
  if (!/^version https:\/\/(?:git-lfs\.github\.com|hawser\.github\.com)\/spec\/v1\n/.test(text)) {
    return null;
  }
  const oid = /^oid sha256:([0-9a-f]{64})$/m.exec(text)?.[1];
  const size = /^size (\d{1,20})$/m.exec(text)?.[1];
  if (oid === undefined || size === undefined) return null;
  return { oid, size: Number.isSafeInteger(Number(size)) ? Number(size) : null };
}

/** Pointers among blobs; looks only at sizes first, so large content is never read. */
export async function readLfsPointers(
  repo: Repository,
  oids: readonly string[],
): Promise<Map<string, LfsPointer>> {
  const pointers = new Map<string, LfsPointer>();
  const sizes = await readObjectSizes(repo, oids);
  const small = [...sizes].filter(([, size]) =>
    size >= LFS_POINTER_BYTES.least && size <= LFS_POINTER_BYTES.most
  ).map(([oid]) => oid);
  for (const [oid, head] of await readObjectHeads(repo, small, LFS_POINTER_BYTES.most)) {
    const pointer = head.type === "blob" ? parseLfsPointer(head.bytes) : null;
    if (pointer) pointers.set(oid, pointer);
  }
  return pointers;
}

/** The header lines of a commit that `git log` does not show, or shows changed by a shallow boundary. */
export interface CommitHeader {
  /** As recorded, whatever a shallow boundary hides. */
  readonly parents: readonly string[];
  /** What stands where the seconds should, at most 64 characters; null when there is nothing. */
  readonly authorTime: string | null;
  readonly committerTime: string | null;
}

const HEADER_KEPT = 64 * 1024;

/** Reads headers of a few commits directly. */
export async function readCommitHeaders(
  repo: Repository,
  oids: readonly string[],
): Promise<Map<string, CommitHeader>> {
  const headers = new Map<string, CommitHeader>();
  for (const [oid, head] of await readObjectHeads(repo, oids, HEADER_KEPT)) {
    if (head.type === "commit") headers.set(oid, parseCommitHeader(head.bytes));
  }
  return headers;
}

/** Parses the header part of a commit object. */
export function parseCommitHeader(bytes: Uint8Array): CommitHeader {
  const parents: string[] = [];
  let author: string | null = null, committer: string | null = null;
  for (const line of decodeText(bytes).split("\n")) {
    if (line === "") break;
    const parent = /^parent ([0-9a-f]{40,64})$/.exec(line)?.[1];
    if (parent) parents.push(parent);
    else if (line.startsWith("author ")) author ??= secondsOf(line);
    else if (line.startsWith("committer ")) committer ??= secondsOf(line);
  }
  return { parents, authorTime: author, committerTime: committer };
}

function secondsOf(line: string): string | null {
  const close = line.lastIndexOf(">");
  const word = close === -1 ? undefined : line.slice(close + 1).trim().split(/\s+/)[0];
  return word ? word.slice(0, 64) : null;
}

const MAX_SHALLOW_FILE = 16 * 1024 * 1024;

/** Where the history of a shallow clone ends. */
export interface Shallow {
  readonly shallow: boolean;
  /** True for a commit whose parents exist, but not here. */
  isBoundary(oid: string): boolean;
}

/** Reads the boundary of a shallow clone from `<common dir>/shallow`. */
export function readShallow(repo: Repository): Shallow {
  const none: Shallow = { shallow: false, isBoundary: () => false };
  try {
    const file = `${repo.facts.commonDir}/shallow`;
    const info = Deno.statSync(file);
    if (!info.isFile || info.size === 0) return none;
    // Too large to look into: every commit without parents may then be a boundary.
    if (info.size > MAX_SHALLOW_FILE) return { shallow: true, isBoundary: () => true };
    const oids = new Set(Deno.readTextFileSync(file).split("\n").filter(Boolean));
    return { shallow: oids.size > 0, isBoundary: (oid) => oids.has(oid) };
  } catch {
    return none;
  }
}

/**
 * Which of `wanted` are not here, without fetching: one walk over the objects of some trees, or of
 * the index. Memory is bounded by `wanted`.
 *
 * @param from tree or commit ids, or `--indexed-objects`
 */
export async function findMissing(
  repo: Repository,
  from: readonly string[],
  wanted: ReadonlySet<string>,
): Promise<Set<string>> {
  const missing = new Set<string>();
  let line = "";
  await streamGit(
    repo,
    ["rev-list", "--objects", "--no-object-names", "--missing=print", "--no-walk", ...from],
    { signal: repo.signal },
    (chunk) => {
      const lines = (line + decodeText(chunk)).split("\n");
      line = lines.pop()!;
      for (const entry of lines) {
        if (entry.startsWith("?") && wanted.has(entry.slice(1))) missing.add(entry.slice(1));
      }
      return true;
    },
  );
  return missing;
}

/** The tree without entries, which git knows in every repository. */
export function emptyTree(repo: Repository): string {
  return repo.facts.objectFormat === "sha256"
    ? "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
    : "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
}
