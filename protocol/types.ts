/**
 * What the protocol room is handed and hands out. It knows no tool and no Git: a {@link ToolTable}
 * is given to it by `main`.
 */

/** The handshake revisions that `initialize` negotiates, newest first. */
export const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
/** The stateless revision. */
export const MODERN_VERSION = "2026-07-28";
export type LegacyVersion = typeof LEGACY_VERSIONS[number];

/** The era of one request, decided at the door (`eras.ts`); nothing behind it asks again. */
export type Era = { kind: "modern" } | { kind: "legacy"; version: LegacyVersion };

/** A content block beside or instead of the payload's text (`mcp-2026-07-28.md` section 7). */
export type ContentBlock = { type: string } & Record<string, unknown>;

/** What a tool call came to. */
export type ToolOutcome =
  | {
    kind: "result";
    /** The payload: sent as compact JSON text and, where the era has it, as `structuredContent`. */
    payload: Record<string, unknown>;
    isError: boolean;
    /** Replaces the text block made from the payload; then no `structuredContent` is sent. */
    content?: readonly ContentBlock[];
  }
  | { kind: "rpcError"; code: number; message: string; data?: Record<string, unknown> };

/** What a call knows about its caller and its life. */
export interface CallContext {
  readonly era: Era;
  /** Sanitised, self-declared name (`protocol.md` 5.3) or `external-mcp-sidecar`. */
  readonly agentId: string;
  /** `clientInfo.version` as sent, at most 128 characters, control characters removed; null unknown. */
  readonly clientVersion: string | null;
  /** Aborted by `notifications/cancelled`, end of input and shutdown. */
  readonly signal: AbortSignal;
  /** Sends `notifications/progress` when the request carried a token; otherwise does nothing. */
  progress(progress: number, total?: number, message?: string): void;
}

/** The tools as the protocol sees them. */
export interface ToolTable {
  /** JSON text of the `tools` array in the shape of the era; made before any call is served. */
  listJson(era: Era): string;
  /** Runs one call. Never throws: what goes wrong is an outcome. `args` is undefined when absent. */
  call(name: string, args: unknown, context: CallContext): Promise<ToolOutcome>;
}

/** One finished (or refused) `tools/call`, told after its answer has gone out. */
export interface FinishedCall {
  readonly name: string;
  /** Arguments as received; integers beyond 2^53 are bigint. */
  readonly args: unknown;
  readonly context: Omit<CallContext, "progress" | "signal">;
  readonly outcome: ToolOutcome;
  /** True when the client cancelled, or the connection ended first, and no answer was sent. */
  readonly cancelled: boolean;
  /** Wall-clock start, Unix milliseconds. */
  readonly startedAtMs: number;
  readonly durationMs: number;
}

/** Looks at calls after their answers went out, in order of completion; must not throw. */
export interface CallObserver {
  finished(call: FinishedCall): void;
}

/** Who the server says it is. */
export interface ServerIdentity {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly websiteUrl: string;
  readonly instructions: string;
}
