/** The official clients against a real process on its standard streams. */

import assert from "node:assert/strict";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Transport2 } from "@modelcontextprotocol/client/stdio";
import { FIXTURE_TOOLS } from "./fixture_tools.ts";

const server = {
  command: Deno.execPath(),
  args: ["run", "-q", "--no-remote", new URL("fixture_server.ts", import.meta.url).href],
  stderr: "inherit" as const,
};
const info = { name: "official client", version: "4.5.6" };
const names = FIXTURE_TOOLS.map(({ name }) => name);

/** What both clients have in common, as far as these tests need it. */
interface Common {
  // deno-lint-ignore no-explicit-any
  callTool(params: any, ...more: any[]): Promise<any>;
  // deno-lint-ignore no-explicit-any
  listTools(): Promise<any>;
  close(): Promise<void>;
}

/** Lists, calls, fails and cancels; the same for each client and era. */
async function useTools(
  client: Common,
  structured: boolean,
  cancelledCall: (signal: AbortSignal) => Promise<unknown>,
) {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name }: { name: string }) => name), names);
  const echo = await client.callTool({
    name: "fixture.echo",
    arguments: { deep: { é: [1, null] } },
  });
  const expected = {
    echo: { deep: { é: [1, null] } },
    agentId: "official-client",
    clientVersion: "4.5.6",
  };
  assert.deepEqual(JSON.parse(echo.content[0].text), expected);
  if (structured) assert.deepEqual(echo.structuredContent, expected);
  assert.equal((await client.callTool({ name: "fixture.fails", arguments: {} })).isError, true);
  await assert.rejects(client.callTool({ name: "no.such", arguments: {} }), (error) => {
    assert.equal((error as { code?: unknown }).code, -32602);
    return true;
  });
  // Many at once, then one that is cancelled; the connection serves on.
  const many = await Promise.all(
    Array.from(
      { length: 50 },
      (_, at) => client.callTool({ name: "fixture.echo", arguments: { at } }),
    ),
  );
  assert.deepEqual(many.map(({ content }) => JSON.parse(content[0].text).echo.at), [
    ...many.keys(),
  ]);
  const abort = new AbortController();
  const waiting = cancelledCall(abort.signal);
  abort.abort("enough");
  await assert.rejects(waiting);
  const big = await client.callTool({ name: "fixture.fills", arguments: { chars: 1_000_000 } });
  assert.equal(JSON.parse(big.content[0].text).text.length, 1_000_000);
}

// The packages keep timers and process handles of their own beyond close().
const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test("client 1.x opens with initialize and gets what it asks for", options, async () => {
  const client = new Client1(info);
  await client.connect(new Transport1(server));
  assert.deepEqual(client.getServerVersion(), { name: "fixture-server", version: "1.2.3" });
  assert.deepEqual(client.getServerCapabilities(), { tools: { listChanged: false } });
  assert.equal(client.getInstructions(), "Call fixture.echo first.");
  await client.ping();
  const seen: number[] = [];
  await client.callTool({ name: "fixture.steps", arguments: { ms: 40 } }, undefined, {
    onprogress: ({ progress }: { progress: number }) => seen.push(progress),
  });
  assert.deepEqual(seen, [1, 2, 3]);
  await useTools(
    client,
    true,
    (signal) => client.callTool({ name: "fixture.waits", arguments: {} }, undefined, { signal }),
  );
  await client.close();
});

for (
  const [mode, version] of [[undefined, "2025-11-25"], ["legacy", "2025-11-25"], [
    "auto",
    "2026-07-28",
  ], [{ pin: "2026-07-28" }, "2026-07-28"]] as const
) {
  Deno.test(
    `client 2.x in mode ${JSON.stringify(mode) ?? "default"} speaks ${version}`,
    options,
    async () => {
      const client = new Client2(info, mode === undefined ? {} : { versionNegotiation: { mode } });
      await client.connect(new Transport2(server));
      assert.equal(client.getNegotiatedProtocolVersion(), version);
      assert.equal(client.getServerVersion()?.name, "fixture-server");
      assert.deepEqual(client.getServerCapabilities(), { tools: { listChanged: false } });
      assert.equal(client.getInstructions(), "Call fixture.echo first.");
      if (version === "2026-07-28") await assert.rejects(client.ping());
      else await client.ping();
      const seen: number[] = [];
      await client.callTool({ name: "fixture.steps", arguments: { ms: 40 } }, {
        onprogress: ({ progress }) => seen.push(progress),
      });
      assert.deepEqual(seen, [1, 2, 3]);
      await useTools(
        client,
        true,
        (signal) => client.callTool({ name: "fixture.waits", arguments: {} }, { signal }),
      );
      await client.close();
    },
  );
}
