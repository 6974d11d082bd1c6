/** A strict unified diff of one existing file: exact places, exact lines, no search. */

import { HubError, shown } from "../errors.ts";

/** Most characters (code points) of a patch. */
export const MAX_PATCH_CHARS = 262_144;

interface Line {
  readonly mark: " " | "-" | "+";
  readonly text: string;
  /** Whether a line end follows it. */
  ended: boolean;
}

interface Hunk {
  readonly oldStart: number;
  readonly oldCount: number;
  readonly newCount: number;
  readonly lines: readonly Line[];
}

export interface Patch {
  readonly hunks: readonly Hunk[];
  readonly additions: number;
  readonly deletions: number;
}

const HEADER = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;

/**
 * Reads a patch whose two header names must be the target's path.
 *
 * @throws {HubError} `Malformed patch …`, `… does not match target`
 */
export function parsePatch(text: string, target: string): Patch {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  // What follows the last line end is no line.
  if (lines.at(-1) === "") lines.pop();
  checkName(lines[0], "--- ", target);
  checkName(lines[1], "+++ ", target);
  const hunks: Hunk[] = [];
  let additions = 0, deletions = 0, end = 0;
  for (let at = 2; at < lines.length;) {
    const header = HEADER.exec(lines[at]!);
    if (header === null) throw malformed(at, "a hunk header @@ -l,c +l,c @@ is expected");
    const oldStart = Number(header[1]);
    const oldCount = Number(header[2] ?? 1), newCount = Number(header[4] ?? 1);
    if (oldCount > 0 && oldStart === 0) throw malformed(at, "lines count from 1");
    const start = startIndex(oldStart, oldCount);
    if (start < end) throw malformed(at, "hunks overlap or are not in order");
    const body = readBody(lines, at + 1);
    const olds = body.lines.filter((line) => line.mark !== "+").length;
    const news = body.lines.filter((line) => line.mark !== "-").length;
    if (olds !== oldCount || news !== newCount) {
      throw malformed(
        at,
        `the header declares ${oldCount} old and ${newCount} new lines, the hunk has ${olds} and ${news}`,
      );
    }
    additions += news - body.lines.filter((line) => line.mark === " ").length;
    deletions += olds - body.lines.filter((line) => line.mark === " ").length;
    hunks.push({ oldStart, oldCount, newCount, lines: body.lines });
    end = start + oldCount;
    at = body.next;
  }
  if (hunks.length === 0) throw malformed(2, "it has no hunk");
  return { hunks, additions, deletions };
}

/** Index of the first line that a hunk touches; one without old lines inserts after line `oldStart`. */
function startIndex(oldStart: number, oldCount: number): number {
  return oldCount === 0 ? oldStart : oldStart - 1;
}

function readBody(lines: readonly string[], from: number): { lines: Line[]; next: number } {
  const body: Line[] = [];
  let at = from;
  for (; at < lines.length && !HEADER.test(lines[at]!); at++) {
    const line = lines[at]!;
    const mark = line[0];
    if (mark === "\\") {
      const last = body.at(-1);
      if (last === undefined) throw malformed(at, "a marker without a line before it");
      last.ended = false;
    } else if (mark === " " || mark === "-" || mark === "+") {
      body.push({ mark, text: line.slice(1), ended: true });
    } else {
      throw malformed(at, 'a line begins with none of " ", "-", "+" and "\\"');
    }
  }
  return { lines: body, next: at };
}

function checkName(line: string | undefined, prefix: string, target: string): void {
  if (line === undefined || !line.startsWith(prefix)) {
    throw new HubError(
      "ValueError",
      `Malformed patch: line ${prefix === "--- " ? 1 : 2} must begin with "${prefix}"`,
    );
  }
  const name = plainName(line.slice(prefix.length).split("\t", 1)[0]!);
  if (name === plainName(target)) return;
  throw new HubError(
    "ValueError",
    `Malformed patch: the file name ${shown(name)} does not match target ${shown(target)}`,
  );
}

function plainName(name: string): string {
  return name.replaceAll("\\", "/").replace(/^[ab]\//, "");
}

function malformed(at: number, why: string): HubError {
  return new HubError("ValueError", `Malformed patch at line ${at + 1}: ${why}`);
}

/** One line of a file with the line end it has: LF, CRLF, CR, or none at the end of the file. */
interface FileLine {
  readonly text: string;
  readonly end: string;
}

/**
 * Applies a patch. Lines that stay keep their own line ends; added ones get those of the line before
 * them. Whether a line has an end at all must agree with the patch.
 *
 * @throws {HubError} `… does not match the file`, `… out of range`
 */
export function applyPatch(content: string, patch: Patch): string {
  const file = splitLines(content);
  const out: FileLine[] = [];
  let taken = 0;
  for (const [number, hunk] of patch.hunks.entries()) {
    const start = startIndex(hunk.oldStart, hunk.oldCount);
    if (start + hunk.oldCount > file.length) {
      throw new HubError(
        "ValueError",
        `Patch hunk ${number + 1} is out of range: the file has ${file.length} lines`,
      );
    }
    while (taken < start) out.push(file[taken++]!);
    for (const line of hunk.lines) {
      if (line.mark === "+") {
        const like = out.findLast(({ end }) => end !== "") ?? file.find(({ end }) => end !== "");
        out.push({ text: line.text, end: line.ended ? like?.end ?? "\n" : "" });
        continue;
      }
      const now = file[taken];
      if (now === undefined || now.text !== line.text || (now.end !== "") !== line.ended) {
        throw new HubError(
          "ValueError",
          `Patch does not match the file: hunk ${number + 1}, line ${taken + 1} is another one`,
        );
      }
      taken++;
      if (line.mark === " ") out.push(now);
    }
  }
  out.push(...file.slice(taken));
  const open = out.findIndex(({ end }) => end === "");
  if (open !== -1 && open < out.length - 1) {
    throw new HubError(
      "ValueError",
      'Patch does not match the file: "\\ No newline at end of file" stands before its end, or is missing',
    );
  }
  return out.map(({ text, end }) => text + end).join("");
}

function splitLines(content: string): FileLine[] {
  const lines: FileLine[] = [];
  for (const [, text = "", end = ""] of content.matchAll(/([^\r\n]*)(\r\n|\r|\n|$)/g)) {
    if (text !== "" || end !== "") lines.push({ text, end });
  }
  return lines;
}
