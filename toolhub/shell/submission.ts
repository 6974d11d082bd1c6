/** Limits of a command, and its working directory. */

import { HubError, shown } from "../errors.ts";
import { join } from "../platform.ts";
import { relative, resolveRead } from "../workspace/resolve.ts";

const MAX_PROGRAM_CHARS = 4_096;
const MAX_ARGUMENTS = 256;
const MAX_ARGUMENT_CHARS = 32_768;
const MAX_ALL_CHARS = 98_304;

/** Seconds, made to fit 1 to 60. */
export function clampTimeout(seconds: number | bigint): number {
  return Math.max(1, Math.min(60, Math.trunc(Number(seconds))));
}

/** @throws {HubError} too long, too many, or not what a program can be given */
export function checkCommand(program: string, args: readonly string[]): void {
  const refuse = (why: string): never => {
    throw new HubError("ValueError", `The command ${why}`);
  };
  if (program.trim() === "") refuse("names no program");
  if (program.length > MAX_PROGRAM_CHARS) {
    refuse(`has a program of more than ${MAX_PROGRAM_CHARS} characters`);
  }
  if (args.length > MAX_ARGUMENTS) refuse(`has more than ${MAX_ARGUMENTS} arguments`);
  if (args.some((arg) => arg.length > MAX_ARGUMENT_CHARS)) {
    refuse(`has an argument of more than ${MAX_ARGUMENT_CHARS} characters`);
  }
  if (args.reduce((sum, arg) => sum + arg.length, 0) > MAX_ALL_CHARS) {
    refuse(`has arguments of more than ${MAX_ALL_CHARS} characters together`);
  }
  for (const text of [program, ...args]) {
    if (text.includes("\0") || !text.isWellFormed()) refuse("holds a NUL character");
  }
}

/** The canonical working directory, and its form relative to the workspace. @throws {HubError} */
export function workingDirectory(root: string, cwd: string): { full: string; shown: string } {
  const parts = resolveRead(root, cwd);
  if (parts === null) {
    throw new HubError("FileNotFoundError", `Working directory not found: ${shown(cwd)}`);
  }
  const full = join(root, ...parts);
  if (!Deno.statSync(full).isDirectory) {
    throw new HubError("NotADirectoryError", `Working directory is not a directory: ${shown(cwd)}`);
  }
  return { full, shown: relative(parts) };
}
