/**
 * Text of strangers on a terminal (`security.md` S-30): what could move the cursor, hide, reorder or
 * look like something else is shown as an escape, so that two texts that differ also look different.
 * Letters of different scripts that look alike are beyond it.
 */

/** Marks on one letter that are shown; more of them would cover the lines around. */
const MAX_MARKS = 3;

/**
 * One line, bounded. Everything that is not plainly visible becomes `\u{…}`, and so does a space at
 * an end, a mark that could be part of the letter before it, and a backslash that would look like
 * such an escape.
 */
export function visible(text: string, max = 400): string {
  const cut = firstCharacters(text, max);
  const shown = escaped(cut).replace(/^ +| +$/g, (spaces) => "\\u{20}".repeat(spaces.length));
  return cut.length < text.length ? shown + "…" : shown;
}

/**
 * Several lines, each made visible; more than `maxLines` are counted. Tabs are shown as an arrow,
 * because indentation is as often made of them as of spaces.
 */
export function visibleLines(text: string, maxLines: number, indent = ""): string {
  const lines = text.split("\n");
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  const shown = lines.slice(0, maxLines).map((line) => {
    const cut = firstCharacters(line, MAX_LINE);
    return indent + cut.split("\t").map(escaped).join("⇥   ") +
      (cut.length < line.length ? "…" : "");
  });
  const left = lines.length - shown.length;
  if (left > 0) shown.push(`${indent}… ${left} more ${left === 1 ? "line" : "lines"}`);
  return shown.join("\n");
}

const MAX_LINE = 2_000;

function firstCharacters(text: string, max: number): string {
  let end = 0;
  for (const char of text) {
    if (max-- === 0) return text.slice(0, end);
    end += char.length;
  }
  return text;
}

function escaped(text: string): string {
  let out = "", before = "", marks = 0;
  for (const [at, char] of characters(text)) {
    const isMark = /^\p{M}$/u.test(char);
    marks = isMark ? marks + 1 : 0;
    const literal = char === "\\" && text.startsWith("\\u{", at);
    const plain = !literal && isPlain(char) &&
      (!isMark || (before !== "" && marks <= MAX_MARKS && !composes(before, char)));
    out += plain ? char : `\\u{${char.codePointAt(0)!.toString(16)}}`;
    before = char;
  }
  return out;
}

function* characters(text: string): Generator<[at: number, char: string]> {
  let at = 0;
  for (const char of text) {
    yield [at, char];
    at += char.length;
  }
}

/** The two have a form in one: shown as they are, nobody could tell which of both it is. */
function composes(before: string, mark: string): boolean {
  return (before + mark).normalize("NFC") !== before + mark;
}

/** Letters, marks on them, digits, punctuation, symbols and the plain space. */
function isPlain(char: string): boolean {
  if (char === " ") return true;
  // Shown as nothing although they count as letters, marks or symbols; and the sign used for tabs.
  if (/^[\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u21e5]$/u.test(char)) return false;
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char);
}
