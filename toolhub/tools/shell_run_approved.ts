import { refusedEvent, requireWorkspace, takeTicket } from "../approvals/gate.ts";
import type { ApprovalRecord } from "../approvals/record.ts";
import { describeFailure, HubError } from "../errors.ts";
import type { CallInfo, Hub, ToolRun } from "../hub.ts";
import { loggedProgram } from "../shell/command_policy.ts";
import { readEnvironment } from "../shell/environment.ts";
import { readSnapshot, type Snapshot, verifySnapshot } from "../shell/fingerprint.ts";
import { type OperandSnapshot, readOperands, verifyOperands } from "../shell/operands.ts";
import { launch, type LaunchEnd } from "../shell/run.ts";
import { clampTimeout, workingDirectory } from "../shell/submission.ts";
import { shellAnswer } from "./shell_run.ts";

const TOOL = "shell.run_approved";

/** `shell.run_approved`: runs what was stored, once. */
export const run: ToolRun<{ request_id: string }> = async ({ request_id: id }, hub, call) => {
  const started = performance.now();
  const ticket = await takeTicket(hub, id, "shell");
  if (ticket.go) return await carryOut(hub, ticket.record, call, started);
  const { record, message } = ticket;
  const isShell = record?.kind === "shell";
  await hub.audit.record({
    tool: TOOL,
    action: "approval_rejected",
    ...(record === null ? {} : { risk: record.risk, traceId: record.trace_id }),
    executed: false,
    success: false,
    durationMs: performance.now() - started,
    arguments: isShell
      ? { program: loggedProgram(hub, record.program), args: record.args }
      : { program: "", args: [] },
    ...refusedEvent(ticket, id),
  });
  return {
    ...shellAnswer(
      isShell ? record.program : "",
      isShell ? record.args : [],
      isShell ? record.cwd : ".",
      { risk: record?.risk ?? "HIGH", reason: record?.risk_reason ?? "Nothing is known of it." },
    ),
    trace_id: record?.trace_id ?? null,
    request_id: id,
    approval_status: record?.status ?? null,
    message,
  };
};

/** Everything that holds before the last check. */
interface Prepared {
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly snapshot: Snapshot;
  readonly operands: readonly OperandSnapshot[];
}

async function carryOut(
  hub: Hub,
  record: ApprovalRecord,
  call: CallInfo,
  started: number,
): Promise<Record<string, unknown>> {
  const answer = {
    ...shellAnswer(record.program, record.args, record.cwd, {
      risk: record.risk,
      reason: record.risk_reason,
    }),
    trace_id: record.trace_id,
    request_id: record.request_id,
    approval_status: record.status,
  };
  const tell = (
    action: string,
    executed: boolean,
    success: boolean,
    more: Record<string, unknown> = {},
  ) =>
    hub.audit.record({
      traceId: record.trace_id,
      tool: TOOL,
      action,
      risk: record.risk,
      approvalStatus: record.status,
      requestId: record.request_id,
      executed,
      success,
      durationMs: performance.now() - started,
      arguments: { program: loggedProgram(hub, record.program), args: record.args },
      cwd: record.cwd,
      extra: { command_policy: record.payload["command_policy"] },
      ...more,
    });
  let ready: Prepared;
  try {
    ready = prepare(hub, record);
    hub.hooks.beforeVerify?.();
    const untouched = verifySnapshot(ready.snapshot);
    hub.hooks.betweenChecks?.();
    verifyOperands(ready.operands, record.args, ready.cwd, hub.workspace);
    // Hashing large files takes long enough for somebody to put a link in the folder's place.
    requireDirectory(hub, record);
    untouched();
  } catch (error) {
    const { type, message } = describeFailure(error);
    await tell("approval_rejected", false, false, { error: message, errorType: type });
    return {
      ...answer,
      message: `${message}. Nothing was started; the approval is used up, open a new request`,
    };
  }
  let end: LaunchEnd;
  try {
    end = await launch({
      program: ready.snapshot.canonical_path,
      args: record.args,
      cwd: ready.cwd,
      env: ready.env,
      timeoutMs: clampTimeout(record.timeout_seconds) * 1_000,
      signal: call.signal,
    });
  } catch (error) {
    const gone = error instanceof Deno.errors.NotFound;
    const message = gone
      ? "Executable not found, or the interpreter that it names is missing"
      : `Failed to start the program (${error instanceof Error ? error.name : "unknown"})`;
    await tell("failure", false, false, {
      error: message,
      errorType: gone ? "FileNotFoundError" : "OSError",
    });
    throw new HubError("OSError", `${message}. The approval is used up, open a new request`);
  }
  const message = end.timedOut
    ? "The time ran out; the program and everything it started was stopped"
    : end.cancelled
    ? "The call was cancelled; the program and everything it started was stopped"
    : "";
  const failed = end.timedOut || end.cancelled;
  await tell(
    end.timedOut ? "timeout" : end.cancelled ? "cancelled" : "execute_approved",
    true,
    !failed && end.code === 0,
    {
      returncode: end.code,
      stdoutChars: end.stdout.chars,
      stderrChars: end.stderr.chars,
      ...(failed
        ? { error: message, errorType: end.timedOut ? "TimeoutExpired" : "Cancelled" }
        : {}),
    },
  );
  return {
    ...answer,
    executed: true,
    returncode: end.code,
    stdout: end.stdout.text,
    stderr: end.stderr.text,
    timed_out: end.timedOut,
    message,
  };
}

/** @throws {HubError} workspace, working directory or a snapshot is not as stored */
function prepare(hub: Hub, record: ApprovalRecord): Prepared {
  requireWorkspace(record, hub.workspace);
  const cwd = requireDirectory(hub, record);
  return {
    cwd,
    env: readEnvironment(record.payload["execution_environment"], record.request_id),
    snapshot: readSnapshot(record.payload["executable_snapshot"]),
    operands: readOperands(record.payload["operand_snapshots"] ?? [], readSnapshot),
  };
}

/**
 * The canonical working directory, which must be the one that was approved.
 *
 * @throws {HubError} it leads elsewhere or is gone
 */
function requireDirectory(hub: Hub, record: ApprovalRecord): string {
  const place = workingDirectory(hub.workspace, record.cwd);
  if (place.shown === record.cwd) return place.full;
  throw new HubError(
    "WorkspaceBoundaryViolation",
    "Refused: the working directory leads to another folder of the workspace than approved",
  );
}
