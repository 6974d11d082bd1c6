/**
 * One line of a ledger as the verifier sees it: the chain members, and the exact bytes that its hash
 * and its signature cover (`audit.md` section 5).
 */

import { isUtf8 } from "node:buffer";
import { JsonError } from "../common/json.ts";
import { canonicalBytes } from "./canonical.ts";
import { MAX_LINE_BYTES } from "./constants.ts";
import { LineScanner } from "./line_scan.ts";
import { parseStrictJsonBytes } from "./strict_json.ts";

/** Chain members as they stand in the line, of whatever type; undefined is absent. */
export interface ChainMembers {
  auditChainVersion: unknown;
  auditSchemaVersion: unknown;
  sequence: unknown;
  timestamp: unknown;
  signatureVersion: unknown;
  id: unknown;
  segmentId: unknown;
  previousHash: unknown;
  entryHash: unknown;
  signature: unknown;
}

/** A line that was read. Views of bytes are good until the next line is read. */
export interface LedgerLine {
  readonly members: Readonly<ChainMembers>;
  /** Canonical bytes without `entryHash` and `signature`: what `entryHash` is made over. */
  hashedBytes(): Uint8Array;
  /** Canonical bytes that the signature covers, by the line's own signature version. */
  signedBytes(): Uint8Array;
  /** Canonical bytes of the whole record. */
  wholeBytes(): Uint8Array;
  /** The record as a value; parsed on demand. */
  record(): Record<string, unknown>;
}

/** A line that cannot be part of any ledger; `message` names the reason and no content. */
export class LineFault extends Error {
  override name = "LineFault";
  /** @param torn true for a last line without its end: what an interrupted append leaves */
  constructor(message: string, readonly torn = false) {
    super(message);
  }
}

/** One UTF-16 unit a byte: positions in the text are positions in the bytes. */
const units = new TextDecoder("latin1");

/** Turns file content into the text that {@link LineReader.read} wants beside the bytes. */
export function byteUnits(bytes: Uint8Array): string {
  return units.decode(bytes);
}

/** True when the signature version keeps `signatureKeyId` in the signed bytes (5.1). */
function keepsKeyId(version: unknown): boolean {
  return (typeof version === "number" || typeof version === "bigint") && version >= 2 &&
    (typeof version === "bigint" || Number.isInteger(version));
}

/** Reads lines out of a buffer, with buffers of its own that are used again for each line. */
export class LineReader {
  #scanner = new LineScanner();
  #scratch = new Uint8Array(1024);
  #bytes: Uint8Array = new Uint8Array(0);
  #start = 0;
  #end = 0;
  readonly #quick: LedgerLine = {
    members: this.#scanner as ChainMembers,
    hashedBytes: () => this.#without(this.#scanner.entryHashAt, this.#scanner.signatureAt),
    signedBytes: () =>
      this.#without(
        this.#scanner.signatureAt,
        keepsKeyId(this.#scanner.signatureVersion) ? -1 : this.#scanner.signatureKeyIdAt,
      ),
    wholeBytes: () => this.#bytes.subarray(this.#start, this.#end),
    record: () => parseRecord(this.#bytes.subarray(this.#start, this.#end)),
  };

  /**
   * @param bytes file content; it must not change while the line is in use
   * @param text {@link byteUnits} of `bytes`
   * @param start first byte of the line
   * @param end behind its last byte, LF excluded
   * @throws {LineFault}
   */
  read(bytes: Uint8Array, text: string, start: number, end: number): LedgerLine {
    if (end - start + 1 > MAX_LINE_BYTES) {
      throw new LineFault(`line is longer than ${MAX_LINE_BYTES} bytes`);
    }
    if (
      this.#scanner.scan(text, start, end) &&
      (!this.#scanner.wide || isUtf8(bytes.subarray(start, end)))
    ) {
      this.#bytes = bytes;
      this.#start = start;
      this.#end = end;
      return this.#quick;
    }
    return readRecord(bytes.subarray(start, end));
  }

  /** The line without two of its members; they stay separated by single commas. */
  #without(a: number, b: number): Uint8Array {
    const { starts, ends, count } = this.#scanner;
    if (this.#scratch.length < this.#end - this.#start) {
      this.#scratch = new Uint8Array(2 * (this.#end - this.#start));
    }
    const out = this.#scratch;
    out[0] = 0x7b;
    let length = 1;
    for (let first = 0; first < count; first++) {
      if (first === a || first === b) continue;
      let last = first;
      while (last + 1 < count && last + 1 !== a && last + 1 !== b) last++;
      if (length > 1) out[length++] = 0x2c;
      const run = this.#bytes.subarray(starts[first], ends[last]);
      out.set(run, length);
      length += run.length;
      first = last;
    }
    out[length++] = 0x7d;
    return out.subarray(0, length);
  }
}

/**
 * Any JSON object, however it is written; the only judge of what is not one.
 *
 * @throws {LineFault}
 */
export function readRecord(bytes: Uint8Array): LedgerLine {
  const record = parseRecord(bytes);
  return {
    members: record as unknown as ChainMembers,
    hashedBytes: () => canonicalBytes(omit(record, ["entryHash", "signature"])),
    signedBytes: () =>
      canonicalBytes(omit(
        record,
        keepsKeyId(record.signatureVersion) ? ["signature"] : ["signature", "signatureKeyId"],
      )),
    wholeBytes: () => canonicalBytes(record),
    record: () => record,
  };
}

/**
 * Reads a record that may be written in any way.
 *
 * @throws {LineFault}
 */
export function parseRecord(bytes: Uint8Array): Record<string, unknown> {
  if (bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)) {
    throw new LineFault("blank line");
  }
  let value: unknown;
  try {
    value = parseStrictJsonBytes(bytes);
  } catch (error) {
    // The parser's own message may quote the line; a verifier never shows content.
    if (!(error instanceof JsonError)) throw error;
    throw new LineFault(
      /stands twice/.test(error.message) ? "a key stands twice in one object" : "not valid JSON",
    );
  }
  if (
    typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Number
  ) {
    throw new LineFault("not a JSON object");
  }
  // Only own members count: an absent member must not be found on a prototype.
  return Object.setPrototypeOf(value, null) as Record<string, unknown>;
}

function omit(record: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}
