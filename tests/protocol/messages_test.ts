/** Everything that is written, checked against the schemas of both official packages. */

import assert from "node:assert/strict";
import * as modern from "@modelcontextprotocol/core";
import * as legacy from "@modelcontextprotocol/sdk/types.js";
import { type Message, META, TestClient } from "./harness.ts";
import { call, cancel } from "./requests.ts";

interface Schema {
  parse(value: unknown): unknown;
}

const parses = (schema: unknown, value: unknown) => (schema as Schema).parse(value);

/** Sends the requests one after another and gives each with everything that came out for it. */
async function exchange(requests: Message[]): Promise<[Message, Message[]][]> {
  const client = new TestClient();
  const exchanges: [Message, Message[]][] = [];
  for (const request of requests) {
    client.send(request);
    const messages = [await client.next()];
    while (messages.at(-1).method === "notifications/progress") messages.push(await client.next());
    exchanges.push([request, messages]);
  }
  await client.end();
  assert.equal(client.lines.length, exchanges.flatMap(([, messages]) => messages).length);
  return exchanges;
}

const request = (id: unknown, method: string, params?: unknown) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

Deno.test("every message of the modern era has the form of the official schemas", async () => {
  const meta = { _meta: META };
  const results: Record<string, unknown> = {
    "server/discover": modern.DiscoverResultSchema,
    "tools/list": modern.ListToolsResultSchema,
    "tools/call": modern.CallToolResultSchema,
  };
  const exchanges = await exchange([
    request("d", "server/discover", meta),
    request(1, "tools/list", meta),
    call(2, "fixture.echo", { a: 1 }, META),
    call(3, "fixture.fails", {}, META),
    call(4, "fixture.steps", { ms: 30 }, { ...META, progressToken: "p" }),
    call(5, "fixture.throws", {}, META),
    call(6, "no.such", {}, META),
    request("s", "subscriptions/listen", { ...meta, notifications: { toolsListChanged: true } }),
    request(7, "ping", meta),
    request(8, "tools/list", { ...meta, cursor: "x" }),
    request(9, "tools/list", {
      _meta: { "io.modelcontextprotocol/protocolVersion": "2031-01-01" },
    }),
    "{\n",
    "[]\n",
    request(null, "tools/list", meta),
  ]);
  let progress = 0;
  for (const [sent, messages] of exchanges) {
    for (const message of messages) {
      parses(modern.JSONRPCMessageSchema, message);
      assert.notEqual(message.id, null);
      if (message.method === "notifications/progress") {
        progress++;
        parses(modern.ProgressNotificationSchema, {
          method: message.method,
          params: message.params,
        });
      } else if (message.method !== undefined) {
        parses(modern.SubscriptionsAcknowledgedNotificationSchema, {
          method: message.method,
          params: message.params,
        });
      } else if (message.error !== undefined) {
        parses(modern.JSONRPCErrorResponseSchema, message);
        assert.equal(message.id, typeof sent === "string" ? undefined : sent.id ?? undefined);
      } else {
        parses(results[sent.method], message.result);
        assert.equal(message.id, sent.id);
        assert.equal(message.result.resultType, "complete");
        parses(
          modern.ImplementationSchema,
          message.result._meta["io.modelcontextprotocol/serverInfo"],
        );
        assert.equal(Object.hasOwn(message.result, "ttlMs"), sent.method !== "tools/call");
      }
    }
  }
  assert(progress > 0);
});

Deno.test("every message of the handshake eras has the form of the official schemas", async () => {
  const results: Record<string, unknown> = {
    "initialize": legacy.InitializeResultSchema,
    "ping": legacy.EmptyResultSchema,
    "tools/list": legacy.ListToolsResultSchema,
    "tools/call": legacy.CallToolResultSchema,
  };
  for (const protocolVersion of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
    const exchanges = await exchange([
      request(0, "initialize", {
        protocolVersion,
        capabilities: {},
        clientInfo: { name: "c", version: "1" },
      }),
      request(1, "ping"),
      request(2, "tools/list"),
      call(3, "fixture.echo", { a: 1 }),
      call(4, "fixture.fails", {}),
      call(5, "fixture.steps", { ms: 30 }, { progressToken: "p" }),
      call(6, "fixture.throws", {}),
      request(7, "nope"),
      request(8, "tools/list", { cursor: 5 }),
      "{\n",
    ]);
    for (const [sent, messages] of exchanges) {
      for (const message of messages) {
        if (typeof sent === "string") {
          // The schemas of the time know no unreadable id; JSON-RPC itself wants null.
          assert.deepEqual([message.jsonrpc, message.id, message.error.code], [
            "2.0",
            null,
            -32700,
          ]);
          continue;
        }
        parses(legacy.JSONRPCMessageSchema, message);
        if (message.method !== undefined) {
          parses(legacy.ProgressNotificationSchema, {
            method: message.method,
            params: message.params,
          });
        } else if (message.error === undefined) {
          parses(results[sent.method], message.result);
          assert(!("resultType" in message.result) && !("_meta" in message.result));
        }
      }
    }
  }
});

Deno.test("the control: the schemas refuse what they should", () => {
  assert.throws(() =>
    parses(modern.JSONRPCMessageSchema, {
      jsonrpc: "2.0",
      id: null,
      error: { code: 1, message: "" },
    })
  );
  assert.throws(() =>
    parses(modern.ListToolsResultSchema, { resultType: "complete", tools: [{ name: 5 }] })
  );
  assert.throws(() => parses(legacy.CallToolResultSchema, { content: [{ type: "text" }] }));
  assert.throws(() => parses(legacy.InitializeResultSchema, { protocolVersion: 5 }));
});

Deno.test("a cancelled call writes nothing that could have a form", async () => {
  const client = new TestClient();
  client.send(call(1, "fixture.waits", {}, META));
  client.send(cancel(1));
  await client.end();
  assert.deepEqual(client.lines, []);
});
