import assert from "node:assert/strict";
import { readEnvelope } from "../../protocol/json_rpc.ts";
import { ask, META, TestClient } from "./harness.ts";

const encoder = new TextEncoder();
const read = (text: string) => readEnvelope(encoder.encode(text));

/** The error a frame is refused with and the id that is echoed. */
function refusal(text: string) {
  const envelope = read(text);
  assert(envelope.kind === "refused", text);
  return {
    id: envelope.id,
    code: envelope.error.code,
    message: envelope.error.message,
    data: envelope.error.data,
  };
}

Deno.test("a request keeps its id with type and digits", () => {
  const ids: [string, unknown][] = [
    ["0", 0],
    ["-7", -7],
    ['""', ""],
    ['"a\\u00e9"', "aé"],
    ["9007199254740993", 9007199254740993n],
    ["-9223372036854775808", -(2n ** 63n)],
    ["18446744073709551615", 2n ** 64n - 1n],
    [JSON.stringify("x".repeat(1024)), "x".repeat(1024)],
    [JSON.stringify("é".repeat(512)), "é".repeat(512)],
  ];
  for (const [text, id] of ids) {
    const envelope = read(`{"jsonrpc":"2.0","id":${text},"method":"m","params":{"a":1},"extra":0}`);
    assert.deepEqual(envelope, { kind: "request", id, method: "m", params: { a: 1 } });
  }
});

Deno.test("ids of other kinds are refused without an id", () => {
  const ids = [
    "null",
    "true",
    "1.5",
    "1.0",
    "1e2",
    "-0",
    "{}",
    "[]",
    "18446744073709551616",
    "-9223372036854775809",
    JSON.stringify("x".repeat(1025)),
    JSON.stringify("é".repeat(513)),
  ];
  for (const id of ids) {
    const { data, ...rest } = refusal(`{"jsonrpc":"2.0","id":${id},"method":"m"}`);
    assert.deepEqual(rest, { id: undefined, code: -32600, message: "Invalid request" }, id);
    assert.match(String(data?.details), /id/);
  }
});

Deno.test("frames that are not JSON are a parse error with details", () => {
  for (
    const text of [
      "",
      "{",
      "x",
      '{"jsonrpc":"2.0","id":1,"method":"m"}}',
      "[".repeat(200),
      "1e999",
      "\ufeff{}",
    ]
  ) {
    const { data, ...rest } = refusal(text);
    assert.deepEqual(rest, { id: undefined, code: -32700, message: "Parse error" });
    assert.equal(typeof data?.details, "string");
  }
});

Deno.test("batches are refused whatever they hold, without data", () => {
  for (const text of ["[]", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "[1,2]"]) {
    assert.deepEqual(refusal(text), {
      id: undefined,
      code: -32600,
      message: "Batch requests are not supported",
      data: undefined,
    });
  }
});

Deno.test("what is no request object is refused without an id, even when one was sent", () => {
  const texts = [
    "1",
    '"x"',
    "null",
    "true",
    "1.0",
    "{}",
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","id":5}',
    '{"id":5,"method":"m"}',
    '{"jsonrpc":2.0,"id":5,"method":"m"}',
    '{"jsonrpc":null,"id":5,"method":"m"}',
    '{"jsonrpc":"2.0","id":5,"method":7}',
    '{"jsonrpc":"2.0","id":5,"result":{}}',
    '{"jsonrpc":"1.0","id":5}',
    '{"jsonrpc":"2.0","id":5,"method":null}',
  ];
  for (const text of texts) {
    const { data, ...rest } = refusal(text);
    assert.deepEqual(rest, { id: undefined, code: -32600, message: "Invalid request" }, text);
    assert.equal(typeof data?.details, "string");
  }
});

Deno.test("another jsonrpc version is refused with the id that was sent, if it is one", () => {
  for (
    const [id, echoed] of [
      ["5", 5],
      ['"a"', "a"],
      ["9007199254740993", 9007199254740993n],
      ["null", undefined],
      ["1.5", undefined],
      ["{}", undefined],
    ] as const
  ) {
    assert.equal(refusal(`{"jsonrpc":"1.0","id":${id},"method":"m"}`).id, echoed);
  }
  assert.equal(refusal('{"jsonrpc":"2.1","method":"notifications/initialized"}').id, undefined);
});

Deno.test("a message without an id is a notification", () => {
  assert.deepEqual(read('{"jsonrpc":"2.0","method":"m"}'), {
    kind: "notification",
    method: "m",
    params: undefined,
  });
});

Deno.test("the first rule that fails decides", () => {
  assert.equal(refusal("[[").code, -32700);
  assert.equal(
    refusal('{"jsonrpc":"1.0","id":null,"method":5}').data?.details,
    "method is missing or not a string",
  );
  assert.match(
    String(refusal('{"jsonrpc":"1.0","id":null,"method":"m"}').data?.details),
    /jsonrpc/,
  );
});

Deno.test("answers echo ids byte for byte", async () => {
  for (
    const id of [
      "9007199254740993",
      "18446744073709551615",
      "-9223372036854775808",
      '""',
      '"9007199254740993"',
      "0",
    ]
  ) {
    const client = new TestClient();
    client.send(`{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`);
    client.send(`{"jsonrpc":"2.0","id":${id},"method":"nope"}\n`);
    assert.equal(await client.end(), 0);
    assert.equal(client.lines[0], `{"jsonrpc":"2.0","id":${id},"result":{}}`);
    assert(client.lines[1]?.startsWith(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,`));
  }
});

Deno.test("messages without an id run nothing and are never answered", async () => {
  const client = new TestClient();
  for (
    const method of [
      "tools/call",
      "initialize",
      "ping",
      "tools/list",
      "server/discover",
      "nope",
      "notifications/initialized",
      "notifications/cancelled",
      "notifications/roots/list_changed",
    ]
  ) {
    client.send({
      jsonrpc: "2.0",
      method,
      params: {
        name: "fixture.echo",
        protocolVersion: "2024-11-05",
        clientInfo: { name: "ghost", version: "1" },
      },
    });
  }
  client.request(1, "tools/call", { name: "fixture.echo" });
  assert.equal(await client.end(), 0);
  assert.equal(client.lines.length, 1);
  // The initialize without an id left no name behind, and no call but the last was told.
  assert.equal(
    JSON.parse(client.lines[0] ?? "").result.structuredContent.agentId,
    "external-mcp-sidecar",
  );
  assert.equal(client.finished.length, 1);
});

Deno.test("the id of an unreadable message is left out, and null after initialize", async () => {
  const broken = "{\n";
  const legacy = '{"jsonrpc":"2.0","id":1.5,"method":"m"}\n';
  const modern = { jsonrpc: "2.0", id: 1.5, method: "m", params: { _meta: META } };
  const [before, beforeId, handshake, after, afterId, marked, batch] = await ask(
    broken,
    legacy,
    { jsonrpc: "2.0", id: 0, method: "initialize", params: {} },
    broken,
    legacy,
    modern,
    "[]\n",
  );
  assert(!Object.hasOwn(before, "id") && before.error.code === -32700);
  assert(!Object.hasOwn(beforeId, "id") && beforeId.error.code === -32600);
  assert.equal(handshake.id, 0);
  assert(after.id === null && after.error.code === -32700);
  assert(afterId.id === null && afterId.error.code === -32600);
  // A message that names the modern revision is answered by its rules also then.
  assert(!Object.hasOwn(marked, "id") && marked.error.code === -32600);
  assert.deepEqual(batch, {
    jsonrpc: "2.0",
    id: null,
    error: { code: -32600, message: "Batch requests are not supported" },
  });
});

Deno.test("a refused initialize does not open a handshake era", async () => {
  const answers = await ask({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { _meta: META },
  }, "{\n");
  assert.equal(answers[0].error.code, -32601);
  assert(!Object.hasOwn(answers[1], "id"));
});
