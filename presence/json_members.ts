/** Longest value that is taken; the rest of a file is passed over unread. */
const MAX_VALUE_CHARS = 256 * 1024;
/** Characters between two pauses. */
const STRIDE = 64 * 1024;

/**
 * Some members of the object that a JSON text is, without making anything of the rest: files of other
 * programs hold whole conversations beside the one path that is wanted. A repeated member keeps its
 * last value.
 *
 * @param breathe called now and then, so that a long text holds nobody up
 * @returns null when the text is not one whole object, as far as its outer structure tells
 */
export async function readMembers(
  text: string,
  names: readonly string[],
  breathe: () => Promise<void>,
): Promise<Record<string, unknown> | null> {
  const found: Record<string, unknown> = Object.create(null);
  let at = skipBlanks(text, 0);
  if (text[at] !== "{") return null;
  let depth = 0, nextPause = STRIDE;
  /** Where the current value at the first level starts, and the name before it. */
  let name: string | null = null, valueStart = -1;
  const take = (end: number): boolean => {
    if (name === null) return valueStart === -1;
    const value = names.includes(name) ? parseValue(text.slice(valueStart, end)) : undefined;
    if (value === BROKEN) return false;
    if (value !== undefined) found[name] = value;
    name = null;
    valueStart = -1;
    return true;
  };
  for (; at < text.length; at++) {
    if (at >= nextPause) {
      nextPause = at + STRIDE;
      await breathe();
    }
    const char = text[at];
    if (char === '"') {
      const end = stringEnd(text, at);
      if (end === -1) return null;
      if (depth === 1 && name === null && valueStart === -1) {
        const colon = skipBlanks(text, end + 1);
        if (text[colon] !== ":") return null;
        // Long names are nobody's that is asked for.
        const key = end - at > 256 ? "" : parseValue(text.slice(at, end + 1));
        if (typeof key !== "string") return null;
        name = key;
        valueStart = colon + 1;
        at = colon;
      } else at = end;
    } else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") {
      if (--depth > 0) continue;
      if (char !== "}" || !take(at)) return null;
      return skipBlanks(text, at + 1) === text.length ? { ...found } : null;
    } else if (char === "," && depth === 1 && !take(at)) return null;
  }
  return null;
}

const BROKEN = Symbol("broken");

function parseValue(raw: string): unknown {
  if (raw.length > MAX_VALUE_CHARS) return undefined;
  try {
    return JSON.parse(raw);
  } catch {
    return BROKEN;
  }
}

/** Place of the quote that ends a string; -1 without one. */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return end;
  }
  return -1;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && /[ \t\r\n]/.test(text[at]!)) at++;
  return at;
}
