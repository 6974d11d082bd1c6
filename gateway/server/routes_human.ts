import { coverage, lostFile, wholeDiff } from "./card_parts.ts";
import type { Events } from "./events.ts";
import { Fields } from "./admission/fields.ts";
import type { Bodies } from "./bodies.ts";
import { guard, json, method } from "./http.ts";
import type { HumanAuth, Session } from "./human_auth.ts";
import type { ProposalRecord } from "./journal.ts";
import type { LedgerPort } from "./ports.ts";
import { invalid, Refusal } from "./refusal.ts";
import { knownId } from "./routes_agent.ts";
import type { Service } from "./service.ts";
import { type Overrides, type ProposalStatus, TERMINAL } from "./types.ts";

/** Everything here needs a session but signing in. */
export interface HumanParts {
  readonly service: Service;
  readonly auth: HumanAuth;
  readonly events: Events;
  readonly ledger: LedgerPort;
  readonly bodies: Bodies;
  /** Serves `/v1/human/restore…`; null when the path is none of its own. */
  readonly restoreRoute: (
    request: Request,
    rest: readonly string[],
    session: Session,
  ) => Promise<Response | null>;
}

const PREFIX = "/v1/human/";
const MAX_BODY = 256 * 1_024;
const MAX_REASON = 4_096;
const STATES: Readonly<Record<string, readonly ProposalStatus[]>> = {
  pending: ["pending"],
  recoverable: ["approved", "executing"],
  ended: [...TERMINAL],
  all: ["pending", "approved", "executing", ...TERMINAL],
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
  if (area === "session" && id === undefined) return await signIn(request, authority, parts);
  const session = parts.auth.session(request.headers.get("authorization"));
  if (area === "proposals" && more.length === 0) {
    if (id === undefined) return queue(request, url, parts.service);
    return await proposalRoute(request, url, knownId(id), action, session, parts);
  }
  if (area === "events" && id === undefined) {
    method(request, "GET");
    return eventStream(parts.events);
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
  throw noRoute();
}

async function signIn(
  request: Request,
  authority: string,
  { auth, bodies }: HumanParts,
): Promise<Response> {
  if (request.method === "DELETE") {
    auth.signOut(request.headers.get("authorization"));
    return json(200, { signedOut: true });
  }
  method(request, "POST");
  const body = new Fields(await bodies.json(request, MAX_BODY), "body");
  const code = body.optionalText("code", { max: 200, min: 0 });
  const link = body.optionalText("link", { max: 200, min: 0 });
  const proof = body.optionalText("proof", { max: 64, min: 0 });
  const salt = body.optionalText("salt", { max: 32, min: 0 });
  const channel = body.choice("channel", ["terminal", "page"], "page");
  body.done();
  if ([code, link, proof].filter((one) => one !== null).length !== 1) {
    throw invalid("give one of code, link and proof");
  }
  if (proof !== null && !(/^[0-9a-f]{64}$/.test(proof) && /^[0-9a-f]{32}$/.test(salt ?? ""))) {
    throw invalid("proof must be 64 hexadecimal digits, and come with a salt of 32");
  }
  const given = code !== null
    ? { code }
    : link !== null
    ? { link }
    : { proof: proof!, salt: salt!, authority };
  return json(200, { session: await auth.signIn(given, channel) });
}

function queue(request: Request, url: URL, service: Service): Response {
  method(request, "GET");
  const state = url.searchParams.get("state") ?? "pending";
  const states = Object.hasOwn(STATES, state) ? STATES[state]! : null;
  if (!states) throw invalid(`state must be one of ${Object.keys(STATES).join(", ")}`);
  const { proposals, total } = service.list(states);
  // Paths may be long: rather a shorter queue that says so than none.
  let kept = proposals;
  while (kept.length > 1 && JSON.stringify(kept).length > MAX_QUEUE) {
    kept = kept.slice(0, Math.ceil(kept.length / 2));
  }
  return json(200, { proposals: kept, total, truncated: kept.length < total });
}

/** Characters; some of them take three bytes. */
const MAX_QUEUE = 900_000;

function eventStream(events: Events): Response {
  const stream = events.open();
  if (!stream) {
    throw new Refusal(429, "too_many_windows", "too many windows are open", "Close one.");
  }
  return new Response(stream, {
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
    },
  });
}

async function proposalRoute(
  request: Request,
  url: URL,
  id: string,
  action: string | undefined,
  session: Session,
  { service, bodies }: HumanParts,
): Promise<Response> {
  switch (action) {
    case undefined:
      method(request, "GET");
      return json(200, await service.card(id, readSwitches(url)));
    case "diff":
      method(request, "GET");
      return await wholeDiff(service.record(id), service.parts.options);
    case "coverage":
      method(request, "GET");
      return json(200, await coverage(service.record(id)));
    case "file": {
      method(request, "GET");
      const path = url.searchParams.get("path");
      if (path === null) throw invalid("path is required");
      return json(200, await lostFile(service.record(id), path, service.parts.options));
    }
  }
  if (action !== "approve" && action !== "reject" && action !== "reconcile") throw noRoute();
  method(request, "POST");
  const body = new Fields(await bodies.json(request, MAX_BODY), "body");
  switch (action) {
    case "approve": {
      const digest = body.text("digest", { max: 200 });
      const words = body.nullableText("words", { max: 8_192, min: 0 });
      const overrides = readOverrides(body.raw("overrides"));
      body.done();
      return json(
        200,
        outcome(await service.approve(id, { digest, words, overrides }, session.channel)),
      );
    }
    case "reject": {
      const reason = body.nullableText("reason", { max: MAX_REASON, min: 0 });
      body.done();
      const given = reason === null || reason.trim() === "" ? null : reason;
      return json(200, outcome(service.reject(id, given, session.channel)));
    }
    case "reconcile": {
      const wanted = body.choice("outcome", ["completed", "failed"]);
      body.done();
      return json(200, outcome(service.reconcile(id, wanted, session.channel)));
    }
  }
}

function outcome(record: ProposalRecord): Record<string, unknown> {
  return {
    previewId: record.previewId,
    status: record.status,
    result: record.result,
    rejectionReason: record.rejectionReason,
  };
}

/** Switches of a card that is only looked at. */
function readSwitches(url: URL): Overrides {
  const toIndex = url.searchParams.get("applyToIndex");
  if (toIndex === null) return {};
  if (toIndex !== "true" && toIndex !== "false") {
    throw invalid("applyToIndex must be true or false");
  }
  return { applyToIndex: toIndex === "true" };
}

function readOverrides(value: unknown): Overrides {
  if (value === undefined || value === null) return {};
  const given = new Fields(value, "body.overrides");
  const toIndex = given.has("applyToIndex") ? given.bool("applyToIndex", false) : null;
  const steps = given.list("confirmedSteps", 10);
  given.done();
  if (steps?.some((step) => !Number.isSafeInteger(step))) {
    throw invalid("body.overrides.confirmedSteps must be step numbers, counted from 0");
  }
  return {
    ...(toIndex === null ? {} : { applyToIndex: toIndex }),
    ...(steps === null ? {} : { confirmedSteps: steps as number[] }),
  };
}

function noRoute(): Refusal {
  return new Refusal(
    404,
    "not_found",
    "there is no such route",
    "Use the approvals command or the page.",
  );
}
