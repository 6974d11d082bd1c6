import { createHash } from "node:crypto";
import { NulRecords } from "../../../../common/bytes.ts";
import { streamGit } from "../../../../git/command.ts";
import { settledMs } from "../../../../git/config_stamp.ts";
import { guardSubmodules } from "../../../../git/index_scan.ts";
import type { Repository } from "../../../../git/repository.ts";
import { fitsArguments } from "./changed.ts";
import type { Facts } from "./facts.ts";

/**
 * Digests of the index and of what lies in the work tree: equal exactly when an operation that touches
 * them would find the same.
 */

/**
 * The index, and every path that differs from HEAD or is untracked, content included. `paths` narrows
 * both (literal, relative to the top); a list too long for a command line stands for everything.
 */
export async function workTreeFacts(
  repo: Repository,
  paths: readonly string[] = [],
): Promise<Facts> {
  if (repo.facts.topLevel === null) return { index: null, worktree: null };
  const narrow = fitsArguments(paths) ? paths : [];
  const guard = await guardSubmodules(repo);
  const [index, changes] = await Promise.all([
    indexDigest(repo, narrow),
    changedRecords(repo.with(guard.overrides), guard.complete ? "none" : "dirty", narrow),
  ]);
  return { index, worktree: await digestFiles(repo, changes) };
}

/** The index alone: for operations to which files that nobody staged do not matter. */
export async function indexFacts(
  repo: Repository,
  paths: readonly string[] = [],
): Promise<Facts> {
  if (repo.facts.topLevel === null) return { index: null };
  return { index: await indexDigest(repo, fitsArguments(paths) ? paths : []) };
}

/** True when digests read now are those of the card. */
export function sameDigests(card: Readonly<Facts>, now: Facts): boolean {
  return Object.entries(now).every(([name, value]) => card[name] === value);
}

/** SHA-256 of every entry with its flags, streamed. */
async function indexDigest(repo: Repository, paths: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  await streamGit(
    repo,
    ["ls-files", "--stage", "-v", "-z", "--", ...paths],
    { signal: repo.signal },
    (chunk) => {
      hash.update(chunk);
      return true;
    },
  );
  return `sha256:${hash.digest("hex")}`;
}

/** Status records (kind, modes, path) of everything that differs, untracked files one by one. */
async function changedRecords(
  repo: Repository,
  ignoreSubmodules: string,
  paths: readonly string[],
): Promise<Uint8Array[]> {
  const records: Uint8Array[] = [];
  const splitter = new NulRecords();
  await streamGit(
    repo,
    [
      "status",
      "--porcelain=v2",
      "-z",
      "--no-renames",
      "--untracked-files=all",
      `--ignore-submodules=${ignoreSubmodules}`,
      "--",
      ...paths,
    ],
    { signal: repo.signal },
    (chunk) =>
      splitter.push(chunk, (record) => {
        records.push(record.slice());
        return true;
      }),
  );
  return records;
}

/** Hashes the records with the content behind each path (file bytes, link target, kind). */
async function digestFiles(repo: Repository, records: readonly Uint8Array[]): Promise<string> {
  const hash = createHash("sha256");
  const unnameable: Uint8Array[] = [];
  for (const record of records) {
    hash.update(record).update("\0");
    const raw = rawPath(record);
    const path = utf8(raw);
    if (path === null) unnameable.push(raw);
    else hash.update(await contentStamp(`${repo.facts.topLevel}/${path}`)).update("\0");
  }
  if (unnameable.length > 0) hash.update(await gitHashes(repo, unnameable));
  return `sha256:${hash.digest("hex")}`;
}

/** The path of a porcelain v2 record. */
function rawPath(record: Uint8Array): Uint8Array {
  const spaces = record[0] === 0x31 ? 8 : record[0] === 0x75 ? 10 : 1;
  let at = -1;
  for (let i = 0; i < spaces; i++) at = record.indexOf(0x20, at + 1);
  return record.subarray(at + 1);
}

function utf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Names that the runtime cannot open: git hashes the files, without any filter. */
async function gitHashes(repo: Repository, paths: readonly Uint8Array[]): Promise<Uint8Array> {
  const lines = paths.filter((path) => !path.includes(0x0a));
  const input = new Uint8Array(lines.reduce((sum, line) => sum + line.length + 1, 0));
  let at = 0;
  for (const line of lines) {
    input.set(line, at);
    input[at + line.length] = 0x0a;
    at += line.length + 1;
  }
  const out = await repo.run(["hash-object", "--no-filters", "--stdin-paths"], {
    profile: "store",
    okCodes: "any",
    stdin: input,
    maxBytes: 64 * 1024 * 1024,
  });
  return out.stdout;
}

/** Stamps that hold while a file keeps identity, size and times; newest last. */
const stamps = new Map<string, { key: string; stamp: string }>();
const MAX_STAMPS = 20_000;

/** Kind and content of what lies at a path, as one text. Never throws: what cannot be read says so. */
export async function contentStamp(path: string): Promise<string> {
  try {
    const lookedMs = Date.now();
    const info = await Deno.lstat(path);
    if (info.isSymlink) return `link ${await Deno.readLink(path)}`;
    if (!info.isFile) return info.isDirectory ? "folder" : "special";
    const executable = ((info.mode ?? 0) & 0o111) !== 0 ? "x" : "-";
    const key =
      `${info.dev}:${info.ino}:${info.size}:${info.mtime?.getTime()}:${info.ctime?.getTime()}`;
    const known = stamps.get(path);
    if (known?.key === key) return `file ${executable} ${known.stamp}`;
    const stamp = await hashFile(path);
    stamps.delete(path);
    // A file written this very moment can change again without its times showing it.
    if (info.ctime && settledMs(info) < lookedMs) stamps.set(path, { key, stamp });
    if (stamps.size > MAX_STAMPS) stamps.delete(stamps.keys().next().value!);
    return `file ${executable} ${stamp}`;
  } catch (error) {
    return error instanceof Error ? error.name : "unreadable";
  }
}

/** SHA-256 of a file, streamed. Throws what opening throws. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  using file = await Deno.open(path);
  const buffer = new Uint8Array(1 << 16);
  for (let n = await file.read(buffer); n !== null; n = await file.read(buffer)) {
    hash.update(buffer.subarray(0, n));
  }
  return hash.digest("hex");
}
