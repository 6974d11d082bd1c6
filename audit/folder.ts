/** The files of one ledger in its folder (`audit.md` section 2): names, order, and safe opening. */

import {
  MAX_ARCHIVE_ENTRIES,
  MAX_CHECKPOINTS,
  MAX_FOLDER_ENTRIES,
  TOLERATED_SEGMENTS,
} from "./constants.ts";
import { isUuid } from "./chain.ts";
import { LedgerError } from "./errors.ts";
import {
  checkSameFile,
  joinPath,
  opensToOthers,
  refuseLinkedFolder,
  refuseOddFile,
  shown,
  splitPath,
} from "./paths.ts";

/** A rotated segment as its file name describes it. */
export interface SegmentName {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  readonly segmentId: string;
}

/** What a folder holds of one ledger. */
export interface Listing {
  /** Rotated segments, oldest first; their ranges do not overlap. */
  readonly segments: readonly SegmentName[];
  /** File names of checkpoints. */
  readonly checkpoints: readonly string[];
  readonly hasActive: boolean;
  /** Left-overs of interrupted writes, safe to delete under the lock. */
  readonly temporary: readonly string[];
}

/** File names of a ledger, made from the path of its active file. */
export class LedgerNames {
  readonly folder: string;
  readonly base: string;
  constructor(path: string) {
    const { folder, name } = splitPath(path);
    this.folder = folder;
    this.base = name;
  }
  get active(): string {
    return joinPath(this.folder, this.base);
  }
  get lock(): string {
    return joinPath(this.folder, `${this.base}.lock`);
  }
  path(name: string): string {
    return joinPath(this.folder, name);
  }
  segment(first: number, last: number, segmentId: string): string {
    return `${this.base}.segment-${digits(first)}-${digits(last)}-${segmentId}`;
  }
  checkpoint(next: number): string {
    return `${this.base}.checkpoint-${digits(next)}-${crypto.randomUUID()}.json`;
  }
  /** A name that no reader of the ledger looks at. */
  temporary(): string {
    return `${this.base}.tmp-${crypto.randomUUID()}`;
  }
}

function digits(sequence: number): string {
  return String(sequence).padStart(20, "0");
}

/**
 * Checks a ledger's folder: no link on the way to it, and private (Unix: no right for group or
 * others).
 *
 * @throws {LedgerError} `io`; `Deno.errors.NotFound` when it does not exist
 */
export function checkFolder(folder: string): void {
  refuseLinkedFolder(folder);
  if (opensToOthers(Deno.lstatSync(folder))) {
    throw new LedgerError(
      "io",
      `folder ${shown(folder)} is open to group or others; make it private (chmod 700)`,
    );
  }
}

/** Creates a missing folder as private, then checks it. */
export function makeFolder(folder: string): void {
  try {
    checkFolder(folder);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
    checkFolder(folder);
  }
}

/**
 * Lists the files of a ledger.
 *
 * @throws {LedgerError} `configuration` when files are there that no ledger of this name can have
 */
export function listLedger(names: LedgerNames): Listing {
  const found = list(names, names.folder, MAX_FOLDER_ENTRIES);
  if (found.checkpoints.length > MAX_CHECKPOINTS) {
    throw new LedgerError("configuration", `more than ${MAX_CHECKPOINTS} checkpoint files`);
  }
  if (found.segments.length > TOLERATED_SEGMENTS) {
    throw new LedgerError("configuration", `more than ${TOLERATED_SEGMENTS} rotated segments`);
  }
  return found;
}

/** Lists the segments and checkpoints that an archive holds of a ledger. */
export function listArchive(names: LedgerNames, archive: string): Listing {
  return list(names, archive, MAX_ARCHIVE_ENTRIES);
}

function list(names: LedgerNames, folder: string, limit: number): Listing {
  const segments: SegmentName[] = [];
  const checkpoints: string[] = [];
  const temporary: string[] = [];
  let hasActive = false;
  let count = 0;
  for (const { name } of Deno.readDirSync(folder)) {
    if (++count > limit) {
      throw new LedgerError("configuration", `more than ${limit} entries in ${shown(folder)}`);
    }
    if (name === names.base) hasActive = true;
    else if (name.startsWith(`${names.base}.segment-`)) {
      segments.push(parseSegmentName(names.base, name));
    } else if (name.startsWith(`${names.base}.checkpoint-`)) checkpoints.push(name);
    else if (name.startsWith(`${names.base}.tmp-`)) temporary.push(name);
  }
  segments.sort((a, b) => a.first - b.first || a.last - b.last);
  for (const [at, segment] of segments.entries()) {
    if (at > 0 && segment.first <= segments[at - 1]!.last) {
      throw new LedgerError("configuration", `rotated segments overlap at ${shown(segment.name)}`);
    }
  }
  return { segments, checkpoints: checkpoints.sort(), hasActive, temporary };
}

function parseSegmentName(base: string, name: string): SegmentName {
  const match = /^(\d{20})-(\d{20})-(.{36})$/.exec(name.slice(`${base}.segment-`.length));
  const first = Number(match?.[1]);
  const last = Number(match?.[2]);
  const segmentId = match?.[3];
  if (!isUuid(segmentId) || !(first >= 1 && last >= first) || !Number.isSafeInteger(last)) {
    throw new LedgerError("configuration", `${shown(name)} is not the name of a rotated segment`);
  }
  return { name, first, last, segmentId };
}

/** An open file and what was known about it when it was opened. */
export interface OpenFile {
  readonly file: Deno.FsFile;
  readonly info: Deno.FileInfo;
}

/**
 * Opens a ledger file without following links: a regular file with one name, the same one that the
 * name leads to. Before writing its mode is made 0600.
 *
 * @returns the open file, which the caller closes, and what is known about it
 * @throws {LedgerError} `io`
 */
export function openSafely(
  path: string,
  options: { write?: boolean; create?: boolean },
): OpenFile {
  const write = options.write ?? false;
  const file = openNamed(path, write, options.create ?? false);
  try {
    let info = checkSameFile(path, file);
    if (write && opensToOthers(info)) {
      Deno.chmodSync(path, 0o600);
      info = checkSameFile(path, file);
    }
    return { file, info };
  } catch (error) {
    file.close();
    throw error;
  }
}

function openNamed(path: string, write: boolean, create: boolean): Deno.FsFile {
  if (refuseOddFile(path)) return Deno.openSync(path, { read: true, append: write });
  if (!create) throw new Deno.errors.NotFound(`${shown(path)} does not exist`);
  try {
    // Exclusive, so that nothing is created or opened through a link that appeared meanwhile.
    return Deno.openSync(path, { read: true, append: true, createNew: true, mode: 0o600 });
  } catch (error) {
    // Another process may have been a moment faster; its file is as good.
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    return openNamed(path, write, false);
  }
}

/** Makes renames and deletions in a folder durable. Windows has no such thing for folders. */
export function syncFolder(folder: string): void {
  if (Deno.build.os === "windows") return;
  const handle = Deno.openSync(folder, { read: true });
  try {
    handle.syncSync();
  } finally {
    handle.close();
  }
}
