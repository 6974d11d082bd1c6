/** Time in whole microseconds since 1970, as the records and the log carry it. */

/** Gives the time now, in microseconds. */
export type MicroClock = () => number;

/** The system's clock. It follows changes of the wall clock; microseconds come from the stopwatch. */
export const systemClock: MicroClock = () => {
  const wall = Date.now() * 1_000;
  const fine = Math.round((performance.timeOrigin + performance.now()) * 1_000);
  // The stopwatch runs on when somebody sets the clock: then only milliseconds are known.
  return Math.abs(fine - wall) < 2_000 ? fine : wall;
};

/**
 * ISO 8601 in UTC with microseconds; the fraction is left out when it is zero.
 *
 * @param zone `Z` in approvals, `+00:00` in the audit log and on the administrator's screen
 */
export function isoTime(micros: number, zone: "Z" | "+00:00"): string {
  const seconds = new Date(Math.floor(micros / 1_000_000) * 1_000).toISOString().slice(0, 19);
  const rest = ((micros % 1_000_000) + 1_000_000) % 1_000_000;
  return seconds + (rest === 0 ? "" : "." + String(rest).padStart(6, "0")) + zone;
}

const FORM = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?(?:Z|\+00:00)$/;

/** Microseconds of a time in either form; null for anything else. */
export function parseTime(text: unknown): number | null {
  const parts = typeof text === "string" ? FORM.exec(text) : null;
  if (parts === null) return null;
  const seconds = Date.parse(parts[1] + "Z");
  return Number.isNaN(seconds) ? null : seconds * 1_000 + Number((parts[2] ?? "").padEnd(6, "0"));
}
