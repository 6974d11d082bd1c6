/**
 * CODEOWNERS by GitHub's documented rules: last match wins, a line without owners removes them, no
 * `!`, no character ranges, `#` starts a comment. Matching never backtracks: the time of one rule
 * grows with the length of the path and of the pattern, whatever they hold (`security.md` S-31).
 */

/** One usable line. */
export interface OwnerRule {
  /** As written, but for escaped spaces. */
  readonly pattern: string;
  /** Empty when the line takes owners away. */
  readonly owners: readonly string[];
  readonly match: (parts: readonly string[]) => boolean;
}

export interface Codeowners {
  readonly rules: readonly OwnerRule[];
  /** Lines that the rules do not allow; they are skipped, as GitHub does. */
  readonly skippedLines: number;
}

/** GitHub does not load a longer file. */
export const MAX_CODEOWNERS_BYTES = 3 * 1024 * 1024;
/** More rules than this are not read: leaving out the last ones would give wrong owners. */
export const MAX_RULES = 50_000;

const OWNER = /^(?:@[A-Za-z0-9][\w.-]*(?:\/[\w.-]+)?|[^\s@]+@[^\s@]+)$/;

/** Reads the text of a CODEOWNERS file; null when it has more than {@link MAX_RULES} rules. */
export function parseCodeowners(text: string): Codeowners | null {
  const rules: OwnerRule[] = [];
  let skippedLines = 0;
  for (const line of text.replace(/^\uFEFF/, "").split("\n")) {
    const words = splitLine(line);
    const [pattern, ...owners] = words;
    if (pattern === undefined) continue;
    const match = compilePattern(pattern);
    if (rules.length >= MAX_RULES) return null;
    if (match === null || !owners.every((owner) => OWNER.test(owner))) skippedLines++;
    else rules.push({ pattern: pattern.replaceAll("\\ ", " "), owners, match });
  }
  return { rules, skippedLines };
}

/** Words of a line up to a comment; a backslash keeps the blank behind it in its word. */
function splitLine(line: string): string[] {
  const words: string[] = [];
  let word = "";
  for (let i = 0; i < line.length; i++) {
    const char = line[i]!;
    if (char === "\\" && i + 1 < line.length && line[i + 1] !== "\r") {
      word += char + line[++i];
    } else if (/\s/.test(char)) {
      if (word !== "") words.push(word);
      word = "";
    } else if (char === "#" && (word === "" || words.length > 0)) {
      // At the start of a word, or right behind an owner.
      break;
    } else {
      word += char;
    }
  }
  if (word !== "") words.push(word);
  return words;
}

/** The last rule that matches, by its place; -1 when none does. */
export function matchRule(rules: readonly OwnerRule[], parts: readonly string[]): number {
  for (let i = rules.length - 1; i >= 0; i--) if (rules[i]!.match(parts)) return i;
  return -1;
}

/** Names that no pattern has in mind, to ask about everything in a folder. */
const ANY = ["\uFFFF", "\uFFFE"];

/** The last rule that matches whatever lies in a folder, at any depth; -1 when none does. */
export function matchFolderRule(rules: readonly OwnerRule[], folder: readonly string[]): number {
  const child = [...folder, ANY[0]!], grandchild = [...child, ANY[1]!];
  for (let i = rules.length - 1; i >= 0; i--) {
    if (rules[i]!.match(child) && rules[i]!.match(grandchild)) return i;
  }
  return -1;
}

type PartMatch = (part: string) => boolean;

/** What must follow the last part of a pattern: nothing, anything or nothing, or something. */
type Tail = "exact" | "prefix" | "below";

/**
 * Compiles a pattern to a matcher of path parts; null when it is not a pattern that CODEOWNERS knows.
 * Exported for tests.
 */
export function compilePattern(pattern: string): ((parts: readonly string[]) => boolean) | null {
  if (/^(?:!|\\#)/.test(pattern) || /\*{3}/.test(pattern)) return null;
  const segments = pattern.split("/");
  if (segments.every((segment) => segment === "")) return () => false;
  const rooted = segments[0] === "";
  if (rooted) segments.shift();
  // A name alone, or a folder name alone, is looked for at any depth.
  const single = segments.length === 1 || (segments.length === 2 && segments[1] === "");
  if (!rooted && single && segments[0] !== "**") segments.unshift("**");
  let tail: Tail = "prefix";
  const last = segments.at(-1);
  if (last === "" || last === "**") {
    tail = "below";
    segments.pop();
  } else if (last === "*") {
    // Only what lies directly there: `docs/*` does not reach into folders of `docs`.
    tail = "exact";
  }
  const blocks: PartMatch[][] = [[]];
  for (const segment of segments) {
    if (segment === "**") blocks.push([]);
    else blocks.at(-1)!.push(compilePart(segment));
  }
  return (parts) => matchBlocks(blocks, tail, parts);
}

/**
 * Blocks are runs of parts with any number of folders between them. Taking each block at the first
 * place where it fits is enough, as with `*` between letters.
 */
function matchBlocks(
  blocks: readonly PartMatch[][],
  tail: Tail,
  parts: readonly string[],
): boolean {
  const fits = (block: readonly PartMatch[], at: number) =>
    at + block.length <= parts.length && block.every((part, i) => part(parts[at + i]!));
  const [first, ...rest] = blocks;
  const final = rest.pop();
  const room = tail === "below" ? parts.length - 1 : parts.length;
  if (!fits(first!, 0)) return false;
  let at = first!.length;
  if (!final) return tail === "exact" ? at === parts.length : at <= room;
  const seek = (block: readonly PartMatch[], end: number) => {
    for (; at + block.length <= end; at++) {
      if (fits(block, at)) {
        at += block.length;
        return true;
      }
    }
    return false;
  };
  for (const block of rest) if (!seek(block, parts.length)) return false;
  if (tail !== "exact") return seek(final, room);
  const start = parts.length - final.length;
  return start >= at && fits(final, start);
}

/** Text between two `*`; null stands for `?`. */
type Chunk = readonly (string | null)[];

/** One part of a pattern: `*` any characters, `?` one, a backslash takes the next one as it is. */
function compilePart(segment: string): PartMatch {
  if (!/[*?\\]/.test(segment)) return (part) => part === segment;
  if (segment === "*") return () => true;
  const chunks: (string | null)[][] = [[]];
  for (let i = 0; i < segment.length; i++) {
    const char = segment[i]!;
    if (char === "*") chunks.push([]);
    else if (char === "?") chunks.at(-1)!.push(null);
    else chunks.at(-1)!.push(char === "\\" && i + 1 < segment.length ? segment[++i]! : char);
  }
  const first = chunks.shift()!, final = chunks.pop();
  if (!final) return (part) => part.length === first.length && fitsAt(first, part, 0);
  const least = [first, ...chunks, final].reduce((sum, chunk) => sum + chunk.length, 0);
  const seekers = chunks.filter((chunk) => chunk.length > 0).map(compileSeek);
  return (part) => {
    const end = part.length - final.length;
    if (part.length < least || !fitsAt(first, part, 0) || !fitsAt(final, part, end)) return false;
    let at = first.length;
    for (const seek of seekers) {
      at = seek(part, at);
      if (at === -1 || at > end) return false;
    }
    return true;
  };
}

function fitsAt(chunk: Chunk, part: string, at: number): boolean {
  return chunk.every((char, i) => char === null || char === part[at + i]);
}

const SHORT_CHUNK = 32;

/** Makes a function that gives the place behind the first fit at or after a place, or -1. */
function compileSeek(chunk: Chunk): (part: string, from: number) => number {
  if (chunk.length <= SHORT_CHUNK && !chunk.includes(null)) {
    const text = chunk.join("");
    return (part, from) => {
      const at = part.indexOf(text, from);
      return at === -1 ? -1 : at + text.length;
    };
  }
  // Shift-and: bit i of the state says that the characters read last fit the first i + 1 of the chunk.
  const anywhere = chunk.reduce((bits, c, i) => c === null ? bits | (1n << BigInt(i)) : bits, 0n);
  const bitsOf = new Map<string, bigint>();
  chunk.forEach((c, i) => {
    if (c !== null) bitsOf.set(c, (bitsOf.get(c) ?? anywhere) | (1n << BigInt(i)));
  });
  const whole = 1n << BigInt(chunk.length - 1);
  return (part, from) => {
    let state = 0n;
    for (let at = from; at < part.length; at++) {
      state = ((state << 1n) | 1n) & (bitsOf.get(part[at]!) ?? anywhere);
      if ((state & whole) !== 0n) return at + 1;
    }
    return -1;
  };
}
