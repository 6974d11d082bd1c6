/**
 * Text of strangers on a terminal (`security.md` S-30): what could move the cursor, hide, reorder or
 * look like something else is shown as an escape, so that two texts that differ also look different.
 */

/** One line, bounded. Everything that is not plainly visible becomes `\u{…}`. */
export function visible(text: string, max = 400): string {
  let out = "";
  let left = max;
  for (const char of text) {
    if (left-- === 0) return out + "…";
    out += isPlain(char) ? char : `\\u{${char.codePointAt(0)!.toString(16)}}`;
  }
  return out;
}

/** Several lines, each made visible; more than `maxLines` are counted. */
export function visibleLines(text: string, maxLines: number, indent = ""): string {
  const lines = text.split("\n");
  const shown = lines.slice(0, maxLines).map((line) =>
    indent + visible(line.replaceAll("\t", "    "), 2_000)
  );
  if (lines.length > maxLines) shown.push(`${indent}… ${lines.length - maxLines} more lines`);
  return shown.join("\n");
}

/** Letters, marks on them, digits, punctuation, symbols and the plain space. */
function isPlain(char: string): boolean {
  if (char === " ") return true;
  const code = char.codePointAt(0)!;
  // Fillers and variation selectors count as letters or marks but show nothing.
  if (code === 0x115f || code === 0x1160 || code === 0x3164 || code === 0xffa0 || code === 0x2800) {
    return false;
  }
  if (
    (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0000 && code <= 0xe0fff) || code === 0x034f ||
    code === 0x17b4 || code === 0x17b5
  ) return false;
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char);
}
