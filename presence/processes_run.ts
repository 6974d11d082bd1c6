import { concat, superviseChild } from "../git/child.ts";
import type { NoProcesses } from "./process_table.ts";

/** Time that a program may take, and what it may print. */
const DEADLINE_MS = 1_500;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** Runs a program that tells about processes; gives what it printed, or why not. Tests give another one. */
export type RunProgram = (
  program: string,
  args: readonly string[],
) => Promise<{ readonly output: string; readonly cut: boolean } | NoProcesses>;

/** Runs one of the few programs of this room with an environment of its own. Never throws. */
export const runProgram: RunProgram = async (program, args) => {
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(program, {
      args: [...args],
      cwd: "/",
      clearEnv: true,
      // Times and escapes in one form, whatever the user's language is.
      env: { LC_ALL: "C", ...pathVariables() },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    return notStarted(program, error);
  }
  const kept: Uint8Array[] = [];
  let size = 0;
  const end = await superviseChild(
    child,
    { deadlineMs: DEADLINE_MS, stderrKept: 0, stderrBytes: 1024 * 1024, pipesMs: 200 },
    (chunk) => {
      size += chunk.length;
      if (size <= MAX_OUTPUT_BYTES) kept.push(chunk.slice());
      return size <= MAX_OUTPUT_BYTES;
    },
  );
  if (end.why !== "exited") {
    return { reason: "timed_out", message: `${program} did not answer in time` };
  }
  // Exit codes say little: one process that has ended meanwhile is enough for a failure.
  return { output: new TextDecoder().decode(concat(kept)), cut: end.stopped };
};

function notStarted(program: string, error: unknown): NoProcesses {
  const name = error instanceof Error ? error.name : "";
  if (name === "NotCapable" || name === "PermissionDenied") {
    return {
      reason: "not_permitted",
      message: `running ${program} is not permitted; the profile "presence" permits it`,
    };
  }
  return name === "NotFound"
    ? { reason: "not_installed", message: `${program} is not installed` }
    : { reason: "failed", message: `${program} could not be started` };
}

/** Windows programs need to know where the system is. */
function pathVariables(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of Deno.build.os === "windows" ? ["PATH", "SystemRoot"] : ["PATH"]) {
    try {
      const value = Deno.env.get(name);
      if (value) found[name] = value;
    } catch { /* the permission set does not give it */ }
  }
  return found;
}
