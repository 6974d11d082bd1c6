import { type BridgeAnswer, type BridgeContext } from "./context.ts";
import { inTrouble, notConnected, unknownProposal, unsafeId } from "./errors.ts";
import { findGateway } from "./find.ts";
import { cutMember, isTerminal, relay } from "./foreign.ts";
import { type BridgeIo, REAL_IO } from "./http.ts";
import { endedText } from "./propose.ts";
import { readStatus, type StatusRead } from "./status_read.ts";

/** Pauses between looks while waiting, in milliseconds: they grow from the first to the last. */
const FIRST_PAUSE_MS = 100, LAST_PAUSE_MS = 1_000;

/**
 * The state of a proposal (`operations.md` section 7, `additions.md` section 3). With `waitMs` it
 * looks again until the proposal has ended or the time is over. A state that is an end other than
 * `completed` comes with an error 10004 beside the data.
 *
 * Throws `CodedError` 10002, 10003, 10005 or 10007, and the signal's reason.
 */
export async function operationStatus(
  tool: string,
  asked: { readonly previewId: string; readonly waitMs: number },
  context: BridgeContext,
  io: BridgeIo = REAL_IO,
): Promise<BridgeAnswer> {
  const { previewId, waitMs } = asked;
  const started = io.elapsed();
  const passed = () => io.elapsed() - started;
  let address = await addressOf(tool, context, io);
  let pause = FIRST_PAUSE_MS;
  let answered = false;
  for (;;) {
    const brief = answered ? within(io, waitMs - passed()) : io;
    const read = await readStatus(address, previewId, brief, context.signal);
    if (read.kind === "unknown") throw unknownProposal(previewId);
    if (read.kind === "foreign") {
      throw unsafeId("The gateway answered about another proposal than the one asked for");
    }
    const over = passed() >= waitMs;
    if (read.kind === "known") {
      answered = true;
      if (over || isTerminal(read.status ?? "")) return told(previewId, read);
    } else if (over || !answered) throw failed(tool, previewId, address, read);
    context.progress(Math.round(passed()), waitMs, read.kind === "known" ? read.status ?? "" : "");
    await rest(Math.max(1, Math.min(pause, waitMs - passed())), io, context.signal);
    pause = Math.min(LAST_PAUSE_MS, pause * 1.5);
    // A gateway that was restarted meanwhile may listen elsewhere.
    if (read.kind === "failed") address = await currentAddress(address, context, io);
  }
}

/** After the first look, one that gets no answer must not overrun the time by more than a second. */
function within(io: BridgeIo, leftMs: number): BridgeIo {
  const wholeMs = Math.min(io.limits.wholeMs, Math.max(1_000, leftMs));
  return { ...io, limits: { ...io.limits, wholeMs } };
}

async function addressOf(tool: string, context: BridgeContext, io: BridgeIo): Promise<string> {
  const gateway = await findGateway(context, io);
  if (gateway.reason !== undefined) throw notConnected(tool, gateway.reason);
  return gateway.address;
}

async function currentAddress(
  address: string,
  context: BridgeContext,
  io: BridgeIo,
): Promise<string> {
  return (await findGateway(context, io)).address ?? address;
}

/** Waits, or throws the signal's reason at once when the call is cancelled. */
function rest(ms: number, io: BridgeIo, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      cancel();
      reject(signal.reason);
    };
    const cancel = io.after(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

function failed(
  tool: string,
  previewId: string,
  address: string,
  read: Extract<StatusRead, { kind: "failed" }>,
) {
  const { answer, why } = read;
  if (answer !== null && answer.status >= 500) {
    return inTrouble(
      tool,
      answer,
      previewId,
      "Ask again in a moment. Do not propose again: the proposal may be open or already carried out.",
    );
  }
  return notConnected(tool, `The gateway at ${address} gave no state: ${why}.`, {
    ...(answer === null ? {} : { httpStatus: answer.status }),
    agentRecommendation:
      "Nothing is known about the proposal now. Ask again later; do not propose again, and do not make the change another way.",
  });
}

function told(previewId: string, read: Extract<StatusRead, { kind: "known" }>): BridgeAnswer {
  const status = read.status ?? "unknown";
  const terminal = isTerminal(status);
  const { value, cut } = relay(read.body);
  const members = {
    previewId,
    status,
    terminal,
    ok: status === "completed",
    ...cutMember(cut, "data"),
  };
  if (!terminal || status === "completed") return { members, data: value };
  const error = { code: 10004, message: endedText(status), data: { previewId, status } };
  return { members: { error, ...members }, data: value };
}
