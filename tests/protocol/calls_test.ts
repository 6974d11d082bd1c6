import assert from "node:assert/strict";
import { MAX_FRAME_BYTES } from "../../protocol/framing.ts";
import type { ToolOutcome } from "../../protocol/types.ts";
import { fixtureTable, payload } from "./fixture_tools.ts";
import { ask, META, TestClient } from "./harness.ts";
import { call, legacyMeta, tool, turn, withTools } from "./requests.ts";

Deno.test("tools/list gives the table's own text, cached in the modern era", async () => {
  const tools = { ...fixtureTable([]), listJson: (era: { kind: string }) => `[ "${era.kind}" ]` };
  const client = new TestClient({ tools });
  client.modern(1, "tools/list");
  client.request(2, "tools/list");
  await client.end();
  assert(
    client.lines[0]?.startsWith(
      '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[ "modern" ],"ttlMs":30000,"cacheScope":"public","_meta":{',
    ),
  );
  assert.equal(client.lines[1], '{"jsonrpc":"2.0","id":2,"result":{"tools":[ "legacy" ]}}');
});

Deno.test("tools/list has one page: an empty cursor is accepted and any other refused", async () => {
  for (const cursor of [null, ""]) {
    for (const _meta of [META, undefined]) {
      const [answer] = await ask({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/list",
        params: { cursor, _meta },
      });
      assert(answer.result.tools.length > 0 && !Object.hasOwn(answer.result, "nextCursor"));
    }
  }
  for (const cursor of ["x", " ", 0, 1, false, {}, [], 1.5]) {
    for (const _meta of [META, undefined]) {
      const [answer] = await ask({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/list",
        params: { cursor, _meta },
      });
      assert.equal(answer.error.code, -32602);
      assert.match(answer.error.data.details, /cursor/);
    }
  }
});

Deno.test("a list that cannot be made is an internal error and the server goes on", async () => {
  const tools = {
    ...fixtureTable([]),
    listJson: () => {
      throw new Error("no list");
    },
  };
  const client = new TestClient({ tools });
  client.request(1, "tools/list");
  client.request(2, "ping");
  await client.end();
  assert.equal(JSON.parse(client.lines[0] ?? "").error.code, -32603);
  assert.deepEqual(JSON.parse(client.lines[1] ?? "").result, {});
  assert.match(client.logged[0] ?? "", /tools\/list failed: Error: no list/);
});

Deno.test("a result holds the payload as compact text and, where the era has it, as structure", async () => {
  const args = { b: [1, "é"], a: null };
  for (
    const [meta, structured, decorated] of [
      [META, true, true],
      [legacyMeta("2025-11-25"), true, false],
      [legacyMeta("2025-06-18"), true, false],
      [legacyMeta("2025-03-26"), false, false],
      [legacyMeta("2024-11-05"), false, false],
    ] as const
  ) {
    const [{ result }] = await ask(call(1, "fixture.echo", args, meta));
    assert.equal(result.content.length, 1);
    assert.equal(result.content[0].type, "text");
    assert(result.content[0].text.startsWith('{"echo":{"b":[1,"é"],"a":null},"agentId":'));
    assert.equal(result.isError, false);
    assert.equal(Object.hasOwn(result, "structuredContent"), structured);
    if (structured) assert.equal(JSON.stringify(result.structuredContent), result.content[0].text);
    assert.equal(result.resultType, decorated ? "complete" : undefined);
    assert.equal(Object.hasOwn(result, "_meta"), decorated);
    assert(!Object.hasOwn(result, "ttlMs") && !Object.hasOwn(result, "cacheScope"));
  }
});

Deno.test("an error payload keeps its code and structure", async () => {
  const [{ result }] = await ask(call(1, "fixture.fails", {}, META));
  assert.equal(result.isError, true);
  assert.equal(result.structuredContent.error.code, 10010);
  assert.equal(JSON.stringify(result.structuredContent), result.content[0].text);
});

Deno.test("content blocks of a tool replace the text and its structure", async () => {
  const content = [{ type: "image", data: "AA==", mimeType: "image/png" }];
  const client = new TestClient({
    tools: withTools(
      tool("blocks", () => ({ kind: "result", payload: { a: 1 }, isError: false, content })),
    ),
  });
  client.send(call(1, "blocks", {}, META));
  const { result } = await client.next();
  assert.deepEqual(result.content, content);
  assert(!Object.hasOwn(result, "structuredContent"));
  await client.end();
});

Deno.test("integers beyond 2^53 reach the tool and come back with all digits", async () => {
  const client = new TestClient();
  client.send(
    '{"jsonrpc":"2.0","id":18446744073709551615,"method":"tools/call","params":{"name":"fixture.echo","arguments":{"n":[9007199254740993,5.0,0.5]}}}\n',
  );
  const line = await client.nextLine();
  assert(line.includes('"structuredContent":{"echo":{"n":[9007199254740993,5,0.5]}'));
  assert(line.startsWith('{"jsonrpc":"2.0","id":18446744073709551615,'));
  await client.end();
  assert.deepEqual((client.finished[0]?.args as { n: unknown[] }).n[0], 9007199254740993n);
});

Deno.test("a call that names no tool has invalid params and is told to observers", async () => {
  const bad = [undefined, null, [], "x", 5, {}, { name: 5 }, { name: null }, { arguments: {} }];
  for (const params of bad) {
    const client = new TestClient();
    client.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const { error } = await client.next();
    assert.equal(error.code, -32602);
    assert.equal(error.message, "Invalid params");
    assert.equal(typeof error.data.details, "string");
    await client.end();
    assert.equal(client.finished.length, 1);
    assert.equal(client.finished[0]?.name, "unknown");
    assert.equal(client.finished[0]?.outcome.kind, "rpcError");
  }
});

Deno.test("errors of the table are passed on with code and data", async () => {
  const [{ error }] = await ask(call(1, "no.such", {}, META));
  assert.deepEqual(error, {
    code: -32602,
    message: "Unknown tool 'no.such'",
    data: { tool: "no.such" },
  });
});

Deno.test("absent arguments reach the table as undefined", async () => {
  const seen: unknown[] = [];
  const client = new TestClient({
    tools: {
      listJson: () => "[]",
      call: (_name, args) => (seen.push(args), Promise.resolve(payload({}))),
    },
  });
  client.send(call(1, "a"));
  client.send(call(2, "a", null));
  await client.end();
  assert.deepEqual(seen, [undefined, null]);
});

Deno.test("a tool that throws, however it throws, is an internal error and kills nothing", async () => {
  const client = new TestClient({
    tools: withTools(
      tool("rejects", () => Promise.reject("a string")),
      tool("throws.later", async () => {
        await turn();
        throw new TypeError("later\nsecond line \u001b[31m");
      }),
      tool("gives.nothing", () => undefined as unknown as ToolOutcome),
    ),
  });
  for (const name of ["fixture.throws", "rejects", "throws.later", "gives.nothing"]) {
    client.send(call(name, name, {}));
    const { id, error } = await client.next();
    assert.equal(id, name);
    assert.equal(error.code, -32603);
    assert(!JSON.stringify(error).includes("on purpose"));
  }
  assert.equal(client.logged.length, 3);
  for (const line of client.logged) assert.match(line, /^tool [\x20-\x7e]+$/);
  client.request(9, "ping");
  assert.deepEqual((await client.next()).result, {});
  assert.equal(await client.end(), 0);
});

Deno.test("an observer that throws harms neither the answer nor the other observers", async () => {
  const told: string[] = [];
  const client = new TestClient({
    observers: [
      {
        finished() {
          throw new Error("observer");
        },
      },
      { finished: ({ name }) => told.push(name) },
    ],
  });
  client.send(call(1, "fixture.echo"));
  await client.end();
  assert.equal(client.lines.length, 1);
  assert.deepEqual(told, ["fixture.echo"]);
  assert.match(client.logged[0] ?? "", /observer failed/);
});

Deno.test("answers over 8 MiB are replaced by an error that tells both sizes", async () => {
  const client = new TestClient();
  const chars = MAX_FRAME_BYTES / 2 + 1;
  client.send(call("big", "fixture.fills", { chars }, META));
  const { id, error } = await client.next();
  assert.equal(id, "big");
  assert.equal(error.code, -32603);
  assert.equal(error.data.limitBytes, MAX_FRAME_BYTES);
  assert(error.data.serializedBytes > 2 * chars && error.data.serializedBytes < 2 * chars + 1_000);
  assert.equal(error.data.retryable, true);
  await client.end();
  assert.deepEqual(client.finished[0]?.outcome, { kind: "rpcError", ...error });
});

Deno.test("an answer of exactly 8 MiB goes out and one byte more does not", async () => {
  const line = async (chars: number) => {
    const client = new TestClient();
    client.send(call(1, "fixture.fills", { chars }, legacyMeta("2024-11-05")));
    const text = await client.nextLine();
    await client.end();
    return text;
  };
  const overhead = (await line(0)).length;
  assert.equal((await line(MAX_FRAME_BYTES - overhead)).length, MAX_FRAME_BYTES);
  const { error } = JSON.parse(await line(MAX_FRAME_BYTES - overhead + 1));
  assert.equal(error.data.serializedBytes, MAX_FRAME_BYTES + 1);
});

Deno.test("bytes are counted, not characters", async () => {
  const client = new TestClient({
    tools: withTools(tool("wide", () => payload({ text: "é".repeat(4_194_304) }))),
  });
  client.send(call(1, "wide", {}, legacyMeta("2024-11-05")));
  assert.equal((await client.next()).error.code, -32603);
  await client.end();
});

Deno.test("a payload without a JSON form is an error that cannot be retried", async () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const client = new TestClient({ tools: withTools(tool("circle", () => payload(circle))) });
  client.send(call(1, "circle"));
  const { error } = await client.next();
  assert.equal(error.code, -32603);
  assert.equal(error.data.retryable, false);
  await client.end();
});
