/** The channel that hosts use: this process's own standard input and output. */

import { writeAll } from "./output.ts";

const READ_BYTES = 65_536;

/**
 * Reads and writes for {@link serveProtocol}. Reads are asynchronous, so that signal handlers run
 * (`deno-facts.md` section 6); the memory of one read is reused by the next.
 */
export function openStdio(): {
  read(): Promise<Uint8Array | null>;
  write(bytes: Uint8Array): Promise<void>;
} {
  const buffer = new Uint8Array(READ_BYTES);
  return {
    async read() {
      const size = await Deno.stdin.read(buffer);
      return size === null ? null : buffer.subarray(0, size);
    },
    write: (bytes) => writeAll(Deno.stdout, bytes),
  };
}
