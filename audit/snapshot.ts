/**
 * The files of a ledger at one moment, held open. Appends that follow do not disturb a reader of the
 * snapshot: it reads no further than the files reached then, and open files survive being rotated,
 * archived or pruned.
 */

import { MAX_FILE_BYTES } from "./constants.ts";
import { LedgerError } from "./errors.ts";
import {
  checkFolder,
  LedgerNames,
  listArchive,
  type Listing,
  listLedger,
  openSafely,
  type SegmentName,
} from "./folder.ts";
import { sha256 } from "./hash.ts";
import { type HeldLock, shareLock } from "./lock.ts";
import { joinPath, readAt, readInto, shown } from "./paths.ts";

/** One file of the chain, in reading order. */
export interface SnapshotFile {
  readonly name: string;
  /** What the name says about a rotated segment; null for the active file. */
  readonly segment: SegmentName | null;
  readonly archived: boolean;
  /**
   * The content as it was at the moment of the snapshot.
   *
   * @param buffer reused from file to file; at least {@link MAX_FILE_BYTES} long
   * @throws {LedgerError} `integrity` when the file is larger than any ledger file may be
   */
  read(buffer: Uint8Array): Uint8Array;
}

/** A place of a checkpoint file. */
export interface CheckpointPlace {
  readonly folder: string;
  readonly name: string;
}

export interface Snapshot {
  readonly files: readonly SnapshotFile[];
  readonly checkpoints: readonly CheckpointPlace[];
  /** True when no append could run while the files were opened. */
  readonly locked: boolean;
  close(): void;
}

const LOCK_WAIT_MS = 2_000;

/**
 * Opens a ledger for reading. Nothing is written or created.
 *
 * @param path the active file; it may be missing
 * @param archive folder of archived segments; null for none, a missing folder is an empty one
 * @throws {LedgerError} `io`, `configuration`; errors of the file system
 */
export async function openSnapshot(path: string, archive: string | null): Promise<Snapshot> {
  const names = new LedgerNames(path);
  checkFolder(names.folder);
  const lock: HeldLock | null = await shareLock(names.lock, LOCK_WAIT_MS);
  try {
    return collect(names, archive, lock !== null);
  } finally {
    lock?.release();
  }
}

/** As {@link openSnapshot}, for a caller that holds the lock itself. */
export function snapshotUnderLock(names: LedgerNames): Snapshot {
  checkFolder(names.folder);
  return collect(names, null, true);
}

function collect(names: LedgerNames, archive: string | null, locked: boolean): Snapshot {
  const listing = listLedger(names);
  const archived = archive === null ? null : listArchiveIfThere(names, archive);
  const opened: Deno.FsFile[] = [];
  const close = () => opened.splice(0).forEach((file) => file.close());
  try {
    const kept = listing.segments.map((segment) =>
      openedFile(names.path(segment.name), segment.name, segment, opened)
    );
    if (listing.hasActive) kept.push(openedFile(names.active, names.base, null, opened));
    const files = archived ? [...olderFiles(archived, archive!, listing, names), ...kept] : kept;
    const checkpoints = [
      ...(archived?.checkpoints ?? []).map((name) => ({ folder: archive!, name })),
      ...listing.checkpoints.map((name) => ({ folder: names.folder, name })),
    ];
    return { files, checkpoints, locked, close };
  } catch (error) {
    close();
    throw error;
  }
}

function listArchiveIfThere(names: LedgerNames, archive: string): Listing | null {
  try {
    checkFolder(archive);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
  return listArchive(names, archive);
}

/** Archived segments never change, so they are opened only when their turn comes. */
function olderFiles(
  archived: Listing,
  archive: string,
  kept: Listing,
  names: LedgerNames,
): SnapshotFile[] {
  const keptNames = new Set(kept.segments.map(({ name }) => name));
  return archived.segments.filter(({ name }) => {
    if (!keptNames.has(name)) return true;
    // An interrupted move leaves both; they must be the same file.
    if (contentHash(joinPath(archive, name)) === contentHash(names.path(name))) return false;
    throw new LedgerError("integrity", `${shown(name)} differs from its archived copy`);
  }).map((segment) => ({
    name: segment.name,
    segment,
    archived: true,
    read: (buffer) => readWhole(joinPath(archive, segment.name), buffer),
  }));
}

function openedFile(
  path: string,
  name: string,
  segment: SegmentName | null,
  opened: Deno.FsFile[],
): SnapshotFile {
  const { file, info } = openSafely(path, {});
  opened.push(file);
  const { size } = info;
  return {
    name,
    segment,
    archived: false,
    read: (buffer) => {
      checkSize(size);
      return buffer.subarray(0, readInto(file, 0, buffer.subarray(0, size)));
    },
  };
}

function readWhole(path: string, buffer: Uint8Array): Uint8Array {
  const { file, info } = openSafely(path, {});
  try {
    checkSize(info.size);
    return buffer.subarray(0, readInto(file, 0, buffer.subarray(0, info.size)));
  } finally {
    file.close();
  }
}

function checkSize(size: number): void {
  if (size > MAX_FILE_BYTES) {
    throw new LedgerError("integrity", `file is larger than ${MAX_FILE_BYTES} bytes`);
  }
}

function contentHash(path: string): string {
  const { file, info } = openSafely(path, {});
  try {
    checkSize(info.size);
    return sha256(readAt(file, 0, info.size));
  } finally {
    file.close();
  }
}
