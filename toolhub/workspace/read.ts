/** `filesystem.read_file`: one bounded read of the file that was checked. */

import * as fs from "node:fs";
import { HubError, shown } from "../errors.ts";
import { join, WINDOWS } from "../platform.ts";
import {
  type Chain,
  isFresh,
  Moved,
  type RaceHooks,
  sameChain,
  steadily,
  takeChain,
} from "./chain.ts";
import { readable, relative, resolveRead } from "./resolve.ts";
import { sha256 } from "./hash.ts";

/** Most bytes of a file that are read or written. */
export const MAX_FILE_BYTES = 262_144;

export interface ReadOptions extends RaceHooks {
  /** Read files that have several names. */
  readonly hardLinks?: boolean;
}

export interface FileContent {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  readonly content: string;
}

/** Not blocking: something that became a pipe since it was looked at must not hold up the program. */
const OPEN_FLAGS = fs.constants.O_RDONLY | (WINDOWS ? 0 : fs.constants.O_NONBLOCK);

/**
 * Reads a text file of the workspace.
 *
 * @returns `size` and `sha256` of the bytes on disk; `content` with CRLF and CR turned into LF
 * @throws {HubError}
 */
export function readFile(
  root: string,
  path: string,
  options: ReadOptions = {},
): Promise<FileContent> {
  return steadily(path, () => {
    const parts = resolveRead(root, path);
    if (parts === null) throw new HubError("FileNotFoundError", `File not found: ${shown(path)}`);
    const bytes = readBytes(root, parts, path, options);
    return {
      path: relative(parts),
      size: bytes.length,
      sha256: sha256(bytes),
      content: decode(bytes, path),
    };
  });
}

/**
 * The bytes of the regular file at canonical components below the root.
 *
 * @throws {Moved} the way to it, or the file, changed meanwhile
 * @throws {HubError} not a file, too large, several names
 */
export function readBytes(
  root: string,
  parts: readonly string[],
  path: string,
  options: ReadOptions,
): Uint8Array {
  const folders = parts.slice(0, -1);
  const full = join(root, ...parts);
  const before = parts.length === 0 ? null : takeChain(root, folders);
  if (before === null) {
    if (parts.length === 0) throw new HubError("ValueError", `Not a file: ${shown(path)}`);
    throw new Moved();
  }
  if (isFresh(before)) throw new Moved();
  const named = lstat(full, path);
  if (!named.isFile) throw new HubError("ValueError", `Not a file: ${shown(path)}`);
  refuseLarge(named.size, path);
  if (!options.hardLinks && (named.nlink ?? 1) > 1) {
    throw new HubError(
      "ValueError",
      `File ${
        shown(path)
      } has ${named.nlink} names (hard links), and the others may lie outside the workspace; ` +
        "set TOOLHUB_ALLOW_HARD_LINKS=1 to have such files read",
    );
  }
  options.beforeOpen?.();
  let fd: number;
  try {
    fd = fs.openSync(full, OPEN_FLAGS);
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") throw new Moved();
    throw (error as { code?: string }).code === "EACCES"
      ? new HubError("OSError", `Permission denied: ${shown(path)}`)
      : readable(error, path);
  }
  try {
    options.afterOpen?.();
    const info = fs.fstatSync(fd);
    if (!info.isFile() || !sameFile(info, named)) throw new Moved();
    const bytes = readAll(fd, info.size, path);
    confirm(root, folders, before, full, named);
    return bytes;
  } finally {
    fs.closeSync(fd);
  }
}

/** The opened file is the one that the path names, and nothing on the way changed meanwhile. */
function confirm(
  root: string,
  folders: readonly string[],
  before: Chain,
  full: string,
  named: Deno.FileInfo,
): void {
  let now: Deno.FileInfo;
  try {
    now = Deno.lstatSync(full);
  } catch {
    throw new Moved();
  }
  if (!now.isFile || now.dev !== named.dev || now.ino !== named.ino) throw new Moved();
  if (!sameChain(before, takeChain(root, folders))) throw new Moved();
}

function sameFile(info: fs.Stats, named: Deno.FileInfo): boolean {
  // Windows gives no numbers through one of the two ways.
  if (WINDOWS || named.ino === null) return true;
  return info.dev === named.dev && info.ino === named.ino;
}

function readAll(fd: number, size: number, path: string): Uint8Array {
  refuseLarge(size, path);
  // One byte more than there should be shows a file that grows.
  const buffer = new Uint8Array(size + 1);
  let at = 0;
  while (at < buffer.length) {
    const count = fs.readSync(fd, buffer, at, buffer.length - at, null);
    if (count === 0) break;
    at += count;
  }
  if (at !== size) throw new Moved();
  return buffer.subarray(0, at);
}

function refuseLarge(size: number, path: string): void {
  if (size <= MAX_FILE_BYTES) return;
  throw new HubError(
    "ValueError",
    `File too large: ${shown(path)} has ${size} bytes, at most ${MAX_FILE_BYTES} are read`,
  );
}

function lstat(full: string, path: string): Deno.FileInfo {
  try {
    return Deno.lstatSync(full);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new Moved();
    throw readable(error, path);
  }
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Strict UTF-8; a byte order mark stays, line ends become LF. */
export function decode(bytes: Uint8Array, path: string): string {
  let text: string;
  try {
    text = strict.decode(bytes);
  } catch {
    throw new HubError("ValueError", `File ${shown(path)} is not valid UTF-8 text`);
  }
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}
