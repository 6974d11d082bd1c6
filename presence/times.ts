import { FUTURE_SLACK_MS } from "./limits.ts";

/** Times as other programs write them. Everything here gives Unix milliseconds, or null for no time. */

const DATE = "(\\d{4})-(\\d\\d)-(\\d\\d)", CLOCK = "(\\d\\d):(\\d\\d):(\\d\\d)(?:\\.(\\d{1,9}))?";
const RFC3339 = new RegExp(`^${DATE}[Tt ]${CLOCK}(?:[Zz]|([+-])(\\d\\d):(\\d\\d))$`);
const SQL_TEXT = new RegExp(`^${DATE}[T ]${CLOCK}$`);

/** A string in RFC 3339. `Date.parse` is no help: it takes a lot more, and some of it as local time. */
export function rfc3339(value: unknown): number | null {
  if (typeof value !== "string" || value.length > 64) return null;
  const match = RFC3339.exec(value);
  if (!match) return null;
  const base = utc(match);
  if (base === null || match[8] === undefined) return base;
  const offset = (Number(match[9]) * 60 + Number(match[10])) * 60_000;
  return match[8] === "+" ? base - offset : base + offset;
}

/**
 * A time column: a number (milliseconds from 1e11 on, else seconds), the same as text, RFC 3339, or
 * SQL's own form read as UTC. More than a minute ahead of `now` is no time.
 */
export function sqlTime(value: unknown, now: number): number | null {
  const at = sqlTimeOf(value);
  return at === null || at - now > FUTURE_SLACK_MS ? null : at;
}

function sqlTimeOf(value: unknown): number | null {
  if (typeof value === "bigint") return fromNumber(Number(value));
  if (typeof value === "number") return fromNumber(value);
  if (typeof value !== "string" || value.length > 64) return null;
  const text = value.trim();
  if (/^\d+(?:\.\d+)?$/.test(text)) return fromNumber(Number(text));
  const match = SQL_TEXT.exec(text);
  return match ? utc(match) : rfc3339(text);
}

function fromNumber(value: number): number | null {
  if (!(value > 0) || !Number.isFinite(value)) return null;
  return Math.trunc(value >= 1e11 ? value : value * 1_000);
}

function utc(match: RegExpExecArray): number | null {
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) {
    return null;
  }
  const ms = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  return Date.UTC(year, month - 1, day, hour, minute, second, ms);
}
