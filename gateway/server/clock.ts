/**
 * A clock that runs while the machine sleeps and does not go back when the wall clock is set back:
 * the later of the wall clock and the time since start. Unix milliseconds; expiry counts from it.
 */
export function steadyClock(
  wall: () => number = Date.now,
  running: () => number = () => performance.now(),
): () => number {
  const base = wall() - running();
  return () => Math.max(Math.floor(wall()), Math.floor(base + running()));
}
