/** One request for a person's approval, as `approvals.json` stores it. */

import { isoTime, parseTime } from "../clock.ts";
import { randomHex } from "../random.ts";

export type Kind = "shell" | "file_write" | "file_patch";
export type Risk = "LOW" | "MEDIUM" | "HIGH";
export type Status = "PENDING" | "APPROVED" | "REJECTED" | "EXPIRED" | "CONSUMED";

const KINDS: readonly string[] = ["shell", "file_write", "file_patch"];
const RISKS: readonly string[] = ["LOW", "MEDIUM", "HIGH"];
const STATUSES: readonly string[] = ["PENDING", "APPROVED", "REJECTED", "EXPIRED", "CONSUMED"];

/** The tool that carries a kind out. */
export const RESUME_TOOL: Readonly<Record<Kind, string>> = {
  shell: "shell.run_approved",
  file_write: "filesystem.write_file_approved",
  file_patch: "filesystem.apply_patch_approved",
};

/** All members are always present; everything but `status` and `decided_at` is fixed at submission. */
export interface ApprovalRecord {
  readonly request_id: string;
  readonly trace_id: string;
  readonly kind: Kind;
  readonly resume_tool: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly timeout_seconds: number;
  readonly risk: Risk;
  readonly risk_reason: string;
  readonly status: Status;
  readonly created_at: string;
  readonly expires_at: string;
  /** Time of the last transition, null before any. */
  readonly decided_at: string | null;
}

/** What a submission gives; the rest is filled in by {@link newRecord}. */
export type RequestInput =
  & Pick<ApprovalRecord, "kind" | "payload" | "risk" | "risk_reason" | "trace_id">
  & Partial<Pick<ApprovalRecord, "program" | "args" | "cwd" | "timeout_seconds" | "request_id">>;

const MEMBERS = [
  "request_id",
  "trace_id",
  "kind",
  "resume_tool",
  "payload",
  "program",
  "args",
  "cwd",
  "timeout_seconds",
  "risk",
  "risk_reason",
  "status",
  "created_at",
  "expires_at",
  "decided_at",
];

export function newRequestId(): string {
  return `req_${randomHex(16)}`;
}

/** A pending record. @param nowMicros moment of creation */
export function newRecord(
  input: RequestInput,
  nowMicros: number,
  ttlSeconds: number,
): ApprovalRecord {
  return {
    request_id: input.request_id ?? newRequestId(),
    trace_id: input.trace_id,
    kind: input.kind,
    resume_tool: RESUME_TOOL[input.kind],
    payload: input.payload,
    program: input.program ?? "",
    args: input.args ?? [],
    cwd: input.cwd ?? ".",
    timeout_seconds: input.timeout_seconds ?? 20,
    risk: input.risk,
    risk_reason: input.risk_reason,
    status: "PENDING",
    created_at: isoTime(nowMicros, "Z"),
    expires_at: isoTime(nowMicros + ttlSeconds * 1_000_000, "Z"),
    decided_at: null,
  };
}

/** Whether a record's time has run out; the moment itself counts. Ended records never expire. */
export function isExpired(record: ApprovalRecord, nowMicros: number): boolean {
  if (record.status !== "PENDING" && record.status !== "APPROVED") return false;
  return nowMicros >= (parseTime(record.expires_at) ?? 0);
}

/**
 * Reads one stored record, of either version of the store.
 *
 * @returns the record, or what is wrong with it
 */
export function readRecord(
  id: string,
  value: unknown,
  version: 1 | 2,
): ApprovalRecord | { problem: string } {
  if (!isObject(value)) return { problem: "a request is not an object" };
  const given = version === 2 ? value : upgraded(id, value);
  const missing = MEMBERS.find((name) => !Object.hasOwn(given, name));
  if (missing !== undefined) return { problem: `a request has no ${missing}` };
  if (Object.keys(given).some((name) => !MEMBERS.includes(name))) {
    return { problem: "a request has members that are not known" };
  }
  const record = given as unknown as ApprovalRecord;
  const text = (member: unknown) => typeof member === "string";
  const good = /^req_[0-9a-f]{32}$/.test(id) && record.request_id === id && text(record.trace_id) &&
    KINDS.includes(record.kind) && record.resume_tool === RESUME_TOOL[record.kind] &&
    isObject(record.payload) && text(record.program) && Array.isArray(record.args) &&
    record.args.every(text) && text(record.cwd) && Number.isSafeInteger(record.timeout_seconds) &&
    RISKS.includes(record.risk) && text(record.risk_reason) &&
    STATUSES.includes(record.status) && parseTime(record.created_at) !== null &&
    parseTime(record.expires_at) !== null &&
    (record.decided_at === null || parseTime(record.decided_at) !== null);
  return good ? record : { problem: "a request has a member of the wrong form" };
}

/** Version 1 has no trace id of its own and no name of the resuming tool. */
function upgraded(id: string, value: Record<string, unknown>): Record<string, unknown> {
  const payload = isObject(value["payload"]) ? value["payload"] : {};
  const trace = payload["trace_id"];
  return {
    ...value,
    trace_id: typeof trace === "string" ? trace : `trc_legacy_${id.slice(4)}`,
    resume_tool: RESUME_TOOL[value["kind"] as Kind] ?? "",
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
