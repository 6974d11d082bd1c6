/** `filesystem.list_directory`: one folder, not below it, links named and not followed. */

import { HubError, shown } from "../errors.ts";
import { join, WINDOWS } from "../platform.ts";
import { isFresh, Moved, type RaceHooks, sameChain, steadily, takeChain } from "./chain.ts";
import { readable, relative, resolveRead } from "./resolve.ts";

/** One more is an error: a list is whole or not given. */
export const MAX_ENTRIES = 16_384;

export interface ListedEntry {
  readonly name: string;
  readonly kind: "file" | "directory" | "symlink" | "other";
  /** Bytes of a file; null for everything else. */
  readonly size: number | null;
}

export interface Listing {
  readonly path: string;
  readonly entries: ListedEntry[];
}

/** Lists a folder of the workspace, sorted by lower-cased name. @throws {HubError} */
export function listDirectory(
  root: string,
  path: string,
  options: RaceHooks & { maxEntries?: number } = {},
): Promise<Listing> {
  return steadily(path, () => {
    const parts = resolveRead(root, path);
    if (parts === null) {
      throw new HubError("FileNotFoundError", `Directory not found: ${shown(path)}`);
    }
    const full = join(root, ...parts);
    const before = takeChain(root, parts);
    if (before === null) {
      if (isOther(full)) {
        throw new HubError("NotADirectoryError", `Not a directory: ${shown(path)}`);
      }
      throw new Moved();
    }
    if (isFresh(before)) throw new Moved();
    options.beforeOpen?.();
    const entries = readEntries(full, path, options.maxEntries ?? MAX_ENTRIES);
    if (!sameChain(before, takeChain(root, parts))) throw new Moved();
    return { path: relative(parts), entries };
  });
}

function readEntries(full: string, path: string, max: number): ListedEntry[] {
  const keyed: { key: string; entry: ListedEntry }[] = [];
  const prefix = full + (full.endsWith("/") ? "" : WINDOWS ? "\\" : "/");
  try {
    for (const { name, isFile, isDirectory, isSymlink } of Deno.readDirSync(full)) {
      if (keyed.length === max) {
        throw new HubError(
          "ValueError",
          `Directory ${shown(path)} has too many entries: more than ${max}; list a folder below it`,
        );
      }
      const kind = isSymlink ? "symlink" : isFile ? "file" : isDirectory ? "directory" : "other";
      const size = kind === "file" ? sizeOf(prefix + name) : null;
      keyed.push({ key: name.toLowerCase(), entry: { name, kind, size } });
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new Moved();
    throw readable(error, path);
  }
  keyed.sort((a, b) => order(a.key, b.key) || order(a.entry.name, b.entry.name));
  return keyed.map(({ entry }) => entry);
}

/** Bytes of a file that is still there; null when it is gone or became something else. */
function sizeOf(full: string): number | null {
  try {
    const info = Deno.lstatSync(full);
    return info.isFile ? info.size : null;
  } catch {
    return null;
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function isOther(full: string): boolean {
  try {
    return !Deno.lstatSync(full).isDirectory;
  } catch {
    return false;
  }
}
