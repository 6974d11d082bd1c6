/** Lines for people (standard error) and for programs (standard output). */

/** Writes a line to standard error. */
export function say(line = ""): void {
  writeWhole(Deno.stderr, line + "\n");
}

/** Writes a line to standard output. */
export function print(line = ""): void {
  writeWhole(Deno.stdout, line + "\n");
}

/** Writes all of it, however little the other side takes at a time. */
export function writeWhole(
  to: { writeSync(bytes: Uint8Array): number },
  data: string | Uint8Array,
): void {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  for (let at = 0; at < bytes.length;) {
    try {
      at += to.writeSync(bytes.subarray(at));
    } catch (error) {
      // Nobody reads any more (`| head`): there is nothing to tell, and nobody to tell it to.
      if (error instanceof Deno.errors.BrokenPipe) return;
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
    }
  }
}
