import {
  compareBytes,
  type DecodedPath,
  decodePath,
  decodeText,
  NulRecords,
  splitNul,
} from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import { type ConflictRegion, findRegions } from "./conflict_markers.ts";
import { GitError } from "./errors.ts";
import { type ObjectHead, readObjectHeads } from "./objects.ts";
import type { Repository } from "./repository.ts";
import { type ConflictKind, conflictKind } from "./status.ts";

/** Unmerged paths of the index, their sides, and the markers in the work tree. */

/** One stage of an unmerged path as the index has it. */
export interface Stage {
  /** Octal. */
  readonly mode: string;
  readonly oid: string;
}

export interface UnmergedPath extends DecodedPath {
  readonly bytes: Uint8Array;
  readonly kind: ConflictKind;
  readonly base: Stage | null;
  readonly ours: Stage | null;
  readonly theirs: Stage | null;
}

export interface UnmergedList {
  /** The first `limit` behind `after`, in the order of the index. */
  readonly paths: readonly UnmergedPath[];
  readonly total: number;
  /** More follow. */
  readonly more: boolean;
}

/** Lists unmerged paths; memory does not grow beyond `limit` of them. */
export async function listUnmerged(
  repo: Repository,
  limit: number,
  after?: Uint8Array,
): Promise<UnmergedList> {
  const kept: { bytes: Uint8Array; stages: (Stage | null)[] }[] = [];
  let total = 0, more = false, keeping = false;
  let last: Uint8Array | null = null;
  const records = new NulRecords();
  await streamGit(
    repo,
    ["ls-files", "-u", "-z"],
    { signal: repo.signal },
    (chunk) =>
      records.push(chunk, (record) => {
        const tab = record.indexOf(0x09);
        const path = record.subarray(tab + 1);
        if (last === null || compareBytes(last, path) !== 0) {
          last = path.slice();
          total++;
          const wanted = after === undefined || compareBytes(last, after) > 0;
          keeping = wanted && kept.length < limit;
          more ||= wanted && !keeping;
          if (keeping) kept.push({ bytes: last, stages: [null, null, null] });
        }
        const [mode, oid, stage] = decodeText(record.subarray(0, tab)).split(" ");
        if (keeping) kept.at(-1)!.stages[Number(stage) - 1] = { mode: mode!, oid: oid! };
        return true;
      }),
  );
  const paths = kept.map(({ bytes, stages: [base, ours, theirs] }) => ({
    ...decodePath(bytes),
    bytes,
    kind: conflictKind(!!base, !!ours, !!theirs),
    base: base ?? null,
    ours: ours ?? null,
    theirs: theirs ?? null,
  }));
  return { paths, total, more };
}

/** What a side holds. A submodule has a commit and no text. */
export type SideContent =
  | { readonly size: number; readonly binary: true }
  | {
    readonly size: number;
    readonly truncated: boolean;
    readonly content: string;
    /** The bytes are not UTF-8; U+FFFD stands for what could not be read. */
    readonly notUtf8?: true;
  }
  | { readonly error: string };

/** Bytes looked at to tell binary from text, as git does. */
const BINARY_PROBE = 8_000;
const GITLINK = "160000";
/** Objects that are asked for one by one after a partial clone lacked one of them. */
const MAX_SINGLE = 60;

export interface SideRead {
  /** By object id. */
  readonly sides: ReadonlyMap<string, SideContent>;
  readonly timedOut: boolean;
  readonly missing: number;
}

/** Reads the first `maxBytes` of every side, all by one git process, cut at a whole character. */
export async function readSides(
  repo: Repository,
  paths: readonly UnmergedPath[],
  maxBytes: number,
): Promise<SideRead> {
  const sides = new Map<string, SideContent>();
  const wanted = new Set<string>();
  for (const path of paths) {
    for (const stage of [path.base, path.ours, path.theirs]) {
      if (stage === null) continue;
      if (stage.mode === GITLINK) {
        sides.set(stage.oid, { error: "a submodule's commit has no text" });
      } else wanted.add(stage.oid);
    }
  }
  const { heads, timedOut, unasked } = await readHeads(
    repo,
    [...wanted],
    Math.max(maxBytes, BINARY_PROBE),
  );
  let missing = 0;
  for (const oid of wanted) {
    const head = heads.get(oid);
    if (head) sides.set(oid, sideContent(head, maxBytes));
    else if (timedOut) sides.set(oid, { error: "not read in time" });
    else {
      missing++;
      sides.set(oid, { error: unasked.has(oid) ? "not read" : "the object is not here" });
    }
  }
  return { sides, timedOut, missing };
}

async function readHeads(
  repo: Repository,
  oids: readonly string[],
  keep: number,
): Promise<{ heads: Map<string, ObjectHead>; timedOut: boolean; unasked: Set<string> }> {
  try {
    const heads = await readObjectHeads(repo, oids, keep);
    return { heads, timedOut: false, unasked: new Set() };
  } catch (error) {
    if (!(error instanceof GitError) || error.kind === "cancelled") throw error;
    if (error.kind === "timed_out") return { heads: new Map(), timedOut: true, unasked: new Set() };
    // A partial clone stops git at the first object that it lacks: ask for each alone.
    const heads = new Map<string, ObjectHead>();
    await Promise.all(
      oids.slice(0, MAX_SINGLE).map(async (oid) => {
        const one = await readObjectHeads(repo, [oid], keep).catch((error: unknown) => {
          if (error instanceof GitError && error.kind === "failed") return null;
          throw error;
        });
        const head = one?.get(oid);
        if (head) heads.set(oid, head);
      }),
    );
    return { heads, timedOut: false, unasked: new Set(oids.slice(MAX_SINGLE)) };
  }
}

function sideContent(head: ObjectHead, maxBytes: number): SideContent {
  if (head.type !== "blob") return { error: `a ${head.type} has no text` };
  const { size, bytes } = head;
  if (bytes.subarray(0, BINARY_PROBE).includes(0)) return { size, binary: true };
  const { text, whole } = decodeWhole(bytes.subarray(0, maxBytes), size > maxBytes);
  return { size, truncated: size > maxBytes, content: text, ...(whole ? {} : { notUtf8: true }) };
}

/** Decodes UTF-8; of a cut text, the beginning of a character at the end is left out. */
function decodeWhole(bytes: Uint8Array, cut: boolean): { text: string; whole: boolean } {
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    return { text: strict.decode(bytes, { stream: cut }), whole: true };
  } catch {
    const lossy = new TextDecoder("utf-8", { ignoreBOM: true });
    return { text: lossy.decode(bytes, { stream: cut }), whole: false };
  }
}

/** Markers found in the work tree's file of an unmerged path. */
export interface FileRegions {
  readonly regions: readonly ConflictRegion[];
  /** Not all of the file was looked at, or there are more regions. */
  readonly truncated: boolean;
}

const MAX_SCANNED = 8 * 1024 * 1024;
const MAX_SCANNED_ALL = 64 * 1024 * 1024;
const MAX_REGIONS = 100;
const MARKER_SIZE = 7;

/**
 * Finds the conflict markers of each path. A file that is missing, a link, behind a link, not regular or
 * whose name this runtime cannot spell (`unreadable` counts those) has none.
 */
export async function readRegions(
  repo: Repository,
  paths: readonly UnmergedPath[],
): Promise<{ files: FileRegions[]; unreadable: number }> {
  const sizes = await markerSizes(repo, paths);
  let left = MAX_SCANNED_ALL, unreadable = 0;
  const files = paths.map((path, i): FileRegions => {
    if (path.pathBytes !== undefined) {
      unreadable++;
      return { regions: [], truncated: false };
    }
    if (left <= 0) return { regions: [], truncated: true };
    const file = readFileStart(repo, path.path, Math.min(MAX_SCANNED, left));
    if (file === null) return { regions: [], truncated: false };
    left -= file.bytes.length;
    const { regions, count } = findRegions(file.bytes, sizes[i] ?? MARKER_SIZE, MAX_REGIONS);
    return { regions, truncated: file.cut || count > regions.length };
  });
  return { files, unreadable };
}

/** The attribute `conflict-marker-size` of each path. */
async function markerSizes(repo: Repository, paths: readonly UnmergedPath[]): Promise<number[]> {
  const stdin = new Uint8Array(paths.reduce((sum, path) => sum + path.bytes.length + 1, 0));
  let at = 0;
  for (const { bytes } of paths) {
    stdin.set(bytes, at);
    at += bytes.length + 1;
  }
  const out = await repo.run(["check-attr", "-z", "--stdin", "conflict-marker-size"], { stdin });
  const fields = splitNul(out.stdout);
  return paths.map((_, i) => {
    const size = Number(decodeText(fields[i * 3 + 2] ?? new Uint8Array()));
    return Number.isSafeInteger(size) && size > 0 ? size : MARKER_SIZE;
  });
}

function readFileStart(
  repo: Repository,
  path: string,
  max: number,
): { bytes: Uint8Array; cut: boolean } | null {
  const top = repo.facts.topLevel;
  if (top === null) return null;
  try {
    const full = `${Deno.realPathSync(top)}/${path}`;
    const folder = full.slice(0, full.lastIndexOf("/")) || "/";
    // Through a link the file would be another one, perhaps outside.
    if (Deno.realPathSync(folder) !== folder || !Deno.lstatSync(full).isFile) return null;
    using file = Deno.openSync(full);
    const info = file.statSync();
    if (!info.isFile) return null;
    const bytes = new Uint8Array(Math.min(info.size, max));
    let got = 0;
    while (got < bytes.length) {
      const n = file.readSync(bytes.subarray(got));
      if (n === null) break;
      got += n;
    }
    return { bytes: bytes.subarray(0, got), cut: info.size > max };
  } catch {
    return null;
  }
}
