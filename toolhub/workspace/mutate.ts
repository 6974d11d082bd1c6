/** Changing one file of the workspace: no links on the way, and nothing replaced that was not looked at. */

import { HubError, shown } from "../errors.ts";
import { join } from "../platform.ts";
import { randomHex } from "../random.ts";
import { replaceFile } from "../state/replace.ts";
import {
  isFresh,
  isFreshFile,
  Moved,
  type RaceHooks,
  sameChain,
  steadily,
  takeChain,
} from "./chain.ts";
import { sameText, sha256 } from "./hash.ts";
import { pathComponents } from "./path.ts";
import { MAX_FILE_BYTES, readBytes } from "./read.ts";
import { readable } from "./resolve.ts";

/** A target that may be changed, as it is now. */
export interface Target {
  readonly parts: readonly string[];
  /** Null when it does not exist. */
  readonly info: Deno.FileInfo | null;
  /** Number of leading parts that exist. */
  readonly existing: number;
}

/**
 * Looks at a target by the mutation rule.
 *
 * @throws {HubError} a link on the way (`Symlinks are not allowed`), a folder, anything not regular
 */
export function inspectTarget(root: string, path: string): Target {
  const parts = pathComponents(path, "mutation");
  if (parts.length === 0) throw new HubError("ValueError", `Path ${shown(path)} is a directory`);
  for (let count = 1; count <= parts.length; count++) {
    let info: Deno.FileInfo;
    try {
      info = Deno.lstatSync(join(root, ...parts.slice(0, count)));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw readable(error, path);
      return { parts, info: null, existing: count - 1 };
    }
    if (info.isSymlink) {
      throw new HubError("ValueError", `Symlinks are not allowed: ${shown(path)} goes through one`);
    }
    if (count < parts.length) {
      if (!info.isDirectory) {
        throw new HubError("NotADirectoryError", `Path ${shown(path)} goes through a file`);
      }
    } else if (info.isDirectory) {
      throw new HubError("ValueError", `Path ${shown(path)} is a directory`);
    } else if (!info.isFile) {
      throw new HubError("ValueError", `Path ${shown(path)} is not a regular file`);
    } else return { parts, info, existing: count };
  }
  throw new Moved();
}

/** `File not found`-class error when the parent folder is missing and may not be made. */
export function requireParent(target: Target, path: string, createParents: boolean): void {
  if (createParents || target.existing >= target.parts.length - 1) return;
  throw new HubError(
    "FileNotFoundError",
    `Parent directory of ${shown(path)} does not exist; set create_parents to have it made`,
  );
}

/**
 * Compares with the hash that the caller expects; null skips the check.
 *
 * @param current hash of the bytes on disk, null when there is no file
 */
export function requireHash(expected: string | null, current: string | null, path: string): void {
  if (expected === null) return;
  if (current !== null && sameText(expected, current)) return;
  throw new HubError(
    "MutationConflictError",
    current === null
      ? `Conflict: ${shown(path)} does not exist, but an expected_hash was given`
      : `Conflict: ${shown(path)} is no longer the file with that expected_hash; read it again`,
  );
}

/** Bytes of a target that exists; null when it does not. */
export function targetBytes(
  root: string,
  target: Target,
  path: string,
  hooks: RaceHooks = {},
): Uint8Array | null {
  if (target.info === null) return null;
  // Only the name is replaced later: a file with further names keeps its content under those.
  return readBytes(root, target.parts, path, { ...hooks, hardLinks: true });
}

/** Text as the bytes to store. @throws {HubError} `too large`, or not storable as UTF-8 */
export function contentBytes(text: string, what: string): Uint8Array {
  if (!text.isWellFormed()) {
    throw new HubError("ValueError", `${what} holds a surrogate without its partner`);
  }
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MAX_FILE_BYTES) {
    throw new HubError(
      "ValueError",
      `${what} is too large: ${bytes.length} bytes, at most ${MAX_FILE_BYTES} are written`,
    );
  }
  return bytes;
}

export interface Change {
  readonly path: string;
  readonly expectedHash: string | null;
  readonly createParents: boolean;
  /** The file must exist. */
  readonly existing: boolean;
  /** New bytes from the old ones (null: no file); null when there is nothing to write. */
  readonly next: (before: Uint8Array | null) => Uint8Array | null;
}

export interface Changed {
  readonly created: boolean;
  readonly before: Uint8Array | null;
  readonly after: Uint8Array;
  readonly previousHash: string | null;
  readonly newHash: string;
}

/**
 * Replaces a file whole or not at all. Checked last before the new file takes its name: the folders
 * on the way, the file that is replaced, and that the new file lies where it should.
 *
 * @throws {HubError}
 */
export async function changeFile(
  root: string,
  change: Change,
  hooks: RaceHooks = {},
): Promise<Changed> {
  const made: MadeFolder[] = [];
  try {
    return await steadily(change.path, () => attempt(root, change, hooks, made));
  } catch (error) {
    // What failed leaves nothing behind, folders included.
    for (const folder of made.reverse()) removeFolder(root, folder);
    throw error;
  }
}

/** A folder that was made for this change. */
interface MadeFolder {
  readonly parts: readonly string[];
  readonly dev: number;
  readonly ino: number | null;
}

function attempt(root: string, change: Change, hooks: RaceHooks, made: MadeFolder[]): Changed {
  const { path } = change;
  let target = inspectTarget(root, path);
  requireParent(target, path, change.createParents);
  if (change.existing && target.info === null) {
    throw new HubError("FileNotFoundError", `File not found: ${shown(path)}`);
  }
  if (target.existing < target.parts.length - 1) {
    requireHash(change.expectedHash, null, path);
    makeParents(root, target, path, made);
    target = inspectTarget(root, path);
  }
  const folders = target.parts.slice(0, -1);
  const before = takeChain(root, folders);
  if (before === null || isFresh(before)) throw new Moved();
  // Before the rename only times tell whether it was written to meanwhile.
  if (target.info !== null && isFreshFile(target.info)) throw new Moved();
  const old = targetBytes(root, target, path, hooks);
  const previousHash = old === null ? null : sha256(old);
  requireHash(change.expectedHash, previousHash, path);
  const next = change.next(old);
  if (next === null) {
    const same = old ?? new Uint8Array();
    return {
      created: false,
      before: old,
      after: same,
      previousHash,
      newHash: previousHash ?? sha256(same),
    };
  }
  const folder = join(root, ...folders);
  const full = join(root, ...target.parts);
  const temporary = join(folder, `.${target.parts.at(-1)!.slice(0, 64)}.${randomHex(8)}.tmp`);
  try {
    replaceFile({
      folder,
      target: full,
      temporary,
      bytes: next,
      mode: target.info === null ? 0o600 : (target.info.mode ?? 0o600) & 0o777,
      publish: target.info === null ? "new" : "over",
      durable: "tried",
      check(made) {
        hooks.beforeRename?.();
        requireSame(full, target.info, path);
        if (!isSame(lstat(temporary), made) || !sameChain(before, takeChain(root, folders))) {
          throw new Moved();
        }
      },
    });
  } catch (error) {
    if (error instanceof Moved || error instanceof HubError) throw error;
    if (error instanceof Deno.errors.AlreadyExists) throw conflict(path);
    if (error instanceof Deno.errors.NotFound) throw new Moved();
    throw readable(error, path);
  }
  return {
    created: target.info === null,
    before: old,
    after: next,
    previousHash,
    newHash: sha256(next),
  };
}

function makeParents(root: string, target: Target, path: string, made: MadeFolder[]): void {
  for (let count = target.existing + 1; count < target.parts.length; count++) {
    const parts = target.parts.slice(0, count);
    const full = join(root, ...parts);
    try {
      Deno.mkdirSync(full);
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) continue;
      if (error instanceof Deno.errors.NotFound) throw new Moved();
      throw readable(error, path);
    }
    const info = lstat(full);
    if (info?.isDirectory) made.push({ parts, dev: info.dev, ino: info.ino });
  }
}

/** Removes a folder of ours that is still empty and still where it was made. */
function removeFolder(root: string, { parts, dev, ino }: MadeFolder): void {
  const now = takeChain(root, parts)?.at(-1);
  if (now === undefined || now.dev !== dev || now.ino !== ino) return;
  try {
    Deno.removeSync(join(root, ...parts));
  } catch { /* somebody uses it by now */ }
}

function requireSame(full: string, then: Deno.FileInfo | null, path: string): void {
  const now = lstat(full);
  if (then === null ? now === null : isSame(now, then) && unchanged(now!, then)) return;
  throw conflict(path);
}

function conflict(path: string): HubError {
  return new HubError(
    "MutationConflictError",
    `Conflict: ${shown(path)} changed while it was being written; nothing was replaced`,
  );
}

function isSame(now: Deno.FileInfo | null, then: Deno.FileInfo): boolean {
  return now !== null && now.isFile && now.dev === then.dev && now.ino === then.ino;
}

function unchanged(now: Deno.FileInfo, then: Deno.FileInfo): boolean {
  return now.size === then.size && now.mode === then.mode &&
    now.mtime?.getTime() === then.mtime?.getTime() &&
    now.ctime?.getTime() === then.ctime?.getTime();
}

function lstat(path: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
