/** What the two submissions and the two executions of file changes have in common. */

import { refusedEvent, requireWorkspace, takeTicket, type Ticket } from "../approvals/gate.ts";
import type { ApprovalRecord, Kind } from "../approvals/record.ts";
import { newTraceId } from "../audit/event.ts";
import { approvalTtlSeconds } from "../config.ts";
import { describeFailure, HubError } from "../errors.ts";
import type { Hub } from "../hub.ts";
import { armsOthers } from "../workspace/arming.ts";

const RISK = "MEDIUM";

/** One submission: checked, stored, told. */
export interface Submission {
  readonly tool: string;
  readonly kind: Kind;
  readonly path: string;
  /** For the log: never content. */
  readonly told: Record<string, unknown>;
  readonly reason: string;
  /** Members of the stored request besides workspace and trace. */
  readonly payload: Record<string, unknown>;
  /** Throws when the request may not be made. */
  readonly check: () => void | Promise<void>;
}

/** The one sentence about a file request that the person is shown. */
export function riskReason(doing: "Writing" | "Changing", path: string): string {
  return `${doing} a file of the workspace needs a person's approval.` +
    (armsOthers(path) ? " CAREFUL: this file decides what other programs run later." : "");
}

/** Stores a pending request and gives the members of the answer that tell about it. */
export async function submit(hub: Hub, job: Submission): Promise<Record<string, unknown>> {
  const started = performance.now();
  const traceId = newTraceId();
  let record: ApprovalRecord;
  try {
    await job.check();
    record = await hub.approvals.create({
      kind: job.kind,
      payload: { ...job.payload, workspace_root: hub.workspace, trace_id: traceId },
      trace_id: traceId,
      risk: RISK,
      risk_reason: job.reason,
    }, approvalTtlSeconds(hub.env));
  } catch (error) {
    const { type, message } = describeFailure(error);
    await hub.audit.record({
      traceId,
      tool: job.tool,
      action: "failure",
      risk: RISK,
      executed: false,
      success: false,
      durationMs: performance.now() - started,
      arguments: job.told,
      error: message,
      errorType: type,
    });
    throw error;
  }
  await hub.audit.record({
    traceId,
    tool: job.tool,
    action: "approval_request",
    risk: RISK,
    approvalStatus: record.status,
    requestId: record.request_id,
    executed: false,
    success: true,
    durationMs: performance.now() - started,
    arguments: job.told,
  });
  return {
    trace_id: traceId,
    request_id: record.request_id,
    approval_status: record.status,
    message: pendingMessage(record),
  };
}

/** What the caller has to do with a new request. */
export function pendingMessage(record: ApprovalRecord): string {
  return `Nothing was done yet. A person has to approve request ${record.request_id} before ${record.expires_at} ` +
    `(mcp-toolhub-admin approve ${record.request_id}); then call ${record.resume_tool} with this request_id`;
}

/** One execution of a stored file change. */
export interface Execution {
  readonly tool: string;
  readonly kind: Kind;
  readonly id: string;
  /** Answer members when nothing was done. */
  readonly nothing: Record<string, unknown>;
  /** Does it; gives the answer's own members and what the log is told. */
  readonly act: (record: ApprovalRecord) => Promise<{
    readonly answer: Record<string, unknown>;
    readonly told: Record<string, unknown>;
  }>;
  /** What the log is told about a failure after consumption. */
  readonly failed: (record: ApprovalRecord) => Record<string, unknown>;
}

/** Carries a request out once. */
export async function execute(hub: Hub, job: Execution): Promise<Record<string, unknown>> {
  const started = performance.now();
  const ticket = await takeTicket(hub, job.id, job.kind);
  if (!ticket.go) return await refused(hub, job, ticket, started);
  const { record } = ticket;
  const common = {
    traceId: record.trace_id,
    tool: job.tool,
    risk: record.risk,
    approvalStatus: record.status,
    requestId: record.request_id,
  };
  try {
    requireWorkspace(record, hub.workspace);
    const { answer, told } = await job.act(record);
    await hub.audit.record({
      ...common,
      action: "execute_approved",
      executed: true,
      success: true,
      durationMs: performance.now() - started,
      arguments: told,
    });
    return { ...job.nothing, ...answer, executed: true, ...gatedMembers(record, "") };
  } catch (error) {
    const { type, message } = describeFailure(error);
    await hub.audit.record({
      ...common,
      action: "failure",
      executed: false,
      success: false,
      durationMs: performance.now() - started,
      arguments: job.failed(record),
      error: message,
      errorType: type,
    });
    throw new HubError(
      type,
      `${message}. Nothing was changed; the approval is used up, open a new request`,
    );
  }
}

async function refused(
  hub: Hub,
  job: Execution,
  ticket: Extract<Ticket, { go: false }>,
  started: number,
): Promise<Record<string, unknown>> {
  const { record, message } = ticket;
  const path = record?.payload["path"];
  const event = refusedEvent(ticket, job.id);
  await hub.audit.record({
    ...(record === null ? {} : { traceId: record.trace_id, risk: record.risk }),
    tool: job.tool,
    action: "approval_rejected",
    executed: false,
    success: false,
    durationMs: performance.now() - started,
    arguments: { request_id: job.id, path: typeof path === "string" ? path : null },
    ...event,
  });
  if (event.errorType === "ApprovalKindMismatch") {
    throw new HubError("ApprovalKindMismatch", `${message}; the approval was not used`);
  }
  return {
    ...job.nothing,
    path: typeof path === "string" ? path : "",
    ...gatedMembers(record, message, job.id),
  };
}

function gatedMembers(
  record: ApprovalRecord | null,
  message: string,
  id = record?.request_id ?? null,
): Record<string, unknown> {
  return {
    trace_id: record?.trace_id ?? null,
    request_id: id,
    approval_status: record?.status ?? null,
    message,
  };
}
