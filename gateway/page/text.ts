/**
 * Text of strangers on the page (`security.md` S-30): what could hide, reorder or imitate is shown as
 * its code point, so that two texts that differ also look different. Knows no document.
 */

/** A piece of text: plain, or one character that a reader would not see. */
export interface Piece {
  readonly text: string;
  /** Set for a character that is shown by its code point, such as `U+202E`. */
  readonly code?: string;
}

/** Characters that are not plainly visible. The quick way out for nearly every text. */
const SUSPICIOUS = /[^\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff]/;

/** Marks on one letter that are shown; more of them would cover the lines around. */
const MAX_MARKS = 3;

/**
 * Splits a text into plain pieces and hidden characters.
 *
 * @param lines whether line ends and tabs are plain, as in quoted text and code
 */
export function pieces(text: string, lines = false): readonly Piece[] {
  if (!SUSPICIOUS.test(text)) return text === "" ? [] : [{ text }];
  const out: Piece[] = [];
  let plain = "", before = "", marks = 0;
  for (const char of text) {
    const isMark = /^\p{M}$/u.test(char);
    marks = isMark ? marks + 1 : 0;
    const shown = (isPlain(char) || (lines && (char === "\n" || char === "\t"))) &&
      (!isMark || (before !== "" && marks <= MAX_MARKS && !composes(before, char)));
    before = char;
    if (shown) {
      plain += char;
      continue;
    }
    if (plain !== "") out.push({ text: plain });
    plain = "";
    out.push({ text: char, code: codePoint(char) });
  }
  if (plain !== "") out.push({ text: plain });
  return out;
}

/** The same as one string, for titles and labels. */
export function visible(text: string): string {
  return pieces(text).map(({ text, code }) => code ?? text).join("");
}

/** `U+202E` of a character. */
export function codePoint(char: string): string {
  return `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** What some of the hidden characters do, for a person who does not know their numbers. */
export function meaning(char: string): string {
  const code = char.codePointAt(0)!;
  if (code === 0x0a || code === 0x0d) return "line end";
  if (code === 0x09) return "tab";
  if (code === 0x1b) return "escape: begins a terminal command";
  if (code === 0x08 || code === 0x7f) return "deletes a character on terminals";
  if (code < 0x20 || (code >= 0x80 && code < 0xa0)) return "control character";
  if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)) {
    return "changes the direction of text";
  }
  if (code === 0x200e || code === 0x200f || code === 0x061c) return "hidden direction mark";
  if (code >= 0xe0000 && code <= 0xe007f) return "hidden tag character";
  if (code === 0x2028 || code === 0x2029) return "line separator";
  if (char === " ") return "space at an end";
  if (/^\p{Z}$/u.test(char)) return "unusual space";
  if (/^\p{M}$/u.test(char)) return "a mark on the letter before";
  return "shows nothing by itself";
}

/** The two have a form in one: shown as they are, nobody could tell which of both it is. */
function composes(before: string, mark: string): boolean {
  return (before + mark).normalize("NFC") !== before + mark;
}

/** Letters, marks, digits, punctuation, symbols and the plain space; the terminal has the same rule. */
function isPlain(char: string): boolean {
  if (char === " ") return true;
  // Shown as nothing although they count as letters, marks or symbols.
  if (/^[\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u21e5]$/u.test(char)) return false;
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char);
}

/** `4:05`; never negative. @param ms milliseconds */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Time for people who listen: "4 minutes 5 seconds". @param ms milliseconds */
export function spoken(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const minutes = Math.floor(seconds / 60);
  const parts = [];
  if (minutes > 0) parts.push(count(minutes, "minute"));
  if (seconds % 60 > 0 || minutes === 0) parts.push(count(seconds % 60, "second"));
  return parts.join(" ");
}

/** "1 file", "12,000 files". */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** How long ago, roughly. @param ms milliseconds */
export function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  if (hours < 48) return `${hours} h ago`;
  return `${Math.round(hours / 24)} days ago`;
}

/** `12.4 kB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return count(bytes, "byte");
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** First twelve digits of an object id; anything else as it is. */
export function shortId(id: string): string {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(id) ? id.slice(0, 12) : id;
}

/** A ref without its namespace, as people call it. */
export function refName(ref: string): string {
  return ref.replace(/^refs\/(?:heads|remotes|tags)\//, "");
}

/** The last part of a path, for a headline; the whole path stands beside it. */
export function baseName(path: string): string {
  return path.replace(/[\\/]+$/, "").split(/[\\/]/).at(-1) || path;
}
