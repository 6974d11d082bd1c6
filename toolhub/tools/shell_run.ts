import { type ApprovalRecord, newRequestId } from "../approvals/record.ts";
import { newTraceId } from "../audit/event.ts";
import { approvalTtlSeconds } from "../config.ts";
import { describeFailure, HubError } from "../errors.ts";
import type { Hub, ToolRun } from "../hub.ts";
import { commandPolicy, loggedProgram } from "../shell/command_policy.ts";
import { buildEnvironment } from "../shell/environment.ts";
import { fingerprint, type Snapshot } from "../shell/fingerprint.ts";
import { hashOperands } from "../shell/operands.ts";
import { classify, type Verdict } from "../shell/policy.ts";
import { resolveProgram } from "../shell/resolve.ts";
import { checkCommand, clampTimeout, workingDirectory } from "../shell/submission.ts";
import { pendingMessage } from "./file_request.ts";

export interface ShellArgs {
  readonly program: string;
  readonly args: readonly string[] | null;
  readonly cwd: string;
  readonly timeout_seconds: number | bigint;
}

const TOOL = "shell.run";
const REFUSED: Verdict = { risk: "HIGH", reason: "The command was refused.", profile: null };

/** `shell.run`: classifies and asks. It never starts a process. */
export const run: ToolRun<ShellArgs> = async (given, hub) => {
  const { program } = given;
  const args = given.args ?? [];
  const started = performance.now();
  const traceId = newTraceId();
  const timeout = clampTimeout(given.timeout_seconds);
  const common = () => ({
    traceId,
    tool: TOOL,
    durationMs: performance.now() - started,
    arguments: { program: loggedProgram(hub, program), args },
  });
  const fail = async (error: unknown, verdict: Verdict, cwd?: string): Promise<never> => {
    const { type, message } = describeFailure(error);
    await hub.audit.record({
      ...common(),
      action: "failure",
      risk: verdict.risk,
      executed: false,
      success: false,
      ...(cwd === undefined ? {} : { cwd }),
      error: message,
      errorType: type,
      extra: { command_policy: commandPolicy(hub, program, args, verdict, "refused") },
    });
    throw error;
  };
  let place: ReturnType<typeof workingDirectory>;
  try {
    checkCommand(program, args);
    place = workingDirectory(hub.workspace, given.cwd);
  } catch (error) {
    return await fail(error, REFUSED);
  }
  const verdict = classify(program, args);
  if (verdict.profile !== null) {
    return await answerItself(hub, { program, args, place, verdict, common });
  }
  let record: ApprovalRecord, snapshot: Snapshot;
  try {
    snapshot = identify(program, place.full, hub);
    const id = newRequestId();
    record = await hub.approvals.create({
      request_id: id,
      kind: "shell",
      trace_id: traceId,
      program,
      args,
      cwd: place.shown,
      timeout_seconds: timeout,
      risk: verdict.risk,
      risk_reason: verdict.reason,
      payload: {
        workspace_root: hub.workspace,
        trace_id: traceId,
        command_policy: commandPolicy(hub, program, args, verdict, "approval_required", snapshot),
        executable_snapshot: snapshot,
        operand_snapshots: hashOperands(args, place.full, hub.workspace),
        execution_environment: buildEnvironment(id, hub.env),
      },
    }, approvalTtlSeconds(hub.env));
  } catch (error) {
    return await fail(error, verdict, place.shown);
  }
  await hub.audit.record({
    ...common(),
    action: "approval_request",
    risk: verdict.risk,
    approvalStatus: record.status,
    requestId: record.request_id,
    executed: false,
    success: true,
    cwd: place.shown,
    extra: {
      command_policy: commandPolicy(hub, program, args, verdict, "approval_required", snapshot),
    },
  });
  return {
    ...shellAnswer(program, args, place.shown, verdict),
    trace_id: traceId,
    request_id: record.request_id,
    approval_status: record.status,
    message: pendingMessage(record),
  };
};

/** Failures of hashing at submission count as not resolved: no request is made. */
function identify(program: string, cwd: string, hub: Hub): Snapshot {
  const path = resolveProgram(program, cwd, hub.env);
  try {
    return fingerprint(path);
  } catch (error) {
    throw new HubError(
      "ExecutableResolutionError",
      `The program could not be resolved at approval creation: ${describeFailure(error).message}`,
    );
  }
}

/** An answer that says that nothing ran. */
export function shellAnswer(
  program: string,
  args: readonly string[],
  cwd: string,
  verdict: Pick<Verdict, "risk" | "reason">,
): Record<string, unknown> {
  return {
    program,
    args,
    cwd,
    risk: verdict.risk,
    risk_reason: verdict.reason,
    executed: false,
    returncode: null,
    stdout: "",
    stderr: "",
    timed_out: false,
    trace_id: null,
    request_id: null,
    approval_status: null,
    message: "",
  };
}

async function answerItself(hub: Hub, job: {
  readonly program: string;
  readonly args: readonly string[];
  readonly place: { readonly shown: string };
  readonly verdict: Verdict;
  readonly common: () => {
    traceId: string;
    tool: string;
    durationMs: number;
    arguments: Record<string, unknown>;
  };
}): Promise<Record<string, unknown>> {
  const { program, args, place, verdict } = job;
  const { deno, v8, typescript } = Deno.version;
  const stdout = `deno ${deno}\nv8 ${v8}\ntypescript ${typescript}\n`;
  const common = job.common();
  await hub.audit.record({
    ...common,
    action: "execute",
    risk: verdict.risk,
    executed: true,
    success: true,
    returncode: 0,
    cwd: place.shown,
    stdoutChars: stdout.length,
    stderrChars: 0,
    extra: { command_policy: commandPolicy(hub, program, args, verdict, "auto_execute") },
  });
  return {
    ...shellAnswer(program, args, place.shown, verdict),
    executed: true,
    returncode: 0,
    stdout,
    trace_id: common.traceId,
  };
}
