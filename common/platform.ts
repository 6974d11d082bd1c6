/** What differs between operating systems, in one place; tests inject another one. */

/** Reads one environment variable; undefined when it is unset, not readable or not text. */
export type ReadVariable = (name: string) => string | undefined;

/** The environment of this process. A variable that the permissions withhold counts as unset. */
export const readVariable: ReadVariable = (name) => {
  try {
    return Deno.env.get(name);
  } catch {
    return undefined;
  }
};

/**
 * The run directory: `FLUXGIT_RUN_DIR` as it is, else the platform's place (`protocol.md` 13); null
 * when the variable that place is made from is missing. Nothing is created.
 */
export function runDirectory(
  read: ReadVariable,
  os: typeof Deno.build.os = Deno.build.os,
): string | null {
  const set = read("FLUXGIT_RUN_DIR");
  if (set !== undefined) return set;
  if (os === "windows") return below(read("LOCALAPPDATA"), "\\FluxGit\\run");
  return below(
    read("HOME"),
    os === "darwin" ? "/Library/Application Support/FluxGit/run" : "/.local/share/FluxGit/run",
  );
}

function below(base: string | undefined, rest: string): string | null {
  return base === undefined || base === "" ? null : base + rest;
}

/** Writes text for people to standard error, with the prefix of the program. Never throws. */
export function complain(text: string): void {
  try {
    Deno.stderr.writeSync(new TextEncoder().encode(`fluxgit-sidecar: ${text}\n`));
  } catch { /* nobody is listening */ }
}
