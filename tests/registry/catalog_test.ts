import { Ajv2020 } from "ajv/dist/2020.js";
import assert from "node:assert/strict";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { KNOWN_KEYWORDS } from "../../registry/arguments.ts";
import { CATALOG } from "../../registry/generated/catalog.ts";
import { LOADERS } from "../../registry/generated/loaders.ts";
import { INPUT_SCHEMAS } from "../../registry/generated/schemas.ts";
import { createToolTable } from "../../registry/table.ts";
import { tempScratch } from "../fixtures/call.ts";

/** The contract's own list, in its order: 25 that read, then 13 that lead to a change. */
const READ = [
  "repo.brief",
  "repo.scope",
  "safety.timeline",
  "safety.eventDetails",
  "fleet.radar",
  "fleet.digest",
  "agents.presence",
  "repo.status",
  "repo.refs",
  "repo.branchStack",
  "repo.conflictPreflight",
  "conflict.read",
  "repo.reflog",
  "repo.history",
  "commit.details",
  "worktree.changes",
  "worktree.list",
  "submodule.status",
  "diff.text",
  "diff.semantic",
  "diff.semanticFallbacks",
  "flux.latestRestorePoint",
  "flux.restorePoints",
  "flux.restorePointDetails",
  "operation.status",
];
const PREVIEWS: Record<string, { destructive: boolean; openWorld: boolean; risk: string }> = {
  merge: { destructive: true, openWorld: false, risk: "medium" },
  rebase: { destructive: true, openWorld: false, risk: "medium" },
  discard: { destructive: true, openWorld: false, risk: "high" },
  reset: { destructive: true, openWorld: false, risk: "high" },
  patch: { destructive: true, openWorld: false, risk: "medium" },
  plan: { destructive: true, openWorld: false, risk: "medium" },
  worktree: { destructive: false, openWorld: false, risk: "low" },
  commit: { destructive: false, openWorld: false, risk: "low" },
  push: { destructive: true, openWorld: true, risk: "medium" },
  branch: { destructive: false, openWorld: false, risk: "low" },
  branchDelete: { destructive: true, openWorld: false, risk: "medium" },
  submodulePointer: { destructive: false, openWorld: false, risk: "medium" },
};
/** Tools of the contract that are still to come; empty when all are built. */
const TO_COME: readonly string[] = [];
const CONTRACT = [
  ...READ,
  ...Object.keys(PREVIEWS).map((type) => `operation.preview.${type}`),
  "operation.cancel",
];
const ORDER = CONTRACT.filter((name) => !TO_COME.includes(name));

const NEVER = [
  "operation.preview.checkout",
  "patch.apply",
  "reset.run",
  "flux.undo",
  "flux.redo",
  "repo.checkout",
  "repo.reset",
  "repo.rebase",
  "repo.discard",
  "repo.push",
  "repo.delete",
];

type Schema = Record<string, unknown>;
const rows = CATALOG.map((row) => ({
  ...row,
  input: JSON.parse(row.input) as Schema,
  output: JSON.parse(row.output) as Schema,
  annotations: JSON.parse(row.annotations) as Schema,
}));

Deno.test("the contract's 38 tools are listed in its order, under names that any client accepts", () => {
  assert.equal(CONTRACT.length, 38);
  assert.deepEqual(rows.map((row) => row.name), ORDER);
  for (const { name } of rows) assert.match(name, /^[A-Za-z0-9_.-]{1,64}$/);
  assert.deepEqual(Object.keys(LOADERS), ORDER);
  assert.deepEqual(Object.keys(INPUT_SCHEMAS), ORDER);
});

Deno.test("tools that must not exist are neither listed nor callable", async () => {
  const table = createToolTable({
    env: () => undefined,
    scratch: tempScratch,
    now: Date.now,
    runDir: null,
    families: null,
  });
  for (const name of NEVER) {
    assert.ok(!ORDER.includes(name) && !rows.some((row) => row.name === name), name);
    const outcome = await table.call(name, {}, {
      era: { kind: "modern" },
      agentId: "x",
      clientVersion: null,
      signal: new AbortController().signal,
      progress() {},
    });
    assert.equal(outcome.kind === "rpcError" && outcome.code, -32602, name);
  }
});

Deno.test("annotations and risk words are those of the contract's tables", () => {
  for (const { name, annotations, risk, readOnly } of rows) {
    const type = /^operation\.preview\.(.*)$/.exec(name)?.[1];
    const expected = READ.includes(name)
      ? { readOnlyHint: true, idempotentHint: true, openWorldHint: false }
      : name === "operation.cancel"
      ? { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false }
      : {
        readOnlyHint: false,
        destructiveHint: PREVIEWS[type!]!.destructive,
        idempotentHint: false,
        openWorldHint: PREVIEWS[type!]!.openWorld,
      };
    assert.deepEqual(annotations, expected, name);
    assert.equal(readOnly, READ.includes(name), name);
    assert.equal(risk, type === undefined ? "none" : PREVIEWS[type]!.risk, name);
  }
});

Deno.test("the whole list costs an agent at most 6,000 tokens", () => {
  const shown = rows.map(({ name, title, description, input }) => ({
    name,
    title,
    description,
    inputSchema: input,
  }));
  const tokens = encode(JSON.stringify(shown)).length;
  assert.ok(tokens <= 6_000, `${tokens} tokens`);
  for (const one of shown) {
    const own = encode(JSON.stringify(one)).length;
    assert.ok(own <= 450, `${one.name}: ${own} tokens`);
  }
});

Deno.test("output schemas say nothing twice and stay small", () => {
  for (const { name, output } of CATALOG) {
    assert.doesNotMatch(output, /"type":"\w+","(?:const|enum)"/, name);
    assert.doesNotMatch(output, /,\{"type":"null"\}\]/, name);
    assert.doesNotMatch(output, /"anyOf":\[[^\]]*\{\}\]/, name);
  }
  const tokens = encode(CATALOG.map((row) => row.output).join("\n")).length;
  assert.ok(tokens <= 17_000, `${tokens} tokens`);
});

Deno.test("every schema has an object at its root, compiles as JSON Schema 2020-12 and names no dialect", () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
  for (const { name, input, output } of rows) {
    for (const schema of [input, output, INPUT_SCHEMAS[name]!]) {
      assert.equal(schema["type"], "object", name);
      assert.ok(!JSON.stringify(schema).includes("$schema"), name);
      ajv.compile(schema);
    }
    assert.equal(input["additionalProperties"], false, name);
  }
});

Deno.test("the advertised input schema is the enforced one without default ceilings, so it never refuses more", () => {
  for (const { name, input } of rows) {
    const enforced = INPUT_SCHEMAS[name]!;
    assert.deepEqual(withoutCeilings(input), withoutCeilings(enforced), name);
    assert.ok(isPartOf(input, enforced), name);
    assert.deepEqual(keywordsOf(enforced).filter((k) => !KNOWN_KEYWORDS.has(k)), [], name);
  }
});

Deno.test("every string and list that a caller can send is bounded", () => {
  const unbounded: string[] = [];
  const walk = (schema: unknown, at: string): void => {
    if (typeof schema !== "object" || schema === null) return;
    const { type, maxLength, maxItems, properties, items } = schema as Schema;
    const closed = "enum" in schema || "const" in schema;
    if (type === "string" && maxLength === undefined && !closed) unbounded.push(at);
    if (type === "array" && maxItems === undefined) unbounded.push(at);
    walk(items, `${at}[]`);
    for (const [name, inner] of Object.entries(properties ?? {})) walk(inner, `${at}.${name}`);
  };
  for (const { name } of rows) walk(INPUT_SCHEMAS[name], name);
  assert.deepEqual(unbounded, []);
});

Deno.test("repository tools require repoPath first; fleet, status and cancel have none", () => {
  for (const { name, input } of rows) {
    const required = (input["required"] ?? []) as string[];
    const properties = input["properties"] as Schema;
    if (/^fleet\.|^operation\.(?:status|cancel)$/.test(name)) {
      assert.ok(!("repoPath" in properties) && !("repoId" in properties), name);
    } else {
      assert.equal(required[0], "repoPath", name);
      assert.ok("repoId" in properties, name);
    }
    if (name.startsWith("operation.preview.")) {
      assert.equal(required.at(-1), "reason", name);
      assert.ok("idempotencyKey" in properties, name);
    }
  }
});

function withoutCeilings(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutCeilings);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => !["minLength", "maxLength", "minItems", "maxItems"].includes(key))
      .map(([key, inner]) => [key, withoutCeilings(inner)]),
  );
}

/** True when everything that `a` says, `b` says too. */
function isPartOf(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || a === null) return a === b;
  if (typeof b !== "object" || b === null || Array.isArray(a) !== Array.isArray(b)) return false;
  return Object.entries(a).every(([key, inner]) => isPartOf(inner, (b as Schema)[key]));
}

function keywordsOf(schema: unknown, inProperties = false): string[] {
  if (Array.isArray(schema)) return schema.flatMap((part) => keywordsOf(part));
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([key, inner]) => [
    ...(inProperties ? [] : [key]),
    ...(["enum", "const", "default", "required"].includes(key) && !inProperties
      ? []
      : keywordsOf(inner, key === "properties" && !inProperties)),
  ]);
}
