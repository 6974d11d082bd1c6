/** The way of an approved request to its one execution. */

import type { AuditEvent } from "../audit/event.ts";
import { HubError } from "../errors.ts";
import type { Hub } from "../hub.ts";
import { WINDOWS } from "../platform.ts";
import type { ApprovalRecord, Kind } from "./record.ts";

/** A request that only this caller may now carry out, or why nobody may. */
export type Ticket =
  | { readonly go: true; readonly record: ApprovalRecord }
  | { readonly go: false; readonly record: ApprovalRecord | null; readonly message: string };

/**
 * Consumes an approved request of the right kind. Consuming comes first: whatever goes wrong
 * afterwards, the request is used up and never carried out a second time.
 */
export async function takeTicket(hub: Hub, id: string, kind: Kind): Promise<Ticket> {
  const taken = await hub.approvals.consume(id, kind);
  if (taken.done) {
    await hub.hooks.afterConsume?.();
    return { go: true, record: taken.record };
  }
  const { record } = taken;
  if (record === null) {
    return { go: false, record, message: "Unknown approval request: no request has this id here" };
  }
  return { go: false, record, message: refusal(hub, record, kind) };
}

function refusal(hub: Hub, record: ApprovalRecord, kind: Kind): string {
  const { status } = record;
  if (status === "APPROVED" && record.kind !== kind) {
    return `This request is of kind ${record.kind}, not ${kind}; use ${record.resume_tool}`;
  }
  const is = `Request is ${status}`;
  switch (status) {
    case "PENDING":
      return `${is}; a person has to decide first: mcp-toolhub-admin approve ${record.request_id}`;
    case "REJECTED":
      return `${is}; nothing was done, and nothing will be done with it`;
    case "EXPIRED":
      return `${is}; its time ran out, open a new request`;
    case "CONSUMED":
      return `${is}; it was used once and is never carried out again. ${outcome(hub, record)}`;
    default:
      return `${is}; try again`;
  }
}

/** What the log knows about a used request; that it knows nothing is said, too. */
function outcome(hub: Hub, record: ApprovalRecord): string {
  const event = hub.audit.recent(100).findLast((one) =>
    one["request_id"] === record.request_id && one["tool"] === record.resume_tool &&
    (one["action"] !== "approval_rejected" || one["approval_status"] === "CONSUMED") &&
    one["error_type"] !== "ApprovalStateError"
  );
  if (event === undefined) {
    return "No outcome is among the recent audit events: it may still be at work; if nobody sees it finish, the server may have been stopped in between, so look at the workspace before asking again";
  }
  return `Its outcome in the audit log: ${event["action"]}, ${
    event["success"] === true ? "success" : "no success"
  }`;
}

/** What the log is told about a ticket that was not given. */
export function refusedEvent(
  ticket: Extract<Ticket, { go: false }>,
  id: string,
): Pick<AuditEvent, "requestId" | "error" | "errorType"> & { approvalStatus?: string } {
  const { record, message } = ticket;
  const mismatch = message.startsWith("This request is of kind");
  return {
    requestId: id,
    error: message,
    errorType: record === null
      ? "KeyError"
      : mismatch
      ? "ApprovalKindMismatch"
      : "ApprovalStateError",
    ...(record === null ? {} : { approvalStatus: record.status }),
  };
}

/**
 * The workspace that a request was made for must be the one that is served.
 *
 * @throws {HubError} `WorkspaceBoundaryViolation`, each with the word `workspace`
 */
export function requireWorkspace(record: ApprovalRecord, workspace: string): void {
  const stored = record.payload["workspace_root"];
  const refuse = (why: string): never => {
    throw new HubError("WorkspaceBoundaryViolation", `The request's workspace ${why}`);
  };
  if (typeof stored !== "string" || stored.trim() === "") return refuse("is missing or malformed");
  if (!(WINDOWS ? /^(?:[A-Za-z]:[\\/]|\\\\)/.test(stored) : stored.startsWith("/"))) {
    return refuse("is not absolute");
  }
  let real: string;
  try {
    real = Deno.realPathSync(stored);
  } catch {
    return refuse("cannot be resolved");
  }
  if (real !== workspace) {
    return refuse("is another one: it was created for a different ToolHub workspace");
  }
}

/** A required member of a stored request. @throws {HubError} naming it */
export function member<T>(
  record: ApprovalRecord,
  name: string,
  is: (value: unknown) => value is T,
): T {
  const value = record.payload[name];
  if (is(value)) return value;
  throw new HubError("ValueError", `The stored request has no usable ${name}`);
}

export const isText = (value: unknown): value is string => typeof value === "string";
export const isTextOrNull = (value: unknown): value is string | null =>
  value === null || typeof value === "string";
export const isFlag = (value: unknown): value is boolean => typeof value === "boolean";
