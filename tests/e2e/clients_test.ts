/** The official clients against the program itself: connect, list, call every tool. */

import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Transport2 } from "@modelcontextprotocol/client/stdio";
import assert from "node:assert/strict";
import { serverCommand, serverEnv } from "./host.ts";
import { LISTED, storySandbox, toolCalls } from "./tool_calls.ts";

const info = { name: "official client", version: "4.5.6" };

/** What both clients have in common, as far as these tests need it. */
interface Common {
  // deno-lint-ignore no-explicit-any
  callTool(params: any): Promise<any>;
  // deno-lint-ignore no-explicit-any
  listTools(): Promise<any>;
}

async function callEverything(client: Common, repo: string): Promise<void> {
  const { tools } = await client.listTools();
  const names = tools.map((tool: { name: string }) => tool.name);
  assert.deepEqual(names, LISTED);
  for (const { name, args, error } of toolCalls(names, repo)) {
    // Both clients check structured content against the output schema themselves.
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError ?? false, error !== null, `${name}: ${result.content[0].text}`);
    assert.equal(result.structuredContent?.error?.code ?? null, error, name);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, name);
  }
}

// The packages keep timers and process handles of their own beyond close().
const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test("client 1.x connects, lists the tools and calls each", options, async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  const client = new Client1(info);
  await client.connect(new Transport1({ ...serverCommand(), env: serverEnv(box) }));
  try {
    assert.equal(client.getServerVersion()?.name, "fluxgit-mcp-sidecar");
    await callEverything(client, repo);
  } finally {
    await client.close();
  }
});

for (
  const [mode, version] of [["legacy", "2025-11-25"], ["auto", "2026-07-28"], [
    { pin: "2026-07-28" },
    "2026-07-28",
  ]] as const
) {
  Deno.test(
    `client 2.x in mode ${JSON.stringify(mode)} connects, lists the tools and calls each`,
    options,
    async () => {
      const { box, repo } = await storySandbox();
      await using _box = box;
      const client = new Client2(info, { versionNegotiation: { mode } });
      await client.connect(new Transport2({ ...serverCommand(), env: serverEnv(box) }));
      try {
        assert.equal(client.getNegotiatedProtocolVersion(), version);
        await callEverything(client, repo);
      } finally {
        await client.close();
      }
    },
  );
}
