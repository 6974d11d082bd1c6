/** The `result` texts of the era (`protocol.md` 5.4-5.6 and 7). */

import { CodedError } from "../common/errors.ts";
import { stringifyJson } from "../common/json.ts";
import { hasStructuredContent, META, SUPPORTED_VERSIONS } from "./eras.ts";
import { MAX_FRAME_BYTES } from "./framing.ts";
import { ERROR, errorLine, type RequestId, resultLine } from "./json_rpc.ts";
import type { Era, LegacyVersion, ServerIdentity, ToolOutcome } from "./types.ts";

/** How long a client may keep a list, in milliseconds. */
export const LIST_TTL_MS = 30_000;

/** The set of tools is fixed while the program runs. */
const CAPABILITIES = '{"tools":{"listChanged":false}}';
const CACHING = `"ttlMs":${LIST_TTL_MS},"cacheScope":"public"`;
const encoder = new TextEncoder();

/** Writes the results of one server. */
export class Results {
  readonly #initializeTail: string;
  readonly #discover: string;
  /** `"_meta":{...}` with who answers, as every modern result has it. */
  readonly #meta: string;

  constructor(identity: ServerIdentity) {
    const { name, title, version, description, websiteUrl } = identity;
    const instructions = stringifyJson(identity.instructions);
    const info = stringifyJson({ name, title, version, description, websiteUrl });
    this.#meta = `"_meta":{"${META.server}":${info}}`;
    this.#initializeTail = `"capabilities":${CAPABILITIES},"serverInfo":${
      stringifyJson({ name, version })
    },"instructions":${instructions}}`;
    this.#discover = `{"resultType":"complete","supportedVersions":${
      stringifyJson(SUPPORTED_VERSIONS)
    },"capabilities":${CAPABILITIES},"instructions":${instructions},${CACHING},${this.#meta}}`;
  }

  initialize(version: LegacyVersion): string {
    return `{"protocolVersion":"${version}",${this.#initializeTail}`;
  }

  discover(): string {
    return this.#discover;
  }

  /** @param tools JSON text of the array, in the shape of the era */
  list(era: Era, tools: string): string {
    if (era.kind === "legacy") return `{"tools":${tools}}`;
    return `{"resultType":"complete","tools":${tools},${CACHING},${this.#meta}}`;
  }

  /** The answer to a subscription that the server ends. */
  subscriptionEnd(id: RequestId): string {
    return `{"resultType":"complete","_meta":{"${META.subscription}":${stringifyJson(id)}}}`;
  }

  /**
   * The line that answers a call, with its LF, and the outcome that it tells: an outcome that has no
   * JSON form, or whose line would be over the limit, is replaced by a -32603 error.
   */
  call(id: RequestId, era: Era, outcome: ToolOutcome): { bytes: Uint8Array; outcome: ToolOutcome } {
    try {
      const bytes = encoder.encode(this.#callLine(id, era, outcome) + "\n");
      const serializedBytes = bytes.length - 1;
      if (serializedBytes <= MAX_FRAME_BYTES) return { bytes, outcome };
      return replaced(id, tooLarge(serializedBytes));
    } catch (error) {
      // RangeError: longer than any string can be, so its size is not known.
      return replaced(id, error instanceof RangeError ? tooLarge(null) : NOT_SERIALIZABLE);
    }
  }

  #callLine(id: RequestId, era: Era, outcome: ToolOutcome): string {
    if (outcome.kind === "rpcError") return errorLine(id, outcome);
    let body: string;
    if (outcome.content !== undefined) {
      body = `"content":${stringifyJson(outcome.content)}`;
    } else {
      const payload = stringifyJson(outcome.payload);
      body = `"content":[{"type":"text","text":${stringifyJson(payload)}}]`;
      if (hasStructuredContent(era)) body += `,"structuredContent":${payload}`;
    }
    body += `,"isError":${outcome.isError === true}`;
    return resultLine(
      id,
      era.kind === "legacy" ? `{${body}}` : `{"resultType":"complete",${body},${this.#meta}}`,
    );
  }
}

type RpcOutcome = Extract<ToolOutcome, { kind: "rpcError" }>;

/** The outcome of an error that knows its code. */
export function errorOutcome(error: CodedError): RpcOutcome {
  const { code, message, data } = error;
  return { kind: "rpcError", code, message, ...(data === undefined ? {} : { data }) };
}

/** A failure outside the tool's own answers; `details` is one printable sentence. */
export function internalError(details: string): RpcOutcome {
  return errorOutcome(
    new CodedError(ERROR.internal, "Internal error", { details, retryable: false }),
  );
}

const NOT_SERIALIZABLE = errorOutcome(
  new CodedError(ERROR.internal, "Response not serializable", {
    details: "the result has no JSON form",
    retryable: false,
  }),
);

/** @param serializedBytes null when the text is longer than can be measured */
function tooLarge(serializedBytes: number | null): RpcOutcome {
  return errorOutcome(
    new CodedError(ERROR.internal, "Response too large", {
      details: "the answer is over the limit of one message; ask for less, for example by a limit",
      limitBytes: MAX_FRAME_BYTES,
      serializedBytes,
      retryable: true,
    }),
  );
}

function replaced(id: RequestId, outcome: RpcOutcome) {
  return { bytes: encoder.encode(errorLine(id, outcome) + "\n"), outcome };
}
