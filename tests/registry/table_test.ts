import assert from "node:assert/strict";
import type { Era, ToolOutcome } from "../../protocol/types.ts";
import { createToolTable } from "../../registry/table.ts";
import { call, callRaw, data, refusal, tempScratch } from "../fixtures/call.ts";
import { Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

const table = createToolTable({
  env: () => undefined,
  scratch: tempScratch,
  now: Date.now,
  runDir: null,
  families: null,
});

function rpc(outcome: ToolOutcome) {
  assert(outcome.kind === "rpcError", JSON.stringify(outcome));
  return outcome;
}

Deno.test("an unknown tool is -32602 with its name and the names of all there are", async () => {
  const outcome = rpc(await callRaw("repo.Status", {}));
  assert.deepEqual([outcome.code, outcome.message], [-32602, "Unknown tool 'repo.Status'"]);
  const sent = outcome.data as Record<string, unknown>;
  assert.deepEqual(Object.keys(sent).sort(), [
    "readOnlyTools",
    "reason",
    "tool",
    "writeProposalTools",
  ]);
  assert.equal(sent["tool"], "repo.Status");
  assert.ok((sent["readOnlyTools"] as string[]).includes("operation.status"));
  assert.equal((sent["writeProposalTools"] as string[]).length, 13);
  const long = rpc(await callRaw("x".repeat(100_000), {}));
  assert.ok(long.message.length < 200);
  for (const name of ["", "__proto__", "constructor", "toString"]) {
    assert.equal(rpc(await callRaw(name, {})).code, -32602);
  }
});

Deno.test("an entry of the list carries what its revision knows, and never its default ceilings", () => {
  const members = (era: Era) =>
    Object.keys(JSON.parse(table.listJson(era))[0] as Record<string, unknown>).sort();
  const full = ["annotations", "description", "inputSchema", "name", "outputSchema", "title"];
  assert.deepEqual(members({ kind: "modern" }), full);
  assert.deepEqual(members({ kind: "legacy", version: "2025-11-25" }), full);
  assert.deepEqual(members({ kind: "legacy", version: "2025-06-18" }), full);
  assert.deepEqual(members({ kind: "legacy", version: "2025-03-26" }), [
    "annotations",
    "description",
    "inputSchema",
    "name",
  ]);
  assert.deepEqual(members({ kind: "legacy", version: "2024-11-05" }), [
    "description",
    "inputSchema",
    "name",
  ]);
  assert.ok(!table.listJson({ kind: "modern" }).includes('"maxLength":32768'));
});

Deno.test("a good answer of a repository tool has tool, readOnly, source, canonical repoPath and data, and no tier", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await Deno.symlink(repo, `${box.root}/alias`);
  const payload = await call("repo.status", { repoPath: `${box.root}/alias` });
  assert.deepEqual(Object.keys(payload), ["tool", "readOnly", "source", "repoPath", "data"]);
  assert.deepEqual(
    [payload.tool, payload.readOnly, payload.source, payload.repoPath],
    ["repo.status", true, "local-git", repo],
  );
  const fleet = await call("fleet.radar", { repoPaths: [repo] });
  assert.deepEqual(Object.keys(fleet), ["tool", "readOnly", "source", "data"]);
});

Deno.test("a failed read has error, tool, readOnly and source, and is marked as an error", async () => {
  await using box = await fresh();
  const outcome = await callRaw("repo.status", { repoPath: box.root });
  assert(outcome.kind === "result");
  assert.equal(outcome.isError, true);
  assert.deepEqual(Object.keys(outcome.payload).sort(), ["error", "readOnly", "source", "tool"]);
});

Deno.test("declared defaults reach the tool", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  assert.equal((await data("repo.status", { repoPath: repo })).limit, 200);
  assert.equal((await data("repo.status", { repoPath: repo, limit: 7 })).limit, 7);
});

Deno.test("arguments are checked before anything is read: schema, then roots, then the path", async () => {
  const env = { FLUXGIT_MCP_ALLOWED_ROOTS: " " };
  const schema = await refusal("repo.status", { repoPath: "x", limit: 0 }, { env });
  assert.deepEqual([schema.form, schema.code], ["rpc", -32602]);
  assert.match(schema.data.details, /limit/);
  const roots = await refusal("repo.status", { repoPath: "x" }, { env });
  assert.deepEqual([roots.form, roots.code], ["rpc", -32010]);
  const path = await refusal("repo.status", { repoPath: "x" });
  assert.deepEqual([path.form, path.code], ["rpc", -32602]);
  assert.match(path.data.details, /arguments\.repoPath "x" is not an absolute path/);
});

Deno.test("broken roots fail every call, also of tools without a path", async () => {
  await using box = await fresh();
  const bad: [string, RegExp, boolean][] = [
    ["", /blank/, false],
    ["relative", /not an absolute path/, true],
    [`${box.root}:`, /empty/, false],
    [`${box.root}/nowhere`, /./, true],
  ];
  for (const [value, details, namesRoot] of bad) {
    for (
      const [name, args] of [
        ["operation.status", { previewId: "p" }],
        ["repo.status", { repoPath: box.root }],
        ["fleet.radar", { repoPaths: [box.root] }],
        ["fleet.digest", { sinceMs: 0 }],
      ] as const
    ) {
      const error = await refusal(name, args, { env: { FLUXGIT_MCP_ALLOWED_ROOTS: value } });
      assert.deepEqual([error.form, error.code], ["rpc", -32010], `${name} ${value}`);
      assert.equal(error.message, "Invalid MCP allowed-roots configuration");
      assert.equal(error.data.environmentVariable, "FLUXGIT_MCP_ALLOWED_ROOTS");
      assert.match(error.data.details, details);
      assert.equal("root" in error.data, namesRoot);
    }
  }
});

Deno.test("a path outside the roots is -32011 with a fingerprint instead of the path; inside but absent is -32602", async () => {
  await using box = await fresh();
  const repo = await box.repo("in/repo");
  await box.write(box.root, { "out/x": "" });
  const env = { FLUXGIT_MCP_ALLOWED_ROOTS: `${box.root}/in` };
  assert.equal((await data("repo.status", { repoPath: repo }, { env })).branch, "main");
  const outside = `${box.root}/out`;
  const error = await refusal("repo.status", { repoPath: outside }, { env });
  assert.deepEqual([error.form, error.code, error.message], [
    "rpc",
    -32011,
    "Repository path is outside the MCP allowed roots",
  ]);
  const hash = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(JSON.stringify(outside)),
  );
  assert.deepEqual(error.data, {
    environmentVariable: "FLUXGIT_MCP_ALLOWED_ROOTS",
    repoPathFingerprint: `sha256:${new Uint8Array(hash).toHex()}`,
  });
  const absent = await refusal("repo.status", { repoPath: `${box.root}/in/none` }, { env });
  assert.deepEqual([absent.form, absent.code, absent.message], [
    "rpc",
    -32602,
    "Repository path cannot be resolved",
  ]);
});

Deno.test("without roots a path that does not resolve goes on to git, which says what is wrong", async () => {
  await using box = await fresh();
  const error = await refusal("repo.status", { repoPath: `${box.root}/none` });
  assert.deepEqual([error.form, error.code], ["result", 10010]);
});

Deno.test("a work tree that the repository's own configuration moves outside the roots is refused like any outside path", async () => {
  await using box = await fresh();
  const repo = await box.repo("in/repo");
  await box.write(box.root, { "out/secret.txt": "" });
  await box.git(repo, "config", "core.worktree", `${box.root}/out`);
  assert.match(
    await box.git(repo, "status", "--porcelain"),
    /secret/,
    "control: plain git lists the other folder",
  );
  const env = { FLUXGIT_MCP_ALLOWED_ROOTS: `${box.root}/in` };
  const error = await refusal("repo.status", { repoPath: repo }, { env });
  assert.deepEqual([error.form, error.code], ["rpc", -32011]);
  const radar = await data("fleet.radar", { repoPaths: [repo] }, { env });
  assert.deepEqual([radar.entries[0].errorCode, radar.entries[0].changedFiles], [-32011, null]);
});
