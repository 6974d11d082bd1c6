/** Verifies a whole ledger or one entry (`audit.md` section 7). Bounded memory, nothing written. */

import { ChainChecker, type ChainStart, checkForm, checkSignature } from "./chain.ts";
import type { ClockSteps, Counters, Gap, Head } from "./chain.ts";
import { readCheckpoint } from "./checkpoint.ts";
import { MAX_FILE_BYTES, MAX_LINE_BYTES } from "./constants.ts";
import { LedgerError, reasonOf } from "./errors.ts";
import { sha256 } from "./hash.ts";
import { type LedgerLine, LineFault, readRecord } from "./line.ts";
import { VerifyKey } from "./signing.ts";
import { openSnapshot, type Snapshot, type SnapshotFile } from "./snapshot.ts";

/** What to hold a ledger against. */
export interface VerifyOptions {
  /** PEM `PUBLIC KEY` texts; each signature must be by one of them. None: form is checked only. */
  readonly publicKeys?: readonly string[];
  /** Refuse unsigned records and checkpoints. */
  readonly requireSigned?: boolean;
  /** Entries kept elsewhere that the ledger must contain. `hash` is `sha256:` and 64 hex digits. */
  readonly expectHeads?: readonly Head[];
  /** Folder of archived segments; a missing folder counts as empty. */
  readonly archive?: string | null;
  /** Called with each good record in order, while the ledger is read. */
  readonly onRecord?: (line: LedgerLine) => void;
  /** Awaited after each file; for a consumer that has to catch up, and for progress. */
  readonly afterFile?: (filesDone: number, filesTotal: number) => void | Promise<void>;
}

/** The first bad place. */
export interface VerifyFailure {
  readonly kind: "integrity" | "configuration" | "io";
  /** Number of the file in reading order, 0-based; null when it is not about one file. */
  readonly segment: number | null;
  readonly file: string | null;
  /** 1-based; 0 is the whole file. */
  readonly line: number;
  /** Sequence of the newest good entry before the place; null when there is none. */
  readonly afterSequence: number | null;
  /** True for a torn last line, which the next append repairs. */
  readonly torn: boolean;
  /** One printable line without entry content. */
  readonly reason: string;
}

/** What the chain cannot show by itself and no option pinned from outside. */
export type NotExcluded = "key_not_pinned" | "unsigned_records" | "tail_cut";

export interface VerifyReport extends Counters {
  readonly ok: boolean;
  /** Files read. */
  readonly segments: number;
  /** Those of them that came from the archive. */
  readonly archivedSegments: number;
  /** 0 when there is no chained entry. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly retentionCheckpointUsed: boolean;
  /** Entries that are missing because no archive was kept for a time. */
  readonly gaps: readonly Gap[];
  /** Newest entry that was found good; null when there is none. */
  readonly head: Head | null;
  /** Ids of the given keys. */
  readonly keyIds: readonly string[];
  readonly notExcluded: readonly NotExcluded[];
  /** Entries that are stamped earlier than one before them; clocks differ, so this is no fault. */
  readonly clockSteps: ClockSteps;
  readonly failure: VerifyFailure | null;
}

/**
 * Verifies a ledger: the archived and the rotated segments and the active file, their names, the
 * checkpoints, the hash chain and the signatures. Appends may go on meanwhile; what is verified is
 * the ledger as it was at the start of the call.
 *
 * @param path the active file. It may be missing, its folder not: an empty ledger is a good one.
 * @returns the report; a ledger that does not hold is a report with `ok: false`, not an exception
 * @throws {AuditConfigError} a given public key is not an Ed25519 `PUBLIC KEY` in PEM form
 *
 * @example
 * ```ts
 * import { verifyLedger } from "./mod.ts";
 *
 * const report = await verifyLedger("/home/me/.local/share/FluxGit/run/audit/mcp.jsonl");
 * if (!report.ok) console.error(report.failure);
 * ```
 */
export async function verifyLedger(
  path: string,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const keys = (options.publicKeys ?? []).map((pem) => VerifyKey.fromPem(pem));
  const run = new Verification(keys, options);
  let snapshot: Snapshot;
  try {
    snapshot = await openSnapshot(path, options.archive ?? null);
  } catch (error) {
    return run.report(failureOf(error, null, 0, null));
  }
  try {
    return await run.read(snapshot);
  } finally {
    snapshot.close();
  }
}

/** As {@link verifyLedger} for the structure only, in one go and over files already opened. */
export function verifySnapshot(snapshot: Snapshot): VerifyReport {
  return new Verification([], {}).readNow(snapshot);
}

class Verification {
  #checker: ChainChecker = new ChainChecker();
  #filesRead = 0;
  #archivedRead = 0;
  // Not reserved before a large file asks for it.
  #buffer = new Uint8Array(0);

  constructor(readonly keys: VerifyKey[], readonly options: VerifyOptions) {}

  async read(snapshot: Snapshot): Promise<VerifyReport> {
    const begun = this.#begin(snapshot);
    if (begun) return begun;
    for (const file of snapshot.files) {
      const failure = this.#file(file);
      if (failure) return this.report(failure);
      await this.options.afterFile?.(this.#filesRead, snapshot.files.length);
    }
    return this.#end();
  }

  readNow(snapshot: Snapshot): VerifyReport {
    const begun = this.#begin(snapshot);
    if (begun) return begun;
    for (const file of snapshot.files) {
      const failure = this.#file(file);
      if (failure) return this.report(failure);
    }
    return this.#end();
  }

  report(failure: VerifyFailure | null): VerifyReport {
    const { counters, head, firstSequence, checkpointUsed, gaps, clock } = this.#checker;
    const notExcluded: NotExcluded[] = [];
    if (this.keys.length === 0) notExcluded.push("key_not_pinned");
    else if (counters.unsigned > 0) notExcluded.push("unsigned_records");
    if ((this.options.expectHeads ?? []).length === 0) notExcluded.push("tail_cut");
    return {
      ok: failure === null,
      ...counters,
      segments: this.#filesRead,
      archivedSegments: this.#archivedRead,
      firstSequence: firstSequence ?? 0,
      lastSequence: head?.sequence ?? 0,
      retentionCheckpointUsed: checkpointUsed,
      gaps,
      head,
      keyIds: this.keys.map(({ keyId }) => keyId),
      notExcluded,
      clockSteps: clock,
      failure,
    };
  }

  #begin(snapshot: Snapshot): VerifyReport | null {
    const starts: ChainStart[] = [];
    for (const { folder, name } of snapshot.checkpoints) {
      try {
        const required = this.options.requireSigned ?? false;
        starts.push(readCheckpoint(folder, name, this.keys, required));
      } catch (error) {
        return this.report(failureOf(error, null, 0, null));
      }
    }
    const { requireSigned = false, expectHeads = [], onRecord } = this.options;
    this.#checker = new ChainChecker({
      keys: this.keys,
      requireSigned,
      expectHeads,
      starts: withoutRepeats(starts, snapshot),
      gapStarts: starts.filter((_, at) =>
        snapshot.checkpoints[at]!.folder === this.options.archive
      ),
      ...(onRecord ? { onRecord } : {}),
    });
    return null;
  }

  #file(file: SnapshotFile): VerifyFailure | null {
    const checker = this.#checker;
    checker.startFile();
    try {
      if (this.#buffer.length === 0) this.#buffer = new Uint8Array(MAX_FILE_BYTES);
      const bytes = file.read(this.#buffer);
      checker.lines(bytes);
      checker.lineNumber = 0;
      if (file.segment) checkName(file.segment, checker);
    } catch (error) {
      return failureOf(
        error,
        { number: this.#filesRead, name: file.name },
        checker.lineNumber,
        checker.head,
      );
    }
    this.#filesRead++;
    if (file.archived) this.#archivedRead++;
    return null;
  }

  #end(): VerifyReport {
    const open = this.#checker.openHeads[0];
    if (!open) return this.report(null);
    const { head, firstSequence } = this.#checker;
    const reason = head === null
      ? `the ledger is empty; the entry ${open.sequence} of the expected head is missing`
      : open.sequence > head.sequence
      ? `the ledger ends at sequence ${head.sequence}; the expected head is at ${open.sequence}`
      : `the expected head at ${open.sequence} is not among the entries that are kept ` +
        `(from sequence ${firstSequence})`;
    return this.report(failureOf(new LineFault(reason), null, 0, head));
  }
}

/**
 * A start that stands both in the archive and beside the ledger counts once; two checkpoint files in
 * one folder that vouch for the same start stay two, which is a fault when the start is needed.
 */
function withoutRepeats(starts: readonly ChainStart[], snapshot: Snapshot): ChainStart[] {
  return starts.filter((start, at) => {
    const { folder } = snapshot.checkpoints[at]!;
    return !starts.some((other, before) =>
      before < at && snapshot.checkpoints[before]!.folder !== folder &&
      other.nextSequence === start.nextSequence && other.previousHash === start.previousHash
    );
  });
}

function checkName(
  segment: { first: number; last: number; segmentId: string },
  checker: ChainChecker,
): void {
  if (
    checker.fileFirst !== segment.first || checker.head?.sequence !== segment.last ||
    checker.segmentId !== segment.segmentId
  ) {
    throw new LineFault("the file's name does not fit its content");
  }
}

function failureOf(
  error: unknown,
  file: { number: number; name: string } | null,
  line: number,
  head: Head | null,
): VerifyFailure {
  const kind = error instanceof LineFault
    ? "integrity"
    : error instanceof LedgerError && error.kind !== "busy" && error.kind !== "entry"
    ? error.kind
    : "io";
  return {
    kind,
    segment: file?.number ?? null,
    file: file?.name ?? null,
    line,
    afterSequence: head?.sequence ?? null,
    torn: error instanceof LineFault && error.torn,
    reason: reasonOf(error),
  };
}

/** What {@link verifyEntry} found. */
export interface EntryReport {
  readonly ok: boolean;
  /** Why not; null when it holds. */
  readonly reason: string | null;
  /** Null for a record without a chain, or one that could not be read. */
  readonly sequence: number | null;
  readonly entryHash: string | null;
  readonly previousHash: string | null;
  readonly signed: boolean;
}

/**
 * Verifies one entry by itself: its form, its hash, its signature. Whether it stands in an unbroken
 * chain is for {@link verifyLedger}.
 *
 * @param line one line of a ledger, with or without its line end
 * @throws {AuditConfigError} as {@link verifyLedger}
 *
 * @example
 * ```ts
 * import { verifyEntry } from "./mod.ts";
 *
 * verifyEntry('{"auditChainVersion":1}').reason; // says what is missing
 * ```
 */
export function verifyEntry(
  line: string | Uint8Array,
  options: { readonly publicKeys?: readonly string[]; readonly requireSigned?: boolean } = {},
): EntryReport {
  const keys = (options.publicKeys ?? []).map((pem) => VerifyKey.fromPem(pem));
  const bytes = typeof line === "string" ? new TextEncoder().encode(line) : line;
  let [sequence, entryHash, previousHash]: [number | null, string | null, string | null] = [
    null,
    null,
    null,
  ];
  let signed = false;
  let reason: string | null = null;
  try {
    if (bytes.length > MAX_LINE_BYTES) {
      throw new LineFault(`line is longer than ${MAX_LINE_BYTES} bytes`);
    }
    const record = readRecord(bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes);
    signed = record.members.signature !== undefined;
    checkSignature(record, keys, options.requireSigned ?? false);
    if (record.members.auditChainVersion !== undefined) {
      ({ sequence, entryHash, previousHash } = checkForm(record));
      if (sha256(record.hashedBytes()) !== entryHash) {
        throw new LineFault("content does not match its entryHash");
      }
    }
  } catch (error) {
    if (!(error instanceof LineFault)) throw error;
    reason = error.message;
  }
  return { ok: reason === null, reason, sequence, entryHash, previousHash, signed };
}
