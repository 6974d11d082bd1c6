/** What the log and the stored request say about a command; folders outside the workspace stay out. */

import type { Hub } from "../hub.ts";
import { componentsBelow } from "../platform.ts";
import { isRooted } from "../workspace/path.ts";
import { relative } from "../workspace/resolve.ts";
import type { Snapshot } from "./fingerprint.ts";
import { commandName, isExplicitPath, type Verdict } from "./policy.ts";

export type Decision = "auto_execute" | "approval_required" | "refused";

/** The `command_policy` object. @param snapshot the resolved program, once it is known */
export function commandPolicy(
  hub: Pick<Hub, "workspace">,
  program: string,
  args: readonly string[],
  verdict: Verdict,
  decision: Decision,
  snapshot: Snapshot | null = null,
): Record<string, unknown> {
  const builtIn = verdict.profile !== null;
  const explicit = isExplicitPath(program);
  const place = snapshot === null ? null : placeOf(hub.workspace, snapshot.canonical_path);
  return {
    decision,
    risk: verdict.risk,
    reason: verdict.reason,
    profile: verdict.profile,
    argument_shape: builtIn ? args.join(" ") : null,
    execution_kind: builtIn ? "intrinsic" : "subprocess",
    executable: {
      lookup: builtIn ? "toolhub_runtime" : explicit ? "explicit_path" : "unresolved_name",
      trusted: builtIn,
      reason: builtIn
        ? "Answered by ToolHub itself; no program is started."
        : "A name or path is never trusted; the file found at submission is hashed instead.",
      requested_name: commandName(program),
      resolved_name: snapshot === null ? null : commandName(snapshot.canonical_path),
      scope: builtIn ? "toolhub_runtime" : place?.scope ?? "unresolved",
      ...(place?.workspace_path === undefined ? {} : { workspace_path: place.workspace_path }),
    },
    ...(snapshot === null ? {} : {
      approval_executable: {
        requested_name: commandName(program),
        resolved_name: commandName(snapshot.canonical_path),
        ...placeOf(hub.workspace, snapshot.canonical_path),
        sha256: snapshot.sha256,
        size: snapshot.size,
        identity_scope: "primary_executable_only",
      },
    }),
  };
}

/** A program as the log names it: relative inside the workspace, without its folder outside. */
export function loggedProgram(hub: Pick<Hub, "workspace">, program: string): string {
  if (!/^(?:[\\/]|[A-Za-z]:|~|\.\.)/.test(program)) return program;
  try {
    const place = placeOf(hub.workspace, Deno.realPathSync(program));
    if (isRooted(program) && place.workspace_path !== undefined) return place.workspace_path;
  } catch { /* nothing is there: its name says enough */ }
  return commandName(program);
}

function placeOf(
  workspace: string,
  path: string,
): { scope: "workspace" | "external"; workspace_path?: string } {
  const below = componentsBelow(path, workspace);
  return below === null
    ? { scope: "external" }
    : { scope: "workspace", workspace_path: relative(below) };
}
