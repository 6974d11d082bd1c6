/** Timing that a busy machine disturbs as little as can be: interleaved runs and their medians. */

/** The middle value. Throws for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const value = sorted[middle];
  if (value === undefined) throw new Error("no measurements");
  return sorted.length % 2 === 1 ? value : (value + sorted[middle - 1]!) / 2;
}

/** Milliseconds that some work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/**
 * Runs every way in turn, `rounds` times over and each round in another order, and gives the median
 * of each: what slows the machine down for a while slows all of them.
 *
 * @param ways name to a function that gives milliseconds
 */
export async function interleave<Name extends string>(
  ways: Readonly<Record<Name, () => Promise<number>>>,
  rounds: number,
): Promise<Record<Name, number>> {
  const names = Object.keys(ways) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Name,
    number[]
  >;
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + round) % names.length]!;
      times[name].push(await ways[name]());
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(times[name])])) as Record<
    Name,
    number
  >;
}
