import assert from "node:assert/strict";
import { payload } from "./fixture_tools.ts";
import { ask, META, TestClient } from "./harness.ts";
import { call, cancel, fakeClock, gate, tool, turn, withTools } from "./requests.ts";

const ack = (id: unknown) => ({
  jsonrpc: "2.0",
  method: "notifications/subscriptions/acknowledged",
  params: { notifications: {}, _meta: { "io.modelcontextprotocol/subscriptionId": id } },
});

Deno.test("a subscription is acknowledged with nothing, stays open, and is ended by a cancellation", async () => {
  for (const id of ["s1", 5, 0, ""]) {
    const client = new TestClient();
    const listen = () =>
      client.modern(id, "subscriptions/listen", {
        notifications: { toolsListChanged: true, promptsListChanged: true },
      });
    listen();
    assert.deepEqual(await client.next(), ack(id));
    listen();
    assert.equal((await client.next()).error.code, -32600);
    client.send(cancel(id));
    listen();
    assert.deepEqual(await client.next(), ack(id));
    assert.equal(await client.end(), 0);
    assert.equal(client.lines.length, 3);
  }
});

Deno.test("a subscription without a filter object has invalid params", async () => {
  for (const notifications of [undefined, null, [], "x", true]) {
    const [{ error }] = await ask({
      jsonrpc: "2.0",
      id: 1,
      method: "subscriptions/listen",
      params: { notifications, _meta: META },
    });
    assert.equal(error.code, -32602);
  }
});

Deno.test("open subscriptions are bounded", async () => {
  const client = new TestClient({ limits: { maxSubscriptions: 2 } });
  for (const id of [1, 2, 3]) client.modern(id, "subscriptions/listen", { notifications: {} });
  client.send(cancel(1));
  client.modern(4, "subscriptions/listen", { notifications: {} });
  await client.end();
  const messages = client.lines.map((line) => JSON.parse(line));
  assert.deepEqual(messages.map(({ error }) => error?.code), [
    undefined,
    undefined,
    -32603,
    undefined,
  ]);
});

Deno.test("calls that end soon after the input are still answered", async () => {
  const client = new TestClient({
    tools: withTools(tool("soon", async () => (await turn(), payload({ soon: true })))),
  });
  client.send(call(1, "soon"));
  assert.equal(await client.end(), 0);
  assert.deepEqual(JSON.parse(client.lines[0] ?? "").result.structuredContent, { soon: true });
});

Deno.test("at the end of input calls are aborted and told, also those that never settle", async () => {
  const { tool: gated } = gate();
  const client = new TestClient({ tools: withTools(gated), limits: { drainMs: 20, abortMs: 20 } });
  client.send(call(1, "fixture.waits"));
  client.send(call(2, "gate", { key: "never" }));
  assert.equal(await client.end(), 0);
  assert.deepEqual(client.lines, []);
  assert.deepEqual(client.finished.map(({ name, cancelled }) => [name, cancelled]), [
    ["fixture.waits", true],
    ["gate", true],
  ]);
  assert.equal(client.finished[1]?.outcome.kind, "rpcError");
});

Deno.test("the end of input takes less than a second, however long the calls are", async () => {
  const client = new TestClient();
  client.send(call(1, "fixture.waits"));
  await turn();
  const started = performance.now();
  assert.equal(await client.end(), 0);
  assert(performance.now() - started < 5_000);
  assert.equal(client.finished.length, 1);
});

Deno.test("a client that reads nothing cannot hold the server after the end of input", async () => {
  const client = new TestClient({
    write: () => new Promise(() => {}),
    limits: { drainMs: 20, abortMs: 20 },
  });
  client.send(call(1, "fixture.echo"));
  client.send(call(2, "fixture.waits"));
  assert.equal(await client.end(), 0);
  assert.deepEqual(client.finished.map(({ name, outcome }) => [name, outcome.kind]), [
    ["fixture.echo", "result"],
    ["fixture.waits", "result"],
  ]);
});

Deno.test("stop aborts at once, ends subscriptions, and reads nothing more", async () => {
  const client = new TestClient();
  client.modern("s", "subscriptions/listen", { notifications: {} });
  client.send(call(1, "fixture.waits"));
  await client.next();
  await turn();
  client.handle.stop();
  client.handle.stop();
  assert.equal(await client.done, 0);
  assert.deepEqual(await client.next(), {
    jsonrpc: "2.0",
    id: "s",
    result: { resultType: "complete", _meta: { "io.modelcontextprotocol/subscriptionId": "s" } },
  });
  assert.deepEqual(client.finished.map(({ cancelled }) => cancelled), [true]);
  client.request(2, "ping");
  await turn();
  assert.equal(client.lines.length, 2);
});

Deno.test("stop ends also a server whose client reads nothing or whose calls wait", async () => {
  const stuck = new TestClient({
    write: () => new Promise(() => {}),
    limits: { maxQueuedBytes: 1, abortMs: 20 },
  });
  stuck.request(1, "ping");
  stuck.request(2, "ping");
  await turn();
  stuck.handle.stop();
  assert.equal(await stuck.done, 0);
  const { tool } = gate();
  const full = new TestClient({
    tools: withTools(tool),
    limits: { maxRunning: 1, maxWaiting: 1, abortMs: 20 },
  });
  for (const key of ["a", "b"]) full.send(call(key, "gate", { key }));
  await turn();
  full.handle.stop();
  assert.equal(await full.done, 0);
  assert.deepEqual(full.finished.map(({ args }) => (args as { key: string }).key).sort(), [
    "a",
    "b",
  ]);
});

Deno.test("lost framing ends the server with 1 and one line, after what came before it", async () => {
  const client = new TestClient();
  client.request(1, "ping");
  client.send(call(2, "fixture.echo"));
  client.send("Content-Length: x\r\n\r\n");
  assert.equal(await client.done, 1);
  assert.deepEqual(client.lines.map((line) => JSON.parse(line).id), [1, 2]);
  assert.equal(client.logged.length, 1);
  assert.match(client.logged[0] ?? "", /Content-Length/);
});

Deno.test("a failed read ends the server with 1", async () => {
  const client = new TestClient({ read: () => Promise.reject(new Error("no more\nbytes")) });
  assert.equal(await client.done, 1);
  assert.deepEqual(client.logged, ["reading failed: Error: no more\\u{a}bytes"]);
});

Deno.test("a client that went away ends the server with 0, any other failed write with 1", async () => {
  for (
    const [error, code, lines] of [[new Deno.errors.BrokenPipe("gone"), 0, 0], [
      new Error("disk"),
      1,
      1,
    ]] as const
  ) {
    const client = new TestClient({ write: () => Promise.reject(error) });
    client.send(call(1, "fixture.echo"));
    client.send(call(2, "fixture.waits"));
    assert.equal(await client.done, code);
    assert.equal(client.logged.length, lines);
    // What was done is told although nobody heard the answer.
    assert.equal(client.finished.length, 2);
  }
});

Deno.test("observers are told after the answer went out, with times of the clock", async () => {
  const clock = fakeClock();
  const order: string[] = [];
  const client: TestClient = new TestClient({
    clock,
    tools: withTools(tool("takes.time", () => (clock.advance(12), payload({})))),
    write: async (bytes) => {
      await turn();
      clock.advance(5_000); // the reader is slow; that is not the tool's time
      client.keep(bytes);
      order.push("answer");
    },
    observers: [{
      finished: (call) => {
        order.push("observer");
        client.finished.push(call);
      },
    }],
  });
  client.send(call(1, "takes.time", { a: 1 }, META));
  await client.end();
  assert.deepEqual(order, ["answer", "observer"]);
  assert.deepEqual(client.finished, [{
    name: "takes.time",
    args: { a: 1 },
    context: { era: { kind: "modern" }, agentId: "modern-client", clientVersion: "9.8" },
    outcome: payload({}),
    cancelled: false,
    startedAtMs: 1_700_000_000_000,
    durationMs: 12,
  }]);
});

Deno.test("requests that are no tools/call, or whose metadata is refused, are told to nobody", async () => {
  const client = new TestClient();
  for (const method of ["ping", "tools/list", "initialize", "nope"]) client.request(method, method);
  client.modern("d", "server/discover");
  client.send(
    call("x", "fixture.echo", {}, { "io.modelcontextprotocol/protocolVersion": "2031-01-01" }),
  );
  await client.end();
  assert.equal(client.lines.length, 6);
  assert.deepEqual(client.finished, []);
});
