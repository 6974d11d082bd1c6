/** From what a caller wants recorded to the line that is stored (`audit.md` 4.1 and 5). */

import { canonicalJson, compareKeys, quote } from "./canonical.ts";
import type { Head } from "./chain.ts";
import {
  CHAIN_MEMBERS,
  CHAIN_VERSION,
  MAX_LINE_BYTES,
  MAX_SUMMARY,
  SCHEMA_VERSION,
  SIGNATURE_VERSION,
} from "./constants.ts";
import { LedgerError } from "./errors.ts";
import { sha256 } from "./hash.ts";
import type { Signer } from "./signing.ts";

/** What a caller wants recorded: any members but those of the chain, which are dropped. */
export type EntryInput = Readonly<Record<string, unknown>>;

type Member = readonly [name: string, text: string];

/** An entry made ready to be chained: its own members in canonical form, of bounded size. */
export interface PreparedEntry {
  readonly members: readonly Member[];
}

/** Room for the ten members that the chain adds; they need less than 800 bytes. */
const MAX_OWN_BYTES = MAX_LINE_BYTES - 1_024;
const CUT_CHARACTERS = 1_024;
const MAX_NESTING = 64;

/**
 * Makes an entry ready. `timestamp` is kept when it is a finite number, else it is `nowMs`; a string
 * `summary` becomes one line of at most 512 characters. An entry too large for a line is cut, the
 * largest members first, and `truncatedMembers` then names them.
 *
 * @throws {LedgerError} `entry` when it cannot be made to fit
 */
export function prepareEntry(entry: EntryInput, nowMs: number): PreparedEntry {
  const { timestamp, summary } = entry;
  const own: Record<string, unknown> = { ...entry };
  own.timestamp = typeof timestamp === "number" && Number.isFinite(timestamp)
    ? Math.trunc(timestamp)
    : Math.trunc(nowMs);
  if (typeof summary === "string") own.summary = boundSummary(summary);
  const members: Member[] = [];
  for (const [name, value] of Object.entries(own)) {
    // Only text: a name that is not well formed would be another one once it is stored.
    if (CHAIN_MEMBERS.has(name) || !name.isWellFormed() || value === undefined) continue;
    members.push([name, canonicalText(name, value)]);
  }
  return { members: fit(members, own) };
}

/** A chained, hashed and, with a signer, signed entry. */
export interface BuiltLine {
  /** Canonical JSON, LF included. */
  readonly bytes: Uint8Array;
  readonly head: Head;
}

const encoder = new TextEncoder();

/**
 * Chains an entry to what comes before it.
 *
 * @param place `previousHash` as the entry shall carry it; `sequence` is its own
 */
export function buildLine(
  entry: PreparedEntry,
  place: { sequence: number; previousHash: string; segmentId: string },
  signer: Signer | null,
): BuiltLine {
  const members: Member[] = [
    ...entry.members,
    ["auditChainVersion", String(CHAIN_VERSION)],
    ["auditSchemaVersion", String(SCHEMA_VERSION)],
    ["id", quote(crypto.randomUUID())],
    ["previousHash", quote(place.previousHash)],
    ["segmentId", quote(place.segmentId)],
    ["sequence", String(place.sequence)],
  ];
  if (signer) {
    members.push(["signatureKeyId", quote(signer.keyId)]);
    members.push(["signatureVersion", String(SIGNATURE_VERSION)]);
  }
  const hash = sha256(encoder.encode(objectText(members)));
  members.push(["entryHash", quote(hash)]);
  if (signer) {
    const signature = signer.signText(encoder.encode(objectText(members)));
    members.push(["signature", quote(signature)]);
  }
  const bytes = encoder.encode(objectText(members) + "\n");
  return { bytes, head: { sequence: place.sequence, hash } };
}

function objectText(members: Member[]): string {
  members.sort((a, b) => compareKeys(a[0], b[0]));
  return `{${members.map(([name, text]) => `${quote(name)}:${text}`).join(",")}}`;
}

function canonicalText(name: string, value: unknown): string {
  try {
    const text = canonicalJson(value);
    // Strict readers stop at 127 levels, and one of them may be the next to verify this ledger.
    return nesting(text) > MAX_NESTING ? cutText(value, text) : text;
  } catch (error) {
    throw new LedgerError("entry", `member ${quote(name).slice(0, 80)} cannot be written`, {
      cause: error,
    });
  }
}

/** Deepest nesting in a canonical JSON text. */
function nesting(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}]/g)) {
    if (token === "{" || token === "[") deepest = Math.max(deepest, ++depth);
    else if (token === "}" || token === "]") depth--;
  }
  return deepest;
}

/** Cuts the largest members until the line fits. */
function fit(members: Member[], values: Readonly<Record<string, unknown>>): Member[] {
  const size = (list: readonly Member[]) =>
    list.reduce((sum, [name, text]) => sum + byteLength(quote(name)) + byteLength(text) + 2, 2);
  if (size(members) <= MAX_OWN_BYTES) return members;
  const bySize = [...members].sort((a, b) => b[1].length - a[1].length);
  const cut: string[] = [];
  let kept = members;
  for (const [name, text] of bySize) {
    if (name === "timestamp" || text.length <= CUT_CHARACTERS) continue;
    cut.push(name.slice(0, 80).toWellFormed());
    kept = kept.map((member) => member[0] === name ? [name, cutText(values[name], text)] : member);
    const marked: Member[] = [
      ...kept.filter(([other]) => other !== "truncatedMembers"),
      ["truncatedMembers", canonicalJson(cut)],
    ];
    if (size(marked) <= MAX_OWN_BYTES) return marked;
  }
  throw new LedgerError("entry", `an entry does not fit a line of ${MAX_LINE_BYTES} bytes`);
}

/** What stays of a member: the beginning of a text, or the size and fingerprint of anything else. */
function cutText(value: unknown, text: string): string {
  if (typeof value === "string") {
    const start = value.slice(0, CUT_CHARACTERS).replace(/[\ud800-\udbff]$/, "");
    return quote(`${start} [cut: ${value.length} characters]`);
  }
  const bytes = encoder.encode(text);
  return canonicalJson({ cut: true, bytes: bytes.length, fingerprint: sha256(bytes) });
}

function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/** One line of at most 512 characters: control characters become spaces, the rest is cut off. */
export function boundSummary(text: string): string {
  // Four times the limit is enough to find 512 whole characters in.
  const line = text.slice(0, 4 * MAX_SUMMARY).toWellFormed().replace(/\p{Cc}/gu, " ");
  const characters = Array.from(line);
  return characters.length <= MAX_SUMMARY && text.length <= 4 * MAX_SUMMARY
    ? line
    : `${characters.slice(0, MAX_SUMMARY - 1).join("")}.`;
}
