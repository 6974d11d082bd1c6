/** Opening the program's own files: regular, not through a link, mode 0600. */

import { HubError } from "../errors.ts";
import { WINDOWS } from "../platform.ts";

/**
 * Opens a file of the state folder for reading and appending; makes it when it is missing.
 *
 * @throws {HubError} `OSError` when a link or anything but a regular file stands there
 */
export function openPrivate(path: string): Deno.FsFile {
  for (let tries = 0;; tries++) {
    const named = lstat(path);
    let file: Deno.FsFile;
    if (named === null) {
      try {
        file = Deno.openSync(path, { read: true, append: true, createNew: true, mode: 0o600 });
      } catch (error) {
        // Another process was a moment faster; its file is as good.
        if (error instanceof Deno.errors.AlreadyExists && tries < 5) continue;
        throw error;
      }
    } else {
      if (!named.isFile) throw new HubError("OSError", "a state file is not a regular file");
      file = Deno.openSync(path, { read: true, append: true });
    }
    try {
      const info = file.statSync();
      const now = lstat(path);
      if (now === null || !now.isFile || now.ino !== info.ino || now.dev !== info.dev) {
        throw new HubError("OSError", "a state file was replaced while it was opened");
      }
      if (!WINDOWS && ((info.mode ?? 0) & 0o777) !== 0o600) Deno.chmodSync(path, 0o600);
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }
}

function lstat(path: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
