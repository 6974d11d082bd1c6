/** What the last line of `deno test` says. */

/** Tests that ran, as Deno counts them. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Reads the summary of `deno test` output; null when there is none, as after a crash. */
export function readTally(output: string): Tally | null {
  // deno-lint-ignore no-control-regex
  const plain = output.replace(/\x1b\[[0-9;]*m/g, "");
  const found = [...plain.matchAll(
    /^(?:ok|FAILED) \| (\d+) passed(?: \([^)]*\))? \| (\d+) failed(?: \([^)]*\))?(?: \| (\d+) ignored(?: \([^)]*\))?)?/gm,
  )].at(-1);
  if (!found) return null;
  return { passed: Number(found[1]), failed: Number(found[2]), skipped: Number(found[3] ?? 0) };
}

/** The closing line that every CI can read. */
export function closingLine(tally: Tally): string {
  const skipped = tally.skipped > 0 ? `, ${tally.skipped} skipped` : "";
  return `${tally.passed} passed, ${tally.failed} failed${skipped}`;
}
