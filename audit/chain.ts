/**
 * The rules that hold from line to line of a ledger (`audit.md` 7.2, 7.3). A checker is fed files and
 * lines in order and keeps nothing but counters and the newest head, however long the ledger is.
 */

import { hash } from "node:crypto";
import {
  CHAIN_VERSION,
  GENESIS,
  LEGACY_ANCHOR_PREFIX,
  MAX_LINE_BYTES,
  SCHEMA_VERSION,
} from "./constants.ts";
import { isSha256, sha256 } from "./hash.ts";
import { byteUnits, type LedgerLine, LineFault, LineReader } from "./line.ts";
import { decodeSignature, type VerifyKey } from "./signing.ts";

/** Names an entry of a chain: its sequence and its `entryHash`. */
export interface Head {
  readonly sequence: number;
  /** `sha256:` and 64 hex digits. */
  readonly hash: string;
}

/** Where a chain may start when entries before it were pruned. */
export interface ChainStart {
  readonly nextSequence: number;
  readonly previousHash: string;
}

export interface CheckerOptions {
  /** Keys that a signature may be by; with none, signatures are only checked for their form. */
  readonly keys?: readonly VerifyKey[];
  /** Refuses unsigned records. */
  readonly requireSigned?: boolean;
  /** Starts that the checkpoints vouch for. */
  readonly starts?: readonly ChainStart[];
  /** Starts behind a gap: an archive that was switched off for a time keeps one for each gap. */
  readonly gapStarts?: readonly ChainStart[];
  /** Entries that must be in the chain, as kept elsewhere. */
  readonly expectHeads?: readonly Head[];
  /** Goes on behind an entry that is already known to be good. */
  readonly resume?: { readonly head: Head; readonly segmentId: string };
  /** Called for each good record, in order. The line is good only during the call. */
  readonly onRecord?: (line: LedgerLine) => void;
}

export interface Counters {
  entries: number;
  chained: number;
  legacy: number;
  signed: number;
  unsigned: number;
}

/** Entries that were pruned while no archive was kept. */
export interface Gap {
  readonly firstSequence: number;
  readonly lastSequence: number;
}

/** Entries whose clock ran backwards; not a fault, processes and clocks differ. */
export interface ClockSteps {
  count: number;
  /** Sequence of the first such entry; null when there is none. */
  firstSequence: number | null;
  largestMs: number;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TEXT_BYTES = 65_536;
const LEGACY_DOMAIN = new TextEncoder().encode("fluxgit-mcp-legacy-prefix-v1\0");

/** True for a lower-case hyphenated UUID of any version. */
export function isUuid(text: unknown): text is string {
  return typeof text === "string" && UUID.test(text);
}

/** Checks a chain from its first line to its last. */
export class ChainChecker {
  readonly counters: Counters = { entries: 0, chained: 0, legacy: 0, signed: 0, unsigned: 0 };
  readonly clock: ClockSteps = { count: 0, firstSequence: null, largestMs: 0 };
  /** Newest chained entry; null before the first. */
  head: Head | null = null;
  /** Oldest chained entry seen. */
  firstSequence: number | null = null;
  checkpointUsed = false;
  readonly gaps: Gap[] = [];
  /** `segmentId` of the chained entries of the file being read; null before its first. */
  segmentId: string | null = null;
  /** Sequence of the first chained entry of the file being read. */
  fileFirst: number | null = null;
  /** Line of the file being read, 1-based. */
  lineNumber = 0;

  readonly #options: CheckerOptions;
  readonly #keys: VerifyKey[];
  readonly #pendingHeads: Map<number, string[]> = new Map();
  readonly #reader = new LineReader();
  #previousFileSegment: string | null = null;
  #anchor: Uint8Array = new Uint8Array(32);
  #newestTimestamp = -Infinity;

  constructor(options: CheckerOptions = {}) {
    this.#options = options;
    this.#keys = [...options.keys ?? []];
    for (const { sequence, hash } of options.expectHeads ?? []) {
      this.#pendingHeads.set(sequence, [...this.#pendingHeads.get(sequence) ?? [], hash]);
    }
    if (options.resume) {
      this.head = options.resume.head;
      this.segmentId = options.resume.segmentId;
    }
  }

  /** What the first chained entry must name when nothing was pruned: the records before the chain. */
  get anchor(): string {
    return this.counters.legacy === 0
      ? GENESIS
      : LEGACY_ANCHOR_PREFIX + Array.from(this.#anchor, hex).join("");
  }

  /** Heads that were asked for and that no entry so far has settled. */
  get openHeads(): Head[] {
    return [...this.#pendingHeads].flatMap(([sequence, hashes]) =>
      hashes.map((hash) => ({ sequence, hash }))
    );
  }

  startFile(): void {
    if (this.segmentId !== null) this.#previousFileSegment = this.segmentId;
    this.segmentId = null;
    this.fileFirst = null;
    this.lineNumber = 0;
  }

  /**
   * Checks whole lines.
   *
   * @param bytes ends with the LF of its last line, or is empty
   * @throws {LineFault} at the first bad line; `lineNumber` names it
   */
  lines(bytes: Uint8Array): void {
    // Some lines at a time: texts of whole files would be garbage too large to go soon.
    for (let start = 0; start < bytes.length;) {
      let end = bytes.lastIndexOf(0x0a, start + TEXT_BYTES) + 1;
      if (end <= start) end = bytes.indexOf(0x0a, start) + 1 || bytes.length;
      this.#someLines(bytes.subarray(start, end));
      start = end;
    }
  }

  #someLines(bytes: Uint8Array): void {
    const text = byteUnits(bytes);
    for (let start = 0; start < bytes.length;) {
      this.lineNumber++;
      const end = bytes.indexOf(0x0a, start);
      if (end < 0) {
        if (bytes.length - start > MAX_LINE_BYTES) {
          throw new LineFault(`line is longer than ${MAX_LINE_BYTES} bytes`);
        }
        throw new LineFault("the last line is torn (it has no line end)", true);
      }
      this.record(this.#reader.read(bytes, text, start, end));
      start = end + 1;
    }
  }

  /** Checks one record in the order of `audit.md` 7.2. @throws {LineFault} */
  record(line: LedgerLine): void {
    const { members } = line;
    const { counters } = this;
    checkSignature(line, this.#keys, this.#options.requireSigned ?? false);
    counters.entries++;
    if (members.signature === undefined) counters.unsigned++;
    else counters.signed++;
    if (members.auditChainVersion === undefined) this.#legacy(line);
    else this.#chained(line);
    this.#options.onRecord?.(line);
  }

  #legacy(line: LedgerLine): void {
    if (this.head !== null) throw new LineFault("a record without a chain behind chained entries");
    const whole = line.wholeBytes();
    const bytes = new Uint8Array(LEGACY_DOMAIN.length + 32 + whole.length);
    bytes.set(LEGACY_DOMAIN);
    bytes.set(this.#anchor, LEGACY_DOMAIN.length);
    bytes.set(whole, LEGACY_DOMAIN.length + 32);
    this.#anchor = new Uint8Array(hash("sha256", bytes, "buffer"));
    this.counters.legacy++;
  }

  #chained(line: LedgerLine): void {
    const entry = checkForm(line);
    const { sequence, previousHash } = entry;
    if (this.head === null) {
      this.#checkStart(sequence, previousHash);
    } else if (!this.#skipsGap(sequence, previousHash)) {
      const expected = this.head.sequence + 1;
      if (sequence !== expected) {
        throw new LineFault(`sequence is ${sequence}, expected ${expected}`);
      }
      if (previousHash !== this.head.hash) {
        throw new LineFault(
          `sequence ${sequence}: previousHash is not the hash of the entry before`,
        );
      }
    }
    if (sha256(line.hashedBytes()) !== entry.entryHash) {
      throw new LineFault(`sequence ${sequence}: content does not match its entryHash`);
    }
    if (this.segmentId !== null && entry.segmentId !== this.segmentId) {
      throw new LineFault(`sequence ${sequence}: segmentId differs within one file`);
    }
    if (this.segmentId === null && entry.segmentId === this.#previousFileSegment) {
      throw new LineFault(`sequence ${sequence}: segmentId is that of the file before`);
    }
    this.#settleHeads(sequence, entry.entryHash);
    this.segmentId = entry.segmentId;
    this.fileFirst ??= sequence;
    this.firstSequence ??= sequence;
    this.head = { sequence, hash: entry.entryHash };
    this.counters.chained++;
    this.#watchClock(sequence, entry.timestamp);
  }

  #checkStart(sequence: number, previousHash: string): void {
    if (this.counters.legacy > 0) {
      if (sequence !== 1) throw new LineFault("the first chained entry must have sequence 1");
      if (previousHash !== this.anchor) {
        throw new LineFault("sequence 1: previousHash does not cover the records before it");
      }
    } else if (sequence !== 1 || previousHash !== GENESIS) {
      const fitting = (this.#options.starts ?? []).filter((start) =>
        start.nextSequence === sequence && start.previousHash === previousHash
      ).length;
      if (fitting !== 1) {
        throw new LineFault(
          `the chain starts at sequence ${sequence}, which ` +
            (fitting === 0 ? "no retention checkpoint explains" : "several checkpoints explain"),
        );
      }
      this.checkpointUsed = true;
    }
    // A head just before the start is confirmed by what the start commits to.
    if (sequence > 1) this.#settleHeads(sequence - 1, previousHash);
  }

  /** A file may start behind a gap that a checkpoint in the archive explains. */
  #skipsGap(sequence: number, previousHash: string): boolean {
    const expected = this.head!.sequence + 1;
    if (this.segmentId !== null || sequence <= expected) return false;
    const explained = (this.#options.gapStarts ?? []).some((start) =>
      start.nextSequence === sequence && start.previousHash === previousHash
    );
    if (explained) this.gaps.push({ firstSequence: expected, lastSequence: sequence - 1 });
    return explained;
  }

  #settleHeads(sequence: number, hash: string): void {
    const wanted = this.#pendingHeads.get(sequence);
    if (!wanted) return;
    if (wanted.some((one) => one !== hash)) {
      throw new LineFault(`sequence ${sequence}: the entry is not the one of the expected head`);
    }
    this.#pendingHeads.delete(sequence);
  }

  #watchClock(sequence: number, timestamp: number): void {
    const step = this.#newestTimestamp - timestamp;
    if (step > 0) {
      this.clock.count++;
      this.clock.firstSequence ??= sequence;
      this.clock.largestMs = Math.max(this.clock.largestMs, step);
    } else {
      this.#newestTimestamp = timestamp;
    }
  }
}

interface EntryForm {
  sequence: number;
  previousHash: string;
  entryHash: string;
  segmentId: string;
  timestamp: number;
}

/** Versions and types of the chain members (7.2, points 5 and 6). @throws {LineFault} */
export function checkForm(line: LedgerLine): EntryForm {
  const { members } = line;
  if (
    members.auditChainVersion !== CHAIN_VERSION || members.auditSchemaVersion !== SCHEMA_VERSION
  ) {
    throw new LineFault("unknown auditChainVersion or auditSchemaVersion");
  }
  const { sequence, previousHash, entryHash, segmentId, id, timestamp } = members;
  if (typeof sequence !== "number" || !Number.isSafeInteger(sequence) || sequence < 1) {
    throw new LineFault("sequence is not a positive integer");
  }
  if (typeof previousHash !== "string") throw new LineFault("previousHash is not a string");
  if (!isSha256(entryHash)) throw new LineFault("entryHash is not a SHA-256 in its written form");
  if (!isUuid(segmentId)) throw new LineFault("segmentId is not a canonical UUID");
  if (typeof id !== "string" || !UUID_V4.test(id)) {
    throw new LineFault("id is not a canonical version 4 UUID");
  }
  if (
    typeof timestamp !== "number" && typeof timestamp !== "bigint" && !(timestamp instanceof Number)
  ) {
    throw new LineFault("timestamp is not a number");
  }
  return { sequence, previousHash, entryHash, segmentId, timestamp: Number(timestamp) };
}

/**
 * Signature rules for a record or a checkpoint (7.2, point 2). Any of the keys may have signed it;
 * the id that the record names decides nothing.
 *
 * @param keys the one that fits is moved to the front: neighbours are mostly by the same key
 * @throws {LineFault}
 */
export function checkSignature(
  line: Pick<LedgerLine, "signedBytes"> & {
    readonly members: { readonly signature: unknown };
  },
  keys: VerifyKey[],
  required: boolean,
): void {
  const written = line.members.signature;
  if (written === undefined) {
    if (required) throw new LineFault("not signed");
    return;
  }
  const signature = decodeSignature(written);
  if (!signature) throw new LineFault("signature is not 64 bytes in canonical base64url");
  if (keys.length === 0) return;
  const bytes = line.signedBytes();
  for (const [at, key] of keys.entries()) {
    if (!key.verify(bytes, signature)) continue;
    if (at > 0) keys.unshift(...keys.splice(at, 1));
    return;
  }
  throw new LineFault(
    keys.length === 1
      ? "signature does not verify under the given key"
      : "signature does not verify under any of the given keys",
  );
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}
