/** What of a caller's values may enter the audit log: secrets masked, everything bounded. */

const SENSITIVE =
  /password|passwd|token|secret|api[-_.]?key|credential|authorization|cookie|private[-_. ]?key/i;
const SENSITIVE_NAME = new RegExp(`${SENSITIVE.source}|pwd|auth`, "i");
/**
 * An assignment in running text: its name, the sign, and the value, which is quoted or goes up to a
 * blank, quote, comma or semicolon.
 */
const ASSIGNMENT = /([A-Za-z0-9_.-]{1,64})(\s{0,4}=\s{0,4})(?:"[^"]*"?|'[^']*'?|[^\s"',;]+)/g;
const HEADER = /(authorization\s{0,4}:\s{0,4})(?:[A-Za-z]+\s+)?[^\s"',;]+/gi;

/** Beginning of a text that is looked at; what stands behind it is only counted. */
const MAX_REDACTED = 8_192;
const MAX_STRING = 200;
const MAX_ITEMS = 20;
const MAX_KEY = 100;
const MAX_DEPTH = 5;

/** Cuts to a number of characters (code points) and says how many are missing. */
export function bound(text: string, max: number): string {
  if (text.length <= max) return text;
  const chars = [...text];
  return chars.length <= max
    ? text
    : `${chars.slice(0, max).join("")}...[+${chars.length - max} chars]`;
}

/** The beginning of a running text, with the values of sensitive assignments replaced. */
export function redactText(text: string): string {
  return text.slice(0, MAX_REDACTED).replace(
    ASSIGNMENT,
    (all, name: string, sign: string) => SENSITIVE.test(name) ? `${name}${sign.trim()}***` : all,
  ).replace(HEADER, "$1***");
}

/** Running text redacted and cut; the number of missing characters counts all of the text. */
export function redactBounded(text: string, max: number): string {
  const shown = redactText(text);
  const unread = text.length > MAX_REDACTED ? [...text.slice(MAX_REDACTED)].length : 0;
  if (unread === 0) return bound(shown, max);
  const chars = [...shown];
  const missing = Math.max(0, chars.length - max) + unread;
  return `${chars.slice(0, max).join("")}...[+${missing} chars]`;
}

/** An argument list: values of sensitive flags replaced, each argument bounded. */
export function redactArguments(args: readonly string[]): string[] {
  const out: string[] = [];
  let hideNext = false;
  for (const arg of args.slice(0, MAX_ITEMS)) {
    if (hideNext && !arg.startsWith("-")) {
      out.push("***");
      hideNext = false;
      continue;
    }
    hideNext = /^--?[^=]+$/.test(arg) && SENSITIVE_NAME.test(arg);
    const named = /^(-{0,2}[A-Za-z_][A-Za-z0-9_.-]*)=/s.exec(arg);
    out.push(
      named && SENSITIVE_NAME.test(named[1]!)
        ? bound(`${named[1]}=***`, MAX_STRING)
        : redactBounded(arg, MAX_STRING),
    );
  }
  if (args.length > MAX_ITEMS) out.push(`...[${args.length - MAX_ITEMS} more args]`);
  return out;
}

/** Any value made safe for the log. Values under sensitive names are replaced whole. */
export function sanitize(value: unknown, depth = 1): unknown {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "string") return redactBounded(value, MAX_STRING);
  if (depth > MAX_DEPTH) return "...";
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item === "string")) return redactArguments(value);
    const items = value.slice(0, MAX_ITEMS).map((item) => sanitize(item, depth + 1));
    if (value.length > MAX_ITEMS) items.push(`...[${value.length - MAX_ITEMS} more items]`);
    return items;
  }
  if (typeof value !== "object") return redactBounded(String(value), MAX_STRING);
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const out: Record<string, unknown> = {};
  for (const [key, inner] of members.slice(0, MAX_ITEMS)) {
    const hidden = typeof inner === "string" && SENSITIVE.test(key);
    out[[...key.slice(0, 4 * MAX_KEY)].slice(0, MAX_KEY).join("")] = hidden
      ? "***"
      : sanitize(inner, depth + 1);
  }
  if (members.length > MAX_ITEMS) out["..."] = `[${members.length - MAX_ITEMS} more keys]`;
  return out;
}
