import { decodeText } from "../common/bytes.ts";

/**
 * One line of a reflog file, and what kind of movement its message tells of. Shared by `repo.reflog`,
 * `fleet.digest` and the recovery timeline.
 */

/** A movement of a ref as git recorded it. */
export interface ReflogLine {
  /** Full id before, in lower case; null when there was nothing before (all zeros). */
  readonly oldOid: string | null;
  /** Full id after, in lower case; null when nothing was left (all zeros). */
  readonly newOid: string | null;
  /** `Name <mail>` as recorded. */
  readonly identity: string;
  readonly name: string;
  readonly email: string;
  /** Unix seconds; null when the recorded number is not a safe integer. */
  readonly seconds: number | null;
  /** The digits as recorded. */
  readonly secondsRaw: string;
  /** Zone as recorded, a sign and four digits. */
  readonly tz: string;
  /** Without its line end; not shortened. Bytes that are not UTF-8 show as U+FFFD. */
  readonly message: string;
}

const SPACE = 0x20, TAB = 0x09, GT = 0x3e, NEWLINE = 0x0a, CR = 0x0d;

/** Where the parts of a line begin; null when git would pass over the line too. */
interface Parts {
  readonly hex: number;
  readonly identityEnd: number;
  readonly secondsEnd: number;
}

/**
 * Parses one line `<old> <new> <identity> <seconds> <zone>` TAB `<message>`, with or without its line
 * end. Gives null for a line that git itself passes over, so that positions agree with `REF@{n}`.
 */
export function parseReflogLine(line: Uint8Array): ReflogLine | null {
  const parts = findParts(line);
  if (parts === null) return null;
  const { hex, identityEnd, secondsEnd } = parts;
  const identity = decodeText(line.subarray(2 * hex + 2, identityEnd));
  const open = identity.lastIndexOf("<");
  const secondsRaw = decodeText(line.subarray(identityEnd + 1, secondsEnd)).trim();
  const seconds = Number(secondsRaw);
  return {
    oldOid: oidOf(line.subarray(0, hex)),
    newOid: oidOf(line.subarray(hex + 1, 2 * hex + 1)),
    identity,
    name: open === -1 ? identity.slice(0, -1) : identity.slice(0, open).trimEnd(),
    email: open === -1 ? "" : identity.slice(open + 1, -1),
    seconds: Number.isSafeInteger(seconds) ? seconds : null,
    secondsRaw,
    tz: decodeText(line.subarray(secondsEnd + 1, secondsEnd + 6)),
    message: decodeText(messageOf(line, secondsEnd)),
  };
}

/** True for a line that {@link parseReflogLine} would parse; cheaper when only counting. */
export function isReflogLine(line: Uint8Array): boolean {
  return findParts(line) !== null;
}

/** Follows git's own reader (`show_one_reflog_ent`) in what is a line and what is corrupt. */
function findParts(line: Uint8Array): Parts | null {
  const hex = hexLength(line);
  if (hex === null) return null;
  const identityEnd = line.indexOf(GT, 2 * hex + 2) + 1;
  if (identityEnd === 0 || line[identityEnd] !== SPACE) return null;
  // A number as strtoumax reads it: blanks, a sign, digits; zero counts as corrupt.
  let at = identityEnd + 1;
  while (line[at] === SPACE) at++;
  if (line[at] === 0x2b || line[at] === 0x2d) at++;
  const digits = at;
  let zero = true;
  for (; isDigit(line[at]); at++) zero &&= line[at] === 0x30;
  if (at === digits || zero || line[at] !== SPACE) return null;
  if (line[at + 1] !== 0x2b && line[at + 1] !== 0x2d) return null;
  for (let i = 2; i < 6; i++) if (!isDigit(line[at + i])) return null;
  return { hex, identityEnd, secondsEnd: at };
}

function messageOf(line: Uint8Array, secondsEnd: number): Uint8Array {
  let end = line.length;
  if (line[end - 1] === NEWLINE) end--;
  if (line[end - 1] === CR) end--;
  const start = secondsEnd + 6;
  return line.subarray(Math.min(line[start] === TAB ? start + 1 : start, end), end);
}

/** 40 or 64 when the line begins with two ids of one length and a space after each. */
function hexLength(line: Uint8Array): 40 | 64 | null {
  for (const n of [40, 64] as const) {
    if (line[n] !== SPACE || line[2 * n + 1] !== SPACE) continue;
    for (let i = 0; i < 2 * n + 1; i++) if (i !== n && !isHex(line[i])) return null;
    return n;
  }
  return null;
}

function oidOf(hex: Uint8Array): string | null {
  const oid = decodeText(hex).toLowerCase();
  return /^0+$/.test(oid) ? null : oid;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHex(byte: number | undefined): boolean {
  return isDigit(byte) ||
    (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66 && byte >= 0x41);
}

/** Kinds of movement (`read-tools.md` 18). */
export type ReflogKind =
  | "commit"
  | "amend"
  | "merge"
  | "checkout"
  | "pull"
  | "reset"
  | "rebase"
  | "cherryPick"
  | "revert"
  | "branch"
  | "fetch"
  | "other";

/** First match wins, so the longer forms stand before the shorter ones. */
const KINDS: readonly (readonly [prefix: string, kind: ReflogKind])[] = [
  ["fleet radar:", "branch"],
  ["commit (amend)", "amend"],
  ["commit (merge)", "merge"],
  ["merge ", "merge"],
  ["commit", "commit"],
  ["checkout:", "checkout"],
  ["switch", "checkout"],
  ["pull", "pull"],
  ["reset:", "reset"],
  ["rebase", "rebase"],
  ["cherry-pick", "cherryPick"],
  ["revert", "revert"],
  ["branch:", "branch"],
  ["fetch", "fetch"],
];

/** Kind of a movement by the beginning of its message, whatever its case. */
export function reflogKind(message: string): ReflogKind {
  const start = message.slice(0, 16).toLowerCase();
  return KINDS.find(([prefix]) => start.startsWith(prefix))?.[1] ?? "other";
}

/** Who wrote the line: git, or this project's desktop application (it says so in its messages). */
export function reflogSource(message: string): "git" | "fluxgit" {
  return message.slice(0, 12).toLowerCase() === "fleet radar:" ? "fluxgit" : "git";
}

/**
 * False when a movement cannot have left anything behind, null when only the graph can tell (whether
 * the old commit is an ancestor of the new one). HEAD also moves by going to another branch: there
 * only a reset, an amend or a rebase counts.
 */
export function rewroteByForm(
  refName: string,
  move: { oldOid: string | null; newOid: string | null; message: string },
): false | null {
  if (move.oldOid === null || move.newOid === null || move.oldOid === move.newOid) return false;
  const kind = reflogKind(move.message);
  if (refName === "HEAD" && kind !== "reset" && kind !== "amend" && kind !== "rebase") return false;
  return null;
}
