/**
 * Keeps an answer under a number of tokens (`maxTokens`, `additions.md` section 1) without a tokenizer
 * at run time: an estimate that is never below the real count (checked against o200k in the tests),
 * and lists that are cut in a fixed order.
 */

/**
 * Upper estimate of the o200k tokens of a text. Words count one token for each three letters begun,
 * digits one for each three, other ASCII one each, anything else one for each UTF-8 byte pair.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let letters = 0, digits = 0;
  const flush = () => {
    tokens += Math.ceil(letters / 2.5) + Math.ceil(digits / 3);
    letters = digits = 0;
  };
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if ((c >= 97 && c <= 122) || (c >= 65 && c <= 90)) {
      if (digits) flush();
      letters++;
    } else if (c >= 48 && c <= 57) {
      if (letters) flush();
      digits++;
    } else {
      flush();
      tokens += c < 128 ? 1 : c < 0x800 ? 1.5 : 2;
    }
  }
  flush();
  return Math.ceil(tokens);
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

/** Tokens set aside for the envelope around `data`, besides the repository path. */
const ENVELOPE = 90;

/**
 * Shortens `parts` in their order (least important first) until the answer fits; gives what was cut.
 * The caller puts the notes into `data.cut` when there are any, and sets its own `truncated`.
 * With `maxTokens` undefined nothing happens.
 */
export function fitTokens(
  data: () => unknown,
  maxTokens: number | undefined,
  parts: readonly Cuttable[],
  repoPath = "",
): CutNote[] {
  if (maxTokens === undefined) return [];
  const room = maxTokens - ENVELOPE - estimateTokens(repoPath) - 12 * parts.length;
  const fits = () => estimateTokens(JSON.stringify(data())) <= room;
  const notes: CutNote[] = [];
  for (const part of parts) {
    if (fits()) break;
    let low = 0, high = part.size;
    // Largest n that fits, or 0.
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      part.keep(middle);
      if (fits()) low = middle;
      else high = middle - 1;
    }
    part.keep(low);
    if (low < part.size) notes.push({ list: part.name, kept: low, of: part.size });
  }
  return notes;
}
