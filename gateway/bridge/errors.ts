import { CodedError } from "../../common/errors.ts";
import { HOMEPAGE } from "../../common/version.ts";
import { cutMember, relay } from "./foreign.ts";
import type { HttpAnswer } from "./http_answer.ts";

/**
 * The errors 10002 to 10007 of proposals (`operations.md` section 8, `protocol.md` section 11). Texts
 * of a gateway stand in data members only, never in a message.
 */

export const TIER = "fluxgit-write-handshake";
export const SOURCE = "fluxgit-app";

const ALONE = { tier: TIER };
const ANSWERED = { source: SOURCE, tier: TIER };

/** 10003: there is nobody to ask, so there is no proposal. */
export function notConnected(
  tool: string,
  reason: string,
  more: Record<string, unknown> = {},
): CodedError {
  return new CodedError(10003, "No approval gateway is connected", {
    tool,
    tier: TIER,
    gatewayConfigured: false,
    reason,
    agentRecommendation:
      "Do not assume that a proposal exists, and do not make the change another way. Tell the user that a gateway must be running for a person to approve it.",
    learnMore: HOMEPAGE,
    ...more,
  }, ALONE);
}

/**
 * 10003 for a proposal whose fate is open: it was sent, no answer came, and asking for it by its id
 * did not help. The id comes along, because the proposal may yet exist.
 */
export function fateUnknown(
  tool: string,
  previewId: string,
  reason: string,
  repeatable: boolean,
): CodedError {
  const advice =
    "Call operation.status with this previewId before anything else; only 10005 from a gateway that answers means that it was not admitted.";
  return notConnected(tool, reason, {
    previewId,
    outcome: "unknown",
    agentRecommendation: repeatable
      ? `${advice} Repeating this call unchanged, with the same idempotencyKey, cannot open a second proposal.`
      : advice,
  });
}

/** 10002: a gateway is there, but is in trouble (5xx). */
export function inTrouble(
  tool: string,
  answer: HttpAnswer,
  previewId: string,
  agentRecommendation: string,
): CodedError {
  return new CodedError(10002, "The gateway could not serve the request", {
    tool,
    gatewayConfigured: true,
    reason: `The gateway answered with HTTP status ${answer.status}.`,
    httpStatus: answer.status,
    previewId,
    ...gatewayMembers(answer),
    agentRecommendation,
    learnMore: HOMEPAGE,
  }, ANSWERED);
}

/** 10005: the gateway does not know the id (404). */
export function unknownProposal(previewId: string): CodedError {
  return new CodedError(10005, "The gateway does not know this proposal", {
    previewId,
    reason:
      "The id may be wrong, the proposal was never admitted, or it ended over an hour ago and was forgotten.",
    agentRecommendation:
      "Do not propose again just because the gateway was restarted. If the operation may have started, look at the repository first.",
  }, { ...ALONE, previewId });
}

/** 10006 for a proposal: refused before a person saw it. */
export function refused(previewId: string, answer: HttpAnswer): CodedError {
  return new CodedError(10006, "The gateway refused the proposal", {
    httpStatus: answer.status,
    ...gatewayMembers(answer),
  }, { ...ANSWERED, previewId, status: "refused" });
}

/** 10006 for a withdrawal that did not happen, or is not confirmed. */
export function notCancelled(
  previewId: string,
  answer: HttpAnswer,
  message: string,
  agentRecommendation: string,
): CodedError {
  return new CodedError(10006, message, {
    httpStatus: answer.status,
    previewId,
    ...gatewayMembers(answer),
    agentRecommendation,
  }, { ...ANSWERED, previewId });
}

/** 10007: an id that is not one, or the id of something else; nothing was done with it. */
export function unsafeId(message: string): CodedError {
  return new CodedError(10007, message, undefined, ANSWERED);
}

/** What an answer outside 2xx says in its body, shortened; null when that cannot be read. */
function gatewayMembers({ body }: HttpAnswer): Record<string, unknown> {
  if (!body.readable) return { gateway: null };
  const { value, cut } = relay(body.value);
  return { gateway: value, ...cutMember(cut, "gateway") };
}
