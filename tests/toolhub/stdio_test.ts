/** The programs as hosts start them: both eras, the official clients, two workspaces, one walk. */

import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Transport2 } from "@modelcontextprotocol/client/stdio";
import assert from "node:assert/strict";
import { failureText, type Json, Lab, program } from "./lab.ts";

const NAMES = [
  "toolhub.ping",
  "filesystem.read_file",
  "filesystem.list_directory",
  "filesystem.write_file",
  "filesystem.apply_patch",
  "filesystem.write_file_approved",
  "filesystem.apply_patch_approved",
  "shell.run",
  "shell.run_approved",
  "git.status",
  "git.diff",
  "toolhub.audit_recent",
];

const info = { name: "official client", version: "4.5.6" };
// The packages keep timers and process handles of their own beyond close().
const loose = { sanitizeOps: false, sanitizeResources: false };

interface Common {
  callTool(params: Json): Promise<Json>;
  listTools(): Promise<Json>;
}

/** A newcomer's way: list, read, propose, approve, see it, run a command with approval. */
async function walk(lab: Lab, client: Common): Promise<void> {
  lab.write("src/hello.txt", "hello\n");
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool: Json) => tool.name), NAMES);
  const call = async (name: string, args: Json = {}) => {
    // Both clients check structured content against the output schema themselves.
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError ?? false, false, result.content[0].text);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    return result.structuredContent;
  };
  assert.deepEqual(await call("toolhub.ping"), {
    status: "ok",
    service: "mcp-toolhub",
    echo: "hello",
  });
  assert.equal((await call("filesystem.list_directory")).entries[0].name, "src");
  const read = await call("filesystem.read_file", { path: "src/hello.txt" });
  assert.equal(read.content, "hello\n");
  const write = await call("filesystem.write_file", {
    path: "src/hello.txt",
    content: "goodbye\n",
    expected_hash: read.sha256,
  });
  const listed = await lab.admin(["list"]);
  assert(listed.stdout.includes(write.request_id));
  await lab.approve(write.request_id);
  const written = await call("filesystem.write_file_approved", { request_id: write.request_id });
  assert.equal(written.executed, true);
  const patch = await call("filesystem.apply_patch", {
    path: "src/hello.txt",
    patch: "--- a/src/hello.txt\n+++ b/src/hello.txt\n@@ -1 +1,2 @@\n goodbye\n+again\n",
  });
  await lab.approve(patch.request_id);
  await call("filesystem.apply_patch_approved", { request_id: patch.request_id });
  assert.equal(Deno.readTextFileSync(`${lab.workspace}/src/hello.txt`), "goodbye\nagain\n");
  const shell = await call("shell.run", { program: "cat", args: ["hello.txt"], cwd: "src" });
  assert.equal(shell.risk, "HIGH");
  await lab.approve(shell.request_id);
  const ran = await call("shell.run_approved", { request_id: shell.request_id });
  assert.equal(ran.stdout, "goodbye\nagain\n");
  const failed = await client.callTool({ name: "git.status", arguments: {} });
  assert.match(failureText(failed), /^Error executing tool git\.status: git exited 128/);
  const { events } = await call("toolhub.audit_recent", { limit: 100 });
  assert.deepEqual(events.map(({ tool, action }: Json) => `${tool} ${action}`), [
    "filesystem.write_file approval_request",
    "mcp-toolhub-admin approve",
    "filesystem.write_file_approved execute_approved",
    "filesystem.apply_patch approval_request",
    "mcp-toolhub-admin approve",
    "filesystem.apply_patch_approved execute_approved",
    "shell.run approval_request",
    "mcp-toolhub-admin approve",
    "shell.run_approved execute_approved",
    "git.status failure",
  ]);
}

async function serveCommand(): Promise<{ command: string; args: string[] }> {
  const { command, args } = await program("mcp-toolhub");
  return { command, args: [...args, "serve"] };
}

Deno.test("the whole way with client 1.x", loose, async () => {
  await using lab = await Lab.create();
  const client = new Client1(info);
  await client.connect(new Transport1({ ...await serveCommand(), env: lab.env() }));
  try {
    assert.equal(client.getServerVersion()?.name, "MCP ToolHub");
    await walk(lab, client);
  } finally {
    await client.close();
  }
});

for (const [mode, version] of [["legacy", "2025-11-25"], ["auto", "2026-07-28"]] as const) {
  Deno.test(`the whole way with client 2.x in mode ${mode}`, loose, async () => {
    await using lab = await Lab.create();
    const client = new Client2(info, { versionNegotiation: { mode } });
    await client.connect(new Transport2({ ...await serveCommand(), env: lab.env() }));
    try {
      assert.equal(client.getNegotiatedProtocolVersion(), version);
      await walk(lab, client);
    } finally {
      await client.close();
    }
  });
}

Deno.test("bad arguments and unknown tools are errors of the request in every era", async () => {
  await using lab = await Lab.create();
  await using server = await lab.server();
  await server.initialize();
  const call = (name: string, args: Json) =>
    server.request("tools/call", { name, arguments: args });
  const cases: [name: string, args: Json, details: RegExp][] = [
    ["filesystem.read_file", {}, /arguments\.path is required/],
    ["filesystem.read_file", { path: 7 }, /arguments\.path must be a string/],
    ["filesystem.write_file", { path: "a", content: "x", create_parents: "yes" }, /create_parents/],
    ["shell.run", { program: "x", args: "[]" }, /args/],
    ["shell.run", { program: "x", timeout_seconds: 1.5 }, /timeout_seconds/],
    ["filesystem.write_file_approved", { request_id: null }, /request_id/],
  ];
  for (const [name, args, details] of cases) {
    const { error } = await call(name, args);
    assert.equal(error.code, -32602);
    assert.match(error.data.details, details);
  }
  assert.match((await call("admin.approve", {})).error.message, /Unknown tool 'admin\.approve'/);
  assert.throws(() => lab.stored(), Deno.errors.NotFound);
  // Members that are not known are passed over; arguments may be left out.
  assert.equal((await server.payload("toolhub.ping", { other: 1 })).status, "ok");
  const bare = await server.request("tools/call", { name: "toolhub.ping" });
  assert.equal(bare.result.structuredContent.echo, "hello");
});

Deno.test("hints, titles and schemas are the contract's, in the form of each era", async () => {
  await using lab = await Lab.create();
  await using server = await lab.server();
  const list = async (version: string): Promise<Json[]> => {
    await server.initialize(version);
    return (await server.request("tools/list")).result.tools;
  };
  const asked = { readOnlyHint: false, destructiveHint: true, openWorldHint: false };
  const read = { readOnlyHint: true, openWorldHint: false };
  const harmless = { ...read, destructiveHint: false };
  const hints = [
    ...[undefined, read, read, asked, asked, asked, asked, asked, asked],
    ...[harmless, harmless, harmless],
  ];
  const newest = await list("2025-11-25");
  assert.deepEqual(newest.map((tool) => tool.annotations), hints);
  for (const { name, title, inputSchema, outputSchema } of newest) {
    assert.equal(title === undefined, name === "toolhub.ping");
    assert.equal("additionalProperties" in inputSchema, false);
    assert.equal(outputSchema.type, "object");
    if (name.endsWith("_approved")) {
      assert.deepEqual(Object.keys(inputSchema.properties), ["request_id"]);
    }
  }
  const of = (name: string) => newest.find((tool) => tool.name === name).inputSchema.properties;
  assert.deepEqual(of("git.status"), {});
  assert.deepEqual(Object.keys(of("toolhub.audit_recent")), ["limit"]);
  const older = await list("2025-03-26");
  assert.deepEqual(older.map((tool) => tool.annotations), hints);
  assert(older.every((tool) => !("title" in tool) && !("outputSchema" in tool)));
  const oldest = await list("2024-11-05");
  assert(oldest.every((tool) => !("annotations" in tool)));
  for (const tools of [older, oldest]) assert.deepEqual(tools.map(({ name }) => name), NAMES);
});

Deno.test("two workspaces see neither each other's requests nor audit, and one state root serves one", async () => {
  await using lab = await Lab.create();
  const one = { TOOLHUB_WORKSPACE_ROOT: lab.workspace };
  const two = { TOOLHUB_WORKSPACE_ROOT: lab.outside };
  const { TOOLHUB_STATE_ROOT: _, ...base } = lab.env();
  const command = await serveCommand();
  const { Host } = await import("../e2e/host.ts");
  await using first = new Host({ env: { ...base, ...one }, command });
  await using second = new Host({ env: { ...base, ...two }, command });
  await Promise.all([first.initialize(), second.initialize()]);
  const args = { program: "pwd" };
  const asked = await first.payload("shell.run", args);
  const other = await second.payload("shell.run", args);
  const admin = (env: Record<string, string>, command: string[], stdin = "") =>
    lab.run("mcp-toolhub-admin", command, { only: { ...base, ...env }, stdin });
  const list = (await admin(one, ["list"])).stdout;
  assert(list.includes(asked.request_id) && !list.includes(other.request_id));
  const wrong = await admin(two, ["approve", asked.request_id], "APPROVE\n");
  assert.match(wrong.stderr, /unknown approval request/);
  await admin(one, ["approve", asked.request_id], "APPROVE\n");
  const foreign = await second.payload("shell.run_approved", { request_id: asked.request_id });
  assert.match(foreign.message, /Unknown approval request/);
  const ran = await first.payload("shell.run_approved", { request_id: asked.request_id });
  assert.equal(ran.stdout, lab.workspace + "\n");
  const events = (await second.payload("toolhub.audit_recent", {})).events;
  assert(!JSON.stringify(events.filter((one: Json) => one.executed)).includes(asked.request_id));
  assert.deepEqual([...Deno.readDirSync(lab.workspace)], []);
});

Deno.test("the file tools do not reach the state folder", async () => {
  await using lab = await Lab.create();
  await using server = await lab.server();
  await server.initialize();
  for (const path of ["../state/approvals.json", `${lab.state}/approvals.json`]) {
    for (const tool of ["filesystem.read_file", "filesystem.list_directory"]) {
      assert.match(failureText(await server.call(tool, { path })), /escapes workspace/);
    }
  }
});
