/** How the tools of ToolHub fail: a class name for the audit log and one sentence for the caller. */

/** Class names as the audit log carries them (`error_type`). */
export type FailureType =
  | "ValueError"
  | "FileNotFoundError"
  | "NotADirectoryError"
  | "OSError"
  | "TimeoutError"
  | "MutationConflictError"
  | "WorkspaceBoundaryViolation"
  | "ExecutableResolutionError"
  | "ExecutableIdentityMismatch"
  | "ApprovalStateError"
  | "ApprovalKindMismatch"
  | "ApprovalStoreError"
  | "KeyError"
  | "GitError";

/** A refusal or failure that the caller is told as a tool error. Never holds a host path of its own. */
export class HubError extends Error {
  override name = "HubError";
  constructor(readonly type: FailureType, message: string) {
    super(message);
  }
}

/** A setting or a state folder that the program cannot start with: one line, exit code 2. */
export class StartError extends Error {
  override name = "StartError";
}

/** A caller's text for an error sentence: quoted, escaped, at most 200 characters. */
export function shown(text: string): string {
  return escapeText(JSON.stringify(text.length > 200 ? text.slice(0, 200) + "…" : text));
}

/** Everything beyond printable ASCII as `\uXXXX`, so that no terminal is steered and nothing hides. */
export function escapeText(text: string): string {
  return text.replace(
    /[^\x20-\x7e]/g,
    (unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0"),
  );
}

/** The sentence and the class of anything thrown; host paths of system errors are left out. */
export function describeFailure(error: unknown): { type: FailureType; message: string } {
  if (error instanceof HubError) return { type: error.type, message: error.message };
  const name = error instanceof Error ? error.name : "";
  if (name === "NotFound") return { type: "FileNotFoundError", message: "No such file" };
  const code = (error as { code?: unknown } | null)?.code;
  const word = typeof code === "string" && /^[A-Z0-9_]{1,40}$/.test(code) ? ` (${code})` : "";
  return {
    type: "OSError",
    message: `${name === "PermissionDenied" ? "Permission denied" : "The system refused"}${word}`,
  };
}
