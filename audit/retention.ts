/** Rotation, pruning and the archive (`audit.md` 6.2 and 6.3). The caller holds the lock. */

import type { ChainStart } from "./chain.ts";
import { checkpointBytes, readCheckpoint } from "./checkpoint.ts";
import { KEPT_SEGMENTS, MAX_FILE_BYTES, TOLERATED_SEGMENTS } from "./constants.ts";
import { LedgerError } from "./errors.ts";
import {
  checkFolder,
  type LedgerNames,
  listArchive,
  type Listing,
  listLedger,
  makeFolder,
  openSafely,
  type SegmentName,
  syncFolder,
} from "./folder.ts";
import { sha256 } from "./hash.ts";
import { joinPath, readAt, refuseOddFile, shown } from "./paths.ts";
import type { Signer } from "./signing.ts";
import { firstEntryOf, lastEntryOf } from "./tail.ts";

/** Where pruned segments go and who vouches for what is left. */
export interface RetentionOptions {
  readonly signer: Signer | null;
  /** Folder that keeps pruned segments; null deletes them. */
  readonly archive: string | null;
  readonly nowMs: number;
}

/**
 * Renames the active file to the segment that it now is.
 *
 * @param file the active file, open; it is made durable first
 * @throws {LedgerError} `io` while so many segments wait to be taken away that one more would make
 * every verifier refuse the ledger
 */
export function rotate(
  names: LedgerNames,
  file: Deno.FsFile,
  segment: Omit<SegmentName, "name">,
): void {
  if (listLedger(names).segments.length >= TOLERATED_SEGMENTS) {
    throw new LedgerError("io", "rotated segments cannot be taken away, so none can be added");
  }
  file.syncSync();
  const target = names.path(names.segment(segment.first, segment.last, segment.segmentId));
  if (refuseOddFile(target)) {
    throw new LedgerError("integrity", `${shown(target)} is already there`);
  }
  Deno.renameSync(names.active, target);
  syncFolder(names.folder);
}

/**
 * Takes surplus segments away, oldest first: archived or deleted, after a checkpoint was written that
 * explains the new start. Interrupted at any point it leaves a surplus file, never a gap.
 *
 * @returns what is there afterwards
 * @throws {LedgerError} the surplus stays and can be pruned later
 */
export function prune(names: LedgerNames, listing: Listing, options: RetentionOptions): Listing {
  for (const name of listing.temporary) Deno.removeSync(names.path(name));
  let current = listing;
  while (current.segments.length > KEPT_SEGMENTS) {
    const [oldest, next] = current.segments as [SegmentName, SegmentName];
    const start = startBehind(names, oldest, next);
    const checkpoint = vouchFor(names, current, start, options);
    if (options.archive === null) Deno.removeSync(names.path(oldest.name));
    else archiveSegment(names, options.archive, oldest, current);
    syncFolder(names.folder);
    for (const name of current.checkpoints) {
      if (name !== checkpoint) Deno.removeSync(names.path(name));
    }
    syncFolder(names.folder);
    current = listLedger(names);
  }
  return current;
}

/** The start that is left when `oldest` goes; both sides of the cut must agree on it. */
function startBehind(names: LedgerNames, oldest: SegmentName, next: SegmentName): ChainStart {
  const last = lastEntryOf(names, oldest);
  const first = firstEntryOf(names, next);
  if (first?.sequence !== last.sequence + 1 || first.previousHash !== last.hash) {
    throw new LedgerError("integrity", `${shown(next.name)} does not continue the segment before`);
  }
  return { nextSequence: first.sequence, previousHash: last.hash };
}

/** @returns the name of the one checkpoint for this start, written when it is not there already */
function vouchFor(
  names: LedgerNames,
  listing: Listing,
  start: ChainStart,
  { nowMs, signer }: RetentionOptions,
): string {
  // A prune that was interrupted left it; a second one for the same start would be ambiguous.
  const existing = listing.checkpoints.find((name) => {
    const found = readCheckpoint(names.folder, name);
    return found.nextSequence === start.nextSequence && found.previousHash === start.previousHash;
  });
  if (existing !== undefined) return existing;
  const name = names.checkpoint(start.nextSequence);
  writeWhole(names, names.folder, name, checkpointBytes(start, nowMs, signer));
  return name;
}

function archiveSegment(
  names: LedgerNames,
  archive: string,
  segment: SegmentName,
  listing: Listing,
): void {
  makeFolder(archive);
  const there = listArchive(names, archive);
  for (const name of there.temporary) Deno.removeSync(joinPath(archive, name));
  const target = joinPath(archive, segment.name);
  if (refuseOddFile(target)) {
    if (sha256(readFile(target)) !== sha256(readFile(names.path(segment.name)))) {
      throw new LedgerError("io", `archive: another ${shown(segment.name)} is already there`);
    }
    Deno.removeSync(names.path(segment.name));
    return;
  }
  const newest = there.segments.at(-1);
  if (newest && newest.last >= segment.first) {
    throw new LedgerError(
      "io",
      `archive ${shown(archive)} holds segments of another ledger of this name; move them away`,
    );
  }
  if (segment.first !== (newest?.last ?? 0) + 1) keepStart(names, archive, segment.first, listing);
  move(names, archive, segment.name);
  syncFolder(archive);
}

/**
 * Explains a gap to an archive that was switched off for a time: what comes next in the ledger does
 * not continue its newest segment, and the checkpoint that says why is soon pruned.
 *
 * @param oldest the first sequence that the ledger still has
 */
export function explainGap(
  names: LedgerNames,
  archive: string,
  oldest: number,
  listing: Listing,
): void {
  try {
    checkFolder(archive);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  const newest = listArchive(names, archive).segments.at(-1);
  if (newest && newest.last + 1 < oldest) keepStart(names, archive, oldest, listing);
}

/** Copies the checkpoint that explains a start to the archive. */
function keepStart(names: LedgerNames, archive: string, first: number, listing: Listing): void {
  for (const name of listing.checkpoints) {
    if (readCheckpoint(names.folder, name).nextSequence !== first) continue;
    if (refuseOddFile(joinPath(archive, name))) return;
    writeWhole(names, archive, name, readFile(names.path(name)));
    return;
  }
}

function move(names: LedgerNames, archive: string, name: string): void {
  try {
    Deno.renameSync(names.path(name), joinPath(archive, name));
  } catch (error) {
    if ((error as { code?: string }).code !== "EXDEV") throw error;
    writeWhole(names, archive, name, readFile(names.path(name)));
    Deno.removeSync(names.path(name));
  }
}

function readFile(path: string): Uint8Array {
  const { file, info } = openSafely(path, {});
  try {
    if (info.size > MAX_FILE_BYTES) {
      throw new LedgerError("integrity", `${shown(path)} is larger than ${MAX_FILE_BYTES} bytes`);
    }
    return readAt(file, 0, info.size);
  } finally {
    file.close();
  }
}

/** Creates a file that is either there whole and durable under its name, or not at all. */
function writeWhole(names: LedgerNames, folder: string, name: string, bytes: Uint8Array): void {
  const temporary = joinPath(folder, names.temporary());
  const file = Deno.openSync(temporary, { write: true, createNew: true, mode: 0o600 });
  try {
    writeAll(file, bytes);
    file.syncSync();
  } catch (error) {
    file.close();
    Deno.removeSync(temporary);
    throw error;
  }
  file.close();
  Deno.renameSync(temporary, joinPath(folder, name));
  syncFolder(folder);
}

/** Writes every byte; one call may write only a part. */
export function writeAll(file: Deno.FsFile, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
}
