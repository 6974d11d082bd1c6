/** What a file is: its canonical path, size and hash, read so that a change meanwhile is noticed. */

import { HubError } from "../errors.ts";
import { sameText, startSha256 } from "../workspace/hash.ts";

/** Largest file that is hashed, and most bytes of all files of one request. */
export const MAX_HASHED_BYTES = 268_435_456;
const CHUNK = 1_048_576;

/** As the approval stores it. */
export interface Snapshot {
  readonly canonical_path: string;
  readonly sha256: string;
  readonly size: number;
}

/** @throws {HubError} `ExecutableIdentityMismatch`: changed while it was read, too large, no file */
export function fingerprint(canonicalPath: string, maxBytes = MAX_HASHED_BYTES): Snapshot {
  const before = Deno.statSync(canonicalPath);
  if (!before.isFile) throw mismatch("it is not a regular file");
  if (before.size > maxBytes) throw mismatch(`it is larger than ${maxBytes} bytes`);
  const file = Deno.openSync(canonicalPath, { read: true });
  try {
    if (!same(file.statSync(), before)) throw mismatch("it changed while it was opened");
    const hash = startSha256();
    const buffer = new Uint8Array(Math.min(CHUNK, before.size + 1));
    let size = 0;
    for (;;) {
      const count = file.readSync(buffer);
      if (count === null) break;
      size += count;
      if (size > before.size) throw mismatch("it grew while it was read");
      hash.update(buffer.subarray(0, count));
    }
    const after = Deno.statSync(canonicalPath);
    if (size !== before.size || !same(file.statSync(), before) || !same(after, before)) {
      throw mismatch("it changed while it was read");
    }
    return { canonical_path: canonicalPath, sha256: hash.digest("hex"), size };
  } finally {
    file.close();
  }
}

/** Reads a stored snapshot. @throws {HubError} malformed */
export function readSnapshot(value: unknown, what = "executable"): Snapshot {
  if (typeof value !== "object" || value === null) {
    throw mismatch(`the request has no ${what} snapshot`);
  }
  const { canonical_path: path, sha256: hash, size } = value as Record<string, unknown>;
  const absolute = typeof path === "string" && /^(?:\/|[A-Za-z]:[\\/]|\\\\)/.test(path);
  if (
    !absolute || path.includes("\0") || typeof hash !== "string" || !/^[0-9a-f]{64}$/.test(hash) ||
    typeof size !== "number" || !Number.isSafeInteger(size) || size < 0
  ) throw mismatch(`the ${what} snapshot is malformed`);
  return { canonical_path: path, sha256: hash, size };
}

/**
 * Checks that a file still is what its snapshot says.
 *
 * @returns looks once more, quickly, whether the file was touched since: for the last moment before a
 * start, when other files were hashed in between
 * @throws {HubError} `ExecutableIdentityMismatch`, here and in what is returned
 */
export function verifySnapshot(stored: Snapshot, what = "executable"): () => void {
  let real: string;
  try {
    real = Deno.realPathSync(stored.canonical_path);
  } catch {
    throw mismatch(`the ${what} is not there any more`);
  }
  if (real !== stored.canonical_path) throw mismatch(`the path of the ${what} changed`);
  let now: Snapshot, seen: Deno.FileInfo;
  try {
    seen = Deno.statSync(real);
    now = fingerprint(real);
  } catch (error) {
    if (error instanceof HubError) throw error;
    throw mismatch(`the ${what} cannot be read`);
  }
  if (now.size !== stored.size || !sameText(now.sha256, stored.sha256)) {
    throw mismatch(`the ${what} content changed since the request`);
  }
  return () => {
    let last: Deno.FileInfo | null = null;
    try {
      if (Deno.realPathSync(real) === real) last = Deno.statSync(real);
    } catch { /* gone: told below */ }
    if (last === null || !same(last, seen) || last.ctime?.getTime() !== seen.ctime?.getTime()) {
      throw mismatch(`the ${what} content changed in the last moment`);
    }
  };
}

function same(a: Deno.FileInfo, b: Deno.FileInfo): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.size === b.size &&
    a.mtime?.getTime() === b.mtime?.getTime();
}

function mismatch(why: string): HubError {
  return new HubError("ExecutableIdentityMismatch", `Refused: ${why}`);
}
