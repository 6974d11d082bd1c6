/**
 * What an append needs to know about the ledger it extends. Only the ends of files are read, so the
 * cost does not depend on how long the ledger is; everything between was checked when it was written,
 * and is checked again by the full check at start and by every verifier.
 */

import { ChainChecker, checkForm, checkSignature, type Head } from "./chain.ts";
import { readCheckpoint } from "./checkpoint.ts";
import { GENESIS, MAX_FILE_BYTES, MAX_LINE_BYTES } from "./constants.ts";
import { LedgerError } from "./errors.ts";
import {
  type LedgerNames,
  type Listing,
  type OpenFile,
  openSafely,
  type SegmentName,
} from "./folder.ts";
import { sha256 } from "./hash.ts";
import { byteUnits, LineFault, LineReader, parseRecord } from "./line.ts";
import { readAt, shown } from "./paths.ts";

/** The end of a ledger, as it was left by the last append or found by {@link inspect}. */
export interface Tail {
  /** Newest chained entry; null before the first. */
  readonly head: Head | null;
  /** What the next entry names as the one before it. */
  readonly previousHash: string;
  /** Of the active file; null when it has no chained entry yet (then a new one is due). */
  readonly segmentId: string | null;
  /** Sequence of the first chained entry of the active file. */
  readonly fileFirst: number | null;
  /** Bytes of the active file; 0 when it is missing. */
  readonly size: number;
  /** {@link identityOf} the active file; "" when it is missing. */
  readonly identity: string;
  /** Rotated segments and checkpoints beside it. */
  readonly listed: string;
  /** Last line of the active file, LF excluded; null when there is none. */
  readonly lastLine: Uint8Array | null;
}

/** What others appended is checked line by line up to this size; beyond it only at its end. */
const MAX_DELTA_BYTES = 1_048_576;

const reader = new LineReader();

/** Rotated segments and checkpoints as one text, to see whether anything came or went. */
export function listingKey(listing: Listing): string {
  return [...listing.segments.map(({ name }) => name), ...listing.checkpoints].join("\n");
}

/** What tells a file from any other; a number alone may be given again to a later file. */
export function identityOf(info: Deno.FileInfo): string {
  return `${info.dev}:${info.ino}:${info.birthtime?.getTime()}`;
}

/**
 * Repairs a last line that an interrupted append left torn (`audit.md` 6.1). The caller holds the lock.
 *
 * @param active the active file, open for writing
 * @returns what was done, for people; null when there was nothing to do
 * @throws {LedgerError} `integrity` when it cannot be repaired
 */
export function repairTail({ file, info: { size } }: OpenFile): string | null {
  if (size === 0 || readAt(file, size - 1, 1)[0] === 0x0a) return null;
  const window = readAt(file, Math.max(0, size - MAX_LINE_BYTES - 1), MAX_LINE_BYTES + 1);
  const lineEnd = window.lastIndexOf(0x0a);
  const torn = window.subarray(lineEnd + 1);
  if (torn.length > MAX_LINE_BYTES) {
    throw new LedgerError("integrity", "the torn last line is longer than any line may be");
  }
  if (isObject(torn)) {
    file.writeSync(Uint8Array.of(0x0a));
    file.syncDataSync();
    return "the last line had no line end; it was added";
  }
  if (lineEnd < 0) throw new LedgerError("integrity", "its only record is torn");
  file.truncateSync(size - torn.length);
  file.syncDataSync();
  return `${torn.length} bytes of an interrupted append were removed from its end`;
}

function isObject(bytes: Uint8Array): boolean {
  try {
    parseRecord(bytes);
    return true;
  } catch (error) {
    if (error instanceof LineFault) return false;
    throw error;
  }
}

/**
 * Finds the end of the ledger; the caller holds the lock and has repaired a torn line.
 *
 * @param known the end as this process knew it; null when it has not looked yet
 * @param notice told when another ledger stands where the known one was
 * @throws {LedgerError} `integrity` when what is looked at does not hold together, or when entries
 * that this process knew are gone or changed
 */
export function inspect(
  names: LedgerNames,
  listing: Listing,
  active: OpenFile | null,
  known: Tail | null,
  notice: (text: string) => void,
): Tail {
  try {
    if (active && active.info.size > MAX_FILE_BYTES) {
      throw new LineFault(`it is larger than ${MAX_FILE_BYTES} bytes`);
    }
    const warm = known && active ? follow(active, listing, known) : null;
    if (warm) return warm;
    const tail = examine(names, listing, active);
    if (known?.head) compareWithKnown(names, known as KnownTail, tail, listing, active, notice);
    return tail;
  } catch (error) {
    if (!(error instanceof LineFault)) throw error;
    throw new LedgerError("integrity", error.message);
  }
}

/** The usual case: the same files, at most grown by what others appended. */
function follow({ file, info }: OpenFile, listing: Listing, known: Tail): Tail | null {
  const grown = info.size - known.size;
  if (
    identityOf(info) !== known.identity || listingKey(listing) !== known.listed || grown < 0 ||
    grown > MAX_DELTA_BYTES || !known.head || !known.segmentId || !known.lastLine
  ) return null;
  checkKnownLine(file, known);
  if (grown === 0) return known;
  const added = readAt(file, known.size, grown);
  const { head, segmentId } = known;
  const checker = new ChainChecker({ resume: { head, segmentId } });
  checker.lines(added);
  const newest = checker.head!;
  return {
    ...known,
    head: newest,
    previousHash: newest.hash,
    size: info.size,
    lastLine: lastLineOf(added),
  };
}

/** The newest entry that this process knows must still stand where it stood. */
function checkKnownLine(file: Deno.FsFile, known: Tail): void {
  const line = known.lastLine!;
  const there = readAt(file, known.size - line.length - 1, line.length + 1);
  if (there.length !== line.length + 1 || !startsWith(there, line) || there.at(-1) !== 0x0a) {
    throw new LineFault(
      `entry ${
        known.head!.sequence
      }, or one before it, was changed or removed after it was written`,
    );
  }
}

/** Looks at the ends of everything: on the first append, and when files came or went. */
function examine(
  names: LedgerNames,
  listing: Listing,
  active: OpenFile | null,
): Tail {
  const starts = listing.checkpoints.map((name) => readCheckpoint(names.folder, name));
  const { segments } = listing;
  let before: { head: Head; segmentId: string } | null = null;
  for (const [at, segment] of segments.entries()) {
    if (at > 0 && segment.first !== segments[at - 1]!.last + 1) {
      throw new LedgerError("integrity", `entries before ${shown(segment.name)} are missing`);
    }
  }
  if (segments.length > 0) {
    const newest = segments[segments.length - 1]!;
    before = { head: lastEntryOf(names, newest), segmentId: newest.segmentId };
    checkStart(firstEntryOf(names, segments[0]!), starts);
  }
  const base: Tail = {
    head: before?.head ?? null,
    previousHash: before?.head.hash ?? GENESIS,
    segmentId: null,
    fileFirst: null,
    size: 0,
    identity: "",
    listed: listingKey(listing),
    lastLine: null,
  };
  if (!active || active.info.size === 0) {
    return active ? { ...base, identity: identityOf(active.info) } : base;
  }
  return examineActive(active, base, before, starts);
}

function examineActive(
  active: OpenFile,
  base: Tail,
  before: { head: Head; segmentId: string } | null,
  starts: readonly { nextSequence: number; previousHash: string }[],
): Tail {
  const { file, info } = active;
  const identity = identityOf(info);
  const lastLine = readLastLine(file, info.size);
  const last = soundEntry(lastLine);
  if (!last) {
    // Records without a chain: the next entry must cover them all, so they are all read, once.
    if (before) throw new LineFault("a record without a chain behind chained entries");
    const checker = new ChainChecker();
    checker.lines(readAt(file, 0, info.size));
    return { ...base, identity, size: info.size, previousHash: checker.anchor, lastLine };
  }
  const first = soundEntry(readFirstLine(file, info.size));
  if (first) {
    if (!before) checkStart(first, starts);
    else if (
      first.sequence !== before.head.sequence + 1 || first.previousHash !== before.head.hash ||
      first.segmentId === before.segmentId
    ) {
      throw new LineFault("it does not continue the newest rotated segment");
    }
    if (first.segmentId !== last.segmentId || first.sequence > last.sequence) {
      throw new LineFault("its first and last entries do not belong together");
    }
  } else if (before) {
    throw new LineFault("a record without a chain behind chained entries");
  }
  return {
    ...base,
    identity,
    size: info.size,
    head: { sequence: last.sequence, hash: last.entryHash },
    previousHash: last.entryHash,
    segmentId: last.segmentId,
    // Behind records without a chain the first chained entry is number 1.
    fileFirst: first?.sequence ?? 1,
    lastLine,
  };
}

type KnownTail = Tail & { readonly head: Head };

/** A ledger that shrank or changed under us is broken; one that was moved away is not ours to judge. */
function compareWithKnown(
  names: LedgerNames,
  known: KnownTail,
  found: Tail,
  listing: Listing,
  active: OpenFile | null,
  notice: (text: string) => void,
): void {
  const { head, segmentId } = known;
  const rotated = listing.segments.find((segment) => segment.segmentId === segmentId);
  if (active && segmentId !== null && found.segmentId === segmentId) {
    return checkKnownLine(active.file, known);
  }
  if (rotated) {
    const { file } = openSafely(names.path(rotated.name), {});
    try {
      return checkKnownLine(file, known);
    } finally {
      file.close();
    }
  }
  const older = new Set(known.listed.split("\n"));
  if (
    (found.identity !== "" && found.identity === known.identity) ||
    listing.segments.some(({ name }) => older.has(name))
  ) {
    throw new LineFault(`it ended at sequence ${head.sequence}, and its newest entries are gone`);
  }
  // Pruning would have left only later segments; otherwise it was moved away, which is allowed.
  if ((listing.segments[0]?.first ?? 0) > head.sequence) return;
  notice(
    found.head
      ? `another ledger, ending at sequence ${found.head.sequence}, stands where the one ending ` +
        `at ${head.sequence} was; it is continued`
      : `the ledger ending at sequence ${head.sequence} is gone; a new one begins`,
  );
}

interface SoundEntry {
  sequence: number;
  previousHash: string;
  entryHash: string;
  segmentId: string;
}

/** An entry whose own hash holds; null for a record without a chain. */
function soundEntry(bytes: Uint8Array): SoundEntry | null {
  const line = reader.read(bytes, byteUnits(bytes), 0, bytes.length);
  checkSignature(line, [], false);
  if (line.members.auditChainVersion === undefined) return null;
  const entry = checkForm(line);
  if (sha256(line.hashedBytes()) !== entry.entryHash) {
    throw new LineFault(`sequence ${entry.sequence}: content does not match its entryHash`);
  }
  return entry;
}

function checkStart(
  first: SoundEntry | null,
  starts: readonly { nextSequence: number; previousHash: string }[],
): void {
  // A file that begins with records without a chain starts the ledger by itself.
  if (!first || (first.sequence === 1 && first.previousHash === GENESIS)) return;
  const fitting = starts.filter((start) =>
    start.nextSequence === first.sequence && start.previousHash === first.previousHash
  );
  if (fitting.length !== 1) {
    throw new LineFault(`no checkpoint explains that it starts at sequence ${first.sequence}`);
  }
}

/** The first entry of a rotated segment; null for a record without a chain. */
export function firstEntryOf(names: LedgerNames, segment: SegmentName): SoundEntry | null {
  const { file, info } = openSafely(names.path(segment.name), {});
  try {
    return soundEntry(readFirstLine(file, info.size));
  } finally {
    file.close();
  }
}

/** The last entry of a rotated segment, which must be the one that its name says. */
export function lastEntryOf(
  names: { path(name: string): string },
  segment: SegmentName,
): Head {
  const { file, info } = openSafely(names.path(segment.name), {});
  try {
    const entry = soundEntry(readLastLine(file, info.size));
    if (entry?.sequence !== segment.last || entry.segmentId !== segment.segmentId) {
      throw new LineFault(`the name of ${shown(segment.name)} does not fit its content`);
    }
    return { sequence: entry.sequence, hash: entry.entryHash };
  } finally {
    file.close();
  }
}

function readLastLine(file: Deno.FsFile, size: number): Uint8Array {
  for (let length = 4_096;; length *= 8) {
    const wanted = Math.min(length, size, MAX_LINE_BYTES + 1);
    const window = readAt(file, size - wanted, wanted);
    if (window.at(-1) !== 0x0a) throw new LineFault("the last line is torn", true);
    const before = window.subarray(0, -1).lastIndexOf(0x0a);
    if (before >= 0 || wanted === size) return window.slice(before + 1, -1);
    if (wanted > MAX_LINE_BYTES) {
      throw new LineFault(`line is longer than ${MAX_LINE_BYTES} bytes`);
    }
  }
}

function readFirstLine(file: Deno.FsFile, size: number): Uint8Array {
  for (let length = 4_096;; length *= 8) {
    const wanted = Math.min(length, size, MAX_LINE_BYTES + 1);
    const window = readAt(file, 0, wanted);
    const end = window.indexOf(0x0a);
    if (end >= 0) return window.slice(0, end);
    if (wanted === size) throw new LineFault("the last line is torn", true);
    if (wanted > MAX_LINE_BYTES) {
      throw new LineFault(`line is longer than ${MAX_LINE_BYTES} bytes`);
    }
  }
}

/** @param bytes whole lines, at least one */
function lastLineOf(bytes: Uint8Array): Uint8Array {
  return bytes.slice(bytes.subarray(0, -1).lastIndexOf(0x0a) + 1, -1);
}

function startsWith(bytes: Uint8Array, head: Uint8Array): boolean {
  for (let at = 0; at < head.length; at++) if (bytes[at] !== head[at]) return false;
  return true;
}
