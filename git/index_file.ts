import { createHash } from "node:crypto";

/**
 * Git's index file, read directly (gitformat-index): which objects it needs and what it is split
 * into. Only reading; the file itself is kept and put back byte for byte.
 */

export interface IndexEntry {
  /** As in a tree entry, for example 0o100644. */
  readonly mode: number;
  readonly oid: string;
  /** 0, or 1–3 in a conflict. */
  readonly stage: number;
  readonly path: Uint8Array;
  readonly assumeUnchanged: boolean;
  readonly skipWorktree: boolean;
  readonly intentToAdd: boolean;
  /** When the file's data or mode changed last, as git noted it, Unix seconds. */
  readonly changedSeconds: number;
}

/** What an index file needs besides itself. */
export interface IndexNeeds {
  readonly version: number;
  readonly entries: number;
  /** Blobs (of files and links), and trees of a sparse index. */
  readonly objects: Set<string>;
  /** Trees that the cache-tree extension remembers, and blobs kept for undoing a resolution. */
  readonly remembered: Set<string>;
  /** Id in the name of the shared index file that this one builds on; null when it is whole. */
  readonly sharedIndex: string | null;
  readonly unmerged: boolean;
}

/** A file that is no index, or one of a kind that is not known here. */
export class IndexFormatError extends Error {
  override name = "IndexFormatError";
}

const TREE_MODE = 0o040000;
const GITLINK = 0o160000;

/**
 * Reads what an index needs.
 *
 * @param hashBytes 20, or 32 in a sha256 repository
 * @param onEntry called for each entry when given
 * @throws {IndexFormatError}
 */
export function readIndexNeeds(
  bytes: Uint8Array,
  hashBytes: 20 | 32,
  onEntry?: (entry: IndexEntry) => void,
): IndexNeeds {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 + hashBytes || view.getUint32(0) !== 0x44495243) {
    throw new IndexFormatError("this is not a git index file");
  }
  const version = view.getUint32(4);
  if (version < 2 || version > 4) {
    throw new IndexFormatError(`index version ${version} is not known`);
  }
  const count = view.getUint32(8);
  const objects = new Set<string>();
  let unmerged = false;
  let at = 12;
  let previous = new Uint8Array();
  const end = bytes.length - hashBytes;
  for (let i = 0; i < count; i++) {
    const start = at;
    const fixed = 40 + hashBytes + 2;
    if (start + fixed > end) throw new IndexFormatError("the index ends inside an entry");
    const mode = view.getUint32(start + 24);
    const oid = hex(bytes, start + 40, hashBytes);
    const flags = view.getUint16(start + 40 + hashBytes);
    const extended = (flags & 0x4000) !== 0;
    const stage = (flags >> 12) & 3;
    const more = extended ? view.getUint16(start + fixed) : 0;
    at = start + fixed + (extended ? 2 : 0);
    let path: Uint8Array;
    if (version === 4) {
      let strip = 0;
      let byte = bytes[at++]!;
      strip = byte & 127;
      while (byte & 128) {
        byte = bytes[at++]!;
        strip = ((strip + 1) << 7) | (byte & 127);
      }
      const nul = bytes.indexOf(0, at);
      if (nul === -1 || nul >= end || strip > previous.length) {
        throw new IndexFormatError("an entry's name is damaged");
      }
      path = new Uint8Array(previous.length - strip + nul - at);
      path.set(previous.subarray(0, previous.length - strip));
      path.set(bytes.subarray(at, nul), previous.length - strip);
      previous = path as Uint8Array<ArrayBuffer>;
      at = nul + 1;
    } else {
      const nul = bytes.indexOf(0, at);
      if (nul === -1 || nul >= end) throw new IndexFormatError("an entry's name is damaged");
      path = bytes.subarray(at, nul);
      // Padded with one to eight NULs to a multiple of eight.
      at = start + ((nul - start + 8) & ~7);
    }
    if (stage !== 0) unmerged = true;
    if (mode !== GITLINK && !/^0+$/.test(oid)) objects.add(oid);
    onEntry?.({
      mode,
      oid,
      stage,
      path,
      assumeUnchanged: (flags & 0x8000) !== 0,
      skipWorktree: (more & 0x4000) !== 0,
      intentToAdd: (more & 0x2000) !== 0,
      changedSeconds: view.getUint32(start),
    });
  }
  const remembered = new Set<string>();
  let sharedIndex: string | null = null;
  while (at + 8 <= end) {
    const name = String.fromCharCode(...bytes.subarray(at, at + 4));
    const size = view.getUint32(at + 4);
    const body = bytes.subarray(at + 8, at + 8 + size);
    if (at + 8 + size > end) throw new IndexFormatError("an extension of the index is damaged");
    if (name === "TREE") readCacheTree(body, hashBytes, remembered);
    else if (name === "REUC") readResolveUndo(body, hashBytes, remembered);
    else if (name === "link") {
      const oid = hex(body, 0, hashBytes);
      sharedIndex = /^0+$/.test(oid) ? null : oid;
    }
    at += 8 + size;
  }
  return { version, entries: count, objects, remembered, sharedIndex, unmerged };
}

/**
 * A text that is the same exactly when two index files say the same: entries with their flags, not the
 * times that a refresh writes down. The bytes themselves where the file builds on a shared one or is
 * not understood.
 */
export function indexFingerprint(bytes: Uint8Array, format: "sha1" | "sha256"): string {
  const lines: string[] = [];
  try {
    const needs = readIndexNeeds(bytes, format === "sha256" ? 32 : 20, (entry) => {
      const flags = (entry.assumeUnchanged ? 1 : 0) | (entry.skipWorktree ? 2 : 0) |
        (entry.intentToAdd ? 4 : 0);
      lines.push(
        `${entry.mode} ${entry.oid} ${entry.stage} ${flags} ${
          hex(entry.path, 0, entry.path.length)
        }`,
      );
    });
    if (needs.sharedIndex === null) return `entries ${hashText(encoder.encode(lines.join("\n")))}`;
  } catch { /* told by its bytes */ }
  return `bytes ${hashText(bytes)}`;
}

const encoder = new TextEncoder();

function hashText(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** True for a tree entry of a sparse index. */
export function isSparseDirectory(entry: IndexEntry): boolean {
  return entry.mode === TREE_MODE;
}

function readCacheTree(body: Uint8Array, hashBytes: number, into: Set<string>): void {
  let at = 0;
  while (at < body.length) {
    const nul = body.indexOf(0, at);
    const newline = body.indexOf(0x0a, nul + 1);
    if (nul === -1 || newline === -1) return;
    const valid = body[nul + 1] !== 0x2d;
    at = newline + 1;
    if (valid) {
      if (at + hashBytes > body.length) return;
      into.add(hex(body, at, hashBytes));
      at += hashBytes;
    }
  }
}

function readResolveUndo(body: Uint8Array, hashBytes: number, into: Set<string>): void {
  const text = new TextDecoder();
  let at = 0;
  while (at < body.length) {
    at = body.indexOf(0, at) + 1;
    if (at === 0) return;
    let stages = 0;
    for (let i = 0; i < 3; i++) {
      const nul = body.indexOf(0, at);
      if (nul === -1) return;
      if (Number.parseInt(text.decode(body.subarray(at, nul)), 8) > 0) stages++;
      at = nul + 1;
    }
    for (; stages > 0; stages--, at += hashBytes) {
      if (at + hashBytes > body.length) return;
      into.add(hex(body, at, hashBytes));
    }
  }
}

const DIGITS = "0123456789abcdef";

function hex(bytes: Uint8Array, at: number, size: number): string {
  let text = "";
  for (let i = at; i < at + size; i++) text += DIGITS[bytes[i]! >> 4]! + DIGITS[bytes[i]! & 15]!;
  return text;
}
