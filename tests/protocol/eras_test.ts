import assert from "node:assert/strict";
import { sanitizeAgentId } from "../../protocol/eras.ts";
import { ask, type Message, META, TestClient } from "./harness.ts";

const VERSIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const LEGACY = VERSIONS.slice(1);
const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const CLIENT = "io.modelcontextprotocol/clientInfo";
const SERVER_INFO = {
  name: "fixture-server",
  title: "Fixture server",
  version: "1.2.3",
  description: "Serves tools that exist only in tests.",
  websiteUrl: "https://example.invalid/fixture",
};

let id = 0;
const request = (method: string, params?: unknown) => ({
  jsonrpc: "2.0",
  id: ++id,
  method,
  ...(params === undefined ? {} : { params }),
});
const initialize = (protocolVersion: unknown, clientInfo?: unknown) =>
  request("initialize", { protocolVersion, capabilities: {}, clientInfo });
const one = async (method: string, params?: unknown): Promise<Message> =>
  (await ask(request(method, params)))[0];
const echo = (_meta?: unknown) =>
  request("tools/call", {
    name: "fixture.echo",
    arguments: {},
    ...(_meta === undefined ? {} : { _meta }),
  });

Deno.test("initialize answers the legacy version that was asked for", async () => {
  for (const version of LEGACY) {
    const { result } = await one("initialize", {
      protocolVersion: version,
      capabilities: {},
      clientInfo: { name: "c", version: "1" },
    });
    assert.deepEqual(result, {
      protocolVersion: version,
      capabilities: { tools: { listChanged: false } },
      serverInfo: { name: "fixture-server", version: "1.2.3" },
      instructions: "Call fixture.echo first.",
    });
  }
});

Deno.test("initialize answers 2025-11-25 to anything else, and never an error", async () => {
  const params = [
    undefined,
    null,
    [],
    "x",
    5,
    {},
    { protocolVersion: "1999-01-01" },
    { protocolVersion: "2026-07-28" },
    { protocolVersion: 7 },
    { protocolVersion: null },
    { protocolVersion: "2025-06-18 " },
    { clientInfo: 5 },
    { protocolVersion: "DRAFT", clientInfo: { name: {} } },
    { _meta: { [VERSION]: "2031-01-01" } },
    { _meta: { [VERSION]: 5 } },
  ];
  for (const value of params) {
    assert.equal(
      (await one("initialize", value)).result.protocolVersion,
      "2025-11-25",
      JSON.stringify(value),
    );
  }
  const named = await one("initialize", {
    protocolVersion: "2025-03-26",
    _meta: { [VERSION]: "2025-11-25" },
  });
  assert.equal(named.result.protocolVersion, "2025-03-26");
});

Deno.test("initialize and ping that carry modern metadata are methods the modern era does not have", async () => {
  for (
    const method of [
      "initialize",
      "ping",
      "logging/setLevel",
      "resources/subscribe",
      "prompts/list",
      "tasks/get",
      "nope",
      "",
      "notifications/cancelled",
    ]
  ) {
    const { error } = await one(method, { _meta: META });
    assert.deepEqual(error, { code: -32601, message: "Method not found", data: { method } });
  }
  assert.equal(
    (await one("initialize", { _meta: { [VERSION]: "2026-07-28" } })).error.code,
    -32601,
  );
});

Deno.test("unknown methods of the handshake eras are not found, modern ones included", async () => {
  for (
    const method of [
      "subscriptions/listen",
      "logging/setLevel",
      "prompts/list",
      "nope",
      "notifications/initialized",
    ]
  ) {
    assert.deepEqual((await one(method)).error, {
      code: -32601,
      message: "Method not found",
      data: { method },
    });
  }
  const long = (await one("x".repeat(100_000))).error;
  assert.equal(long.data.method.length, 1024);
});

Deno.test("ping is answered with an empty object before and after initialize", async () => {
  const answers = await ask(
    request("ping"),
    initialize("2024-11-05"),
    request("ping", { _meta: {} }),
  );
  assert.deepEqual(answers.map(({ result }) => Object.keys(result).length), [0, 4, 0]);
});

Deno.test("server/discover lists all versions, newest first, at any time", async () => {
  const discover = request("server/discover", { _meta: META });
  const client = new TestClient();
  for (const message of [discover, initialize("2024-11-05"), { ...discover, id: "again" }]) {
    client.send(message);
  }
  await client.end();
  for (const line of [client.lines[0], client.lines[2]]) {
    assert.deepEqual(JSON.parse(line ?? "").result, {
      resultType: "complete",
      supportedVersions: VERSIONS,
      capabilities: { tools: { listChanged: false } },
      instructions: "Call fixture.echo first.",
      ttlMs: 30_000,
      cacheScope: "public",
      _meta: { "io.modelcontextprotocol/serverInfo": SERVER_INFO },
    });
  }
});

Deno.test("server/discover without its metadata has invalid params", async () => {
  for (
    const params of [undefined, null, [], "x", {}, { _meta: null }, { _meta: [] }, {
      _meta: { [CAPABILITIES]: {} },
    }]
  ) {
    const { error } = await one("server/discover", params);
    assert.equal(error.code, -32602);
    assert.equal(error.message, "Invalid params");
    assert.match(error.data.details, /protocolVersion/);
  }
  assert.equal(
    (await one("server/discover", { _meta: { [VERSION]: "2025-11-25" } })).error.code,
    -32601,
  );
});

Deno.test("a version that is not a string has invalid params, for known and unknown methods", async () => {
  for (const method of ["tools/list", "tools/call", "nope", "ping", "server/discover"]) {
    for (const version of [null, 5, {}, ["2026-07-28"], true]) {
      const { error } = await one(method, { _meta: { ...META, [VERSION]: version } });
      assert.equal(error.code, -32602);
      assert.match(error.data.details, /protocolVersion/);
    }
  }
});

Deno.test("a version that is not served is told with all that are", async () => {
  for (const method of ["tools/list", "tools/call", "server/discover", "ping", "nope"]) {
    for (const version of ["2031-01-01", "", "2026-07-28 ", "2024-11-5"]) {
      // Before the missing capabilities: a newer revision may have other keys.
      const { error } = await one(method, { _meta: { [VERSION]: version } });
      assert.deepEqual(error, {
        code: -32022,
        message: "Unsupported protocol version",
        data: { supported: VERSIONS, requested: version },
      });
    }
  }
  const { error } = await one("ping", { _meta: { [VERSION]: "v".repeat(1_000_000) } });
  assert.equal(error.data.requested.length, 1024);
});

Deno.test("modern requests without an object of client capabilities have invalid params", async () => {
  for (
    const method of [
      "tools/list",
      "tools/call",
      "server/discover",
      "ping",
      "nope",
      "subscriptions/listen",
    ]
  ) {
    for (const capabilities of [undefined, null, [], "x", 5, 1.5]) {
      const { error } = await one(method, { _meta: { ...META, [CAPABILITIES]: capabilities } });
      assert.equal(error.code, -32602, method);
      assert.match(error.data.details, /clientCapabilities/);
    }
  }
});

Deno.test("clientInfo may be absent, but not malformed", async () => {
  const served = await one("tools/call", {
    name: "fixture.echo",
    _meta: { [VERSION]: "2026-07-28", [CAPABILITIES]: {} },
  });
  assert.equal(served.result.structuredContent.agentId, "external-mcp-sidecar");
  assert.equal(served.result.structuredContent.clientVersion, null);
  for (
    const info of [
      null,
      [],
      "x",
      {},
      { name: "a" },
      { version: "1" },
      { name: " ", version: "1" },
      { name: "a", version: "" },
      { name: 5, version: "1" },
    ]
  ) {
    const { error } = await one("tools/list", { _meta: { ...META, [CLIENT]: info } });
    assert.equal(error.code, -32602);
    assert.match(error.data.details, /clientInfo/);
  }
});

Deno.test("unknown keys of _meta and of params are no error", async () => {
  const { result } = await one("tools/list", {
    more: 1,
    _meta: { ...META, "io.modelcontextprotocol/other": [], traceparent: 5, progressToken: {} },
  });
  assert.equal(result.resultType, "complete");
});

Deno.test("metadata that names a handshake version is served in the shape of that version", async () => {
  const client = new TestClient();
  client.send(initialize("2024-11-05", { name: "handshake", version: "1" }));
  await client.next();
  for (const version of LEGACY) {
    client.send(echo({ [VERSION]: version }));
    const { result } = await client.next();
    assert.equal(Object.hasOwn(result, "structuredContent"), version >= "2025-06-18");
    assert(!Object.hasOwn(result, "resultType") && !Object.hasOwn(result, "_meta"));
    assert.equal(JSON.parse(result.content[0].text).agentId, "handshake");
    client.send(request("ping", { _meta: { [VERSION]: version } }));
    assert.deepEqual((await client.next()).result, {});
  }
  client.send(echo({ [VERSION]: "2025-11-25", [CLIENT]: { name: "request", version: "2" } }));
  assert.equal((await client.next()).result.structuredContent.agentId, "request");
  await client.end();
});

Deno.test("bare requests without initialize are served as 2025-11-25", async () => {
  const [call, list] = await ask(echo(), request("tools/list"));
  assert.deepEqual(Object.keys(call.result).sort(), ["content", "isError", "structuredContent"]);
  assert.deepEqual(Object.keys(list.result), ["tools"]);
});

Deno.test("the negotiated version shapes later bare requests, until the next initialize", async () => {
  for (const version of LEGACY) {
    const [, call] = await ask(initialize(version), echo());
    assert.equal(Object.hasOwn(call.result, "structuredContent"), version >= "2025-06-18", version);
  }
  const [, , , call] = await ask(
    initialize("2024-11-05"),
    echo(),
    initialize("2025-06-18"),
    echo(),
  );
  assert(Object.hasOwn(call.result, "structuredContent"));
});

Deno.test("both eras are served on one connection and learn nothing from each other", async () => {
  const [, modern, nameless, legacy] = await ask(
    initialize("2024-11-05", { name: "old", version: "1" }),
    echo(META),
    echo({ [VERSION]: "2026-07-28", [CAPABILITIES]: {} }),
    echo(),
  );
  assert.equal(modern.result.resultType, "complete");
  assert.deepEqual(modern.result._meta, { "io.modelcontextprotocol/serverInfo": SERVER_INFO });
  assert.equal(modern.result.structuredContent.agentId, "modern-client");
  assert.equal(modern.result.structuredContent.clientVersion, "9.8");
  assert.equal(nameless.result.structuredContent.agentId, "external-mcp-sidecar");
  assert.equal(nameless.result.structuredContent.clientVersion, null);
  assert.equal(JSON.parse(legacy.result.content[0].text).agentId, "old");
  assert(!Object.hasOwn(legacy.result, "structuredContent"));
});

Deno.test("agent ids keep a safe alphabet and at most 128 bytes", () => {
  const cases: [unknown, string | null][] = [
    ["claude-code", "claude-code"],
    ["Claude Code", "Claude-Code"],
    [" my  agent!! ", "my-agent"],
    ["a:b.c_d-e", "a:b.c_d-e"],
    ["a--b", "a-b"],
    ["x/y@z", "x-y-z"],
    ["日本", null],
    ["日本a日本", "a"],
    ["a".repeat(140), "a".repeat(128)],
    ["a".repeat(127) + "é" + "b", "a".repeat(127)],
    ["a".repeat(126) + "é" + "b", "a".repeat(126) + "-b"],
    ["-".repeat(500) + "a", "a"],
    ["", null],
    [" \t", null],
    ["---", null],
    [5, null],
    [undefined, null],
    ["a\u0000b\u001b[31m", "a-b-31m"],
  ];
  for (const [name, expected] of cases) assert.equal(sanitizeAgentId(name), expected, String(name));
});

Deno.test("the last usable name of an initialize is remembered for the handshake eras", async () => {
  const who = async (...infos: unknown[]) => {
    const answers = await ask(...infos.map((info) => initialize("2025-11-25", info)), echo());
    const { agentId, clientVersion } = answers.at(-1).result.structuredContent;
    return [agentId, clientVersion];
  };
  assert.deepEqual(await who(), ["external-mcp-sidecar", null]);
  assert.deepEqual(await who({ name: "Claude Code", version: "2.1" }), ["Claude-Code", "2.1"]);
  assert.deepEqual(await who({ name: "a", version: "1" }, { name: "b", version: "2" }), ["b", "2"]);
  assert.deepEqual(await who({ name: "a", version: "1" }, { name: "日本", version: "2" }), [
    "a",
    "1",
  ]);
  assert.deepEqual(await who({ name: "a", version: "1" }, undefined, "x"), ["a", "1"]);
  assert.deepEqual(await who({ name: "a" }), ["a", null]);
  assert.deepEqual(await who({ name: "a", version: "1\u0007\n" + "2".repeat(200) }), [
    "a",
    "1" + "2".repeat(127),
  ]);
  assert.deepEqual(await who({ name: "a", version: "😀".repeat(200) }), ["a", "😀".repeat(128)]);
});
