/** Reading JSON of other programs: only own members, nothing assumed. */

export type Json = Readonly<Record<string, unknown>>;

/** The parsed object; null for anything else. */
export function parseObject(text: string): Json | null {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
}

export function asObject(value: unknown): Json | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Json
    : null;
}

/** An own member; undefined when it is not there. */
export function member(value: unknown, ...names: string[]): unknown {
  let at: unknown = value;
  for (const name of names) {
    const object = asObject(at);
    if (object === null || !Object.hasOwn(object, name)) return undefined;
    at = object[name];
  }
  return at;
}

export function textMember(value: unknown, ...names: string[]): string | null {
  const found = member(value, ...names);
  return typeof found === "string" ? found : null;
}

export function listMember(value: unknown, ...names: string[]): readonly unknown[] {
  const found = member(value, ...names);
  return Array.isArray(found) ? found : [];
}

/** A whole number; a fraction counts as absent. */
export function integerMember(value: unknown, ...names: string[]): number | null {
  const found = member(value, ...names);
  return Number.isSafeInteger(found) ? found as number : null;
}

/** A short text of another program as it may be shown: one line, cut; null when nothing is left. */
export function shortText(value: unknown, maxChars: number): string | null {
  if (typeof value !== "string") return null;
  const line = value.slice(0, maxChars * 4).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").trim();
  const text = [...line].slice(0, maxChars).join("").toWellFormed();
  return text === "" ? null : text;
}
