import assert from "node:assert/strict";
import { aborted, payload } from "./fixture_tools.ts";
import { type Message, META, TestClient } from "./harness.ts";
import { call, cancel, fakeClock, gate, legacyMeta, tool, turn, withTools } from "./requests.ts";

Deno.test("answers come in order of completion, and so do observers", async () => {
  const { tool, open, started } = gate();
  const client = new TestClient({ tools: withTools(tool) });
  for (const key of ["a", "b", "c"]) client.send(call(key, "gate", { key }));
  await turn();
  assert.deepEqual(started, ["a", "b", "c"]);
  client.request("ping", "ping");
  assert.equal((await client.next()).id, "ping");
  for (const key of ["c", "a", "b"]) {
    open(key);
    assert.equal((await client.next()).id, key);
  }
  await client.end();
  assert.deepEqual(client.finished.map(({ args }) => (args as { key: string }).key), [
    "c",
    "a",
    "b",
  ]);
});

Deno.test("an id that is in flight is refused and the first call is still answered", async () => {
  const { tool, open } = gate();
  const client = new TestClient({ tools: withTools(tool) });
  client.send(call(1, "gate", { key: "a" }));
  for (const method of ["tools/call", "ping", "tools/list"]) {
    client.request(1, method, { name: "gate" });
    const { id, error } = await client.next();
    assert.equal(id, 1);
    assert.equal(error.code, -32600);
    assert.match(error.data.details, /not answered yet/);
  }
  // The same digits as a string are another id.
  client.request("1", "ping");
  assert.equal((await client.next()).id, "1");
  open("a");
  assert.deepEqual((await client.next()).result.structuredContent, { key: "a" });
  client.request(1, "ping");
  assert.deepEqual((await client.next()).result, {});
  await client.end();
  assert.equal(client.finished.length, 1);
});

Deno.test("calls beyond the limit wait, run in order, and can be cancelled while they wait", async () => {
  const { tool, open, started } = gate();
  const client = new TestClient({ tools: withTools(tool), limits: { maxRunning: 2 } });
  for (const key of ["a", "b", "c", "d", "e"]) client.send(call(key, "gate", { key }));
  await turn();
  assert.deepEqual(started, ["a", "b"]);
  client.send(cancel("d"));
  client.request("p", "ping");
  assert.equal((await client.next()).id, "p");
  for (const key of ["b", "c", "a", "e"]) {
    open(key);
    assert.equal((await client.next()).id, key);
    await turn();
  }
  assert.deepEqual(started, ["a", "b", "c", "e"]);
  await client.end();
  assert.deepEqual(
    client.finished.map(({ args, cancelled }) => [(args as { key: string }).key, cancelled]),
    [
      ["d", true],
      ["b", false],
      ["c", false],
      ["a", false],
      ["e", false],
    ],
  );
});

Deno.test("nothing more is read while running and waiting calls are at their limits", async () => {
  const { tool, open, started } = gate();
  const client = new TestClient({
    tools: withTools(tool),
    limits: { maxRunning: 1, maxWaiting: 1 },
  });
  for (const key of ["a", "b"]) client.send(call(key, "gate", { key }));
  client.request("p", "ping");
  await turn();
  assert.deepEqual(client.lines, []);
  open("a");
  assert.deepEqual([(await client.next()).id, (await client.next()).id], ["a", "p"]);
  open("b");
  assert.equal((await client.next()).id, "b");
  assert.deepEqual(started, ["a", "b"]);
  await client.end();
});

Deno.test("the bytes of running and of waiting requests are bounded as well", async () => {
  const { tool, open, started } = gate();
  const client = new TestClient({
    tools: withTools(tool),
    limits: { maxRunningBytes: 1_000, maxWaitingBytes: 1_000 },
  });
  const fat = "x".repeat(1_200);
  for (const key of ["a", "b"]) client.send(call(key, "gate", { key, fat }));
  client.request("p", "ping");
  await turn();
  assert.deepEqual([started, client.lines], [["a"], []]);
  open("a");
  assert.deepEqual([(await client.next()).id, (await client.next()).id], ["a", "p"]);
  open("b");
  await client.next();
  await client.end();
});

Deno.test("nothing more is read while the client does not take its answers", async () => {
  let release = () => {};
  const client: TestClient = new TestClient({
    limits: { maxQueuedBytes: 10 },
    write: (bytes) =>
      new Promise((resolve) =>
        release = () => {
          client.keep(bytes);
          resolve();
        }
      ),
  });
  for (const id of [1, 2, 3]) client.request(id, "ping");
  await turn();
  assert.equal(client.lines.length, 0);
  for (const id of [1, 2, 3]) {
    release();
    await turn();
    assert.equal(client.lines.length, id);
  }
  await client.end();
});

Deno.test("a cancelled call is aborted, never answered, and told to observers", async () => {
  for (const meta of [META, undefined]) {
    for (const id of [7, "seven", 0, ""]) {
      const client = new TestClient();
      client.send(call(id, "fixture.waits", {}, meta));
      client.send(cancel(id));
      client.request("p", "ping");
      assert.equal((await client.next()).id, "p");
      assert.equal(await client.end(), 0);
      assert.equal(client.lines.length, 1);
      assert.equal(client.finished.length, 1);
      assert.equal(client.finished[0]?.cancelled, true);
      assert.deepEqual(client.finished[0]?.outcome, payload({ aborted: true }));
    }
  }
});

Deno.test("a call that ends in spite of its cancellation is not answered either", async () => {
  const { tool, open, signals } = gate();
  const client = new TestClient({ tools: withTools(tool) });
  client.send(call(1, "gate", { key: "a" }));
  client.send(cancel(1));
  await turn();
  assert.equal(signals.get("a")?.aborted, true);
  // The id is free again at once: its first request will never be answered.
  client.send(call(1, "gate", { key: "b" }));
  await turn();
  open("a");
  open("b");
  assert.deepEqual((await client.next()).result.structuredContent, { key: "b" });
  await client.end();
  assert.equal(client.lines.length, 1);
  assert.deepEqual(client.finished.map(({ cancelled }) => cancelled), [true, false]);
});

Deno.test("cancellations of unknown or finished ids and malformed ones are ignored", async () => {
  const client = new TestClient();
  client.send(call(1, "fixture.echo"));
  await client.next();
  for (const id of [1, 99, "1", null, {}, 1.5, true]) client.send(cancel(id));
  for (const params of [undefined, null, [], "x", {}]) {
    client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  }
  client.request(2, "ping");
  assert.equal((await client.next()).id, 2);
  assert.equal(await client.end(), 0);
  assert.equal(client.lines.length, 2);
});

Deno.test("a number and a string with the same digits are cancelled apart", async () => {
  const client = new TestClient();
  client.send(call(5, "fixture.waits"));
  client.send(call("5", "fixture.echo"));
  client.send(cancel("5"));
  client.send(cancel(5n.toString()));
  client.request("p", "ping");
  await client.next();
  client.send(cancel(5));
  await client.end();
  assert.equal(client.finished.filter(({ name }) => name === "fixture.waits").length, 1);
});

Deno.test("an answer that waits for the channel is taken back by a cancellation", async () => {
  const releases: (() => void)[] = [];
  const client: TestClient = new TestClient({
    write: (bytes) =>
      new Promise((resolve) =>
        releases.push(() => {
          client.keep(bytes);
          resolve();
        })
      ),
  });
  client.request("p", "ping"); // occupies the channel
  client.send(call(1, "fixture.echo"));
  await turn();
  client.send(cancel(1));
  await turn();
  releases.shift()?.();
  client.request("q", "ping");
  await turn();
  releases.shift()?.();
  await client.end();
  assert.deepEqual(client.lines.map((line) => JSON.parse(line).id), ["p", "q"]);
  assert.equal(client.finished[0]?.cancelled, true);
});

Deno.test("progress goes out only with a token, grows, and stops with the call", async () => {
  const clock = fakeClock();
  let late = () => {};
  const steps = tool("steps", async (_args, context) => {
    late = () => context.progress(1_000);
    for (const progress of [1, 1, 0.5, Number.NaN, Infinity, 2, -3, 2.5]) {
      context.progress(progress, progress === 2 ? Number.NaN : 10, "note");
      clock.advance(100);
      await turn();
    }
    return payload({});
  });
  for (const token of ["t", 7, 0, ""]) {
    const client = new TestClient({ tools: withTools(steps), clock });
    client.send(call(1, "steps", {}, { ...META, progressToken: token }));
    const messages: Message[] = [];
    do messages.push(await client.next()); while (messages.at(-1).id === undefined);
    late();
    await client.end();
    assert.deepEqual(
      messages.slice(0, -1),
      [1, 2, 2.5].map((progress) => ({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: {
          progressToken: token,
          progress,
          ...(progress === 2 ? {} : { total: 10 }),
          message: "note",
        },
      })),
    );
    assert.equal(client.lines.length, messages.length);
  }
  for (const token of [undefined, null, {}, 1.5, true]) {
    const client = new TestClient({ tools: withTools(steps), clock });
    client.send(call(1, "steps", {}, { ...META, progressToken: token }));
    assert.equal((await client.next()).id, 1);
    await client.end();
  }
});

Deno.test("progress of the handshake eras carries a message from 2025-03-26 on", async () => {
  for (
    const [version, message] of [["2024-11-05", undefined], ["2025-03-26", "step 1"], [
      "2025-11-25",
      "step 1",
    ]]
  ) {
    const client = new TestClient();
    client.send(
      call(1, "fixture.steps", { ms: 0 }, { progressToken: 1, ...legacyMeta(version ?? "") }),
    );
    assert.equal((await client.next()).params.message, message);
    await client.end();
  }
});

Deno.test("progress that comes too fast is thinned out", async () => {
  const clock = fakeClock();
  const fast = tool("fast", async (_args, context) => {
    for (let step = 1; step <= 1_000; step++) {
      context.progress(step);
      clock.advance(1);
      await Promise.resolve();
    }
    return payload({});
  });
  const client = new TestClient({ tools: withTools(fast), clock });
  client.send(call(1, "fast", {}, { ...META, progressToken: 1 }));
  await client.end();
  assert.equal(client.lines.length, 1_000 / 20 + 1);
});

Deno.test("no progress is sent after a cancellation", async () => {
  let context: { progress(step: number): void } | null = null;
  const client = new TestClient({
    tools: withTools(tool("holds", async (_args, given) => {
      context = given;
      await aborted(given.signal);
      given.progress(5);
      return payload({});
    })),
  });
  client.send(call(1, "holds", {}, { ...META, progressToken: 1 }));
  await turn();
  client.send(cancel(1));
  await turn();
  (context as { progress(step: number): void } | null)?.progress(6);
  await client.end();
  assert.deepEqual(client.lines, []);
});
