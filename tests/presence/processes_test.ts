import assert from "node:assert/strict";
import { systemProcesses } from "../../presence/processes.ts";
import { Actors } from "./actors.ts";
import { Sandbox } from "../fixtures/sandbox.ts";
import { brief, Lab, noProcesses, processList } from "./lab.ts";

/** Processes: made-up lists first, then real ones named as an agent. */

Deno.test("an agent with a child that has just been started is at work", async () => {
  await using lab = await Lab.create();
  const processes = processList(
    lab.now,
    [10, 1, "claude", "claude", 9_000, lab.a],
    [11, 10, "make", "make test", 5, `${lab.a}/src`],
    [20, 1, "codex", "codex", 60, "/"],
    [30, 1, "bash", "-bash", 1, lab.a],
  );
  const found = await lab.one({ processes });
  assert.deepEqual(
    [found.agent, found.state, found.pid, found.sources, found.lastActivityMs],
    ["claude-code", "working", 10, ["process"], null],
  );
});

Deno.test("servers, old children and those of unknown age are no work", async () => {
  await using lab = await Lab.create();
  const processes = processList(
    lab.now,
    [10, 1, "codex", "codex", 9_000, lab.a],
    [11, 10, "node", "node /x/mcp-server-time", 1, lab.a],
    [12, 10, "node", "node server.js", 3_600, lab.a],
    [13, 10, "node", "node x.js", null, lab.a],
  );
  const found = await lab.one({ processes });
  assert.deepEqual([found.state, found.pid, found.sessions], ["open", 10, 1]);
});

Deno.test("an agent elsewhere counts where something below it works", async () => {
  await using lab = await Lab.create();
  const processes = processList(
    lab.now,
    [20, 1, "codex", "codex", 60, "/"],
    [21, 20, "fluxgit-mcp-sidecar", "fluxgit-mcp-sidecar", 5, lab.a],
  );
  const found = await lab.one({ processes });
  assert.deepEqual([found.root, found.state, found.pid], [lab.a, "open", 20]);
});

Deno.test("the innermost root has the agent, and the nearest agent above has the child", async () => {
  await using lab = await Lab.create();
  const inner = `${lab.a}/mods/n`;
  await Deno.mkdir(`${inner}/x`, { recursive: true });
  const processes = processList(
    lab.now,
    [10, 1, "claude", "claude", 900, lab.b],
    [11, 10, "codex", "codex exec", 900, `${inner}/x`],
    [12, 11, "make", "make", 2, inner],
  );
  const found = await lab.findings({ processes, roots: [lab.a, inner, lab.b] });
  assert.deepEqual(brief(lab, found), ["claude-code B open", "codex A/mods/n working"]);
});

Deno.test("sixteen parents are looked at, a loop among them ends the search", async () => {
  await using lab = await Lab.create();
  const chain = (length: number) =>
    Array.from({ length }, (_, i): [number, number, string, string, number, string] => [
      100 + i,
      99 + i,
      "sh",
      "sh",
      1,
      i === length - 1 ? lab.a : "/",
    ]);
  const agent: [number, number, string, string, number, string] = [99, 1, "goose", "goose", 9, "/"];
  const near = processList(lab.now, agent, ...chain(16));
  assert.equal((await lab.one({ processes: near })).agent, "goose");
  const far = processList(lab.now, agent, ...chain(17));
  assert.deepEqual(await lab.findings({ processes: far }), []);
  const loop = processList(lab.now, [5, 6, "a", "a", 1, lab.a], [6, 5, "b", "b", 1, lab.a], [
    7,
    7,
    "c",
    "c",
    1,
    lab.a,
  ]);
  assert.deepEqual(await lab.findings({ processes: loop }), []);
});

Deno.test("of two sessions of one agent, the one that is not the caller's is named", async () => {
  await using lab = await Lab.create();
  const processes = processList(
    lab.now,
    [10, 1, "claude", "claude", 900, lab.a],
    [11, 10, "sidecar-mcp", "sidecar-mcp", 900, lab.a],
    [20, 1, "claude", "claude", 900, `${lab.a}/src`],
  );
  const found = await lab.one({ processes, ownPid: 11, parentPid: 10 });
  assert.deepEqual([found.pid, found.sessions], [20, 2]);
});

Deno.test("a source that cannot be asked is said, and the others still answer", async () => {
  await using lab = await Lab.create();
  await lab.write(`${lab.a}/.aider.chat.history.md`, "");
  const seen = await lab.seen({ processes: noProcesses("not_permitted") });
  assert.deepEqual(brief(lab, seen.findings), ["aider A working"]);
  assert.deepEqual(seen.missing, [
    { source: "process", reason: "not_permitted", message: "not in this test" },
  ]);
});

const linuxOrMac = Deno.build.os !== "windows";

Deno.test({
  name: "real processes: in the repository, below it, in a work tree, outside, and a child alone",
  ignore: !linuxOrMac,
  async fn() {
    await using lab = await Lab.create();
    await using box = await Sandbox.create();
    const repo = await box.repo();
    await box.commit(repo, "one", { "sub/a.txt": "1" });
    await box.git(repo, "worktree", "add", "-q", "../tree");
    const tree = `${box.root}/tree`;
    await using actors = new Actors(`${lab.root}/bin`);
    const goose = await actors.sleep("goose", repo);
    const crush = await actors.sleep("crush", `${repo}/sub`);
    const amp = await actors.sleep("amp", tree);
    await actors.sleep("opencode", lab.elsewhere);
    await actors.sleep("bystander", repo);
    const kilo = await actors.withChild("kilo", lab.elsewhere, `${repo}/sub`);
    const processes = systemProcesses();
    // Real agents above this test itself may have their place here; only ours are looked at.
    const ours = new Set(["goose", "crush", "amp", "opencode", "kilo"]);
    const found = (await lab.findings({ processes, roots: [repo, tree] }))
      .filter(({ agent }) => ours.has(agent))
      .map(({ agent, root, state, pid, sources }) => [agent, root, state, pid, ...sources])
      .sort();
    assert.deepEqual(found, [
      ["amp", tree, "open", amp, "process"],
      ["crush", repo, "open", crush, "process"],
      ["goose", repo, "open", goose, "process"],
      ["kilo", repo, "working", kilo, "process"],
    ]);
  },
});

Deno.test({
  name: "real processes: a folder whose name holds a line end, quotes and letters beyond ASCII",
  ignore: !linuxOrMac,
  async fn() {
    await using lab = await Lab.create();
    const odd = `${lab.a}/odd -> "ü"\n/proc/1/cwd`;
    await Deno.mkdir(odd, { recursive: true });
    await using actors = new Actors(`${lab.root}/bin`);
    const pid = await actors.sleep("goose", odd);
    const answer = await systemProcesses().directories([pid, 999_999_999]);
    assert("directories" in answer);
    assert.equal(answer.directories.get(pid), odd);
  },
});

Deno.test({
  name: "real processes: the table knows names, parents and starts",
  ignore: !linuxOrMac,
  async fn() {
    await using lab = await Lab.create();
    await using actors = new Actors(`${lab.root}/bin`);
    const pid = await actors.sleep("a program", lab.a);
    const answer = await systemProcesses().table();
    assert("table" in answer);
    const row = answer.table.get(pid);
    assert.equal(row?.parent, Deno.pid);
    assert.match(row.name, /a program$/);
    assert.match(row.command, /bin\/a program 600$/);
    assert(Math.abs(row.startedMs! - Date.now()) < 60_000);
    assert.equal(answer.table.get(Deno.pid)?.parent, Deno.ppid);
  },
});
