import { decodeText, encodeText } from "../common/bytes.ts";
import { parseReflogLine } from "./reflog.ts";
import type { Repository } from "./repository.ts";

/**
 * Movements of HEAD and the local branches of one repository since a time, read off its reflogs
 * (`read-tools.md` 18). Times in reflogs are what clocks said: an old line does not end the search.
 */

/** One movement. */
export interface Move {
  /** `HEAD` or `refs/heads/…`. */
  readonly refName: string;
  /** Unix seconds. */
  readonly seconds: number;
  readonly oldOid: string | null;
  readonly newOid: string | null;
  /** `Name <mail>` as recorded. */
  readonly identity: string;
  readonly message: string;
}

/** What kept the answer from being whole. */
export interface MoveNote {
  readonly code: "reflog_unreadable" | "reflog_disabled";
  readonly message: string;
  readonly count?: number;
}

export interface Moves {
  /** Newest first; at most `MOVE_LIMITS.kept`. */
  readonly moves: readonly Move[];
  /** More happened than is told: too many moves, or a limit on what is read. */
  readonly truncated: boolean;
  readonly notes: readonly MoveNote[];
}

export const MOVE_LIMITS = {
  /** Moves kept of one repository. */
  kept: 200,
  /** Log files read of one repository, and folders below `refs/heads`. */
  files: 2_000,
  depth: 16,
  /** Bytes read from the end of one log, and of all logs of one repository. */
  fileBytes: 1024 * 1024,
  totalBytes: 32 * 1024 * 1024,
  /** Bytes of git's own listing where logs are not files. */
  listingBytes: 16 * 1024 * 1024,
} as const;

/** Reads the moves of an opened repository that happened at or after `sinceSeconds`. */
export async function readMoves(
  repo: Repository,
  sinceSeconds: number,
  signal?: AbortSignal,
): Promise<Moves> {
  return repo.facts.config.get("extensions.refstorage") === "reftable"
    ? await readMovesThroughGit(repo, sinceSeconds)
    : await readMovesFromFiles(repo, sinceSeconds, signal);
}

/** Keeps the newest moves, each once: what a branch's log tells, HEAD's log tells again. */
class Newest {
  #moves: Move[] = [];
  #seen = new Set<string>();
  /** Moves before this time are out of reach of the limit. */
  #floor = -Infinity;
  dropped = false;
  readonly #key: (move: Move) => string;

  /** @param oldKnown false where the id before a move is not recorded and tells nothing apart */
  constructor(oldKnown: boolean) {
    this.#key = ({ oldOid, newOid, seconds, message }) =>
      `${oldKnown ? oldOid : ""} ${newOid} ${seconds} ${message}`;
  }

  add(move: Move): void {
    if (move.seconds < this.#floor) {
      this.dropped = true;
      return;
    }
    const key = this.#key(move);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#moves.push(move);
    if (this.#moves.length > 10 * MOVE_LIMITS.kept) this.#prune();
  }

  #prune(): void {
    this.#moves.sort((a, b) => b.seconds - a.seconds);
    this.#floor = this.#moves[MOVE_LIMITS.kept - 1]!.seconds;
    // Moves of the same second as the last one stay: their doubles must still be known.
    const kept = this.#moves.filter((move) => move.seconds >= this.#floor);
    if (kept.length === this.#moves.length) return;
    this.dropped = true;
    this.#moves = kept;
    this.#seen = new Set(kept.map(this.#key));
  }

  /** Newest first; moves of one second in the order in which they came. */
  take(): Move[] {
    this.#moves.sort((a, b) => b.seconds - a.seconds);
    if (this.#moves.length > MOVE_LIMITS.kept) {
      this.dropped = true;
      this.#moves.length = MOVE_LIMITS.kept;
    }
    return this.#moves;
  }
}

interface LogFile {
  readonly refName: string;
  readonly path: string;
}

async function readMovesFromFiles(
  repo: Repository,
  sinceSeconds: number,
  signal: AbortSignal | undefined,
): Promise<Moves> {
  const { gitDir, commonDir } = repo.facts;
  const listed = listLogs(commonDir);
  // Branches first: a commit is credited to its branch, and HEAD's line of it is a double.
  const logs = [...listed.logs];
  if (isOwn(gitDir, "logs")) logs.push({ refName: "HEAD", path: `${gitDir}/logs/HEAD` });
  else listed.more++;
  const newest = new Newest(true);
  let left: number = MOVE_LIMITS.totalBytes;
  let shortened = 0, unreadable = 0, skipped = 0, found = 0, sinceBreath = 0;
  for (const log of logs) {
    signal?.throwIfAborted();
    if (left <= 0) {
      skipped++;
      continue;
    }
    const tail = readTail(log.path, Math.min(MOVE_LIMITS.fileBytes, left));
    if (tail === "absent") continue;
    found++;
    if (tail === "unreadable") {
      unreadable++;
      continue;
    }
    left -= tail.bytes.length;
    const oldest = addLines(log.refName, tail, sinceSeconds, newest);
    // What lies before the part that was read can matter only when that part is new throughout.
    if (!tail.whole && (oldest === null || oldest >= sinceSeconds)) shortened++;
    // Other calls are served between files.
    sinceBreath += tail.bytes.length + 4_096;
    if (sinceBreath > 2 * 1024 * 1024) {
      sinceBreath = 0;
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }
  const moves = newest.take();
  const notes: MoveNote[] = [
    ...note(shortened, `only the last ${MOVE_LIMITS.fileBytes} bytes of a log were read`),
    ...note(unreadable, "a log could not be read"),
    ...note(listed.more + skipped, "further logs were not read"),
    ...(found === 0 && hasRefs(commonDir)
      ? [{ code: "reflog_disabled" as const, message: "this repository keeps no reflog" }]
      : []),
  ];
  return {
    moves,
    truncated: newest.dropped || shortened + unreadable + listed.more + skipped > 0,
    notes,
  };
}

function note(count: number, message: string): MoveNote[] {
  return count > 0 ? [{ code: "reflog_unreadable", message, count }] : [];
}

/** Log files below a folder in order of ref name; links are not followed. */
function listLogs(commonDir: string): { logs: LogFile[]; more: number } {
  const logs: LogFile[] = [];
  if (!isOwn(commonDir, "logs/refs/heads")) return { logs, more: 1 };
  let more = 0;
  const walk = (folder: string, refName: string, depth: number): void => {
    let entries: Deno.DirEntry[];
    try {
      entries = [...Deno.readDirSync(folder)];
    } catch {
      return;
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    for (const entry of entries) {
      const path = `${folder}/${entry.name}`, name = `${refName}/${entry.name}`;
      if (entry.isDirectory) {
        if (depth < MOVE_LIMITS.depth && logs.length < MOVE_LIMITS.files) {
          walk(path, name, depth + 1);
        } else more++;
      } else if (entry.isFile && !entry.name.endsWith(".lock")) {
        if (logs.length < MOVE_LIMITS.files) logs.push({ refName: name, path });
        else more++;
      }
    }
  };
  walk(`${commonDir}/logs/refs/heads`, "refs/heads", 1);
  return { logs, more };
}

/** False when a link leads the folder out of the git directory; one that does not exist is its own. */
function isOwn(dir: string, folder: string): boolean {
  try {
    return Deno.realPathSync(`${dir}/${folder}`) === `${Deno.realPathSync(dir)}/${folder}`;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

interface Tail {
  readonly bytes: Uint8Array;
  /** The file was read from its first byte. */
  readonly whole: boolean;
}

function readTail(path: string, max: number): Tail | "absent" | "unreadable" {
  try {
    // Anything but a regular file (a link, a pipe that would block) is not a log.
    if (!Deno.lstatSync(path).isFile) return "unreadable";
    using file = Deno.openSync(path);
    const { size } = file.statSync();
    const start = Math.max(0, size - max);
    file.seekSync(start, Deno.SeekMode.Start);
    const bytes = new Uint8Array(size - start);
    let filled = 0;
    while (filled < bytes.length) {
      const n = file.readSync(bytes.subarray(filled));
      if (n === null) break;
      filled += n;
    }
    return { bytes: bytes.subarray(0, filled), whole: start === 0 };
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "absent" : "unreadable";
  }
}

/** Adds the lines that are new enough, last one first; gives the time of the first whole line. */
function addLines(refName: string, tail: Tail, since: number, newest: Newest): number | null {
  const { bytes } = tail;
  let end = bytes.length;
  if (bytes[end - 1] === 0x0a) end--;
  let first: number | null = null;
  while (end > 0) {
    const start = bytes.lastIndexOf(0x0a, end - 1) + 1;
    // A first part without its beginning is no line.
    if (start === 0 && !tail.whole) break;
    const line = parseReflogLine(bytes.subarray(start, end));
    end = start - 1;
    if (line === null || line.seconds === null) continue;
    first = line.seconds;
    if (line.seconds < since) continue;
    newest.add({
      refName,
      seconds: line.seconds,
      oldOid: line.oldOid,
      newOid: line.newOid,
      identity: line.identity,
      message: line.message,
    });
  }
  return first;
}

/** Whether there is anything that could have a reflog. */
function hasRefs(commonDir: string): boolean {
  try {
    if (Deno.lstatSync(`${commonDir}/packed-refs`).size > 0) return true;
  } catch { /* loose ones only */ }
  try {
    for (const _ of Deno.readDirSync(`${commonDir}/refs/heads`)) return true;
  } catch { /* none */ }
  return false;
}

/** Between the fields; no message holds it, because git ends a reflog message at a line end. */
const FORMAT = "%gD%x00%H%x00%gn <%ge>%x00%gs%x00";

/**
 * The same where logs are not files (reftable): one listing of all reflogs by git. It does not tell the
 * id before a move, so that of the move before it in the same log is taken; unknown for the oldest.
 * Exported for tests.
 */
export async function readMovesThroughGit(
  repo: Repository,
  sinceSeconds: number,
): Promise<Moves> {
  const listed = decodeText(
    (await repo.run([
      "for-each-ref",
      `--count=${MOVE_LIMITS.files + 1}`,
      "--format=%(refname)",
      "refs/heads",
    ])).stdout,
  ).split("\n").filter((name) => name !== "");
  const refs = listed.slice(0, MOVE_LIMITS.files);
  const head = await repo.optionalText(["rev-parse", "--verify", "--quiet", "HEAD"]);
  if (head !== null) refs.push("HEAD");
  if (refs.length === 0) return { moves: [], truncated: false, notes: [] };
  const out = await repo.run(
    ["log", "-z", "--walk-reflogs", "--stdin", "--date=raw", `--format=${FORMAT}`],
    {
      stdin: encodeText(refs.join("\n") + "\n"),
      maxBytes: MOVE_LIMITS.listingBytes,
      overflow: "cut",
    },
  );
  const newest = new Newest(false);
  // Each record ends with two NULs: its own last one and the separator of -z.
  const fields = decodeText(out.stdout).split("\0");
  // Git mixes the logs by time: the move that waits for the id before it, one for each log.
  const waiting = new Map<string, Move>();
  const ofHead: Move[] = [];
  const settle = (move: Move | undefined, oldOid: string | null) => {
    if (!move || move.seconds < sinceSeconds) return;
    if (move.refName === "HEAD") ofHead.push({ ...move, oldOid });
    else newest.add({ ...move, oldOid });
  };
  for (let i = 0; i + 3 < fields.length; i += 5) {
    const selector = /^(.*)@\{(-?\d+) [+-]\d+\}$/s.exec(fields[i]!);
    if (!selector) continue;
    const refName = selector[1]!, newOid = fields[i + 1]!;
    settle(waiting.get(refName), newOid);
    waiting.set(refName, {
      refName,
      seconds: Number(selector[2]),
      oldOid: null,
      newOid,
      identity: fields[i + 2]!,
      message: fields[i + 3]!,
    });
  }
  for (const move of waiting.values()) settle(move, null);
  // Last, because HEAD's log tells again what a branch's log tells.
  for (const move of ofHead) newest.add(move);
  const notes = [
    ...note(out.cut ? 1 : 0, "the listing of the reflogs was cut"),
    ...note(listed.length > refs.length ? 1 : 0, "logs of further branches were not read"),
  ];
  const moves = newest.take();
  return { moves, truncated: newest.dropped || notes.length > 0, notes };
}
