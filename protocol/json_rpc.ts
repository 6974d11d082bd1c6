/**
 * JSON-RPC 2.0 envelopes: what a frame asks for, and the text of answers (`protocol.md` section 4,
 * corrected by `mcp-2026-07-28.md` 2.1-2.3 where the two differ).
 */

import type { CodedError } from "../common/errors.ts";
import { isIntegerToken, JsonError, parseJsonBytes, stringifyJson } from "../common/json.ts";

/** Codes of JSON-RPC and of MCP that this room answers with. */
export const ERROR = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  unsupportedVersion: -32022,
} as const;

/** Longest string id, in UTF-8 bytes. */
export const MAX_ID_BYTES = 1_024;

/** A request id, echoed with its type and all its digits. */
export type RequestId = string | number | bigint;

/** The `error` member of an answer. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: Record<string, unknown>;
}

/** What one frame is. */
export type Envelope =
  | { kind: "request"; id: RequestId; method: string; params: unknown }
  | { kind: "notification"; method: string; params: unknown }
  /** `id` is undefined when it could not be read; `message` is the value that was refused. */
  | { kind: "refused"; id: RequestId | undefined; error: RpcError; message: unknown };

/** A JSON object (not an array, not a boxed number). */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !(value instanceof Number);
}

/**
 * Reads one frame; the checks are made in the contract's order and the first that fails decides.
 * The id of a refused message is given only where the contract echoes it: a wrong `jsonrpc` string.
 */
export function readEnvelope(frame: Uint8Array): Envelope {
  let message: unknown;
  try {
    message = parseJsonBytes(frame);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return refused(undefined, undefined, {
      code: ERROR.parse,
      message: "Parse error",
      data: { details: error.message },
    });
  }
  if (Array.isArray(message)) {
    return refused(message, undefined, {
      code: ERROR.invalidRequest,
      message: "Batch requests are not supported",
    });
  }
  if (!isObject(message)) return invalid(message, undefined, "a request is a JSON object");
  const { jsonrpc, method, id } = message;
  if (typeof jsonrpc !== "string") {
    return invalid(message, undefined, 'jsonrpc is missing or not a string; send "2.0"');
  }
  if (typeof method !== "string") {
    return invalid(message, undefined, "method is missing or not a string");
  }
  const valid = isRequestId(id);
  if (jsonrpc !== "2.0") return invalid(message, valid ? id : undefined, 'jsonrpc is not "2.0"');
  if (valid) return { kind: "request", id, method, params: message.params };
  if (!Object.hasOwn(message, "id")) {
    return { kind: "notification", method, params: message.params };
  }
  return invalid(
    message,
    undefined,
    `id is neither an integer nor a string of at most ${MAX_ID_BYTES} bytes`,
  );
}

/** A string of at most {@link MAX_ID_BYTES} bytes, or an integer within -2^63..2^64-1. */
export function isRequestId(value: unknown): value is RequestId {
  if (typeof value !== "string") return isIntegerToken(value);
  if (value.length > MAX_ID_BYTES) return false;
  return value.length * 3 <= MAX_ID_BYTES || encoder.encode(value).length <= MAX_ID_BYTES;
}

/** A text that is equal for equal ids only: `1` and `"1"` are two ids. */
export function idKey(id: RequestId): string {
  return typeof id === "string" ? `s${id}` : `n${id}`;
}

/** The `error` member that tells a {@link CodedError}. */
export function rpcError(error: CodedError): RpcError {
  const { code, message, data } = error;
  return data === undefined ? { code, message } : { code, message, data };
}

/** The line of an error answer. `id`: undefined leaves the member out. */
export function errorLine(id: RequestId | null | undefined, error: RpcError): string {
  const { code, message, data } = error;
  const body = stringifyJson({ code, message, data });
  return id === undefined
    ? `{"jsonrpc":"2.0","error":${body}}`
    : `{"jsonrpc":"2.0","id":${stringifyJson(id)},"error":${body}}`;
}

/** The line of a successful answer; `result` is JSON text. */
export function resultLine(id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${stringifyJson(id)},"result":${result}}`;
}

/** The line of a notification; `params` is JSON text. */
export function notificationLine(method: string, params: string): string {
  return `{"jsonrpc":"2.0","method":${stringifyJson(method)},"params":${params}}`;
}

const encoder = new TextEncoder();

function invalid(message: unknown, id: RequestId | undefined, details: string): Envelope {
  return refused(message, id, {
    code: ERROR.invalidRequest,
    message: "Invalid request",
    data: { details },
  });
}

function refused(message: unknown, id: RequestId | undefined, error: RpcError): Envelope {
  return { kind: "refused", id, error, message };
}
