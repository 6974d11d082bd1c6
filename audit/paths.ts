/** Paths of ledger files: no link anywhere on the way, whoever may have put it there. */

import { LedgerError } from "./errors.ts";
import { printable } from "../common/json.ts";

const WINDOWS = Deno.build.os === "windows";
const SEPARATOR = WINDOWS ? /[\\/]/ : /\//;

/** A path as messages show it. */
export function shown(path: string): string {
  return printable(path, 300);
}

/** Folder and file name of a path, as given: nothing is resolved or made plain. */
export function splitPath(path: string): { folder: string; name: string } {
  let end = path.length;
  while (end > 0 && !SEPARATOR.test(path[end - 1]!)) end--;
  const folder = path.slice(0, end);
  const plain = folder.length > 1 ? folder.replace(WINDOWS ? /[\\/]+$/ : /\/+$/, "") : folder;
  const root = plain === "" && folder !== "" ? folder.slice(0, 1) : plain;
  // "C:" alone would mean the current folder of that drive.
  return { folder: /^[A-Za-z]:$/.test(root) ? `${root}\\` : root || ".", name: path.slice(end) };
}

/** Joins a folder and one name. */
export function joinPath(folder: string, name: string): string {
  if (folder === "") return name;
  return SEPARATOR.test(folder[folder.length - 1]!) ? folder + name : `${folder}/${name}`;
}

/** True for a path that does not depend on the working directory. */
export function isAbsolutePath(path: string): boolean {
  return WINDOWS ? /^(?:[A-Za-z]:[\\/]|[\\/]{2})/.test(path) : path.startsWith("/");
}

/** Every folder on the way to `folder`, itself included, outermost first. */
export function ancestors(folder: string): string[] {
  const result: string[] = [];
  for (let at = 0; at < folder.length; at++) {
    if (SEPARATOR.test(folder[at]!) && at > 0 && !SEPARATOR.test(folder[at - 1]!)) {
      result.push(folder.slice(0, at));
    }
  }
  result.push(folder);
  return result.filter((part) => !/^[A-Za-z]:$/.test(part));
}

/**
 * Refuses a link in any component of a folder's path as given.
 *
 * @throws {LedgerError} `io`, naming the component; `Deno.errors.NotFound` when one does not exist
 */
export function refuseLinkedFolder(folder: string): void {
  for (const part of ancestors(folder)) {
    let info: Deno.FileInfo;
    try {
      info = Deno.lstatSync(part);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotCapable) || part === folder) throw error;
      // Under permissions for single paths the folders above cannot be looked at; where the whole
      // path leads can, and that shows the same.
      if (Deno.realPathSync(folder) === folder) continue;
      throw new LedgerError("io", `${shown(folder)} leads through a symbolic link`);
    }
    if (info.isSymlink) throw new LedgerError("io", `${shown(part)} is a symbolic link`);
    if (!info.isDirectory) throw new LedgerError("io", `${shown(part)} is not a folder`);
  }
}

/** True when group or others have any right; always false where there are no such rights. */
export function opensToOthers(info: Deno.FileInfo): boolean {
  return info.mode !== null && !WINDOWS && (info.mode & 0o077) !== 0;
}

/**
 * Checks an open file against its name: regular, one name only, and still the file that the name
 * leads to. Links cannot be refused while opening (`O_NOFOLLOW` has no effect under path-scoped
 * permissions), so the name is looked at before and after.
 *
 * @throws {LedgerError} `io`
 */
export function checkSameFile(path: string, file: Deno.FsFile): Deno.FileInfo {
  const named = Deno.lstatSync(path);
  const opened = file.statSync();
  if (named.isSymlink) throw new LedgerError("io", `${shown(path)} is a symbolic link`);
  if (!named.isFile || !opened.isFile) {
    throw new LedgerError("io", `${shown(path)} is not a regular file`);
  }
  if (named.dev !== opened.dev || named.ino !== opened.ino) {
    throw new LedgerError("io", `${shown(path)} was replaced while it was opened`);
  }
  if ((opened.nlink ?? 1) !== 1) {
    throw new LedgerError("io", `${shown(path)} has more than one name (hard link)`);
  }
  return opened;
}

/** @throws {LedgerError} `io` when the name exists and is not a plain regular file */
export function refuseOddFile(path: string): Deno.FileInfo | null {
  let info: Deno.FileInfo;
  try {
    info = Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
  // Looked at before opening too: opening a pipe that nobody writes to would wait for ever.
  if (info.isSymlink) throw new LedgerError("io", `${shown(path)} is a symbolic link`);
  if (!info.isFile) throw new LedgerError("io", `${shown(path)} is not a regular file`);
  return info;
}

/** Reads `length` bytes at `offset`; fewer when the file ends before. */
export function readAt(file: Deno.FsFile, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  return bytes.subarray(0, readInto(file, offset, bytes));
}

/** Fills `bytes` from `offset`. @returns how many bytes there were */
export function readInto(file: Deno.FsFile, offset: number, bytes: Uint8Array): number {
  file.seekSync(offset, Deno.SeekMode.Start);
  let filled = 0;
  while (filled < bytes.length) {
    const count = file.readSync(bytes.subarray(filled));
    if (count === null) break;
    filled += count;
  }
  return filled;
}
