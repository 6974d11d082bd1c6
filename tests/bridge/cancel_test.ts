import assert from "node:assert/strict";
import { CodedError } from "../../common/errors.ts";
import { cancelProposal } from "../../gateway/bridge.ts";
import { type BridgeIo, REAL_IO } from "../../gateway/bridge/http.ts";
import {
  answer,
  caller,
  closedAddress,
  gatewayWith,
  HANG_UP,
  quickIo,
  raw,
  type Reply,
} from "./mock_gateway.ts";

const TOOL = "operation.cancel";
const CANCELLED = answer(200, { previewId: "p-1", status: "cancelled" });

// deno-lint-ignore no-explicit-any
type Told = any;

async function good(address: string, io: BridgeIo = REAL_IO): Promise<Told> {
  const { members, data } = await cancelProposal(TOOL, "p-1", caller(address), io);
  return { ...members, data };
}

async function bad(address: string | null, io: BridgeIo = REAL_IO): Promise<Told> {
  try {
    await cancelProposal(TOOL, "p-1", caller(address), io);
  } catch (error) {
    assert(error instanceof CodedError, String(error));
    return { code: error.code, message: error.message, data: error.data, ...error.members };
  }
  throw new Error("it was withdrawn");
}

Deno.test("a withdrawal says who asks, carries the secret of the process, and is confirmed by the gateway", async () => {
  await using gateway = gatewayWith(
    answer(200, { previewId: "p-1", status: "cancelled", reason: "because" }),
  );
  assert.deepEqual(await good(gateway.address), {
    previewId: "p-1",
    status: "cancelled",
    data: { previewId: "p-1", status: "cancelled", reason: "because" },
  });
  const [post] = gateway.received;
  assert.equal(post!.head.split("\r\n")[0], "POST /v1/mcp/operation/cancel/p-1 HTTP/1.1");
  assert.equal(post!.body, '{"agentId":"test-agent"}');
  assert.match(post!.headers["x-fluxgit-sidecar-secret"]!, /^[0-9a-f]{64}$/);
  assert.equal(gateway.connections, 1);
});

Deno.test("an answer that does not say cancelled is believed only when the state says so", async () => {
  const vague: Reply[] = [
    answer(200, {}),
    answer(200, { previewId: "p-1", status: "pending" }),
    answer(200, "null"),
    answer(200, "<html>"),
    raw(204, "", []),
    answer(200, JSON.stringify({ status: "cancelled", patchContent: "x".repeat(5_000_000) })),
  ];
  for (const reply of vague) {
    await using open = gatewayWith(reply);
    const told = await bad(open.address);
    assert.equal(told.code, 10006);
    assert.match(told.message, /did not confirm/);
    assert.equal(told.data.previewId, "p-1");
    assert.equal(told.status, undefined);
    assert.deepEqual([open.of("POST").length, open.of("GET").length], [1, 1]);
    await using done = gatewayWith(reply, CANCELLED);
    assert.equal((await good(done.address)).status, "cancelled");
  }
});

Deno.test("an answer about another proposal is 10007", async () => {
  await using gateway = gatewayWith(answer(200, { previewId: "p-2", status: "cancelled" }));
  assert.equal((await bad(gateway.address)).code, 10007);
  assert.equal(gateway.connections, 1);
  await using indirect = gatewayWith(
    answer(200, {}),
    answer(200, { previewId: "p-2", status: "cancelled" }),
  );
  assert.equal((await bad(indirect.address)).code, 10006);
});

Deno.test("withdrawing a second time is no error, but what ended otherwise stays refused", async () => {
  await using twice = gatewayWith(answer(409, { error: "not_pending" }), CANCELLED);
  assert.deepEqual(await good(twice.address), {
    previewId: "p-1",
    status: "cancelled",
    data: { previewId: "p-1", status: "cancelled" },
  });
  for (const status of ["completed", "rejected", "expired", "executing"]) {
    await using late = gatewayWith(
      answer(409, { error: "not_pending" }),
      answer(200, { previewId: "p-1", status }),
    );
    const told = await bad(late.address);
    assert.equal(told.code, 10006);
    assert.equal(told.data.httpStatus, 409);
    assert.match(told.data.agentRecommendation, /no longer pending/);
  }
});

Deno.test("a refused withdrawal is 10006 with the gateway's words, and a foreign one is never taken for done", async () => {
  await using foreign = gatewayWith(answer(403, { error: "not_the_owner" }), CANCELLED);
  const told = await bad(foreign.address);
  assert.deepEqual({ ...told, message: null }, {
    code: 10006,
    message: null,
    data: {
      httpStatus: 403,
      previewId: "p-1",
      gateway: { error: "not_the_owner" },
      agentRecommendation: told.data.agentRecommendation,
    },
    source: "fluxgit-app",
    tier: "fluxgit-write-handshake",
    previewId: "p-1",
  });
  assert.equal(foreign.connections, 1);
  for (const reply of [answer(422, "<html>"), answer(302, { error: "x" }), raw(400, "", [])]) {
    await using gateway = gatewayWith(reply);
    const other = await bad(gateway.address);
    assert.equal(other.code, 10006);
    assert.ok(other.data.gateway === null || other.data.gateway.error === "x");
  }
});

Deno.test("an unknown id is 10005, a gateway in trouble 10002, no gateway 10003", async () => {
  await using unknown = gatewayWith(answer(404, "gone"));
  const told = await bad(unknown.address);
  assert.deepEqual([told.code, told.previewId], [10005, "p-1"]);
  await using trouble = gatewayWith(answer(500, { error: "x" }));
  assert.equal((await bad(trouble.address)).code, 10002);
  assert.equal((await bad(null)).code, 10003);
  const dead = await bad(closedAddress());
  assert.equal(dead.code, 10003);
  assert.match(dead.data.agentRecommendation, /still open/);
});

Deno.test("when the answer is lost, the state decides whether it is withdrawn", async () => {
  for (const lost of [HANG_UP, null]) {
    const io = quickIo({ wholeMs: lost === null ? 1_000 : 10_000 });
    await using done = gatewayWith(lost, CANCELLED);
    assert.equal((await good(done.address, io)).status, "cancelled");
    assert.equal(done.of("POST").length, 1);
  }
  await using open = gatewayWith(HANG_UP);
  const told = await bad(open.address);
  assert.equal(told.code, 10003);
  assert.match(told.data.agentRecommendation, /may be withdrawn or still open/);
});
