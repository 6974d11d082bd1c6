/** The programs that run now, so that none outlives the server. */

interface Running {
  stop(): void;
  readonly ended: Promise<unknown>;
}

const all = new Set<Running>();

/** Keeps a program in the list until it has ended. */
export function track(running: Running): void {
  all.add(running);
  const forget = () => void all.delete(running);
  running.ended.then(forget, forget);
}

/** Stops every program and waits until they, and what was recorded about them, are done. */
export async function stopAll(): Promise<void> {
  for (const running of all) running.stop();
  await Promise.allSettled([...all].map((running) => running.ended));
}
