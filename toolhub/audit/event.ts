/** One line of the audit log. */

import { isoTime } from "../clock.ts";
import { randomHex } from "../random.ts";
import { bound, redactBounded, sanitize } from "./redact.ts";

/** What happened; members that do not apply are left out. */
export interface AuditEvent {
  readonly traceId?: string;
  readonly tool: string;
  readonly action: string;
  readonly risk?: string;
  readonly approvalStatus?: string;
  readonly requestId?: string;
  readonly executed: boolean;
  readonly success: boolean;
  /** Milliseconds by the stopwatch. */
  readonly durationMs?: number;
  readonly returncode?: number | null;
  readonly arguments?: Record<string, unknown>;
  readonly cwd?: string;
  readonly error?: string;
  readonly errorType?: string;
  readonly stdoutChars?: number;
  readonly stderrChars?: number;
  readonly extra?: Record<string, unknown>;
}

const MAX_ERROR = 500;

/** A new id that ties events to one request. */
export function newTraceId(): string {
  return `trc_${randomHex(16)}`;
}

/** The event in the order and form in which it is stored: redacted and bounded. */
export function eventObject(event: AuditEvent, nowMicros: number): Record<string, unknown> {
  const all: Record<string, unknown> = {
    trace_id: event.traceId ?? newTraceId(),
    timestamp: isoTime(nowMicros, "+00:00"),
    tool: event.tool,
    action: event.action,
    risk: event.risk,
    approval_status: event.approvalStatus,
    request_id: event.requestId === undefined ? undefined : bound(event.requestId, 100),
    executed: event.executed,
    success: event.success,
    duration_ms: event.durationMs === undefined
      ? undefined
      : Math.max(0, Math.round(event.durationMs)),
    returncode: event.returncode ?? undefined,
    arguments: event.arguments === undefined ? undefined : sanitize(event.arguments),
    cwd: event.cwd === undefined ? undefined : redactBounded(event.cwd, 200),
    error: event.error === undefined ? undefined : redactBounded(event.error, MAX_ERROR),
    error_type: event.errorType,
    stdout_chars: event.stdoutChars,
    stderr_chars: event.stderrChars,
    extra: event.extra === undefined ? undefined : sanitize(event.extra),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
