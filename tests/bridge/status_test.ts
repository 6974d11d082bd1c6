import assert from "node:assert/strict";
import { CodedError } from "../../common/errors.ts";
import { type BridgeContext, operationStatus } from "../../gateway/bridge.ts";
import { type BridgeIo, REAL_IO } from "../../gateway/bridge/http.ts";
import {
  answer,
  caller,
  closedAddress,
  drip,
  HANG_UP,
  MockGateway,
  quickIo,
  raw,
  type Reply,
} from "./mock_gateway.ts";

const TOOL = "operation.status";

// deno-lint-ignore no-explicit-any
type Told = any;

async function good(
  address: string,
  waitMs = 0,
  io: BridgeIo = REAL_IO,
  context: Partial<BridgeContext> = {},
): Promise<Told> {
  const asked = { previewId: "p-1", waitMs };
  const { members, data } = await operationStatus(TOOL, asked, caller(address, context), io);
  return { ...members, data };
}

async function bad(address: string | null, waitMs = 0, io: BridgeIo = REAL_IO): Promise<Told> {
  try {
    await operationStatus(TOOL, { previewId: "p-1", waitMs }, caller(address), io);
  } catch (error) {
    assert(error instanceof CodedError, String(error));
    return { code: error.code, message: error.message, data: error.data, ...error.members };
  }
  throw new Error("it was answered");
}

/** Answers one reply after the other, the last one for ever. */
function inTurn(...replies: Reply[]): MockGateway {
  let next = 0;
  return new MockGateway(() => replies[Math.min(next++, replies.length - 1)]!);
}

const state = (status: string, more: Record<string, unknown> = {}) =>
  answer(200, { previewId: "p-1", status, ...more });

/** A clock that never waits: pauses between looks pass at once, and time is what they add up to. */
function fastClock(): BridgeIo & { pauses: number[] } {
  let now = 0, open = 0;
  const pauses: number[] = [];
  return {
    ...REAL_IO,
    pauses,
    elapsed: () => now,
    async connect(hostname, port) {
      open++;
      const connection = await REAL_IO.connect(hostname, port).catch((error) => {
        open--;
        throw error;
      });
      return {
        read: (into) => connection.read(into),
        write: (bytes) => connection.write(bytes),
        close() {
          open--;
          connection.close();
        },
      };
    },
    after(ms, fire) {
      // The limits of requests never pass here.
      if (open > 0) return () => {};
      queueMicrotask(() => {
        pauses.push(ms);
        now += ms;
        fire();
      });
      return () => {};
    },
  };
}

Deno.test("the body comes through as it is, with the state, terminal and ok beside it", async () => {
  const cases: [string, boolean, boolean][] = [
    ["pending", false, false],
    ["approved", false, false],
    ["executing", false, false],
    ["some-future-state", false, false],
    ["completed", true, true],
  ];
  for (const [status, terminal, ok] of cases) {
    const body = { previewId: "p-1", status, result: { commitSha: "abc", n: 1.5, deep: [null] } };
    await using gateway = inTurn(answer(200, body));
    assert.deepEqual(await good(gateway.address), {
      previewId: "p-1",
      status,
      terminal,
      ok,
      data: body,
    });
    assert.equal(
      gateway.received[0]!.head.split("\r\n")[0],
      "GET /v1/mcp/operation/status/p-1 HTTP/1.1",
    );
    assert.equal(gateway.connections, 1);
  }
});

Deno.test("every end but completed is an error beside the data", async () => {
  for (const status of ["rejected", "failed", "expired", "cancelled"]) {
    await using gateway = inTurn(state(status, { rejectionReason: "no" }));
    const told = await good(gateway.address);
    assert.equal(told.error.code, 10004);
    assert.deepEqual(told.error.data, { previewId: "p-1", status });
    assert.deepEqual([told.terminal, told.ok, told.status], [true, false, status]);
    assert.equal(told.data.rejectionReason, "no");
  }
});

Deno.test("any JSON is relayed; without a word for its state that is unknown, and not the end", async () => {
  for (const body of [null, [], "completed", 5, true, {}, { status: 5 }, { status: "DONE" }]) {
    await using gateway = inTurn(answer(200, JSON.stringify(body)));
    const told = await good(gateway.address);
    assert.deepEqual(told.data, body);
    assert.deepEqual([told.status, told.terminal, told.ok], ["unknown", false, false]);
  }
});

Deno.test("an id that the gateway does not know is 10005, whatever it says with it", async () => {
  for (const reply of [answer(404, { error: "x" }), answer(404, "<html>"), raw(404, "", [])]) {
    await using gateway = inTurn(reply);
    const told = await bad(gateway.address);
    assert.deepEqual({ ...told, data: null, message: null }, {
      code: 10005,
      message: null,
      data: null,
      tier: "fluxgit-write-handshake",
      previewId: "p-1",
    });
    assert.match(told.data.reason, /wrong.*never admitted.*forgotten/);
    assert.match(told.data.agentRecommendation, /Do not propose again .*look at the repository/);
  }
});

Deno.test("a gateway in trouble is 10002 with its HTTP status, not a missing one", async () => {
  for (const reply of [answer(500, { error: "x" }), answer(503, "busy"), raw(502, "", [])]) {
    await using gateway = inTurn(reply);
    const told = await bad(gateway.address);
    assert.equal(told.code, 10002);
    assert.equal(told.data.gatewayConfigured, true);
    assert.match(String(told.data.httpStatus), /^50\d$/);
    assert.equal(told.tier, "fluxgit-write-handshake");
  }
});

Deno.test("no address, no connection, no readable state and every other HTTP status are 10003", async () => {
  assert.equal((await bad(null)).code, 10003);
  const dead = await bad(closedAddress());
  assert.equal(dead.code, 10003);
  assert.match(dead.data.reason, /nothing listens there/);
  const replies: [Reply, RegExp][] = [
    [answer(403, { error: "x" }), /HTTP status 403/],
    [answer(429, {}), /HTTP status 429/],
    [answer(302, {}, ["Location: http://127.0.0.1:1/"]), /HTTP status 302/],
    [answer(200, "<html>"), /not JSON/],
    [answer(200, '{"status":"comp'), /not JSON/],
    [raw(200, '{"status":"comp', ["Content-Length: 99"]), /cut short/],
    [raw(204, "", []), /no body/],
    [answer(200, JSON.stringify("x".repeat(5_000_000))), /more than 2796202 bytes/],
    [HANG_UP, /./],
  ];
  for (const [reply, reason] of replies) {
    await using gateway = inTurn(reply);
    const told = await bad(gateway.address);
    assert.equal(told.code, 10003, String(reply));
    assert.match(told.data.reason, reason);
    assert.match(told.data.agentRecommendation, /do not propose again/);
  }
  for (const reply of [null, drip("HTTP/1.1 200 X\r\n"), drip(raw(200, "{", []))]) {
    await using gateway = inTurn(reply);
    assert.equal((await bad(gateway.address, 0, quickIo())).code, 10003);
  }
});

Deno.test("an answer about another proposal is 10007 and not taken for this one", async () => {
  await using gateway = inTurn(answer(200, { previewId: "p-2", status: "completed" }));
  const told = await bad(gateway.address);
  assert.deepEqual([told.code, told.previewId, told.data], [10007, undefined, undefined]);
});

Deno.test("a long body is shortened and said to be", async () => {
  const result = { pathsDiscarded: Array(10_000).fill("a/long/path/of/a/file.txt") };
  await using gateway = inTurn(state("completed", { result }));
  const told = await good(gateway.address);
  assert.ok(JSON.stringify(told).length < 70_000);
  assert.deepEqual(told.cut, [{ list: "data.result.pathsDiscarded", kept: 500, of: 10_000 }]);
  assert.equal(told.status, "completed");
});

Deno.test("waiting looks again with growing pauses until the proposal has ended", async () => {
  await using gateway = inTurn(
    state("pending"),
    state("pending"),
    state("approved"),
    state("executing"),
    state("executing"),
    state("completed"),
  );
  const io = fastClock();
  const context = caller(gateway.address);
  const asked = { previewId: "p-1", waitMs: 30_000 };
  const { members } = await operationStatus(TOOL, asked, context, io);
  assert.deepEqual([members["status"], members["ok"]], ["completed", true]);
  assert.equal(gateway.connections, 6);
  assert.deepEqual(io.pauses, [100, 150, 225, 337.5, 506.25]);
  assert.deepEqual(context.told.map(([, total, text]) => [total, text]), [
    [30_000, "pending"],
    [30_000, "pending"],
    [30_000, "approved"],
    [30_000, "executing"],
    [30_000, "executing"],
  ]);
});

Deno.test("waiting ends with its time, and tells the state as it then is", async () => {
  await using gateway = inTurn(state("pending"));
  const io = fastClock();
  const told = await good(gateway.address, 30_000, io);
  assert.deepEqual([told.status, told.terminal], ["pending", false]);
  assert.equal(Math.round(io.pauses.reduce((sum, ms) => sum + ms, 0)), 30_000);
  assert.ok(Math.max(...io.pauses) <= 1_000);
  assert.ok(gateway.connections < 40);
});

Deno.test("without waitMs there is one look; a state that has ended is told at once", async () => {
  await using open = inTurn(state("pending"));
  await good(open.address);
  assert.equal(open.connections, 1);
  await using ended = inTurn(state("rejected"));
  const io = fastClock();
  assert.equal((await good(ended.address, 30_000, io)).error.code, 10004);
  assert.deepEqual([ended.connections, io.pauses], [1, []]);
});

Deno.test("while waiting, a look that fails is made again; what fails to the end is told", async () => {
  await using back = inTurn(state("pending"), answer(503, "busy"), HANG_UP, state("completed"));
  assert.equal((await good(back.address, 30_000, fastClock())).status, "completed");
  assert.equal(back.connections, 4);
  await using gone = inTurn(state("pending"), answer(503, "busy"));
  assert.equal((await bad(gone.address, 2_000, fastClock())).code, 10002);
  await using forgotten = inTurn(state("pending"), answer(404, {}));
  assert.equal((await bad(forgotten.address, 30_000, fastClock())).code, 10005);
  assert.equal(forgotten.connections, 2);
  // Nothing is waited for when already the first look fails.
  await using never = inTurn(answer(503, "busy"));
  assert.equal((await bad(never.address, 30_000, fastClock())).code, 10002);
  assert.equal(never.connections, 1);
});

Deno.test("a gateway that is restarted elsewhere while a call waits is found again", async () => {
  const runDir = await Deno.realPath(await Deno.makeTempDir({ prefix: "fluxgit-test-" }));
  try {
    const announce = (address: string) =>
      Deno.writeTextFile(`${runDir}/gateway.json`, JSON.stringify({ version: 1, address }), {
        mode: 0o600,
      });
    const health = answer(200, { service: "fluxgit-gateway", apiVersion: 1, attended: false });
    await using second = new MockGateway((received) =>
      received.path.endsWith("health") ? health : state("completed")
    );
    let looks = 0;
    await using first = new MockGateway(async (received) => {
      if (received.path.endsWith("health")) return health;
      if (++looks === 1) return state("pending");
      await announce(second.address);
      return HANG_UP;
    });
    await announce(first.address);
    const told = await good(first.address, 30_000, fastClock(), { runDir, env: () => undefined });
    assert.equal(told.status, "completed");
    assert.equal(looks, 2);
  } finally {
    await Deno.remove(runDir, { recursive: true });
  }
});

Deno.test("a cancelled call stops waiting at once, in a pause and during a look", async () => {
  const reason = new Error("cancelled by the test");
  for (const replies of [[state("pending")], [state("pending"), null]]) {
    await using gateway = inTurn(...replies);
    const controller = new AbortController();
    const call = good(gateway.address, 30_000, REAL_IO, { signal: controller.signal });
    while (gateway.received.length < replies.length) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    controller.abort(reason);
    await assert.rejects(call, reason);
  }
});
