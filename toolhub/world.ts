/** What the two programs share: their names, their environment, how they speak to people. */

import { VERSION } from "../common/version.ts";

export { VERSION };

/** Reads a variable; one that the permissions withhold counts as unset. */
export function readVariable(name: string): string | undefined {
  try {
    return Deno.env.get(name);
  } catch {
    return undefined;
  }
}

/** Writes all of a text to standard output or standard error. Never throws. */
export function write(stream: "stdout" | "stderr", text: string): void {
  const bytes = new TextEncoder().encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += Deno[stream].writeSync(bytes.subarray(at));
  } catch { /* nobody is listening */ }
}
