/** Which words of a changed line changed. Knows no document. */

import type { DiffLine } from "./diff_parse.ts";

/** A stretch of a line; `changed` ones are highlighted. */
export interface Stretch {
  readonly text: string;
  readonly changed: boolean;
}

/** Lines longer than this, and pairs with more words than this, are marked as a whole. */
const MAX_LINE = 2_000;
const MAX_WORDS = 300;
/** Below this share of common text two lines are other lines, not a change of one. */
const ALIKE = 0.35;

/** Rows of a hunk: a deleted and an added line that belong together stand side by side. */
export interface Row {
  readonly left: DiffLine | null;
  readonly right: DiffLine | null;
}

/** Pairs runs of deleted with the following added lines, as a split view shows them. */
export function pairLines(lines: readonly DiffLine[]): Row[] {
  const rows: Row[] = [];
  let i = 0;
  while (i < lines.length) {
    const line = lines[i]!;
    if (line.kind === " ") {
      rows.push({ left: line, right: line });
      i++;
      continue;
    }
    const gone: DiffLine[] = [], come: DiffLine[] = [];
    while (lines[i]?.kind === "-" || (lines[i]?.kind === "\\" && gone.length > 0)) {
      gone.push(lines[i++]!);
    }
    while (lines[i]?.kind === "+" || (lines[i]?.kind === "\\" && come.length > 0)) {
      come.push(lines[i++]!);
    }
    if (gone.length === 0 && come.length === 0) {
      rows.push({ left: line, right: line });
      i++;
    }
    for (let k = 0; k < Math.max(gone.length, come.length); k++) {
      rows.push({ left: gone[k] ?? null, right: come[k] ?? null });
    }
  }
  return rows;
}

/** The stretches of both lines, or null when they have too little in common. */
export function changedWords(
  before: string,
  after: string,
): { left: Stretch[]; right: Stretch[] } | null {
  if (before === after || before.length > MAX_LINE || after.length > MAX_LINE) return null;
  const a = words(before), b = words(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (
    end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)
  ) end++;
  const midA = a.slice(start, a.length - end), midB = b.slice(start, b.length - end);
  if (midA.length > MAX_WORDS || midB.length > MAX_WORDS) return null;
  const keep = common(midA, midB);
  const head = a.slice(0, start), tail = end === 0 ? [] : a.slice(-end);
  const left = join(head, midA, keep.a, tail), right = join(head, midB, keep.b, tail);
  const same = left.filter((part) => !part.changed).reduce(
    (sum, part) => sum + part.text.trim().length,
    0,
  );
  const most = Math.max(before.trim().length, after.trim().length, 1);
  return same / most < ALIKE ? null : { left, right };
}

function words(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|./gu) ?? [];
}

/** Longest common subsequence: which words of either side stay. */
function common(a: readonly string[], b: readonly string[]): { a: boolean[]; b: boolean[] } {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j]
        ? table[(i + 1) * width + j + 1]! + 1
        : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
    }
  }
  const keepA = a.map(() => false), keepB = b.map(() => false);
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) keepA[i++] = keepB[j++] = true;
    else if (table[(i + 1) * width + j]! >= table[i * width + j + 1]!) i++;
    else j++;
  }
  return { a: keepA, b: keepB };
}

function join(
  head: readonly string[],
  middle: readonly string[],
  keep: readonly boolean[],
  tail: readonly string[],
): Stretch[] {
  const out: { text: string; changed: boolean }[] = [];
  const push = (text: string, changed: boolean) => {
    const last = out.at(-1);
    if (last && last.changed === changed) last.text += text;
    else if (text !== "") out.push({ text, changed });
  };
  for (const word of head) push(word, false);
  middle.forEach((word, i) => push(word, !keep[i]));
  for (const word of tail) push(word, false);
  return out;
}
