import { decodeText } from "../../common/bytes.ts";
import { parseJson } from "../../common/json.ts";
import { Refusal } from "./refusal.ts";

/** Body ceiling of the agent routes: the contract's whole frame (T3). Bytes. */
export const MAX_BODY = 8 * 1_024 * 1_024;
/** Answers stay below what a sidecar reads (T4). Bytes. */
export const MAX_ANSWER = 2_796_202;

const HEADERS = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
} as const;

/**
 * Refuses what a browser on another site, or a rebound name, could send (`security.md` P-09), before
 * anything is parsed. `Host` must be the very address we listen on; the page's own requests carry our
 * own origin, agent requests none.
 */
export function guard(
  request: Request,
  authority: string,
  route: "agent" | "human" | "page",
): void {
  const forbidden = (why: string) =>
    new Refusal(
      403,
      "forbidden",
      `the request was refused: ${why}`,
      "Call the gateway from the sidecar on this machine only.",
    );
  const host = request.headers.get("host");
  if (host !== authority) throw forbidden("the Host header does not name this gateway");
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

/** Reads a JSON body under a ceiling. Throws 413, 415 or 422 {@link Refusal}. */
export async function readJson(request: Request, max = MAX_BODY): Promise<unknown> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json(?:\s*;\s*charset=utf-8)?$/i.test(type.trim())) {
    throw new Refusal(
      415,
      "unsupported_media_type",
      "the body must be application/json",
      "Send JSON with that content type.",
    );
  }
  const tooLarge = () =>
    new Refusal(
      413,
      "body_too_large",
      `the body has more than ${max} bytes`,
      "Propose something smaller.",
    );
  const declared = Number(request.headers.get("content-length") ?? "0");
  if (declared > max) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > max) throw tooLarge();
    chunks.push(chunk);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  try {
    return parseJson(decodeText(all));
  } catch {
    throw new Refusal(422, "validation_failed", "the body is not JSON", "Send one JSON object.");
  }
}

/** A JSON answer; one that would be too large becomes an honest error instead of a cut one. */
export function json(status: number, body: unknown): Response {
  const text = JSON.stringify(body);
  if (text.length * 3 > MAX_ANSWER && new TextEncoder().encode(text).length > MAX_ANSWER) {
    return json(500, {
      error: "answer_too_large",
      message: "the answer would exceed the size that clients read",
      agentRecommendation: "Ask for less.",
    });
  }
  return new Response(text, { status, headers: HEADERS });
}

/** The answer for whatever was thrown; what is not a {@link Refusal} tells nothing of its inside. */
export function errorAnswer(error: unknown, log: (line: string) => void): Response {
  if (error instanceof Refusal) return json(error.status, error.body());
  log(`a request failed: ${error instanceof Error ? error.stack ?? error.message : String(error)}`);
  return json(500, {
    error: "internal_error",
    message: "the gateway could not serve this request",
    agentRecommendation: "Read operation.status before trying again; the proposal may exist.",
  });
}
