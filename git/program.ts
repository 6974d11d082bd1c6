import {
  absoluteEntries,
  approvedEnvironment,
  childEnvironment,
  readDenoVariable,
  type ReadVariable,
} from "./environment.ts";
import { GitError } from "./errors.ts";

/** The git that this process uses, chosen once (`protocol.md` 10.1, corrected: a link is judged by its target). */
export interface GitProgram {
  readonly path: string;
  /** For reads and restore points. */
  readonly env: Readonly<Record<string, string>>;
  /** For operations that a person approved. */
  readonly approvedEnv: Readonly<Record<string, string>>;
}

const FIXED_PLACES = [
  "/usr/bin/git",
  "/usr/local/bin/git",
  "/opt/homebrew/bin/git",
  "/opt/local/bin/git",
];

let readVariable: ReadVariable = readDenoVariable;
let chosen: GitProgram | undefined;

/**
 * Replaces where variables are read from and forgets the choice made so far. For programs that embed
 * this room and for tests, which give git a HOME of its own.
 */
export function useVariables(read: ReadVariable): void {
  readVariable = read;
  chosen = undefined;
}

/** The chosen git. Throws {@link GitError} `git_missing` with the reason when there is none that may run. */
export function gitProgram(): GitProgram {
  return chosen ??= chooseProgram(readVariable, Deno.build.os === "windows");
}

/**
 * Pure but for file and permission look-ups; exported for tests with another platform.
 *
 * @param fixed places that are looked at before PATH
 */
export function chooseProgram(
  read: ReadVariable,
  windows: boolean,
  fixed: readonly string[] = windows ? windowsPlaces(read) : FIXED_PLACES,
): GitProgram {
  const env = childEnvironment(read, windows);
  const approvedEnv = approvedEnvironment(read, windows);
  const wanted = read("FLUXGIT_MCP_GIT_PATH");
  if (wanted !== undefined) {
    const problem = unsuitable(wanted, windows, false, env["HOME"]);
    if (problem) {
      throw missing(`FLUXGIT_MCP_GIT_PATH ${JSON.stringify(wanted.slice(0, 200))} ${problem}`);
    }
    return { path: wanted, env, approvedEnv };
  }
  const reasons: string[] = [];
  for (const candidate of candidates(read, windows, fixed)) {
    const problem = unsuitable(candidate.path, windows, candidate.fromPath, env["HOME"]);
    if (!problem) return { path: candidate.path, env, approvedEnv };
    if (problem !== "does not exist") reasons.push(`${candidate.path} ${problem}`);
  }
  throw missing(
    reasons.length > 0
      ? reasons.slice(0, 5).join("; ")
      : "no git was found in PATH or in the usual places",
  );
}

function windowsPlaces(read: ReadVariable): string[] {
  return [read("ProgramFiles"), read("ProgramFiles(x86)")].flatMap((base) =>
    base ? [`${base}\\Git\\cmd\\git.exe`, `${base}\\Git\\bin\\git.exe`] : []
  );
}

function candidates(
  read: ReadVariable,
  windows: boolean,
  fixed: readonly string[],
): { path: string; fromPath: boolean }[] {
  const fromPath = absoluteEntries(read("PATH"), windows)
    .map((dir) => ({
      path: windows ? `${dir}\\git.exe` : `${dir.replace(/\/+$/, "")}/git`,
      fromPath: true,
    }));
  return [...fixed.map((path) => ({ path, fromPath: false })), ...fromPath];
}

/** Says why a program may not be used, or null. The current directory is never trusted (`security.md` S-26). */
function unsuitable(
  path: string,
  windows: boolean,
  fromPath: boolean,
  home: string | undefined,
): string | null {
  if (windows ? !/^(?:[A-Za-z]:[\\/]|\\\\)/.test(path) : !path.startsWith("/")) {
    return "is not an absolute path";
  }
  let target: string;
  try {
    target = Deno.realPathSync(path);
    const info = Deno.statSync(target);
    if (!info.isFile) return "is not a regular file";
    if (!windows && ((info.mode ?? 0) & 0o111) === 0) return "is not executable";
    if (!windows && fromPath) {
      const folder = Deno.statSync(path.slice(0, path.lastIndexOf("/")) || "/").mode ?? 0;
      if ((folder & 0o022) !== 0 && (folder & 0o1000) === 0) {
        return "lies in a folder that others can write to";
      }
    }
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "does not exist" : "cannot be read";
  }
  const here = realPath(safeCwd());
  const personal = realPath(home);
  // Started from the home directory (or above it), a program below it is still the user's own.
  const roomy = here === null || here === "/" ||
    (personal !== null && (personal === here || isBelow(personal, here)));
  if (!roomy && (isBelow(target, here) || isBelow(path, here))) {
    return "lies in the current directory";
  }
  const granted = Deno.permissions.querySync({ name: "run", command: path }).state === "granted";
  return granted ? null : "is not the git that this process was permitted to run";
}

function safeCwd(): string | undefined {
  try {
    return Deno.cwd();
  } catch {
    return undefined;
  }
}

function realPath(path: string | undefined): string | null {
  try {
    return path === undefined ? null : Deno.realPathSync(path);
  } catch {
    return null;
  }
}

function isBelow(path: string, root: string): boolean {
  const sep = path.includes("\\") ? "\\" : "/";
  return path.startsWith(root.endsWith(sep) ? root : root + sep);
}

function missing(details: string): GitError {
  return new GitError("git_missing", ["version"], details);
}
