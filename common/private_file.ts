/**
 * Files that only the user may read: 0600 in folders of 0700, replaced whole, never reached through a
 * link. On Windows the profile's own access rules stand in for modes.
 */

/** Why a private file was not read or written; `message` names the file and the reason. */
export class PrivateFileError extends Error {
  override name = "PrivateFileError";
}

/**
 * Makes a folder below an existing or new `base` with mode 0700 and gives its path. Every component
 * below `base` must be a real directory.
 *
 * @param base canonical, or made here; @param names plain file names
 * @throws {PrivateFileError} a link or a file stands where a folder should
 */
export function makePrivateFolder(base: string, ...names: string[]): string {
  Deno.mkdirSync(base, { recursive: true, mode: 0o700 });
  let path = base;
  for (const name of names) {
    path = `${path}/${name}`;
    try {
      Deno.mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
      if (!Deno.lstatSync(path).isDirectory) {
        throw new PrivateFileError(
          `${JSON.stringify(path)} is not a folder (a link is not followed)`,
        );
      }
    }
  }
  return path;
}

/**
 * Reads a private file; null when it does not exist.
 *
 * @param problem what is wrong with the file that was opened, as a clause; null when nothing is
 * @throws {PrivateFileError} a link, not a regular file, larger than `maxBytes`, or with a `problem`
 */
export function readPrivateFile(
  path: string,
  maxBytes: number,
  problem: (info: Deno.FileInfo) => string | null = () => null,
): Uint8Array | null {
  let named: Deno.FileInfo;
  try {
    named = Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
  if (!named.isFile) {
    throw new PrivateFileError(
      `${JSON.stringify(path)} is not a regular file (a link is not followed)`,
    );
  }
  using file = Deno.openSync(path, { read: true });
  const info = file.statSync();
  // The name may have changed hands between the two looks.
  if (info.dev !== named.dev || info.ino !== named.ino) {
    throw new PrivateFileError(
      `${JSON.stringify(path)} was replaced while it was opened; try again`,
    );
  }
  const wrong = problem(info);
  if (wrong !== null) throw new PrivateFileError(`${JSON.stringify(path)} ${wrong}`);
  if (info.size > maxBytes) {
    throw new PrivateFileError(
      `${JSON.stringify(path)} has ${info.size} bytes, more than the ${maxBytes} that are read`,
    );
  }
  const bytes = new Uint8Array(info.size + 1);
  let size = 0;
  while (size < bytes.length) {
    const n = file.readSync(bytes.subarray(size)) ?? 0;
    if (n === 0) break;
    size += n;
  }
  if (size > info.size) {
    throw new PrivateFileError(`${JSON.stringify(path)} grew while it was read; try again`);
  }
  return bytes.subarray(0, size);
}

/**
 * Writes a private file whole or not at all: a new file beside it, synced, renamed over it. The
 * folder must exist. A link in its place is replaced, not followed.
 */
export function writePrivateFile(path: string, content: Uint8Array | string): void {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const temporary = `${path}.tmp-${crypto.randomUUID()}`;
  try {
    using file = Deno.openSync(temporary, { write: true, createNew: true, mode: 0o600 });
    for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
    file.syncDataSync();
    Deno.renameSync(temporary, path);
  } catch (error) {
    try {
      Deno.removeSync(temporary);
    } catch { /* it was never made */ }
    throw error;
  }
  syncFolder(path.slice(0, path.lastIndexOf("/")) || "/");
}

/** Makes renames and deletions in a folder durable. Windows has no such thing for folders. */
export function syncFolder(folder: string): void {
  if (Deno.build.os === "windows") return;
  using handle = Deno.openSync(folder, { read: true });
  handle.syncSync();
}
