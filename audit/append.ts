/** One visit to the ledger under its lock: chain entries, write them, rotate when a file is full. */

import { buildLine, type BuiltLine, type PreparedEntry } from "./build.ts";
import type { Head } from "./chain.ts";
import { MAX_FILE_BYTES, SEGMENT_LIMIT_BYTES } from "./constants.ts";
import { LedgerError } from "./errors.ts";
import { type LedgerNames, type Listing, type OpenFile, openSafely, syncFolder } from "./folder.ts";
import { rotate } from "./retention.ts";
import type { Signer } from "./signing.ts";
import { identityOf, listingKey, type Tail } from "./tail.ts";

/** What an {@link Appender} works with. */
export interface AppendTools {
  readonly names: LedgerNames;
  readonly signer: Signer | null;
  /** Writes at the end of the file; may throw after writing a part. */
  readonly write: (file: Deno.FsFile, bytes: Uint8Array) => void;
  /** Called when the active file became a segment; @returns what is there after pruning */
  readonly rotated: () => Listing;
  /** Called when entries are durable. */
  readonly committed: (heads: readonly Head[], tail: Tail) => void;
}

/** The caller holds the lock for the life of this object and calls {@link close}. */
export class Appender {
  #active: OpenFile | null;
  #tail: Tail;
  #segmentId: string | null;
  #lines: BuiltLine[] = [];
  #pendingBytes = 0;

  /**
   * @param active the active file, open for writing; null when it is missing. Closed by {@link close}.
   * @param tail the end of the ledger as `inspect` found it
   */
  constructor(readonly tools: AppendTools, active: OpenFile | null, tail: Tail) {
    this.#active = active;
    this.#tail = tail;
    this.#segmentId = tail.segmentId;
  }

  /**
   * Chains an entry; it is written by the next {@link commit}.
   *
   * @throws {LedgerError} `integrity` when the active file cannot take it and cannot be rotated
   */
  add(entry: PreparedEntry): void {
    let line = this.#build(entry);
    const chained = this.#tail.fileFirst !== null || this.#lines.length > 0;
    if (chained && this.#size + line.bytes.length > SEGMENT_LIMIT_BYTES) {
      this.commit();
      this.#rotate();
      line = this.#build(entry);
    }
    if (this.#size + line.bytes.length > MAX_FILE_BYTES) {
      throw new LedgerError("integrity", "records without a chain leave no room in its file");
    }
    this.#lines.push(line);
    this.#pendingBytes += line.bytes.length;
  }

  /** Writes what was added, all of it or nothing, and makes it durable. */
  commit(): void {
    if (this.#lines.length === 0) return;
    const lines = this.#lines.splice(0);
    const bytes = new Uint8Array(this.#pendingBytes);
    let length = 0;
    for (const line of lines) {
      bytes.set(line.bytes, length);
      length += line.bytes.length;
    }
    this.#pendingBytes = 0;
    const { file, info } = this.#opened();
    try {
      this.tools.write(file, bytes);
      file.syncDataSync();
    } catch (error) {
      takeBack(file, this.#tail.size);
      throw error;
    }
    const newest = lines[lines.length - 1]!;
    this.#tail = {
      head: newest.head,
      previousHash: newest.head.hash,
      segmentId: this.#segmentId,
      fileFirst: this.#tail.fileFirst ?? lines[0]!.head.sequence,
      size: this.#tail.size + bytes.length,
      identity: identityOf(info),
      listed: this.#tail.listed,
      lastLine: newest.bytes.subarray(0, -1),
    };
    this.tools.committed(lines.map(({ head }) => head), this.#tail);
  }

  close(): void {
    this.#active?.file.close();
    this.#active = null;
  }

  get #size(): number {
    return this.#tail.size + this.#pendingBytes;
  }

  #build(entry: PreparedEntry): BuiltLine {
    const before = this.#lines.at(-1)?.head ?? this.#tail.head;
    this.#segmentId ??= crypto.randomUUID();
    return buildLine(entry, {
      sequence: (before?.sequence ?? 0) + 1,
      previousHash: this.#lines.at(-1)?.head.hash ?? this.#tail.previousHash,
      segmentId: this.#segmentId,
    }, this.tools.signer);
  }

  #opened(): OpenFile {
    if (!this.#active) {
      const { names } = this.tools;
      this.#active = openSafely(names.active, { write: true, create: true });
      syncFolder(names.folder);
    }
    return this.#active;
  }

  #rotate(): void {
    const { fileFirst, head, segmentId } = this.#tail;
    rotate(this.tools.names, this.#active!.file, {
      first: fileFirst!,
      last: head!.sequence,
      segmentId: segmentId!,
    });
    this.close();
    this.#segmentId = null;
    this.#tail = {
      ...this.#tail,
      segmentId: null,
      fileFirst: null,
      size: 0,
      identity: "",
      lastLine: null,
      listed: "",
    };
    this.#tail = { ...this.#tail, listed: listingKey(this.tools.rotated()) };
  }
}

/** A half-written entry is removed at once when that works, else by the next append's repair. */
function takeBack(file: Deno.FsFile, size: number): void {
  try {
    file.truncateSync(size);
    file.syncDataSync();
  } catch {
    // The failure that led here is the one to report.
  }
}
