import { compareBytes, decodePath, NulRecords } from "../common/bytes.ts";
import { type RunOptions, streamGit } from "./command.ts";
import type { Repository } from "./repository.ts";

/** The kinds of conflict by which index stages exist (`read-tools.md` 9). */
export type ConflictKind =
  | "both-modified"
  | "deleted-by-them"
  | "deleted-by-us"
  | "both-added"
  | "added-by-us"
  | "added-by-them"
  | "both-deleted"
  | "unknown";

/** One entry as answers carry it (`additions.md` 1): added members are present only when they say something. */
export interface StatusEntry {
  /** The two letters X and Y of porcelain, a space for unchanged, `??` for untracked. */
  readonly status: string;
  readonly path: string;
  readonly pathBytes?: string;
  readonly origPath?: string;
  readonly origPathBytes?: string;
  /** Similarity of a rename or copy in percent. */
  readonly score?: number;
  /** Octal modes, given when they differ (an executable bit, a type change). */
  readonly modes?: { old: string; new: string };
  readonly intentToAdd?: true;
  readonly conflict?: ConflictKind;
  readonly submodule?: { newCommits: boolean; modified: boolean; untracked: boolean };
  readonly nestedRepo?: true;
}

/** Counts over the whole work tree, whatever part of the entries is kept. */
export interface StatusCounts {
  staged: number;
  unstaged: number;
  untracked: number;
  conflicted: number;
  /** All entries; one that is both staged and unstaged counts once. */
  entries: number;
}

/** What `git status --porcelain=v2 --branch -z` says. */
export interface Status {
  /** Full id, null while unborn. */
  head: string | null;
  /** Short name, also while unborn; null when detached. */
  branch: string | null;
  detached: boolean;
  unborn: boolean;
  /** Short name of the configured upstream, null without one. */
  upstream: string | null;
  /** Configured, but the ref does not exist. */
  upstreamGone: boolean;
  /** null when not known: no upstream, gone, unborn, or the missing history of a partial clone. */
  ahead: number | null;
  behind: number | null;
  /** null when this git cannot tell in one go. */
  stashes: number | null;
  counts: StatusCounts;
}

/** Where an entry stands in git's order: changed ones by path, then unmerged ones, then untracked ones. */
export interface EntryKey {
  readonly section: 0 | 1 | 2;
  readonly path: Uint8Array;
}

export interface StatusOptions extends RunOptions {
  /** Literal paths relative to the top; none means everything. */
  readonly paths?: readonly string[];
  /** Set when submodules must not be looked into (`guardSubmodules` was incomplete). */
  readonly ignoreDirtySubmodules?: boolean;
  readonly showStash?: boolean;
  readonly untracked?: "normal" | "all" | "no";
}

/**
 * Runs one `git status` and calls `onEntry` for each entry in git's order. Nothing is kept here, so
 * memory does not grow with the work tree. `onEntry` gets a function that makes the entry, for
 * callers that only count; what it is given of a path is valid only during the call.
 */
export async function readStatus(
  repo: Repository,
  options: StatusOptions,
  onEntry: (
    key: EntryKey,
    make: () => StatusEntry,
    kind: "tracked" | "unmerged" | "untracked",
    staged: boolean,
    unstaged: boolean,
  ) => void,
): Promise<Status> {
  const args = [
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    `--untracked-files=${options.untracked ?? "normal"}`,
    "--find-renames",
    "--ahead-behind",
    `--ignore-submodules=${options.ignoreDirtySubmodules ? "dirty" : "none"}`,
    ...(options.showStash ? ["--show-stash"] : []),
    "--",
    ...(options.paths ?? []),
  ];
  const parser = new StatusParser(onEntry);
  const records = new NulRecords();
  await streamGit(
    repo,
    args,
    { signal: repo.signal, ...options },
    (chunk) => records.push(chunk, parser.record),
  );
  return parser.finish();
}

const text = new TextDecoder();

/** Byte-level parser of porcelain v2 with `-z`; exported for tests. */
export class StatusParser {
  readonly #headers = new Map<string, string>();
  readonly #counts: StatusCounts = {
    staged: 0,
    unstaged: 0,
    untracked: 0,
    conflicted: 0,
    entries: 0,
  };
  readonly #onEntry: Parameters<typeof readStatus>[2];
  /** A rename is two fields: the second one is the old name. */
  #pending: Uint8Array | null = null;

  constructor(onEntry: Parameters<typeof readStatus>[2]) {
    this.#onEntry = onEntry;
  }

  /** Takes one NUL-terminated record. */
  readonly record = (record: Uint8Array): boolean => {
    if (this.#pending) {
      const first = this.#pending;
      this.#pending = null;
      this.#tracked(first, record);
      return true;
    }
    switch (record[0]) {
      case 0x31: // 1
        this.#tracked(record, null);
        break;
      case 0x32: // 2
        this.#pending = record.slice();
        break;
      case 0x75: // u
        this.#unmerged(record);
        break;
      case 0x3f: // ?
        this.#untracked(record);
        break;
      case 0x23: { // #
        const line = text.decode(record);
        const at = line.indexOf(" ", 2);
        this.#headers.set(line.slice(2, at), line.slice(at + 1));
        break;
      }
    }
    return true;
  };

  #tracked(record: Uint8Array, orig: Uint8Array | null): void {
    const x = record[2]!, y = record[3]!;
    const staged = x !== 0x2e, unstaged = y !== 0x2e;
    const counts = this.#counts;
    counts.entries++;
    if (staged) counts.staged++;
    if (unstaged) counts.unstaged++;
    const at = nthSpace(record, orig ? 9 : 8) + 1;
    const path = record.subarray(at);
    this.#onEntry(
      { section: 0, path },
      () => trackedEntry(record, at, orig),
      "tracked",
      staged,
      unstaged,
    );
  }

  #unmerged(record: Uint8Array): void {
    this.#counts.entries++;
    this.#counts.conflicted++;
    const at = nthSpace(record, 10) + 1;
    this.#onEntry(
      { section: 1, path: record.subarray(at) },
      () => {
        const [, xy, sub, m1, m2, m3] = text.decode(record.subarray(0, at)).split(" ");
        const stages = [m1, m2, m3].map((mode) => mode !== "000000");
        return {
          status: xy!,
          ...decodePath(record.subarray(at)),
          conflict: conflictKind(stages[0]!, stages[1]!, stages[2]!),
          ...submoduleFlags(sub!),
        };
      },
      "unmerged",
      false,
      false,
    );
  }

  #untracked(record: Uint8Array): void {
    this.#counts.entries++;
    this.#counts.untracked++;
    const path = record.subarray(2);
    this.#onEntry(
      { section: 2, path },
      () => ({ status: "??", ...decodePath(path) }),
      "untracked",
      false,
      false,
    );
  }

  finish(): Status {
    const head = this.#headers.get("branch.oid");
    const name = this.#headers.get("branch.head");
    const upstream = this.#headers.get("branch.upstream") ?? null;
    const counts = /^\+(\d+) -(\d+)$/.exec(this.#headers.get("branch.ab") ?? "");
    const unborn = head === "(initial)" || head === undefined;
    const detached = name === "(detached)";
    return {
      head: unborn ? null : head,
      branch: detached || name === undefined ? null : name,
      detached,
      unborn,
      upstream,
      upstreamGone: upstream !== null && !counts && !unborn,
      ahead: counts ? Number(counts[1]) : null,
      behind: counts ? Number(counts[2]) : null,
      stashes: Number(this.#headers.get("stash") ?? "0"),
      counts: this.#counts,
    };
  }
}

function trackedEntry(record: Uint8Array, at: number, orig: Uint8Array | null): StatusEntry {
  const [, xy, sub, mH, mI, mW, hH, hI, score] = text.decode(record.subarray(0, at)).split(" ");
  const status = xy!.replaceAll(".", " ");
  const old = decodePath(orig ?? new Uint8Array());
  // The index mode is the middle: what changed against HEAD is staged, against the disk unstaged.
  const from = mH === "000000" ? mI! : mH!;
  const to = mW === "000000" ? mI! : mW!;
  const modesDiffer = from !== to && from !== "000000" && to !== "000000";
  const intentToAdd = status === " A" && hH !== undefined && /^0+$/.test(hH) &&
    /^0+$/.test(hI ?? "");
  return {
    status,
    ...decodePath(record.subarray(at)),
    ...(orig
      ? { origPath: old.path, ...(old.pathBytes ? { origPathBytes: old.pathBytes } : {}) }
      : {}),
    ...(orig && score ? { score: Number(score.slice(1)) } : {}),
    ...(modesDiffer ? { modes: { old: from, new: to } } : {}),
    ...(intentToAdd ? { intentToAdd: true as const } : {}),
    ...submoduleFlags(sub!),
  };
}

function submoduleFlags(sub: string): Pick<StatusEntry, "submodule"> {
  if (!sub.startsWith("S")) return {};
  return {
    submodule: { newCommits: sub[1] === "C", modified: sub[2] === "M", untracked: sub[3] === "U" },
  };
}

/** The kind of conflict from which of the stages base, ours and theirs exist. */
export function conflictKind(base: boolean, ours: boolean, theirs: boolean): ConflictKind {
  if (base) {
    if (ours) return theirs ? "both-modified" : "deleted-by-them";
    return theirs ? "deleted-by-us" : "both-deleted";
  }
  if (ours) return theirs ? "both-added" : "added-by-us";
  return theirs ? "added-by-them" : "unknown";
}

function nthSpace(record: Uint8Array, n: number): number {
  let at = -1;
  for (let i = 0; i < n; i++) at = record.indexOf(0x20, at + 1);
  return at;
}

/** Negative, zero or positive as `a` stands before, at or after `b`. */
export function compareKeys(a: EntryKey, b: EntryKey): number {
  return a.section - b.section || compareBytes(a.path, b.path);
}
