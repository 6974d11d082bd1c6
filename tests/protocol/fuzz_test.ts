import assert from "node:assert/strict";
import { JsonError, parseJson, stringifyJson } from "../../common/json.ts";
import { FrameDecoder, FramingError } from "../../protocol/framing.ts";
import { FIXTURE_TOOLS, fixtureTable } from "./fixture_tools.ts";
import { META, TestClient } from "./harness.ts";
import { join, mutate, Random } from "./mutations.ts";
import { call } from "./requests.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const LF = new Uint8Array([0x0a]);

const legacyMeta = { "io.modelcontextprotocol/protocolVersion": "2025-03-26", progressToken: 5 };
const REQUESTS = [
  {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: { roots: {} },
      clientInfo: { name: "c", version: "1" },
    },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
  { jsonrpc: "2.0", id: "a", method: "ping" },
  { jsonrpc: "2.0", id: 2, method: "tools/list", params: { cursor: "" } },
  { jsonrpc: "2.0", id: 3, method: "tools/list", params: { _meta: META } },
  { jsonrpc: "2.0", id: 4, method: "server/discover", params: { _meta: META } },
  {
    jsonrpc: "2.0",
    id: 5,
    method: "subscriptions/listen",
    params: { notifications: { toolsListChanged: true }, _meta: META },
  },
  { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5, reason: "x" } },
  call(6, "fixture.echo", { a: [1, 2.5, { b: "é\u{1f600}" }], n: 0 }, META),
  call("seven", "fixture.echo", { text: "x".repeat(40), nested: [[[[]]]] }),
  call(8, "fixture.fails", {}, legacyMeta),
  call(9, "fixture.throws", null, META),
].map((message) => encoder.encode(JSON.stringify(message)));

Deno.test("200,000 mutated frames neither stop nor silence the server", async () => {
  const CASES = 200_000;
  const BATCH = 500;
  const random = new Random(20260728);
  const quick = FIXTURE_TOOLS.filter(({ name }) => /echo|fails|throws/.test(name));
  const client = new TestClient({ tools: fixtureTable(quick), observers: [], log() {} });
  let cases = 0;
  const codes = new Map<number, number>();
  for (let batch = 0; cases < CASES; batch++) {
    const parts: Uint8Array[] = [];
    for (let at = 0; at < BATCH; at++, cases++) {
      parts.push(mutate(random.pick(REQUESTS), random), LF);
    }
    client.send(join(...parts));
    const good = `good ${batch}`;
    client.request(good, "ping", {
      _meta: { "io.modelcontextprotocol/protocolVersion": "2025-11-25" },
    });
    // Every message is one line of JSON-RPC, and the good request after the broken ones is answered.
    for (let answered = false; !answered;) {
      const message = await client.next();
      assert.equal(message.jsonrpc, "2.0");
      if (message.method === undefined) {
        assert.notEqual(Object.hasOwn(message, "result"), Object.hasOwn(message, "error"));
        if (message.error !== undefined) {
          assert(Number.isInteger(message.error.code) && typeof message.error.message === "string");
          codes.set(message.error.code, (codes.get(message.error.code) ?? 0) + 1);
        } else {
          assert(["string", "number"].includes(typeof message.id));
        }
      }
      answered = message.id === good;
      if (answered) assert.deepEqual(message.result, {});
    }
    client.forget();
  }
  assert.equal(cases, CASES);
  assert.equal(await client.end(), 0);
  // The mutations reach every refusal, not only the parser.
  for (const code of [-32700, -32600, -32601, -32602, -32603, -32022]) {
    assert((codes.get(code) ?? 0) > 50, `${code}`);
  }
});

/** The frames of the input cut into chunks of at most `size` bytes, and the error that ended it. */
function framesOf(input: Uint8Array, size: () => number): string[] {
  const framing = new FrameDecoder();
  const found: string[] = [];
  const take = () => {
    for (let frame = framing.next(); frame !== null; frame = framing.next()) {
      found.push(decoder.decode(frame));
    }
  };
  try {
    for (let at = 0; at < input.length;) {
      const chunk = input.slice(at, at + size());
      at += chunk.length;
      framing.push(chunk);
      take();
      chunk.fill(0);
    }
    framing.end();
    take();
  } catch (error) {
    assert(error instanceof FramingError);
    found.push(`fatal: ${error.message}`);
  }
  return found;
}

Deno.test("30,000 mutated streams give the same frames however they are cut into chunks", () => {
  const random = new Random(31);
  const streams = [
    '{"a":1}\nContent-Length: 7\r\nX: y\r\n\r\n{"b":2}\n\n[3]\r\n',
    "Content-Length: 2\n\n{}Content-Length: 4\r\nContent-Type: a\r\n\r\nnull7\n",
    "content-length: 0\n\nContent-Length:3\n\n\n\n\n1\n2",
  ].map((text) => encoder.encode(text));
  let fatal = 0;
  let cases = 0;
  for (; cases < 30_000; cases++) {
    const input = mutate(random.pick(streams), random);
    const whole = framesOf(input, () => input.length);
    assert.deepEqual(framesOf(input, () => 1 + random.below(5)), whole);
    if (whole.at(-1)?.startsWith("fatal")) fatal++;
  }
  assert.equal(cases, 30_000);
  assert(fatal > 1_000 && fatal < 29_000);
});

Deno.test("60,000 mutated texts are read as JSON.parse reads them, or refused for a stated reason", () => {
  const random = new Random(77);
  let accepted = 0;
  let cases = 0;
  for (; cases < 60_000; cases++) {
    const text = decoder.decode(mutate(random.pick(REQUESTS), random));
    let plain: { value: unknown } | null = null;
    try {
      plain = { value: JSON.parse(text) };
    } catch {
      // compared below
    }
    try {
      const value = parseJson(text);
      assert(plain !== null, text);
      // The same value, but for numbers beyond 2^53 and keys that an object literal treats apart.
      if (!/\d{16}|__proto__/.test(text)) {
        assert.equal(stringifyJson(value), JSON.stringify(plain.value));
      }
      accepted++;
    } catch (error) {
      assert(error instanceof JsonError, String(error));
      if (plain !== null) assert.match(error.message, /surrogate|out of range/, text);
    }
  }
  assert.equal(cases, 60_000);
  assert(accepted > 5_000);
});
