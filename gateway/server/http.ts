import { stringifyJson } from "../../common/json.ts";
import { JOURNAL_UNWRITABLE } from "./journal_errors.ts";
import { Refusal } from "./refusal.ts";

/** Answers stay below what a sidecar reads (T4). Bytes. */
export const MAX_ANSWER = 2_796_202;

const HEADERS = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
} as const;

function forbidden(why: string): Refusal {
  return new Refusal(
    403,
    "forbidden",
    `the request was refused: ${why}`,
    "Call the gateway from the sidecar on this machine only.",
  );
}

/**
 * Refuses a request that is not addressed to us, before anything of it is read (`security.md` P-09):
 * one `Host` line that is the very address we listen on, and no other target in the request line.
 */
export function guardHost(request: Request, authority: string): void {
  if (request.headers.get("host") !== authority) {
    throw forbidden("the Host header does not name this gateway");
  }
  // An absolute target wins over Host by the rules of HTTP, and `CONNECT` has no path at all.
  if (!request.url.startsWith(`http://${authority}/`)) {
    throw forbidden("the request line does not name this gateway");
  }
}

/**
 * Refuses what a browser on another site, or a rebound name, could send. The page's own requests
 * carry our own origin; agent requests come from no browser at all.
 */
export function guard(
  request: Request,
  authority: string,
  route: "agent" | "human" | "page",
): void {
  guardHost(request, authority);
  const origin = request.headers.get("origin");
  const site = request.headers.get("sec-fetch-site");
  if (route === "agent") {
    if (origin !== null) throw forbidden("agent routes take no request from a browser (Origin)");
    if (site !== null) {
      throw forbidden("agent routes take no request from a browser (Sec-Fetch-Site)");
    }
  } else {
    if (origin !== null && origin !== `http://${authority}`) {
      throw forbidden("the Origin is another one");
    }
    if (site !== null && site !== "same-origin" && !(route === "page" && site === "none")) {
      throw forbidden("the request comes from another site");
    }
  }
}

/** Throws a 405 {@link Refusal} for another method: every route has exactly one. */
export function method(request: Request, expected: string): void {
  if (request.method === expected) return;
  throw new Refusal(
    405,
    "method_not_allowed",
    `this route takes ${expected}`,
    "Use the right method.",
    { allow: expected },
  );
}

/** A JSON answer; one that would be too large becomes an honest error instead of a cut one. */
export function json(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const text = stringifyJson(body);
  const bytes = new TextEncoder().encode(text);
  if (bytes.length >= MAX_ANSWER) {
    return json(500, {
      error: "answer_too_large",
      message: "the answer would exceed the size that clients read",
      agentRecommendation: "Ask for less.",
    });
  }
  return new Response(bytes, { status, headers: { ...HEADERS, ...headers } });
}

/** The answer for whatever was thrown; what is not a {@link Refusal} tells nothing of its inside. */
export function errorAnswer(error: unknown, log: (line: string) => void): Response {
  if (error instanceof Refusal) {
    if (error.code === JOURNAL_UNWRITABLE) log(error.message);
    return json(error.status, error.body(), error.headers);
  }
  log(`a request failed: ${error instanceof Error ? error.stack ?? error.message : String(error)}`);
  return json(500, {
    error: "internal_error",
    message: "the gateway could not serve this request",
    agentRecommendation: "Read operation.status before trying again; the proposal may exist.",
  });
}
