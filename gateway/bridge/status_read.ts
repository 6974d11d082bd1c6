import type { BridgeContext } from "./context.ts";
import { member, statusOf } from "./foreign.ts";
import { type BridgeIo, exchange, NoAnswer } from "./http.ts";
import type { HttpAnswer } from "./http_answer.ts";

/** What one look at the state of a proposal came to. */
export type StatusRead =
  /** 2xx and JSON about this proposal. `status` as {@link statusOf} gives it. */
  | { readonly kind: "known"; readonly body: unknown; readonly status: string | null }
  /** 404. */
  | { readonly kind: "unknown" }
  /** 2xx, but about another proposal. */
  | { readonly kind: "foreign" }
  | { readonly kind: "failed"; readonly answer: HttpAnswer | null; readonly why: string };

/** Reads the state once. Throws only the signal's reason. */
export async function readStatus(
  address: string,
  previewId: string,
  io: BridgeIo,
  signal: BridgeContext["signal"],
): Promise<StatusRead> {
  let answer: HttpAnswer;
  try {
    const path = `/v1/mcp/operation/status/${previewId}`;
    answer = await exchange(address, { method: "GET", path }, io, signal);
  } catch (error) {
    if (error instanceof NoAnswer) return { kind: "failed", answer: null, why: error.message };
    throw error;
  }
  if (answer.status === 404) return { kind: "unknown" };
  if (!isGood(answer)) {
    return { kind: "failed", answer, why: `it answered with HTTP status ${answer.status}` };
  }
  if (!answer.body.readable) return { kind: "failed", answer, why: answer.body.why };
  const body = answer.body.value;
  const about = member(body, "previewId");
  if (typeof about === "string" && about !== previewId) return { kind: "foreign" };
  return { kind: "known", body, status: statusOf(body) };
}

/** 2xx. */
export function isGood(answer: HttpAnswer): boolean {
  return answer.status >= 200 && answer.status < 300;
}
