import { sha256 } from "../../../../audit/hash.ts";
import { NulRecords } from "../../../../common/bytes.ts";
import { streamGit } from "../../../../git/command.ts";
import { readHead } from "../../../../git/head.ts";
import { guardSubmodules } from "../../../../git/index_scan.ts";
import { readOperation } from "../../../../git/in_progress.ts";
import type { Repository } from "../../../../git/repository.ts";
import type { Note } from "../../types.ts";

/** Facts that a card's digest is made of: each one is what an effect depends on, read now. */
export type Facts = Record<string, string | null>;

/** HEAD: the branch it names and the commit. */
export async function headFacts(repo: Repository): Promise<Facts> {
  const head = await readHead(repo);
  return { "head.ref": head.ref, "head.oid": head.oid };
}

/** The commit that a revision of the proposal names; null when it names none. */
export async function commitOf(repo: Repository, revision: string): Promise<string | null> {
  return await repo.optionalText([
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${revision}^{commit}`,
  ]);
}

/** The full name of the local branch that a revision names, null when it names no branch. */
export async function branchRefOf(repo: Repository, revision: string): Promise<string | null> {
  if (revision === "HEAD" || revision === "@") return (await readHead(repo)).ref;
  const name = revision.startsWith("refs/heads/") ? revision : `refs/heads/${revision}`;
  const found = await repo.run(["show-ref", "--verify", "--quiet", name], { okCodes: "any" });
  return found.code === 0 ? name : null;
}

/**
 * Digest of the index and of every path that differs from HEAD or is untracked, content included:
 * equal exactly when an operation that touches the work tree would find the same. `paths` narrows it
 * (literal, relative to the top).
 */
export async function workTreeFacts(
  repo: Repository,
  paths: readonly string[] = [],
): Promise<Facts> {
  if (repo.facts.topLevel === null) return { index: null, worktree: null };
  const guard = await guardSubmodules(repo);
  const guarded = repo.with(guard.overrides);
  const dirty = guard.complete ? "none" : "dirty";
  const [index, changes] = await Promise.all([
    hashOutput(repo, ["ls-files", "--stage", "-z", "--", ...paths]),
    changedPaths(guarded, dirty, paths),
  ]);
  return { index, worktree: await hashFiles(repo.facts.topLevel, changes) };
}

/** SHA-256 of what a command prints, streamed. */
async function hashOutput(repo: Repository, args: readonly string[]): Promise<string> {
  const { createHash } = await import("node:crypto");
  const hash = createHash("sha256");
  await streamGit(repo, args, { signal: repo.signal }, (chunk) => {
    hash.update(chunk);
    return true;
  });
  return `sha256:${hash.digest("hex")}`;
}

const MAX_CHANGED = 200_000;

/** Status records (kind, modes, path) of everything that differs, untracked files one by one. */
async function changedPaths(
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
    (chunk) => splitter.push(chunk, (record) => records.push(record.slice()) <= MAX_CHANGED),
  );
  return records;
}

/** Hashes the records with the content behind each path (file bytes, link target, kind). */
async function hashFiles(top: string, records: readonly Uint8Array[]): Promise<string> {
  const { createHash } = await import("node:crypto");
  const hash = createHash("sha256");
  for (const record of records) {
    hash.update(record).update("\0");
    const path = pathOf(record);
    if (path !== null) hash.update(await contentStamp(`${top}/${path}`)).update("\0");
  }
  return `sha256:${hash.digest("hex")}`;
}

/** The path of a porcelain v2 record; null when it is not UTF-8 (the record itself is hashed all the same). */
function pathOf(record: Uint8Array): string | null {
  const spaces = record[0] === 0x31 ? 8 : record[0] === 0x75 ? 10 : 1;
  let at = -1;
  for (let i = 0; i < spaces; i++) at = record.indexOf(0x20, at + 1);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(record.subarray(at + 1));
  } catch {
    return null;
  }
}

async function contentStamp(path: string): Promise<string> {
  try {
    const info = await Deno.lstat(path);
    if (info.isSymlink) return `link ${await Deno.readLink(path)}`;
    if (!info.isFile) return "other";
    const { createHash } = await import("node:crypto");
    const hash = createHash("sha256");
    using file = await Deno.open(path);
    const buffer = new Uint8Array(1 << 16);
    for (let n = await file.read(buffer); n !== null; n = await file.read(buffer)) {
      hash.update(buffer.subarray(0, n));
    }
    return `file ${(info.mode ?? 0) & 0o111 ? "x" : "-"} ${hash.digest("hex")}`;
  } catch (error) {
    return error instanceof Error ? error.name : "unreadable";
  }
}

/** A blocker while another operation is unfinished: its state files would be lost or mixed up. */
export async function unfinishedBlockers(repo: Repository): Promise<Note[]> {
  const operation = await readOperation(repo);
  if (!operation || operation.kind === "bisect") return [];
  return [{
    code: "operation_in_progress",
    message: `a ${operation.kind} is in progress in this work tree: finish or abort it first`,
  }];
}

const HOOKS = [
  "pre-commit",
  "prepare-commit-msg",
  "commit-msg",
  "post-commit",
  "pre-merge-commit",
  "post-merge",
  "post-checkout",
  "pre-rebase",
  "post-rewrite",
  "pre-push",
  "reference-transaction",
  "post-index-change",
  "applypatch-msg",
  "pre-applypatch",
] as const;
export type Hook = typeof HOOKS[number];

/**
 * The hooks of the given names that git would run here, by name and content, and a warning that says
 * so: what runs on approval belongs to what is approved.
 */
export async function hookFacts(
  repo: Repository,
  names: readonly Hook[],
): Promise<{ facts: Facts; warnings: Note[] }> {
  const configured = repo.facts.config.get("core.hookspath");
  const home = configured?.startsWith("~/") ? Deno.env.get("HOME") ?? "" : null;
  const folder = !configured
    ? `${repo.facts.commonDir}/hooks`
    : home !== null
    ? home + configured.slice(1)
    : configured.startsWith("/")
    ? configured
    : `${repo.path}/${configured}`;
  const found: string[] = [];
  const facts: Facts = {};
  for (const name of names) {
    const path = `${folder}/${name}`;
    const runs = await Deno.stat(path).then(
      (info) => info.isFile && ((info.mode ?? 0o111) & 0o111) !== 0,
      () => false,
    );
    facts[`hook.${name}`] = runs ? sha256(await Deno.readFile(path)) : null;
    if (runs) found.push(name);
  }
  const warnings = found.length === 0 ? [] : [{
    code: "hooks_run",
    message: `hooks of this repository will run: ${found.join(", ")}`,
  }];
  return { facts, warnings };
}

/** Signing configuration that a new commit would use. */
export function signingFacts(repo: Repository): { facts: Facts; warnings: Note[] } {
  const { config } = repo.facts;
  const on = config.bool("commit.gpgsign", false);
  const facts: Facts = {
    "signing.on": String(on),
    "signing.format": config.get("gpg.format") ?? null,
    "signing.program": config.get("gpg.program") ?? null,
    "signing.key": config.get("user.signingkey") ?? null,
  };
  return {
    facts,
    warnings: on
      ? [{ code: "commit_signed", message: "the new commit will be signed with your key" }]
      : [],
  };
}
