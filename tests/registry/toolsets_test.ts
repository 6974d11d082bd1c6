import assert from "node:assert/strict";
import { CodedError } from "../../common/errors.ts";
import { CATALOG } from "../../registry/generated/catalog.ts";
import { createToolTable } from "../../registry/table.ts";
import { readToolsets, TOOLSETS } from "../../registry/toolsets.ts";
import { tempScratch } from "../fixtures/call.ts";

function tableOf(value: string | undefined) {
  return createToolTable({
    env: () => undefined,
    scratch: tempScratch,
    now: Date.now,
    runDir: null,
    families: readToolsets(value),
  });
}

function listed(value: string | undefined): string[] {
  const tools = JSON.parse(tableOf(value).listJson({ kind: "modern" })) as { name: string }[];
  return tools.map((tool) => tool.name);
}

const context = {
  era: { kind: "modern" },
  agentId: "x",
  clientVersion: null,
  signal: new AbortController().signal,
  progress() {},
} as const;

Deno.test("unset and all mean every tool; all wins beside others", () => {
  const everything = CATALOG.map((row) => row.name);
  for (const value of [undefined, "all", " all ", "read,all"]) {
    assert.deepEqual(listed(value), everything);
  }
});

Deno.test("each tool belongs to exactly one toolset, as the contract sorts them", () => {
  const belongs = (name: string) =>
    /^(?:repo|conflict|commit|worktree|submodule|diff|agents)\./.test(name)
      ? "read"
      : /^fleet\./.test(name)
      ? "fleet"
      : /^(?:safety|flux)\./.test(name)
      ? "safety"
      : "operations";
  const all = new Set<string>();
  for (const set of Object.keys(TOOLSETS)) {
    const names = listed(set);
    assert.ok(names.length > 0, set);
    for (const name of names) {
      assert.equal(belongs(name), set, name);
      assert.ok(!all.has(name), name);
      all.add(name);
    }
  }
  assert.equal(all.size, CATALOG.length);
});

Deno.test("toolsets combine, in the order of the catalog whatever the order of the names", () => {
  const both = listed(" operations , fleet");
  assert.deepEqual(both, listed("fleet,operations"));
  assert.deepEqual(both.slice(0, 2), ["fleet.radar", "fleet.digest"]);
  assert.equal(both.at(-1), "operation.cancel");
});

Deno.test("a tool that is switched off cannot be called either, and the refusal lists what can", async () => {
  const outcome = await tableOf("read").call("fleet.radar", { repoPaths: ["/tmp"] }, context);
  assert(outcome.kind === "rpcError");
  assert.equal(outcome.code, -32602);
  assert.equal(outcome.message, "Unknown tool 'fleet.radar'");
  const { readOnlyTools, writeProposalTools } = outcome.data as Record<string, string[]>;
  assert.ok(readOnlyTools!.includes("repo.status") && !readOnlyTools!.includes("fleet.radar"));
  assert.deepEqual(writeProposalTools, []);
});

Deno.test("a name that is not a toolset stops the start with the names that are; so does a blank one", () => {
  for (const value of ["reed", "", " ", "read,", "read;fleet", "READ", "toString", "__proto__"]) {
    assert.throws(
      () => readToolsets(value),
      (error: unknown) =>
        error instanceof CodedError &&
        /FLUXGIT_MCP_TOOLSETS.*read, fleet, safety, operations, all/.test(error.message),
      JSON.stringify(value),
    );
  }
  assert.throws(
    () => readToolsets("x".repeat(10_000)),
    (error: unknown) => error instanceof Error && error.message.length < 300,
  );
});
