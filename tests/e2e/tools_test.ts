import { Ajv2020 } from "ajv/dist/2020.js";
import assert from "node:assert/strict";
import { hashTree } from "../fixtures/sandbox.ts";
import { Host, serverEnv } from "./host.ts";
import { LISTED, storySandbox, toolCalls } from "./tool_calls.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "e2e", version: "1" },
};

Deno.test("the tools are listed in the order of the contract, in both eras", async () => {
  const { box } = await storySandbox();
  await using _box = box;
  await using host = new Host({ env: serverEnv(box) });
  const modern = await host.request("tools/list", { _meta: MODERN });
  assert.deepEqual(modern.result.tools.map((tool: Json) => tool.name), LISTED);
  await host.initialize("2024-11-05");
  const legacy = await host.request("tools/list");
  assert.deepEqual(legacy.result.tools.map((tool: Json) => tool.name), LISTED);
  assert.equal("outputSchema" in legacy.result.tools[0], false);
});

for (const era of ["2026-07-28", "2025-11-25", "2024-11-05"]) {
  Deno.test(`every tool answers in ${era} as its output schema says, and the repository keeps its bytes`, async () => {
    const { box, repo } = await storySandbox();
    await using _box = box;
    await using host = new Host({ env: serverEnv(box) });
    const _meta = era === "2026-07-28" ? { _meta: MODERN } : {};
    const list = await host.request("tools/list", { _meta: MODERN });
    if (era !== "2026-07-28") await host.initialize(era);
    const before = await hashTree(repo);
    const ajv = new Ajv2020({ strict: false });
    for (const { name, args, error } of toolCalls(LISTED, repo)) {
      const answer = await host.request("tools/call", { name, arguments: args, ..._meta });
      const result = answer.result;
      assert(result, `${name}: ${JSON.stringify(answer)}`);
      const payload = JSON.parse(result.content[0].text);
      assert.equal(payload.error?.code ?? null, error, `${name}: ${result.content[0].text}`);
      assert.equal(result.isError, error !== null, name);
      if (era >= "2025-06-18") assert.deepEqual(result.structuredContent, payload, name);
      else assert.equal("structuredContent" in result, false, name);
      const tool = list.result.tools.find((tool: Json) => tool.name === name);
      const validate = ajv.compile(tool.outputSchema);
      assert(validate(payload), `${name}: ${ajv.errorsText(validate.errors)}`);
    }
    assert.equal(await hashTree(repo), before);
    assert.equal(host.stderr, "");
  });
}

Deno.test("bad input gets its error and the next call its answer", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  await using host = new Host({ env: serverEnv(box) });
  await host.initialize();
  const code = async (name: string, args: unknown) => {
    const answer = await host.request("tools/call", { name, arguments: args });
    return answer.error?.code ?? JSON.parse(answer.result.content[0].text).error?.code;
  };
  assert.equal(await code("no.such.tool", {}), -32602);
  assert.equal(await code("repo.status", { repoPath: repo, colour: "red" }), -32602);
  assert.equal(await code("repo.status", { repoPath: 7 }), -32602);
  assert.equal(await code("repo.status", { repoPath: repo, limit: 100_000 }), -32602);
  assert.equal(await code("repo.status", { repoPath: "shop" }), -32602);
  assert.equal(await code("repo.status", { repoPath: box.home }), 10010);
  assert.equal(await code("repo.status", { repoPath: `${box.root}/nowhere` }), 10010);
  assert.equal(await code("commit.details", { repoPath: repo, commit: "--all" }), -32602);
  assert.equal(await code("repo.status", undefined), -32602);
  await host.sendText("this is no JSON\n[]\n\n");
  assert.equal(
    (await host.payload("repo.status", { repoPath: repo })).data.branch,
    "feature/checkout",
  );
});

Deno.test("toolsets limit what is listed and what can be called", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  await using host = new Host({ env: { ...serverEnv(box), FLUXGIT_MCP_TOOLSETS: "fleet" } });
  await host.initialize();
  const { tools } = (await host.request("tools/list")).result;
  assert.deepEqual(tools.map((tool: Json) => tool.name), ["fleet.radar", "fleet.digest"]);
  const refused = await host.request("tools/call", {
    name: "repo.status",
    arguments: { repoPath: repo },
  });
  assert.equal(refused.error.code, -32602);
});

Deno.test("a repository outside the allowed roots is refused, one inside is read", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  const outside = await box.repo("outside");
  const env = { ...serverEnv(box), FLUXGIT_MCP_ALLOWED_ROOTS: `${box.root}/story` };
  await using host = new Host({ env });
  await host.initialize();
  assert.equal(
    (await host.payload("repo.status", { repoPath: repo })).data.branch,
    "feature/checkout",
  );
  const refused = await host.request("tools/call", {
    name: "repo.status",
    arguments: { repoPath: outside },
  });
  assert.equal(refused.error.code, -32011);
});
