import { CodedError } from "../../common/errors.ts";
import { stringifyJson } from "../../common/json.ts";
import { type BridgeAnswer, type BridgeContext, secretHeader } from "./context.ts";
import { fateUnknown, inTrouble, notConnected, refused, SOURCE, TIER, unsafeId } from "./errors.ts";
import { findGateway } from "./find.ts";
import { cutMember, expiresAtOf, isPreviewId, isTerminal, member, relay } from "./foreign.ts";
import { type BridgeIo, exchange, NoAnswer, REAL_IO } from "./http.ts";
import type { HttpAnswer } from "./http_answer.ts";
import { isGood, readStatus, type StatusRead } from "./status_read.ts";

/** A change that is to be proposed; everything in it has been checked. */
export interface Proposal {
  /** As it stands in the path, such as `branchDelete`. */
  readonly operationType: string;
  /** Canonical path of the repository. */
  readonly repoPath: string;
  readonly reason: string;
  /** As the caller gave it: 1 to 128 of `[A-Za-z0-9_-]`. */
  readonly idempotencyKey: string | undefined;
  /** The operation's own members of the request (`operations.md` 4.4). */
  readonly members: Readonly<Record<string, unknown>>;
}

/**
 * Proposes a change: one request, then one look at the state, and back; nobody is waited for
 * (`operations.md` sections 4, 5 and 8). When the answer is lost the proposal is looked up by the id
 * that was sent, and never sent a second time.
 *
 * Throws `CodedError` 10002, 10003, 10004, 10006 or 10007, and the signal's reason.
 */
export async function propose(
  tool: string,
  proposal: Proposal,
  context: BridgeContext,
  io: BridgeIo = REAL_IO,
): Promise<BridgeAnswer> {
  const gateway = await findGateway(context, io);
  if (gateway.reason !== undefined) throw notConnected(tool, gateway.reason);
  const { address } = gateway;
  const sentId = crypto.randomUUID();
  let answer: HttpAnswer;
  try {
    answer = await exchange(
      address,
      {
        method: "POST",
        path: `/v1/mcp/operation/preview/${proposal.operationType}`,
        body: stringifyJson(requestBody(proposal, sentId, context)),
        headers: secretHeader(),
      },
      io,
      context.signal,
    );
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    if (!error.sent) {
      throw notConnected(tool, `The gateway at ${address} was not reached: ${error.message}.`);
    }
    return await findLost(tool, proposal, { address, sentId, why: error.message }, context, io);
  }
  const previewId = acceptedId(tool, answer, sentId, address);
  const read = await readStatus(address, previewId, io, context.signal);
  const accepted = answer.body.readable ? answer.body.value : null;
  return told(proposal.operationType, previewId, read, expiresAtOf(accepted));
}

function requestBody(
  proposal: Proposal,
  previewId: string,
  context: BridgeContext,
): Record<string, unknown> {
  const { operationType, repoPath, reason, idempotencyKey, members } = proposal;
  return {
    ...members,
    previewId,
    agentId: context.agentId,
    // Without a key two calls are always two intents: the repository can change between them.
    idempotencyKey: idempotencyKey === undefined
      ? `${operationType}:call:${crypto.randomUUID()}`
      : `${operationType}:client:${idempotencyKey}`,
    operationType,
    repoPath,
    reason,
    requestedAt: new Date(context.now()).toISOString(),
  };
}

/** The id that the gateway goes by from now on. Throws for every answer that is no acceptance. */
function acceptedId(tool: string, answer: HttpAnswer, sentId: string, address: string): string {
  const { status, body } = answer;
  if (status >= 500) {
    throw inTrouble(
      tool,
      answer,
      sentId,
      "Call operation.status with this previewId before proposing again: the proposal may have been admitted.",
    );
  }
  if (!isGood(answer)) {
    const says = body.readable && member(body.value, "error") !== undefined;
    if (status >= 400 && says) throw refused(sentId, answer);
    throw notConnected(
      tool,
      `What answers at ${address} is no gateway that takes proposals: HTTP status ${status} without an explanation.`,
      { httpStatus: status },
    );
  }
  const own = body.readable ? member(body.value, "previewId") : undefined;
  if (typeof own !== "string") return sentId;
  if (!isPreviewId(own)) throw unsafeId("The gateway answered with an unsafe previewId");
  return own;
}

/** No answer came although the request went out: the gateway may have admitted the proposal. */
async function findLost(
  tool: string,
  proposal: Proposal,
  lost: { readonly address: string; readonly sentId: string; readonly why: string },
  context: BridgeContext,
  io: BridgeIo,
): Promise<BridgeAnswer> {
  const { address, sentId, why } = lost;
  const read = await readStatus(address, sentId, io, context.signal);
  if (stateOf(proposal.operationType, sentId, read) !== null) {
    return told(proposal.operationType, sentId, read, null);
  }
  const found = read.kind === "unknown"
    ? "it does not know the proposal, though it may still admit it"
    : read.kind === "failed"
    ? `asking for the proposal failed too (${read.why})`
    : "what it says when asked is not about this proposal";
  throw fateUnknown(
    tool,
    sentId,
    `The gateway at ${address} was sent the proposal, but ${why}; ${found}.`,
    proposal.idempotencyKey !== undefined,
  );
}

/** The answer for an accepted proposal, by what one look at it showed. Throws `CodedError` 10004. */
function told(
  operationType: string,
  previewId: string,
  read: StatusRead,
  acceptedExpiry: string | null,
): BridgeAnswer {
  const state = stateOf(operationType, previewId, read);
  const members = { previewId, status: state?.status ?? "pending" };
  if (state && members.status === "completed") {
    return { members: { ...members, ...cutMember(state.cut, "data") }, data: state.data };
  }
  if (state && isTerminal(members.status)) throw ended(previewId, members.status, state);
  const expiresAt = (state && expiresAtOf(state.data)) ?? acceptedExpiry;
  const next = nextAction(members, state !== null, expiresAt);
  return { members: { ...members, accepted: true, nextAction: next } };
}

interface State {
  readonly status: string;
  readonly data: Record<string, unknown>;
  readonly cut: ReturnType<typeof relay>["cut"];
}

/** What the look showed; null when it failed in any way, which then counts as pending. */
function stateOf(operationType: string, previewId: string, read: StatusRead): State | null {
  if (read.kind !== "known" || read.status === null) return null;
  const { value, cut } = relay(read.body);
  const { operationType: type, ...rest } = (value ?? {}) as Record<string, unknown>;
  // The end of another operation is not the end of this one.
  if (typeof type === "string" && type !== operationType) return null;
  const known = typeof type === "string" ? { operationType: type } : {};
  return { status: read.status, data: { ...rest, ...known, previewId, status: read.status }, cut };
}

const ENDED: Readonly<Record<string, string>> = {
  rejected: "A person rejected the proposal; rejectionReason may say why",
  failed: "The proposal was approved, but carrying it out failed",
  expired: "The proposal expired before a person decided",
  cancelled: "The proposal was withdrawn",
};

/** What to say about a proposal that ended in this state. */
export function endedText(status: string): string {
  return ENDED[status] ?? "The proposal ended without being carried out";
}

function ended(previewId: string, status: string, state: State): CodedError {
  return new CodedError(10004, endedText(status), {
    previewId,
    status,
    statusBody: state.data,
    ...cutMember(state.cut, "statusBody"),
  }, { source: SOURCE, tier: TIER, previewId, status });
}

function nextAction(
  { previewId, status }: { readonly previewId: string; readonly status: string },
  read: boolean,
  expiresAt: string | null,
): Record<string, unknown> {
  return {
    tool: "operation.status",
    message: "A person must decide within 5 minutes. Nothing has changed in the repository yet.",
    data: {
      previewId,
      lastStatus: status,
      ...(expiresAt === null ? {} : { expiresAt }),
      reason: read
        ? "The proposal is open; this is not a result of Git."
        : "The gateway accepted the proposal, but its state could not be read; this is not a result of Git.",
      agentRecommendation:
        "Ask operation.status (waitMs waits) before you report anything, or withdraw it with operation.cancel.",
    },
  };
}
