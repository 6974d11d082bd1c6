import type { Events } from "./events.ts";
import { guard, json, readJson } from "./http.ts";
import type { HumanAuth, Session } from "./human_auth.ts";
import type { ProposalRecord } from "./journal.ts";
import type { LedgerPort } from "./ports.ts";
import { Refusal } from "./refusal.ts";
import { knownId, method } from "./routes_agent.ts";
import type { Service } from "./service.ts";
import type { Overrides, ProposalStatus } from "./types.ts";

/** Everything here needs a session but signing in. */
export interface HumanParts {
  readonly service: Service;
  readonly auth: HumanAuth;
  readonly events: Events;
  readonly ledger: LedgerPort;
  /** Serves `/v1/human/restore…`; null when the path is none of its own. */
  readonly restoreRoute: (
    request: Request,
    rest: readonly string[],
    session: Session,
  ) => Promise<Response | null>;
}

const PREFIX = "/v1/human/";
const MAX_BODY = 256 * 1_024;
const STATES: Readonly<Record<string, readonly ProposalStatus[]>> = {
  pending: ["pending"],
  recoverable: ["approved", "executing"],
  ended: ["completed", "failed", "rejected", "expired", "cancelled"],
  all: [
    "pending",
    "approved",
    "executing",
    "completed",
    "failed",
    "rejected",
    "expired",
    "cancelled",
  ],
};

/** Serves a human route, or null when the path is none. Throws {@link Refusal}. */
export async function humanRoute(
  request: Request,
  url: URL,
  authority: string,
  parts: HumanParts,
): Promise<Response | null> {
  if (!url.pathname.startsWith(PREFIX)) return null;
  guard(request, authority, "human");
  const [area, id, action, ...more] = url.pathname.slice(PREFIX.length).split("/");
  if (area === "session" && id === undefined) return await signIn(request, parts.auth);
  const session = parts.auth.session(request.headers.get("authorization"));
  if (area === "proposals" && more.length === 0) {
    if (id === undefined) {
      method(request, "GET");
      return json(200, {
        proposals: parts.service.list(STATES[url.searchParams.get("state") ?? "pending"] ?? []).map(
          summary,
        ),
      });
    }
    return await proposalRoute(request, url, knownId(id), action, session, parts);
  }
  if (area === "events" && id === undefined) {
    method(request, "GET");
    const stream = parts.events.open();
    if (!stream) {
      throw new Refusal(429, "too_many_windows", "too many windows are open", "Close one.");
    }
    return new Response(stream, {
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      },
    });
  }
  if (area === "ledger" && id === undefined) {
    method(request, "GET");
    return json(200, await parts.ledger.state());
  }
  if (area === "restore") {
    const answer = await parts.restoreRoute(
      request,
      [id, action, ...more].filter((part): part is string => part !== undefined),
      session,
    );
    if (answer) return answer;
  }
  throw new Refusal(
    404,
    "not_found",
    "there is no such route",
    "Use the approvals command or the page.",
  );
}

async function signIn(request: Request, auth: HumanAuth): Promise<Response> {
  if (request.method === "DELETE") {
    auth.signOut(request.headers.get("authorization"));
    return json(200, { signedOut: true });
  }
  method(request, "POST");
  const body = await readJson(request, MAX_BODY) as {
    code?: unknown;
    link?: unknown;
    channel?: unknown;
  } | null;
  const channel = body?.channel === "terminal" ? "terminal" : "page";
  if (typeof body?.code === "string") {
    return json(200, { session: auth.signIn({ code: body.code }, channel) });
  }
  if (typeof body?.link === "string") {
    return json(200, { session: auth.signIn({ link: body.link }, channel) });
  }
  throw new Refusal(
    422,
    "validation_failed",
    "give code or link",
    "Only a person at the gateway's terminal can sign in.",
  );
}

async function proposalRoute(
  request: Request,
  url: URL,
  id: string,
  action: string | undefined,
  session: Session,
  { service }: HumanParts,
): Promise<Response> {
  switch (action) {
    case undefined: {
      method(request, "GET");
      const toIndex = url.searchParams.get("applyToIndex");
      return json(
        200,
        await service.card(id, toIndex === null ? {} : { applyToIndex: toIndex === "true" }),
      );
    }
    case "approve": {
      method(request, "POST");
      const body = objectBody(await readJson(request, MAX_BODY));
      if (typeof body["digest"] !== "string") {
        throw new Refusal(422, "validation_failed", "digest is required", "Show the card first.");
      }
      const words = typeof body["words"] === "string" ? body["words"].slice(0, 1_000) : null;
      const record = await service.approve(id, {
        digest: body["digest"],
        words,
        overrides: readOverrides(body["overrides"]),
      }, session.channel);
      return json(200, outcome(record));
    }
    case "reject": {
      method(request, "POST");
      const body = objectBody(await readJson(request, MAX_BODY));
      const reason = typeof body["reason"] === "string" && body["reason"].trim() !== ""
        ? body["reason"].slice(0, 4_096)
        : null;
      return json(200, outcome(service.reject(id, reason, session.channel)));
    }
    case "reconcile": {
      method(request, "POST");
      const wanted = objectBody(await readJson(request, MAX_BODY))["outcome"];
      if (wanted !== "completed" && wanted !== "failed") {
        throw new Refusal(
          422,
          "validation_failed",
          "outcome must be completed or failed",
          "Look at the repository first.",
        );
      }
      return json(200, outcome(service.reconcile(id, wanted, session.channel)));
    }
    default:
      throw new Refusal(
        404,
        "not_found",
        "there is no such route",
        "Use approve, reject or reconcile.",
      );
  }
}

/** A line of the queue. */
function summary(record: ProposalRecord): Record<string, unknown> {
  const {
    previewId,
    status,
    agentId,
    repoPath,
    repoId,
    reason,
    createdAtMs,
    expiresAtMs,
    endedAtMs,
    result,
    rejectionReason,
  } = record;
  return {
    previewId,
    operationType: record.action.operationType,
    status,
    agentId,
    repoPath,
    repoId,
    reason: reason.length > 300 ? reason.slice(0, 300) + "…" : reason,
    createdAtMs,
    expiresAtMs,
    endedAtMs,
    ...(result ? { result } : {}),
    ...(rejectionReason !== null ? { rejectionReason } : {}),
  };
}

function outcome(record: ProposalRecord): Record<string, unknown> {
  return {
    previewId: record.previewId,
    status: record.status,
    result: record.result,
    rejectionReason: record.rejectionReason,
  };
}

function objectBody(value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new Refusal(
    422,
    "validation_failed",
    "the body must be an object",
    "Send one JSON object.",
  );
}

function readOverrides(value: unknown): Overrides {
  if (value === undefined || value === null) return {};
  const given = objectBody(value);
  const steps = given["confirmedSteps"];
  return {
    ...(typeof given["applyToIndex"] === "boolean" ? { applyToIndex: given["applyToIndex"] } : {}),
    ...(Array.isArray(steps)
      ? { confirmedSteps: steps.filter((step) => Number.isSafeInteger(step)).slice(0, 10) }
      : {}),
  };
}
