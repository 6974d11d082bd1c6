/** Which file a program's name means, found once at submission. */

import type { ReadVariable } from "../config.ts";
import { HubError, shown } from "../errors.ts";
import { join, WINDOWS } from "../platform.ts";
import { commandName, isExplicitPath } from "./policy.ts";

const DEFAULT_EXTENSIONS = ".COM;.EXE;.BAT;.CMD";

/**
 * The canonical path of the file that would run.
 *
 * @param cwd canonical working directory of the command
 * @throws {HubError} `ExecutableResolutionError`
 */
export function resolveProgram(
  program: string,
  cwd: string,
  env: ReadVariable,
  windows = WINDOWS,
): string {
  if (program === "" || program.includes("\0")) throw unresolved(program);
  for (const candidate of candidates(program, cwd, env, windows)) {
    const real = usable(candidate, windows);
    if (real !== null) return real;
  }
  throw unresolved(program);
}

function candidates(
  program: string,
  cwd: string,
  env: ReadVariable,
  windows: boolean,
): string[] {
  const named = (path: string) => extensions(path, env, windows).map((end) => path + end);
  if (isExplicitPath(program)) {
    return named(isAbsolute(program, windows) ? program : join(cwd, program));
  }
  const folders = (env("PATH") ?? "").split(windows ? ";" : ":")
    .map((entry) => windows ? entry.replaceAll('"', "") : entry)
    .map((entry) => isAbsolute(entry, windows) ? entry : entry === "" ? cwd : join(cwd, entry));
  if (windows) folders.unshift(cwd);
  return folders.flatMap((folder) => named(join(folder, program)));
}

function extensions(path: string, env: ReadVariable, windows: boolean): string[] {
  if (!windows || /\.[^\\/.]+$/.test(path)) return [""];
  return (env("PATHEXT") || DEFAULT_EXTENSIONS).split(";")
    .filter((end) => end !== "" && !/[\\/]/.test(end))
    .map((end) => end.startsWith(".") ? end : `.${end}`);
}

function usable(candidate: string, windows: boolean): string | null {
  try {
    const real = Deno.realPathSync(candidate);
    const info = Deno.statSync(real);
    if (!info.isFile) return null;
    return windows || ((info.mode ?? 0) & 0o111) !== 0 ? real : null;
  } catch {
    return null;
  }
}

function isAbsolute(path: string, windows: boolean): boolean {
  return windows ? /^(?:[A-Za-z]:[\\/]|\\\\)/.test(path) : path.startsWith("/");
}

function unresolved(program: string): HubError {
  return new HubError(
    "ExecutableResolutionError",
    `Program ${
      shown(commandName(program))
    } could not be resolved at approval creation: no executable file has that name`,
  );
}
