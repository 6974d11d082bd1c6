import { stringifyJson } from "../../common/json.ts";
import { type BridgeAnswer, type BridgeContext, secretHeader } from "./context.ts";
import { inTrouble, notCancelled, notConnected, unknownProposal, unsafeId } from "./errors.ts";
import { findGateway } from "./find.ts";
import { cutMember, member, relay, statusOf } from "./foreign.ts";
import { type BridgeIo, exchange, NoAnswer, REAL_IO } from "./http.ts";
import type { HttpAnswer } from "./http_answer.ts";
import { isGood, readStatus } from "./status_read.ts";

/**
 * Withdraws a proposal of the caller (`operations.md` section 7). It counts as withdrawn only when
 * the gateway says so of this very id: in its answer, or when it is asked for the state afterwards.
 * Withdrawing a second time is no error.
 *
 * Throws `CodedError` 10002, 10003, 10005, 10006 or 10007, and the signal's reason.
 */
export async function cancelProposal(
  tool: string,
  previewId: string,
  context: BridgeContext,
  io: BridgeIo = REAL_IO,
): Promise<BridgeAnswer> {
  const gateway = await findGateway(context, io);
  if (gateway.reason !== undefined) throw notConnected(tool, gateway.reason);
  const { address } = gateway;
  let answer: HttpAnswer;
  try {
    answer = await exchange(
      address,
      {
        method: "POST",
        path: `/v1/mcp/operation/cancel/${previewId}`,
        body: stringifyJson({ agentId: context.agentId }),
        headers: secretHeader(),
      },
      io,
      context.signal,
    );
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const now = error.sent ? await stateNow(address, previewId, context, io) : null;
    if (now?.status === "cancelled") return withdrawn(previewId, now.body);
    throw notConnected(
      tool,
      error.sent
        ? `The gateway at ${address} was asked to withdraw the proposal, but ${error.message}.`
        : `The gateway at ${address} was not reached: ${error.message}.`,
      {
        previewId,
        agentRecommendation: error.sent
          ? "The proposal may be withdrawn or still open: read operation.status, or withdraw it again."
          : "The proposal, if there is one, is still open: try again, or let the user reject it.",
      },
    );
  }
  if (answer.status === 404) throw unknownProposal(previewId);
  if (answer.status >= 500) {
    throw inTrouble(tool, answer, previewId, "Read operation.status, then try again.");
  }
  if (isGood(answer)) return await confirmed(address, previewId, answer, context, io);
  // Only the owner gets 409: the proposal is no longer pending, perhaps because of this caller.
  if (answer.status === 409) {
    const now = await stateNow(address, previewId, context, io);
    if (now?.status === "cancelled") return withdrawn(previewId, now.body);
  }
  throw notCancelled(
    previewId,
    answer,
    "The gateway refused to withdraw the proposal",
    ADVICE[answer.status] ?? "The member gateway says why; read operation.status before you go on.",
  );
}

const ADVICE: Readonly<Record<number, string>> = {
  403: "Only the process that proposed it may withdraw it; the user can reject it instead.",
  409: "It is no longer pending: read operation.status for what became of it.",
};

/** The answer to a withdrawal that the gateway took. */
async function confirmed(
  address: string,
  previewId: string,
  answer: HttpAnswer,
  context: BridgeContext,
  io: BridgeIo,
): Promise<BridgeAnswer> {
  const body = answer.body.readable ? answer.body.value : null;
  const about = member(body, "previewId");
  if (typeof about === "string" && about !== previewId) {
    throw unsafeId("The gateway answered about another proposal than the one to withdraw");
  }
  if (statusOf(body) === "cancelled") return withdrawn(previewId, body);
  const now = await stateNow(address, previewId, context, io);
  if (now?.status === "cancelled") return withdrawn(previewId, now.body);
  throw notCancelled(
    previewId,
    answer,
    "The gateway did not confirm that the proposal is withdrawn",
    "Read operation.status: the proposal may still be open.",
  );
}

/** The state when it can be read, else null. */
async function stateNow(
  address: string,
  previewId: string,
  context: BridgeContext,
  io: BridgeIo,
): Promise<{ readonly body: unknown; readonly status: string | null } | null> {
  const read = await readStatus(address, previewId, io, context.signal);
  return read.kind === "known" ? read : null;
}

function withdrawn(previewId: string, body: unknown): BridgeAnswer {
  const { value, cut } = relay(body);
  return {
    members: { previewId, status: "cancelled", ...cutMember(cut, "data") },
    data: value,
  };
}
