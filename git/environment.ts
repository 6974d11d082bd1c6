/**
 * The environment of every git child: built from an allow-list, never inherited
 * (`security.md` S-25), so that a `GIT_*` variable of the server changes no answer.
 */

/** Variables of the server that git may see: where programs, home and configuration are. */
const PASSED_ON = [
  "PATH",
  "HOME",
  "XDG_CONFIG_HOME",
  "USERPROFILE",
  "HOMEDRIVE",
  "HOMEPATH",
  "APPDATA",
  "LOCALAPPDATA",
  "PROGRAMDATA",
  "ProgramFiles",
  "ProgramFiles(x86)",
  "SystemRoot",
  "TMPDIR",
  "TEMP",
  "TMP",
  "PATHEXT",
] as const;

/** Reads one variable of the server's own environment; undefined when unset or not readable. */
export type ReadVariable = (name: string) => string | undefined;

/** Reads `Deno.env`, treating a variable we may not read as unset. */
export const readDenoVariable: ReadVariable = (name) => {
  try {
    return Deno.env.get(name);
  } catch {
    return undefined;
  }
};

/** Keeps the absolute entries of a PATH list: an empty or relative entry means the current directory. */
export function absoluteEntries(path: string | undefined, windows: boolean): string[] {
  return (path ?? "").split(windows ? ";" : ":").filter((p) =>
    windows ? /^(?:[A-Za-z]:[\\/]|\\\\)/.test(p) : p.startsWith("/")
  );
}

/** What the user's hooks, signing and remotes need besides. */
const PASSED_ON_APPROVED = [
  "SSH_AUTH_SOCK",
  "GNUPGHOME",
  "XDG_RUNTIME_DIR",
  "XDG_DATA_HOME",
  "USER",
  "LOGNAME",
  "USERNAME",
  "SHELL",
  "TZ",
] as const;

/**
 * The child environment for approved operations: as the user's own git would run, but with no prompt,
 * no pager, and no `GIT_*` variable of the server.
 */
export function approvedEnvironment(read: ReadVariable, windows: boolean): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of [...PASSED_ON, ...PASSED_ON_APPROVED]) {
    const value = read(name);
    if (value !== undefined && value !== "") env[name] = value;
  }
  env["PATH"] = absoluteEntries(env["PATH"], windows).join(windows ? ";" : ":");
  return Object.assign(env, {
    LC_ALL: "C",
    LANGUAGE: "",
    GIT_TERMINAL_PROMPT: "0",
    GIT_EDITOR: "true",
    GIT_SEQUENCE_EDITOR: "true",
    GIT_MERGE_AUTOEDIT: "no",
    GIT_PAGER: "cat",
  });
}

/** The child environment for reads (`git-inputs.md` R3): no locks, prompts, fetches, pathspec magic or translation. */
export function childEnvironment(read: ReadVariable, windows: boolean): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of PASSED_ON) {
    const value = read(name);
    if (value !== undefined && value !== "") env[name] = value;
  }
  env["PATH"] = absoluteEntries(env["PATH"], windows).join(windows ? ";" : ":");
  return Object.assign(env, {
    LC_ALL: "C",
    LANG: "C",
    LANGUAGE: "",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_PAGER: "cat",
  });
}
