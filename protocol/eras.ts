/**
 * The era of a request, decided here and nowhere else: from the request's own `_meta`, or from the
 * handshake of the connection (`protocol.md` section 5 with the corrections of `additions.md` 3
 * and 6). Also who the caller says it is.
 */

import { CodedError } from "../common/errors.ts";
import { printable } from "../common/json.ts";
import { ERROR, isObject } from "./json_rpc.ts";
import { type Era, LEGACY_VERSIONS, type LegacyVersion, MODERN_VERSION } from "./types.ts";

/** Everything that is served, newest first. */
export const SUPPORTED_VERSIONS: readonly string[] = [MODERN_VERSION, ...LEGACY_VERSIONS];

/** The agent id of a caller that gave no usable name. */
export const FALLBACK_AGENT_ID = "external-mcp-sidecar";

/** Keys of `params._meta`. */
export const META = {
  version: "io.modelcontextprotocol/protocolVersion",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  client: "io.modelcontextprotocol/clientInfo",
  server: "io.modelcontextprotocol/serverInfo",
  subscription: "io.modelcontextprotocol/subscriptionId",
} as const;

/** Who calls, as it says itself: attribution, never authentication. */
export interface Caller {
  readonly agentId: string;
  readonly clientVersion: string | null;
}

/** What one request is served as. */
export interface Door {
  readonly era: Era;
  readonly caller: Caller;
}

const NOBODY: Caller = { agentId: FALLBACK_AGENT_ID, clientVersion: null };

/**
 * What `initialize` leaves behind for later requests that carry no metadata of their own. Requests
 * of the modern era neither read nor change it.
 */
export class Handshake {
  /** Served to requests that carry no version; the newest one until `initialize` says otherwise. */
  version: LegacyVersion = LEGACY_VERSIONS[0];
  /** Whether `initialize` was served on this connection. */
  done = false;
  caller: Caller = NOBODY;

  /** Takes the `params` of an `initialize`; any value is accepted, and a later one replaces it. */
  initialize(params: unknown): LegacyVersion {
    const given = isObject(params) ? params : {};
    this.version = isLegacyVersion(given.protocolVersion)
      ? given.protocolVersion
      : LEGACY_VERSIONS[0];
    this.done = true;
    // A later handshake without a usable name does not make a known caller anonymous.
    this.caller = callerFrom(given.clientInfo) ?? this.caller;
    return this.version;
  }
}

/** Whether a message declares the modern revision, well-formed or not. */
export function namesModernVersion(params: unknown): boolean {
  return metaOf(params)?.[META.version] === MODERN_VERSION;
}

/**
 * Decides how one request other than a plain `initialize` is served.
 *
 * @throws {CodedError} -32602 for missing or malformed metadata, -32022 for a version not served
 */
export function decideEra(method: string, params: unknown, handshake: Handshake): Door {
  const meta = metaOf(params);
  if (meta === null || !Object.hasOwn(meta, META.version)) {
    if (method === "server/discover") {
      throw invalidParams(`_meta["${META.version}"] is required by server/discover`);
    }
    return { era: { kind: "legacy", version: handshake.version }, caller: handshake.caller };
  }
  const version = meta[META.version];
  if (typeof version !== "string") throw invalidParams(`_meta["${META.version}"] is not a string`);
  if (isLegacyVersion(version)) {
    // A version of the list that we advertise is served, in the shape of that version.
    const caller = callerFrom(meta[META.client]) ?? handshake.caller;
    return { era: { kind: "legacy", version }, caller };
  }
  if (version !== MODERN_VERSION) {
    throw new CodedError(ERROR.unsupportedVersion, "Unsupported protocol version", {
      supported: SUPPORTED_VERSIONS,
      requested: version.slice(0, MAX_REQUESTED_CHARS),
    });
  }
  if (!isObject(meta[META.capabilities])) {
    throw invalidParams(`_meta["${META.capabilities}"] is required and must be an object`);
  }
  return { era: { kind: "modern" }, caller: modernCaller(meta) };
}

/** Whether the era's results have `structuredContent`. */
export function hasStructuredContent(era: Era): boolean {
  return era.kind === "modern" || era.version >= "2025-06-18";
}

/** Whether the era's progress notifications have a `message`. */
export function hasProgressMessage(era: Era): boolean {
  return era.kind === "modern" || era.version >= "2025-03-26";
}

/**
 * The agent id made from a self-declared name (`protocol.md` 5.3): ASCII letters, digits, `.`, `_`,
 * `:` and single `-`, at most 128 bytes.
 *
 * @returns null when nothing usable is left, or the name is not a string
 */
export function sanitizeAgentId(name: unknown): string | null {
  if (typeof name !== "string") return null;
  let id = "";
  for (const char of name.trim()) {
    const kept = /[A-Za-z0-9._:]/.test(char) ? char : "-";
    if (kept === "-" && id.endsWith("-")) continue;
    if (id.length === MAX_AGENT_ID_BYTES) break;
    id += kept;
  }
  id = id.replace(/^-+|-+$/g, "");
  return id === "" ? null : id;
}

/** An invalid-params error that names what is wrong. */
export function invalidParams(details: string): CodedError {
  return new CodedError(ERROR.invalidParams, "Invalid params", { details });
}

/** A bounded, printable form of what was sent, for error texts. */
export function quoted(text: string): string {
  return `"${printable(text, 64)}"`;
}

const MAX_AGENT_ID_BYTES = 128;
const MAX_CLIENT_VERSION_CHARS = 128;
const MAX_REQUESTED_CHARS = 1_024;

function metaOf(params: unknown): Record<string, unknown> | null {
  const meta = isObject(params) ? params._meta : null;
  return isObject(meta) ? meta : null;
}

function isLegacyVersion(value: unknown): value is LegacyVersion {
  return LEGACY_VERSIONS.some((version) => version === value);
}

function modernCaller(meta: Record<string, unknown>): Caller {
  if (!Object.hasOwn(meta, META.client)) return NOBODY;
  const info = meta[META.client];
  if (!isObject(info) || !isFilled(info.name) || !isFilled(info.version)) {
    throw invalidParams(`_meta["${META.client}"] needs a non-empty name and version`);
  }
  return callerFrom(info) ?? { ...NOBODY, clientVersion: clientVersion(info.version) };
}

function isFilled(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

/** The caller a `clientInfo` names, or null when its name is not usable. */
function callerFrom(info: unknown): Caller | null {
  if (!isObject(info)) return null;
  const agentId = sanitizeAgentId(info.name);
  return agentId === null ? null : { agentId, clientVersion: clientVersion(info.version) };
}

function clientVersion(version: unknown): string | null {
  if (typeof version !== "string") return null;
  // Four times the limit leaves room for characters that are removed and for surrogate pairs.
  const shown = version.slice(0, 4 * MAX_CLIENT_VERSION_CHARS).replace(/\p{Cc}/gu, "");
  const cut = [...shown].slice(0, MAX_CLIENT_VERSION_CHARS).join("").toWellFormed();
  return cut === "" ? null : cut;
}
