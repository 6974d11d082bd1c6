import { CodedError } from "./errors.ts";
import { encodeText } from "./bytes.ts";
import { GLUE, OTHER_PAIRS, PAIRS, TRIPLES, WORDS } from "./token_table.ts";

/**
 * Keeps an answer under a number of tokens (`maxTokens`, `additions.md` section 1) without a tokenizer
 * at run time: an upper bound of the real count, and parts of the answer that are shortened in a
 * fixed order.
 *
 * The bound is sound by the way byte pair encoding works. A text is first split by a pattern, which
 * is the tokenizer's own. Inside a piece no two neighbouring tokens are left whose join is a token
 * too, or they would have been merged; and a piece that is a token stays whole. So the most tokens
 * that a piece can have is that of the longest split in which no known token is torn. Knowing few
 * tokens (`token_table.ts`) only makes the bound looser, never wrong.
 */

/** The splitting pattern of o200k: words with one sign before, digits by threes, signs, spaces. */
const PIECES = (() => {
  const upper = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
  const lower = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
  const sign = String.raw`[^\r\n\p{L}\p{N}]?`;
  const ending = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?";
  return new RegExp(
    [
      `${sign}${upper}*${lower}+${ending}`,
      `${sign}${upper}+${lower}*${ending}`,
      String.raw`\p{N}{1,3}`,
      String.raw` ?[^\s\p{L}\p{N}]+[\r\n/]*`,
      String.raw`\s*[\r\n]+`,
      String.raw`\s+(?!\S)`,
      String.raw`\s+`,
    ].join("|"),
    "gu",
  );
})();

interface Known {
  /** Words that are one token alone and after a space, and at most two after another sign. */
  readonly words: ReadonlySet<string>;
  /** Tokens of up to about a dozen bytes, one UTF-16 unit a byte. */
  readonly tokens: ReadonlySet<string>;
}

let known: Known | undefined;

function table(): Known {
  if (known) return known;
  const tokens = new Set<string>();
  const addRuns = (text: string, size: number) => {
    for (let i = 0; i < text.length; i += size) tokens.add(text.slice(i, i + size));
  };
  addRuns(PAIRS, 2);
  addRuns(atob(OTHER_PAIRS), 2);
  addRuns(TRIPLES, 3);
  for (const run of GLUE.split("\n")) tokens.add(run);
  const words = new Set(WORDS.split(" "));
  for (const word of words) tokens.add(word);
  return known = { words, tokens };
}

/** Bounds of pieces seen before; answers repeat theirs. */
const pieces = new Map<string, number>();
const MAX_REMEMBERED = 4_096;
const MAX_REMEMBERED_LENGTH = 32;

/**
 * A number that the o200k tokens of a text do not exceed; 1.2 to 2 times the real count for JSON,
 * code and English, up to four times for other scripts. Linear in the text.
 *
 * @param ceiling stop counting once the bound is above it; the result is then only known to be above
 */
export function estimateTokens(text: string, ceiling = Infinity): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(PIECES)) {
    tokens += pieceBound(piece);
    if (tokens > ceiling) break;
  }
  return tokens;
}

function pieceBound(piece: string): number {
  if (piece.length === 1 && piece.charCodeAt(0) < 128) return 1;
  const seen = pieces.get(piece);
  if (seen !== undefined) return seen;
  const bound = freshBound(piece);
  if (piece.length <= MAX_REMEMBERED_LENGTH) {
    if (pieces.size >= MAX_REMEMBERED) pieces.clear();
    pieces.set(piece, bound);
  }
  return bound;
}

function freshBound(piece: string): number {
  const { words, tokens } = table();
  if (tokens.has(piece) || /^[0-9]{1,3}$/.test(piece)) return 1;
  const first = piece.charCodeAt(0);
  if (first < 128 && words.has(piece.slice(1))) return first === 0x20 ? 1 : 2;
  return longestSplit(binary(piece), tokens);
}

/** One UTF-16 unit a byte of the UTF-8 form. */
function binary(piece: string): string {
  // deno-lint-ignore no-control-regex
  if (/^[\x00-\x7f]*$/.test(piece)) return piece;
  let text = "";
  for (const byte of encodeText(piece)) text += String.fromCharCode(byte);
  return text;
}

/**
 * The most tokens that bytes can be split into when no known token may be torn at one place.
 *
 * `one`, `two` and `more` hold the best split of what lies before a place, by the length of its last
 * token; -1 where there is none. Only joins of at most four bytes are looked up, so tokens of three
 * and more bytes hinder nothing, and longer ones than five need not be tried: two shorter ones do more.
 */
function longestSplit(bytes: string, tokens: ReadonlySet<string>): number {
  const n = bytes.length;
  const one = new Int32Array(n + 6).fill(-1);
  const two = new Int32Array(n + 6).fill(-1);
  const more = new Int32Array(n + 6).fill(-1);
  more[0] = 0;
  for (let i = 0; i < n; i++) {
    const free = more[i]!;
    const torn = (before: number, after: number) => tokens.has(bytes.slice(i - before, i + after));
    let best = free;
    if (one[i]! > best && !torn(1, 1)) best = one[i]!;
    if (two[i]! > best && !torn(2, 1)) best = two[i]!;
    if (best >= 0) one[i + 1] = Math.max(one[i + 1]!, best + 1);
    best = free;
    if (one[i]! > best && !torn(1, 2)) best = one[i]!;
    if (two[i]! > best && !torn(2, 2)) best = two[i]!;
    if (best >= 0) two[i + 2] = Math.max(two[i + 2]!, best + 1);
    best = Math.max(free, one[i]!, two[i]!);
    if (best < 0) continue;
    for (let k = 3; k <= 5; k++) more[i + k] = Math.max(more[i + k]!, best + 1);
  }
  return Math.max(one[n]!, two[n]!, more[n]!);
}

/** One thing that can be shortened: a list or a text. */
export interface Cuttable {
  /** Name of the member, said in `cut`. */
  readonly name: string;
  /** Items or characters now. */
  readonly size: number;
  /** Keeps the first `n`; called with any number from 0 to `size`, the last call counts. */
  readonly keep: (n: number) => void;
}

/** A list member of `data` that may be shortened. */
export function cuttableList<T>(name: string, list: T[]): Cuttable {
  const all = [...list];
  return {
    name,
    size: all.length,
    keep: (n) => {
      list.length = 0;
      for (let i = 0; i < n; i++) list.push(all[i]!);
    },
  };
}

/** What was cut: the member, how much of it is left, and how much there was. */
export interface CutNote {
  readonly list: string;
  readonly kept: number;
  readonly of: number;
}

/** As long as the envelope around `data` gets; no tool's name or source takes more tokens. */
const ENVELOPE = {
  tool: "operation.preview.submodulePointer",
  readOnly: false,
  source: "local-agent-detector",
};

/**
 * Shortens `parts` in their order (least important first) until the whole payload stays under
 * `maxTokens`; gives what was cut. Deterministic: the same data give the same cuts. With `maxTokens`
 * undefined nothing happens.
 *
 * The caller puts the notes into `data.cut` when there are any. What else depends on the cuts
 * (`truncated`, a cursor) must be in what `data` gives each time it is called, to be counted too.
 *
 * Throws `CodedError` -32602 when the answer is over `maxTokens` with every part cut to nothing.
 */
export function fitTokens(
  data: () => unknown,
  maxTokens: number | undefined,
  parts: readonly Cuttable[],
  repoPath = "",
): CutNote[] {
  if (maxTokens === undefined) return [];
  const notes: CutNote[] = [];
  const size = (cut: readonly CutNote[], ceiling: number) => {
    const whole = cut.length > 0 ? { ...data() as Record<string, unknown>, cut } : data();
    return estimateTokens(JSON.stringify({ ...ENVELOPE, repoPath, data: whole }), ceiling);
  };
  for (const part of parts) {
    if (size(notes, maxTokens) <= maxTokens) return notes;
    const noteOf = (kept: number) => ({ list: part.name, kept, of: part.size });
    const fits = (kept: number) => {
      part.keep(kept);
      return size([...notes, noteOf(kept)], maxTokens) <= maxTokens;
    };
    let low = 0, high = part.size - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (fits(middle)) low = middle;
      else high = middle - 1;
    }
    if (part.size === 0) continue;
    part.keep(low);
    notes.push(noteOf(low));
  }
  const least = size(notes, Infinity);
  if (least <= maxTokens) return notes;
  throw new CodedError(-32602, "Invalid params", {
    details:
      `arguments.maxTokens is ${maxTokens}, too few for this answer with every list cut: about ${least} are needed`,
  });
}
