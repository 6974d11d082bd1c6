import { compareBytes, type DecodedPath, decodePath, latin1, NulRecords } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import { diffArguments, type DiffRequest } from "./diff.ts";
import type { LiteralPath } from "./pathspec.ts";
import type { Repository } from "./repository.ts";

/** One changed file. Names and modes come from `--raw -z`, lines from `--numstat -z`. */
export interface DiffFile {
  /** A, M, D, R, C, T, or U for an unmerged entry. */
  readonly status: string;
  readonly path: LiteralPath;
  readonly origPath?: LiteralPath;
  /** Similarity of a rename in percent. */
  readonly score?: number;
  /** Octal, `000000` where the file is not there; null when git did not say. */
  readonly oldMode: string | null;
  readonly newMode: string | null;
  /** Blob or commit ids; null where there is none, or for a file of the work tree. */
  readonly oldOid: string | null;
  readonly newOid: string | null;
  /** null for binary and unmerged files, and when content is not here. */
  readonly added: number | null;
  readonly deleted: number | null;
  readonly binary: boolean;
}

/** Sums over the whole diff, whatever part of the files is kept. */
export interface DiffTotals {
  /** null when not even the names are known. */
  readonly files: number | null;
  /** null when some content is not here. */
  readonly added: number | null;
  readonly deleted: number | null;
  readonly binary: number | null;
}

export interface DiffSummary {
  readonly files: DiffFile[];
  readonly totals: DiffTotals;
  /** Files follow that are not kept. */
  readonly more: boolean;
  /** Files whose content is not here (a partial clone); their counts are null. null: names neither. */
  readonly missing: number | null;
  /** Of the kept files, those with content, when some content is missing. */
  readonly readable?: readonly LiteralPath[];
}

/** Which files to keep, counted in git's order. */
export interface FileWindow {
  readonly skip: number;
  readonly limit: number;
}

/** Runs a diff whose output is NUL-terminated records. */
export async function streamRecords(
  repo: Repository,
  request: DiffRequest,
  output: readonly string[],
  parser: SummaryParser,
): Promise<{ code: number; stderr: string }> {
  const records = new NulRecords();
  return await streamGit(
    repo,
    diffArguments(request, output),
    {
      signal: repo.signal,
      okCodes: "any",
      ...(request.stdin ? { stdin: request.stdin } : {}),
    },
    (chunk) => records.push(chunk, parser.record),
  );
}

const text = new TextDecoder();
const COLON = 0x3a, TAB = 0x09;
const NO_FILE = "000000";

interface RawHeader {
  readonly status: string;
  readonly score?: number;
  readonly oldMode: string;
  readonly newMode: string;
  readonly oldOid: string | null;
  readonly newOid: string | null;
}

/**
 * Takes `--raw --numstat -z` (or `--raw -z`) apart.
 *
 * The index is never refreshed here, so `--raw` also lists files that were touched but did not
 * change; `--numstat`, which compares content, does not. Such an entry is always an `M` with equal
 * modes and without a new id, so the numbers decide what counts, and only other entries need to be
 * remembered: both lists have the same order, so the window holds for both.
 */
export class SummaryParser {
  readonly #window: FileWindow;
  readonly #rawOnly: boolean;
  readonly #raw = new Map<string, RawHeader & { origPath?: LiteralPath }>();
  #rawCount = 0;
  #unmergedPath: Uint8Array | null = null;
  readonly #files: DiffFile[] = [];
  #fileCount = 0;
  #lastPath: Uint8Array | null = null;
  #added = 0;
  #deleted = 0;
  #binary = 0;
  #pending: Pending | null = null;

  /** @param rawOnly numbers are not asked for: every raw entry counts as a file */
  constructor(window: FileWindow, rawOnly = false) {
    this.#window = window;
    this.#rawOnly = rawOnly;
  }

  /** True when the next record is a path. */
  get expectsPath(): boolean {
    return this.#pending !== null;
  }

  /** Takes one NUL-terminated record. */
  readonly record = (record: Uint8Array): boolean => {
    const pending = this.#pending;
    if (pending) {
      if (pending.wants === 2) {
        pending.origPath = record.slice();
        pending.wants = 1;
        return true;
      }
      this.#pending = null;
      if (pending.raw) this.#rawEntry(pending.raw, record, pending.origPath);
      else this.#numbers(pending.added, pending.deleted, record);
    } else if (record[0] === COLON) {
      const raw = parseRaw(text.decode(record));
      const named = raw.status === "R" || raw.status === "C" ? 2 : 1;
      this.#pending = { raw, wants: named, added: "", deleted: "" };
    } else {
      const first = record.indexOf(TAB), second = record.indexOf(TAB, first + 1);
      if (second === -1) return true;
      const added = text.decode(record.subarray(0, first));
      const deleted = text.decode(record.subarray(first + 1, second));
      if (second + 1 < record.length) this.#numbers(added, deleted, record.subarray(second + 1));
      else this.#pending = { raw: null, wants: 2, added, deleted };
    }
    return true;
  };

  #rawEntry(raw: RawHeader, path: Uint8Array, orig: Uint8Array | undefined): void {
    // After an unmerged entry git shows the work tree against "ours" under the same name.
    if (this.#unmergedPath && compareBytes(this.#unmergedPath, path) === 0) return;
    this.#unmergedPath = raw.status === "U" ? path.slice() : null;
    if (this.#rawOnly) {
      this.#keep(() => makeFile(withOrig(raw, orig), path, null, null, false));
      return;
    }
    if (mayBeUnchanged(raw)) return;
    if (this.#inWindow(this.#rawCount++)) this.#raw.set(latin1(path), withOrig(raw, orig));
  }

  #numbers(added: string, deleted: string, path: Uint8Array): void {
    // What follows an unmerged entry under its name compares it with "ours" alone.
    if (this.#lastPath && compareBytes(this.#lastPath, path) === 0) return;
    this.#lastPath = path.slice();
    const binary = added === "-";
    const plus = binary ? null : Number(added), minus = binary ? null : Number(deleted);
    this.#added += plus ?? 0;
    this.#deleted += minus ?? 0;
    if (binary) this.#binary++;
    this.#keep(() => {
      const raw = this.#raw.get(latin1(path)) ?? CONTENT_ONLY;
      return raw.status === "U"
        ? makeFile(raw, path, null, null, false)
        : makeFile(raw, path, plus, minus, binary);
    });
  }

  #keep(make: () => DiffFile): void {
    if (this.#inWindow(this.#fileCount++)) this.#files.push(make());
  }

  #inWindow(ordinal: number): boolean {
    return ordinal >= this.#window.skip && ordinal < this.#window.skip + this.#window.limit;
  }

  finish(): DiffSummary {
    const unknown = this.#rawOnly;
    return {
      files: this.#files,
      totals: {
        files: this.#fileCount,
        added: unknown ? null : this.#added,
        deleted: unknown ? null : this.#deleted,
        binary: unknown ? null : this.#binary,
      },
      more: this.#fileCount > this.#window.skip + this.#files.length,
      missing: 0,
    };
  }
}

interface Pending {
  readonly raw: RawHeader | null;
  readonly added: string;
  readonly deleted: string;
  wants: number;
  origPath?: Uint8Array;
}

/** A file of the work tree whose raw entry was one of the many that need not be remembered. */
const CONTENT_ONLY: RawHeader & { origPath?: LiteralPath } = {
  status: "M",
  oldMode: NO_FILE,
  newMode: NO_FILE,
  oldOid: null,
  newOid: null,
};

function mayBeUnchanged(raw: RawHeader): boolean {
  return raw.status === "M" && raw.newOid === null && raw.oldMode === raw.newMode &&
    raw.oldMode !== "160000";
}

/** `:<mode> <mode> <oid> <oid> <status><score>`. */
function parseRaw(header: string): RawHeader {
  const [oldMode, newMode, oldOid, newOid, status = ""] = header.slice(1).split(" ");
  const score = status.slice(1);
  return {
    status: status.slice(0, 1),
    ...(/^\d+$/.test(score) && /^[RC]/.test(status) ? { score: Number(score) } : {}),
    oldMode: oldMode ?? NO_FILE,
    newMode: newMode ?? NO_FILE,
    oldOid: oidOrNull(oldOid),
    newOid: oidOrNull(newOid),
  };
}

function oidOrNull(oid: string | undefined): string | null {
  return oid === undefined || /^0+$/.test(oid) ? null : oid;
}

function withOrig(raw: RawHeader, orig: Uint8Array | undefined) {
  return orig ? { ...raw, origPath: literal(orig) } : raw;
}

function literal(bytes: Uint8Array): LiteralPath {
  const own = bytes.slice();
  const shown: DecodedPath = decodePath(own);
  return { bytes: own, ...shown };
}

function makeFile(
  raw: RawHeader & { origPath?: LiteralPath },
  path: Uint8Array,
  added: number | null,
  deleted: number | null,
  binary: boolean,
): DiffFile {
  const known = raw !== CONTENT_ONLY;
  return {
    status: raw.status,
    path: literal(path),
    ...(raw.origPath ? { origPath: raw.origPath } : {}),
    ...(raw.score === undefined ? {} : { score: raw.score }),
    oldMode: known ? raw.oldMode : null,
    newMode: known ? raw.newMode : null,
    oldOid: raw.oldOid,
    newOid: raw.newOid,
    added,
    deleted,
    binary,
  };
}
