/**
 * The quick way to read a ledger line. Both known writers store lines in canonical form already; then
 * the bytes to hash and to sign are the line with a member or two cut out, and nothing has to be
 * parsed into values and written again. The scanner accepts a line only when every byte of it is
 * provably canonical, and otherwise says so; the caller then takes the slow way (`line.ts`), which
 * alone decides what is wrong. So a scanner that gives up too often costs time, never correctness.
 */

import { CHAIN_MEMBERS } from "./constants.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;
const LOWER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const MAX_MEMBERS = 256;
const CHAIN_KEY_LENGTHS = new Uint8Array(32);
for (const key of CHAIN_MEMBERS) CHAIN_KEY_LENGTHS[key.length] = 1;
CHAIN_KEY_LENGTHS["timestamp".length] = 1;
const MAX_DEPTH = 16;

/** Reads lines one after another; the fields describe the line of the last good {@link scan}. */
export class LineScanner {
  auditChainVersion: number | undefined;
  auditSchemaVersion: number | undefined;
  sequence: number | undefined;
  timestamp: number | undefined;
  signatureVersion: number | undefined;
  id: string | undefined;
  segmentId: string | undefined;
  previousHash: string | undefined;
  entryHash: string | undefined;
  signature: string | undefined;
  /** Number of members. */
  count = 0;
  /** Member numbers of those that may have to be cut out; -1 when absent. */
  entryHashAt = -1;
  signatureAt = -1;
  signatureKeyIdAt = -1;
  /** True when the line has bytes above 0x7f, which the caller must check to be UTF-8. */
  wide = false;
  /** Places of the members, from the opening quote of the key to behind the value. */
  readonly starts = new Int32Array(MAX_MEMBERS);
  readonly ends = new Int32Array(MAX_MEMBERS);

  #text = "";

  /**
   * @param text the bytes as a text with one UTF-16 unit a byte, units above 0x7f of any value
   * @param start first unit of the line
   * @param end behind its last unit (the LF is not part of it)
   * @returns true when the line is a canonical object in which every chain member has its usual type
   */
  scan(text: string, start: number, end: number): boolean {
    this.#reset(text);
    if (text.charCodeAt(start) !== OPEN_BRACE) return false;
    let at = start + 1;
    let [previousStart, previousEnd] = [0, 0];
    while (true) {
      if (this.count >= MAX_MEMBERS || text.charCodeAt(at) !== QUOTE) return false;
      const keyEnd = this.#plainKeyEnd(at + 1);
      if (keyEnd < 0 || text.charCodeAt(keyEnd + 1) !== COLON) return false;
      if (this.count > 0 && !this.#inOrder(previousStart, previousEnd, at + 1, keyEnd)) {
        return false;
      }
      previousStart = at + 1;
      previousEnd = keyEnd;
      const valueStart = keyEnd + 2;
      const valueEnd = this.#value(valueStart, 1);
      if (valueEnd < 0 || valueEnd >= end) return false;
      this.starts[this.count] = at;
      this.ends[this.count] = valueEnd;
      // Most keys are not even as long as one that is looked for.
      if (
        CHAIN_KEY_LENGTHS[keyEnd - at - 1] === 1 &&
        !this.#take(text.slice(at + 1, keyEnd), valueStart, valueEnd)
      ) return false;
      this.count++;
      const next = text.charCodeAt(valueEnd);
      if (next === CLOSE_BRACE) return valueEnd + 1 === end;
      if (next !== COMMA) return false;
      at = valueEnd + 1;
    }
  }

  #reset(text: string): void {
    this.#text = text;
    this.auditChainVersion = this.auditSchemaVersion = this.sequence = undefined;
    this.timestamp = this.signatureVersion = undefined;
    this.id =
      this.segmentId =
      this.previousHash =
      this.entryHash =
      this.signature =
        undefined;
    this.count = 0;
    this.entryHashAt = this.signatureAt = this.signatureKeyIdAt = -1;
    this.wide = false;
  }

  /** True when the first key sorts before the second; both are plain ASCII. */
  #inOrder(aStart: number, aEnd: number, bStart: number, bEnd: number): boolean {
    const text = this.#text;
    const length = Math.min(aEnd - aStart, bEnd - bStart);
    for (let at = 0; at < length; at++) {
      const difference = text.charCodeAt(aStart + at) - text.charCodeAt(bStart + at);
      if (difference !== 0) return difference < 0;
    }
    return aEnd - aStart < bEnd - bStart;
  }

  /** Keeps a chain member; false when it has a type that only the slow way deals with. */
  #take(key: string, start: number, end: number): boolean {
    switch (key) {
      case "auditChainVersion":
        return (this.auditChainVersion = this.#integer(start, end)) !== undefined;
      case "auditSchemaVersion":
        return (this.auditSchemaVersion = this.#integer(start, end)) !== undefined;
      case "sequence":
        return (this.sequence = this.#integer(start, end)) !== undefined;
      case "timestamp":
        return (this.timestamp = this.#integer(start, end)) !== undefined;
      case "signatureVersion":
        return (this.signatureVersion = this.#integer(start, end)) !== undefined;
      case "id":
        return (this.id = this.#plainString(start, end)) !== undefined;
      case "segmentId":
        return (this.segmentId = this.#plainString(start, end)) !== undefined;
      case "previousHash":
        return (this.previousHash = this.#plainString(start, end)) !== undefined;
      case "entryHash":
        this.entryHashAt = this.count;
        return (this.entryHash = this.#plainString(start, end)) !== undefined;
      case "signature":
        this.signatureAt = this.count;
        return (this.signature = this.#plainString(start, end)) !== undefined;
      case "signatureKeyId":
        this.signatureKeyIdAt = this.count;
        return true;
      default:
        return true;
    }
  }

  #integer(start: number, end: number): number | undefined {
    const first = this.#text.charCodeAt(start);
    if (first !== MINUS && !(first >= ZERO && first <= NINE)) return undefined;
    return Number(this.#text.slice(start, end));
  }

  /** A string of printable ASCII without escapes; nothing else is a valid chain member. */
  #plainString(start: number, end: number): string | undefined {
    if (this.#text.charCodeAt(start) !== QUOTE) return undefined;
    return this.#plainKeyEnd(start + 1) === end - 1
      ? this.#text.slice(start + 1, end - 1)
      : undefined;
  }

  /** @returns the closing quote of a string of plain ASCII that starts at `at`, else -1 */
  #plainKeyEnd(at: number): number {
    const text = this.#text;
    while (true) {
      const unit = text.charCodeAt(at);
      if (unit === QUOTE) return at;
      // Above ASCII the order of units is not that of bytes. NaN (the end) fails here too.
      if (!(unit >= 0x20 && unit < 0x80) || unit === BACKSLASH) return -1;
      at++;
    }
  }

  /** @returns behind the canonical value that starts at `at`, or -1 */
  #value(at: number, depth: number): number {
    const unit = this.#text.charCodeAt(at);
    if (unit === QUOTE) return this.#string(at + 1);
    if (unit === MINUS || (unit >= ZERO && unit <= NINE)) return this.#number(at);
    switch (unit) {
      case LOWER_T:
        return this.#text.startsWith("true", at) ? at + 4 : -1;
      case LOWER_F:
        return this.#text.startsWith("false", at) ? at + 5 : -1;
      case LOWER_N:
        return this.#text.startsWith("null", at) ? at + 4 : -1;
      case OPEN_BRACKET:
        return depth < MAX_DEPTH ? this.#array(at + 1, depth + 1) : -1;
      case OPEN_BRACE:
        return depth < MAX_DEPTH ? this.#object(at + 1, depth + 1) : -1;
      default:
        return -1;
    }
  }

  #string(at: number): number {
    const text = this.#text;
    while (true) {
      const unit = text.charCodeAt(at);
      if (unit === QUOTE) return at + 1;
      if (unit === BACKSLASH) {
        const behind = this.#escape(at + 1);
        if (behind < 0) return -1;
        at = behind;
        continue;
      }
      if (!(unit >= 0x20)) return -1;
      if (unit > 0x7f) this.wide = true;
      at++;
    }
  }

  /** Only the one form that canonical JSON has for each character. */
  #escape(at: number): number {
    const text = this.#text;
    const unit = text.charCodeAt(at);
    if (unit !== LOWER_U) return '"\\bfnrt'.includes(text.charAt(at)) ? at + 1 : -1;
    return /^00(?:0[0-7be-f]|1[0-9a-f])$/.test(text.slice(at + 1, at + 5)) ? at + 5 : -1;
  }

  /** An integer of at most 15 digits, so that its value is exact; other numbers are rare. */
  #number(at: number): number {
    const text = this.#text;
    const negative = text.charCodeAt(at) === MINUS;
    const first = negative ? at + 1 : at;
    let end = first;
    while (text.charCodeAt(end) >= ZERO && text.charCodeAt(end) <= NINE) end++;
    const digits = end - first;
    if (digits === 0 || digits > 15) return -1;
    if (text.charCodeAt(first) === ZERO && (digits > 1 || negative)) return -1;
    return end;
  }

  #array(at: number, depth: number): number {
    const text = this.#text;
    if (text.charCodeAt(at) === CLOSE_BRACKET) return at + 1;
    while (true) {
      const end = this.#value(at, depth);
      if (end < 0) return -1;
      const next = text.charCodeAt(end);
      if (next === CLOSE_BRACKET) return end + 1;
      if (next !== COMMA) return -1;
      at = end + 1;
    }
  }

  #object(at: number, depth: number): number {
    const text = this.#text;
    if (text.charCodeAt(at) === CLOSE_BRACE) return at + 1;
    let [previousStart, previousEnd] = [-1, -1];
    while (true) {
      if (text.charCodeAt(at) !== QUOTE) return -1;
      const keyEnd = this.#plainKeyEnd(at + 1);
      if (keyEnd < 0 || text.charCodeAt(keyEnd + 1) !== COLON) return -1;
      if (previousStart >= 0 && !this.#inOrder(previousStart, previousEnd, at + 1, keyEnd)) {
        return -1;
      }
      previousStart = at + 1;
      previousEnd = keyEnd;
      const end = this.#value(keyEnd + 2, depth);
      if (end < 0) return -1;
      const next = text.charCodeAt(end);
      if (next === CLOSE_BRACE) return end + 1;
      if (next !== COMMA) return -1;
      at = end + 1;
    }
  }
}
