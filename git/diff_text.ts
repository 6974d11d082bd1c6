import { decodeText } from "../common/bytes.ts";
import { ShortHash } from "../common/short_hash.ts";
import { streamGit } from "./command.ts";
import { diffArguments, type DiffRequest, forDiff } from "./diff.ts";
import { GitError, lacksObjects } from "./errors.ts";
import type { Repository } from "./repository.ts";

/** The text of a diff, page by page, with the memory of one page whatever the diff is. */

/** How much of the whole diff is looked at, for its totals and its hash. */
export const SCAN_CEILING = 64 * 1024 * 1024;

/** A part of a diff's bytes and what is known of the whole. */
export interface DiffWindow {
  /** Bytes from the wanted offset on, a few more than one page. */
  readonly bytes: Uint8Array;
  readonly offset: number;
  /** Bytes seen: all, or up to the ceiling. */
  readonly size: number;
  /** Lines seen; one that was not ended counts. */
  readonly lines: number;
  /** Tells this diff from another one. */
  readonly hash: string;
  /** How the reading ended; `ceiling`, `timed_out` and `missing_objects` leave a rest unread. */
  readonly end: "whole" | "ceiling" | "timed_out" | "missing_objects";
}

/** A diff without text. */
export const NO_WINDOW: DiffWindow = {
  bytes: new Uint8Array(),
  offset: 0,
  size: 0,
  lines: 0,
  hash: "",
  end: "whole",
};

/** Bytes kept past a page, so that its last character can be seen whole. */
const MARGIN = 4;

/** Collects one window of a stream, counting and hashing all of it. */
export class WindowCollector {
  readonly #offset: number;
  readonly #ceiling: number;
  readonly #kept: Uint8Array;
  #got = 0;
  #size = 0;
  #newlines = 0;
  #last = 0x0a;
  readonly #hash = new ShortHash();

  constructor(offset: number, pageBytes: number, ceiling = SCAN_CEILING) {
    this.#offset = offset;
    this.#ceiling = ceiling;
    this.#kept = new Uint8Array(pageBytes + MARGIN);
  }

  /** False when the ceiling is reached. */
  push(chunk: Uint8Array): boolean {
    const seen = chunk.subarray(0, this.#ceiling - this.#size);
    this.#hash.add(seen);
    for (let at = seen.indexOf(0x0a); at !== -1; at = seen.indexOf(0x0a, at + 1)) this.#newlines++;
    const from = Math.max(0, this.#offset + this.#got - this.#size);
    const part = seen.subarray(from, from + this.#kept.length - this.#got);
    this.#kept.set(part, this.#got);
    this.#got += part.length;
    this.#size += seen.length;
    if (seen.length > 0) this.#last = seen[seen.length - 1]!;
    return seen.length === chunk.length;
  }

  window(end: DiffWindow["end"]): DiffWindow {
    return {
      bytes: this.#kept.subarray(0, this.#got),
      offset: this.#offset,
      size: this.#size,
      lines: this.#newlines + (this.#last === 0x0a ? 0 : 1),
      hash: this.#hash.text(),
      end,
    };
  }
}

/**
 * Runs a diff and keeps the bytes from `offset` on that one page can need. Where content is missing
 * or time runs out, what came before is given. Throws {@link GitError} for other failures.
 */
export async function readDiffWindow(
  repo: Repository,
  request: DiffRequest,
  contextLines: number,
  offset: number,
  pageBytes: number,
): Promise<DiffWindow> {
  const collector = new WindowCollector(offset, pageBytes);
  const args = diffArguments(request, ["--patch", `--unified=${contextLines}`]);
  try {
    const end = await streamGit(
      forDiff(repo),
      args,
      {
        signal: repo.signal,
        okCodes: "any",
        ...(request.stdin ? { stdin: request.stdin } : {}),
      },
      (chunk) => collector.push(chunk),
    );
    if (end.stopped) return collector.window("ceiling");
    if (end.code === 0) return collector.window("whole");
    if (lacksObjects(end.stderr)) return collector.window("missing_objects");
    throw new GitError("failed", args, end.stderr, end.code);
  } catch (error) {
    if (error instanceof GitError && error.kind === "timed_out") {
      return collector.window("timed_out");
    }
    throw error;
  }
}

/** A page: its text and how many bytes of the diff it stands for. */
export interface TextPage {
  readonly text: string;
  readonly bytes: number;
}

/**
 * Cuts a page off a window: after the last line end that fits, or on a character when one line is
 * longer than the page. At least one character is given, so that pages always end. The texts of all
 * pages, put together, are the text of the whole diff.
 *
 * @param maxBytes of the text in UTF-8, in which bytes that are no UTF-8 take three
 */
export function cutPage(window: DiffWindow, maxBytes: number, maxLines: number): TextPage {
  const { bytes } = window;
  const isLast = window.offset + bytes.length >= window.size;
  let limit = Math.min(maxBytes, bytes.length);
  limit = nthLineEnd(bytes, maxLines, limit) ?? limit;
  while (limit > 0) {
    const end = isLast && limit === bytes.length ? limit : boundary(bytes, limit);
    if (end === 0) break;
    const text = decodeText(bytes.subarray(0, end));
    const size = utf8Length(text);
    if (size <= maxBytes) return { text, bytes: end };
    // Replacement characters made it longer: take as much less as it is over.
    limit = Math.min(end - 1, Math.floor(end * maxBytes / size));
  }
  const first = firstCharacter(bytes);
  return { text: decodeText(bytes.subarray(0, first)), bytes: first };
}

/** Index after the `n`th line end, null when there are fewer before `limit`. */
function nthLineEnd(bytes: Uint8Array, n: number, limit: number): number | null {
  let at = -1;
  for (let i = 0; i < n; i++) {
    at = bytes.indexOf(0x0a, at + 1);
    if (at === -1 || at >= limit) return null;
  }
  return at + 1;
}

/** The last place at or before `limit` after a line end, or else where a character begins. */
function boundary(bytes: Uint8Array, limit: number): number {
  const newline = bytes.lastIndexOf(0x0a, limit - 1);
  if (newline !== -1) return newline + 1;
  // After more than three bytes that continue a character there is none that they could belong to.
  for (let at = limit; at > limit - 4; at--) {
    if (at <= 0 || !continues(bytes[at])) return Math.max(at, 0);
  }
  return limit;
}

function continues(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Length in bytes of the first character, or of bytes that are none. */
function firstCharacter(bytes: Uint8Array): number {
  if (bytes.length === 0) return 0;
  let end = 1;
  while (end < 4 && continues(bytes[end])) end++;
  return end;
}

function utf8Length(text: string): number {
  let size = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) size++;
    else if (code < 0x800) size += 2;
    else if (code >= 0xd800 && code <= 0xdbff) {
      size += 4;
      i++;
    } else size += 3;
  }
  return size;
}
