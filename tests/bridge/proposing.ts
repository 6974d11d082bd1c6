import assert from "node:assert/strict";
import { CodedError } from "../../common/errors.ts";
import { type BridgeContext, type Proposal, propose } from "../../gateway/bridge.ts";
import type { BridgeIo } from "../../gateway/bridge/http.ts";
import { caller, type MockGateway } from "./mock_gateway.ts";

export const TOOL = "operation.preview.merge";
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const MERGE: Proposal = {
  operationType: "merge",
  repoPath: "/srv/shop",
  reason: "because",
  idempotencyKey: undefined,
  members: { sourceRef: "feature", targetRef: "main", strategy: "merge" },
};

export interface Told {
  // deno-lint-ignore no-explicit-any
  readonly [name: string]: any;
}

/** The answer to a proposal that was accepted. */
export async function good(gateway: MockGateway, proposal = MERGE, io?: BridgeIo): Promise<Told> {
  const { members, data } = await propose(TOOL, proposal, caller(gateway.address), io);
  return { ...members, ...(data === undefined ? {} : { data }) };
}

/** The error of a proposal, with the members that its payload carries. */
export async function bad(
  address: string | null,
  proposal = MERGE,
  io?: BridgeIo,
  context: Partial<BridgeContext> = {},
): Promise<Told> {
  try {
    await propose(TOOL, proposal, caller(address, context), io);
  } catch (error) {
    assert(error instanceof CodedError, String(error));
    return { code: error.code, message: error.message, data: error.data, ...error.members };
  }
  throw new Error("it was accepted");
}
