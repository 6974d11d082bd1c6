import { LOG_TAIL_BYTES, MAX_FOLDER_ENTRIES, MAX_READ_FILES } from "./limits.ts";
import type { Findings, Look } from "./look.ts";

/** A fresh file of a store. */
export interface FreshFile {
  readonly path: string;
  readonly mtimeMs: number;
}

const lossy = new TextDecoder();
const strict = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads one store's files: links are never followed, everything is bounded, what cannot be read is
 * said once and passed over. What is not there is simply not there.
 */
export class StoreFiles {
  constructor(readonly look: Look, readonly found: Findings) {}

  /** What stands under a name, a link as itself; null when nothing does. */
  stat(path: string): Deno.FileInfo | null {
    try {
      return Deno.lstatSync(path);
    } catch (error) {
      this.#miss(error);
      return null;
    }
  }

  /** Time of the last change of a regular file; null for anything else. */
  mtime(path: string): number | null {
    const info = this.stat(path);
    return info?.isFile ? info.mtime?.getTime() ?? null : null;
  }

  /** Entries of a folder, bounded. A link to a folder is not entered. */
  list(folder: string): readonly Deno.DirEntry[] {
    if (!this.stat(folder)?.isDirectory) return [];
    const entries: Deno.DirEntry[] = [];
    try {
      for (const entry of Deno.readDirSync(folder)) {
        if (entries.length === MAX_FOLDER_ENTRIES) {
          this.found.miss("too_many");
          break;
        }
        entries.push(entry);
      }
    } catch (error) {
      this.#miss(error);
    }
    return entries;
  }

  /** Names of the real folders in a folder. */
  folders(folder: string): string[] {
    return this.list(folder).filter((entry) => entry.isDirectory).map(({ name }) => name);
  }

  /** Fresh regular files, newest first, down to `depth` folders below; at most 64. */
  async fresh(
    folder: string,
    depth: number,
    wanted: (name: string) => boolean,
  ): Promise<FreshFile[]> {
    const files: FreshFile[] = [];
    const walk = async (at: string, left: number): Promise<void> => {
      for (const { name, isFile, isDirectory } of this.list(at)) {
        if (!this.look.mayWalk(folder)) return this.found.miss("too_many");
        if (isDirectory && left > 0) await walk(`${at}/${name}`, left - 1);
        else if (isFile && wanted(name)) {
          const mtimeMs = this.mtime(`${at}/${name}`);
          if (this.look.isFresh(mtimeMs)) files.push({ path: `${at}/${name}`, mtimeMs });
        }
        await this.look.breathe();
      }
    };
    await walk(folder, depth);
    files.sort((a, b) => b.mtimeMs - a.mtimeMs || (a.path < b.path ? -1 : 1));
    if (files.length > MAX_READ_FILES) this.found.miss("too_many");
    return files.slice(0, MAX_READ_FILES);
  }

  /** The newest of a folder's own time and its regular files', to a depth; null when not a folder. */
  async newest(
    folder: string,
    depth = 0,
    wanted?: (name: string) => boolean,
  ): Promise<number | null> {
    let newest: number | null = null;
    const add = (at: number | null) => {
      if (at !== null && (newest === null || at > newest)) newest = at;
    };
    const walk = async (at: string, left: number): Promise<void> => {
      const info = this.stat(at);
      if (!info?.isDirectory) return;
      if (!wanted) add(info.mtime?.getTime() ?? null);
      for (const { name, isFile, isDirectory } of this.list(at)) {
        // Counted for the whole tree: each of very many folders may hold very many.
        if (!this.look.mayWalk(folder)) return this.found.miss("too_many");
        if (isFile && (!wanted || wanted(name))) add(this.mtime(`${at}/${name}`));
        else if (isDirectory && left > 0) await walk(`${at}/${name}`, left - 1);
        await this.look.breathe();
      }
    };
    await walk(folder, depth);
    return newest;
  }

  /** A whole small file as text; null when it is larger, not UTF-8 or not there. */
  text(path: string, maxBytes: number): string | null {
    const bytes = this.#read(path, 0, maxBytes + 1);
    if (bytes === null) return null;
    if (bytes.length > maxBytes) {
      this.found.miss("too_large");
      return null;
    }
    try {
      return strict.decode(bytes);
    } catch {
      return null;
    }
  }

  /** Whole lines of the end of a log, the last one first. */
  tailLines(path: string, bytes = LOG_TAIL_BYTES): string[] {
    const size = this.stat(path)?.size ?? 0;
    const start = Math.max(0, size - bytes);
    const tail = this.#read(path, start, bytes);
    if (tail === null) return [];
    let text = lossy.decode(tail);
    if (start > 0) {
      const end = text.indexOf("\n");
      text = end === -1 ? "" : text.slice(end + 1);
    }
    return splitLines(text).reverse();
  }

  /** Whole lines of the beginning of a log; the last one may be cut. */
  headLines(path: string, bytes: number): string[] {
    const head = this.#read(path, 0, bytes);
    return head === null ? [] : splitLines(lossy.decode(head));
  }

  /** Up to `size` bytes from `start`. Only regular files are opened: a pipe would never answer. */
  #read(path: string, start: number, size: number): Uint8Array | null {
    const info = this.stat(path);
    if (!info?.isFile) return null;
    try {
      using file = Deno.openSync(path, { read: true });
      if (start > 0) file.seekSync(start, Deno.SeekMode.Start);
      const bytes = new Uint8Array(Math.min(size, Math.max(0, info.size - start) + 1));
      let filled = 0;
      while (filled < bytes.length) {
        const n = file.readSync(bytes.subarray(filled));
        if (n === null || n === 0) break;
        filled += n;
      }
      return bytes.subarray(0, filled);
    } catch (error) {
      this.#miss(error);
      return null;
    }
  }

  #miss(error: unknown): void {
    // Another program may remove or replace its files at any time.
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return;
    const name = error instanceof Error ? error.name : "";
    this.found.miss(
      name === "NotCapable" || name === "PermissionDenied" ? "not_permitted" : "failed",
    );
  }
}

function splitLines(text: string): string[] {
  return text.split("\n").map((line) => line.endsWith("\r") ? line.slice(0, -1) : line);
}
