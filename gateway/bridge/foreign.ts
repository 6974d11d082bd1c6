/** Values that a gateway sent: shortened before they are relayed, their words checked. */

import { FloatToken, printable } from "../../common/json.ts";

/** Something that was left out of a relayed value. */
export interface Cut {
  /** Where, such as `result.pathsDiscarded`; `[]` stands for any item. */
  readonly list: string;
  /** Items, members or characters. */
  readonly kept: number;
  readonly of: number;
}

export interface Relayed {
  readonly value: unknown;
  /** Empty when the value is whole. */
  readonly cut: readonly Cut[];
}

/** JSON characters of a value that are relayed; as much as a page of `diff.text`. */
export const RELAY_CHARS = 65_536;
const MAX_DEPTH = 32;
const MAX_NOTES = 20;

/** Characters a string and items a list may have, from generous to poor; the first that fits is used. */
const MEASURES = [
  { chars: RELAY_CHARS, items: 10_000 },
  { chars: 4_096, items: 500 },
  { chars: 1_024, items: 100 },
  { chars: 256, items: 20 },
  { chars: 64, items: 5 },
] as const;

/**
 * Gives a value back whole when it is small, else with its longest parts shortened, and says which.
 * Numbers that JavaScript cannot hold exactly become their digits as text.
 */
export function relay(value: unknown, maxChars = RELAY_CHARS): Relayed {
  for (const measure of MEASURES) {
    const notes = new Map<string, Cut>();
    const shorter = shorten(value, measure, notes, "", 0);
    if (JSON.stringify(shorter).length > maxChars) continue;
    return { value: shorter, cut: [...notes.values()].slice(0, MAX_NOTES) };
  }
  return { value: null, cut: [{ list: "", kept: 0, of: 1 }] };
}

function shorten(
  value: unknown,
  measure: typeof MEASURES[number],
  notes: Map<string, Cut>,
  at: string,
  depth: number,
): unknown {
  if (typeof value === "string") {
    if (value.length <= measure.chars) return value;
    note(notes, at, measure.chars, value.length);
    // Half of a surrogate pair would be no valid text.
    return value.slice(0, measure.chars).toWellFormed() + "…";
  }
  if (typeof value === "bigint") return value.toString();
  if (value instanceof FloatToken) return value.valueOf();
  if (typeof value !== "object" || value === null) return value;
  if (depth === MAX_DEPTH) {
    note(notes, at, 0, Object.keys(value).length);
    return null;
  }
  if (Array.isArray(value)) {
    if (value.length > measure.items) note(notes, at, measure.items, value.length);
    return value.slice(0, measure.items)
      .map((item) => shorten(item, measure, notes, `${at}[]`, depth + 1));
  }
  const members = Object.entries(value);
  if (members.length > measure.items) note(notes, at, measure.items, members.length);
  return Object.fromEntries(
    members.slice(0, measure.items).map(([name, inner]) => [
      name,
      shorten(inner, measure, notes, at === "" ? name : `${at}.${name}`, depth + 1),
    ]),
  );
}

/** One note a place; of several items at the same place the one that lost most is told. */
function note(notes: Map<string, Cut>, at: string, kept: number, of: number): void {
  const list = printable(at, 200);
  const known = notes.get(list);
  if (known !== undefined && known.of >= of) return;
  if (known !== undefined || notes.size < MAX_NOTES) notes.set(list, { list, kept, of });
}

/** The member `cut`, left out when nothing was. */
export function cutMember(cut: readonly Cut[], prefix = ""): { cut?: readonly Cut[] } {
  if (cut.length === 0) return {};
  return {
    cut: cut.map((one) => ({ ...one, list: [prefix, one.list].filter(Boolean).join(".") })),
  };
}

/** An own member of a foreign object; undefined for anything else. */
export function member(body: unknown, name: string): unknown {
  return typeof body === "object" && body !== null && Object.hasOwn(body, name)
    ? (body as Record<string, unknown>)[name]
    : undefined;
}

/** Valid ids of proposals (`operations.md` section 6): safe in a path as they are. */
export function isPreviewId(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,128}$/.test(text);
}

/** States in which nothing more happens (`operations.md` section 10). */
const TERMINAL = new Set(["completed", "rejected", "failed", "expired", "cancelled"]);

export function isTerminal(status: string): boolean {
  return TERMINAL.has(status);
}

/**
 * The state that a body tells, as a word of the contract; `unknown` for a text that is none, null
 * when there is no text.
 */
export function statusOf(body: unknown): string | null {
  const status = member(body, "status");
  if (typeof status !== "string") return null;
  return /^[a-z][a-z0-9_-]{0,63}$/.test(status) ? status : "unknown";
}

/** When the proposal ends by itself, if the body says so in the form of the contract. */
export function expiresAtOf(body: unknown): string | null {
  const time = member(body, "expiresAt");
  return typeof time === "string" && /^\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d)$/.test(time)
    ? time
    : null;
}
