import { Fields } from "./admission/fields.ts";
import type { Bodies } from "./bodies.ts";
import { guard, json, method } from "./http.ts";
import { Refusal } from "./refusal.ts";
import type { Service } from "./service.ts";

/** What the sidecar asks for before it uses a gateway that it found by itself. */
export interface Health {
  readonly service: "fluxgit-gateway";
  readonly apiVersion: 1;
  readonly attended: boolean;
}

const PREFIX = "/v1/mcp/";
const MAX_CANCEL_BODY = 64 * 1_024;
const ID = /^[A-Za-z0-9_-]{1,128}$/;
/** Header with which our own sidecar marks its proposals, so that only its process may cancel them. */
export const SECRET_HEADER = "x-fluxgit-sidecar-secret";

/** Serves an agent route, or null when the path is none. Throws {@link Refusal}. */
export async function agentRoute(
  request: Request,
  path: string,
  authority: string,
  service: Service,
  health: Health,
  bodies: Bodies,
): Promise<Response | null> {
  if (!path.startsWith(PREFIX)) return null;
  guard(request, authority, "agent");
  const [area, action, last, ...more] = path.slice(PREFIX.length).split("/");
  if (area === "health" && action === undefined) {
    method(request, "GET");
    return json(200, health);
  }
  if (area === "operation" && last !== undefined && more.length === 0) {
    if (action === "preview") {
      method(request, "POST");
      const secret = readSecret(request);
      return json(202, await service.propose(last, await bodies.json(request), secret));
    }
    if (action === "status") {
      method(request, "GET");
      return json(200, service.status(knownId(last)));
    }
    if (action === "cancel") {
      method(request, "POST");
      const secret = readSecret(request);
      const id = knownId(last);
      const body = new Fields(await bodies.json(request, MAX_CANCEL_BODY), "body");
      const agentId = body.text("agentId", { max: 128 });
      body.done();
      return json(200, service.cancel(id, agentId, secret));
    }
  }
  if (area === "diff" && action === "semantic") {
    throw new Refusal(
      501,
      "no_semantic_engine",
      "this gateway has no semantic diff engine",
      "Use diff.text.",
    );
  }
  throw new Refusal(
    404,
    "not_found",
    "there is no such route",
    "Use the routes of the sidecar's contract.",
  );
}

/** An id of the contract; anything else is unknown by definition. */
export function knownId(text: string): string {
  if (!ID.test(text)) {
    throw new Refusal(
      404,
      "unknown_preview",
      "this is not an id that a proposal can have",
      "Check the previewId.",
    );
  }
  return text;
}

function readSecret(request: Request): string | null {
  const secret = request.headers.get(SECRET_HEADER);
  if (secret === null) return null;
  if (!/^[0-9a-f]{64}$/.test(secret)) {
    throw new Refusal(
      422,
      "validation_failed",
      `${SECRET_HEADER} must be 64 hexadecimal digits`,
      "Leave it out or send it whole.",
    );
  }
  return secret;
}
