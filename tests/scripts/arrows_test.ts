import assert from "node:assert/strict";
import { findFaults } from "../../scripts/arrows.ts";
import { checkLoops, checkRooms, checkSpawns, checkStart } from "../../scripts/arrows/rules.ts";
import type { Edge, Graph } from "../../scripts/arrows/graph.ts";

/** A graph from `from: [to, …]`; `?` before a target makes it dynamic, `type ` a type import. */
function graph(rows: Record<string, string[]>): Graph {
  return new Map(
    Object.entries(rows).map(([from, targets]) => [
      from,
      targets.map((target): Edge => {
        if (target.startsWith("?")) return { to: target.slice(1), kind: "dynamic", line: 1 };
        if (target.startsWith("type ")) return { to: target.slice(5), kind: "type", line: 1 };
        return { to: target, kind: "static", line: 1 };
      }),
    ]),
  );
}

/** Writes a small project and gives its root; the caller removes it. */
async function project(files: Record<string, string>): Promise<string> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "fluxgit-test-" }));
  for (const [name, text] of Object.entries(files)) {
    const path = `${root}/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, text);
  }
  return root;
}

Deno.test("an import against the arrows is told with file, line and both rooms", () => {
  const faults = checkRooms(graph({
    "git/status.ts": ["protocol/server.ts"],
    "protocol/server.ts": ["common/json.ts"],
    "common/json.ts": [],
  }));
  assert.deepEqual(faults, [
    "git/status.ts:1 imports protocol/server.ts: git may not import protocol",
  ]);
});

Deno.test("type imports and lazy imports count as arrows too", () => {
  assert.equal(checkRooms(graph({ "git/a.ts": ["type audit/b.ts"] })).length, 1);
  assert.equal(checkRooms(graph({ "common/a.ts": ["?git/b.ts"] })).length, 1);
});

Deno.test("tools reach the registry only through define.ts, and the gateway only through its bridge", () => {
  const faults = checkRooms(graph({
    "tools/repo/a.ts": ["registry/define.ts", "registry/table.ts", "gateway/bridge.ts"],
    "tools/repo/b.ts": ["gateway/server/routes.ts"],
    "tools/repo/c.ts": ["gateway/bridge/http.ts"],
    "registry/define.ts": ["tools/repo/a.ts", "registry/table.ts"],
  }));
  assert.deepEqual(faults.map((fault) => fault.split(":")[0]), [
    "tools/repo/a.ts",
    "tools/repo/b.ts",
    "registry/define.ts",
    "registry/define.ts",
  ]);
});

Deno.test("only the generated loaders lead from the registry to tools, and they close no loop", () => {
  const lazy = graph({
    "registry/generated/loaders.ts": ["?tools/repo/a.ts", "type registry/define.ts"],
    "registry/table.ts": ["?registry/generated/loaders.ts"],
    "registry/define.ts": ["type common/a.ts"],
    "tools/repo/a.ts": ["registry/define.ts"],
    "common/a.ts": [],
  });
  assert.deepEqual([...checkRooms(lazy), ...checkLoops(lazy)], []);
  assert.equal(checkRooms(graph({ "registry/table.ts": ["?tools/repo/a.ts"] })).length, 1);
});

Deno.test("the registry takes only types from the protocol", () => {
  assert.deepEqual(checkRooms(graph({ "registry/table.ts": ["type protocol/types.ts"] })), []);
  assert.equal(checkRooms(graph({ "registry/table.ts": ["protocol/types.ts"] })).length, 1);
  assert.equal(checkRooms(graph({ "registry/table.ts": ["type protocol/server.ts"] })).length, 1);
});

Deno.test("the product imports neither scripts nor tests, and a file in no room is told", () => {
  assert.equal(checkRooms(graph({ "cli/serve.ts": ["scripts/lib/deno.ts"] })).length, 1);
  assert.equal(checkRooms(graph({ "scripts/demo.ts": ["tests/fixtures/call.ts"] })).length, 1);
  assert.equal(checkRooms(graph({ "cellar/a.ts": [] })).length, 1);
});

Deno.test("import loops are told as a path, type imports included", () => {
  const faults = checkLoops(graph({
    "git/a.ts": ["git/b.ts"],
    "git/b.ts": ["type git/c.ts"],
    "git/c.ts": ["git/a.ts"],
  }));
  assert.deepEqual(faults, ["import loop: git/a.ts -> git/b.ts -> git/c.ts -> git/a.ts"]);
});

Deno.test("the start path may not load node: or npm, by however many steps, but lazy imports may", () => {
  const rows = {
    "main.ts": ["?cli/serve.ts"],
    "cli/serve.ts": ["common/a.ts", "?audit/b.ts", "type npm:zod@4"],
    "common/a.ts": ["node:path"],
    "audit/b.ts": ["node:crypto"],
  };
  assert.deepEqual(checkStart(graph(rows)), [
    "start path loads node:path (line 1): cli/serve.ts -> common/a.ts -> node:path",
  ]);
  assert.deepEqual(checkStart(graph({ ...rows, "common/a.ts": [] })), []);
  assert.equal(checkStart(graph({ "main.ts": [] })).length, 1, "a missing start file is a fault");
});

Deno.test("only the door to git and presence start processes", () => {
  const faults = checkSpawns(
    new Map([
      ["git/command.ts", "new Deno.Command(path)"],
      ["presence/processes.ts", "new Deno.Command('ps')"],
      ["git/status.ts", "// Deno.Command is not used here\nnew Deno.Command('git')"],
      ["cli/a.ts", "import { spawn } from 'node:child_process';"],
    ]),
  );
  assert.deepEqual(faults.map((fault) => fault.split(" ")[0]), ["git/status.ts:2", "cli/a.ts:1"]);
});

Deno.test("the whole check finds each kind of fault in real files", async () => {
  const root = await project({
    "main.ts": `await import("./cli/serve.ts");`,
    "cli/serve.ts": `import { p } from "../common/p.ts"; p();`,
    "common/p.ts": `import { join } from "node:path";
import type { T } from "../git/t.ts";
export const p = (): T => join("a", "b");`,
    "git/t.ts": `import { p } from "../common/p.ts";
export type T = string;
export const q = () => [p(), new Deno.Command("git")];`,
  });
  try {
    const faults = await findFaults(root);
    for (
      const expected of [
        /^common\/p\.ts:2 imports git\/t\.ts: common may not import git$/,
        /^import loop: common\/p\.ts -> git\/t\.ts -> common\/p\.ts$/,
        /^start path loads node:path \(line 1\): cli\/serve\.ts -> common\/p\.ts/,
        /^git\/t\.ts:3 starts a process/,
      ]
    ) assert(faults.some((fault) => expected.test(fault)), `${expected} in ${faults.join("\n")}`);
    assert.equal(faults.length, 4);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("a file that cannot be read stops the check instead of leaving a hole", async () => {
  const root = await project({ "main.ts": `import "./nowhere.ts";`, "cli/serve.ts": "" });
  try {
    await assert.rejects(findFaults(root), /nowhere/);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
