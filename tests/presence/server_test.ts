import assert from "node:assert/strict";
import { BINARY, Host, serverCommand, serverEnv, until } from "../e2e/host.ts";
import { answer, gatewayWith } from "../bridge/mock_gateway.ts";
import { Sandbox } from "../fixtures/sandbox.ts";
import { Actors } from "./actors.ts";
import { folderState } from "./databases.ts";
import { Lab, MARKER } from "./lab.ts";
import { plantEverything } from "./stores.ts";

/** The sidecar as its own process, under both permission profiles. */

interface Stage extends AsyncDisposable {
  readonly lab: Lab;
  readonly box: Sandbox;
  readonly repo: string;
  readonly env: Record<string, string>;
  readonly records: string;
}

async function stage(): Promise<Stage> {
  const lab = await Lab.create(), box = await Sandbox.create();
  const repo = await box.repo();
  await box.commit(repo, "one", { "sub/a.txt": "1\n" });
  const env = { ...serverEnv(box), HOME: lab.home };
  await Deno.copyFile(`${box.home}/.gitconfig`, `${lab.home}/.gitconfig`);
  return {
    lab,
    box,
    repo,
    env,
    records: `${box.root}/run/presence/mcp`,
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      await box[Symbol.asyncDispose]();
    },
  };
}

function start(env: Record<string, string>, profile = "strict"): Host {
  const { command, args } = serverCommand();
  return new Host({
    env,
    command: { command, args: args.map((arg) => arg === "-P=strict" ? `-P=${profile}` : arg) },
  });
}

async function meet(host: Host, name: string): Promise<void> {
  await host.request("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name, version: "7.1" },
  });
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

// deno-lint-ignore no-explicit-any
type Payload = any;
const shown = ({ agent, sources }: Payload) => [agent, ...sources].join(" ");
const posix = Deno.build.os !== "windows";

for (const profile of ["strict", "presence"]) {
  Deno.test({
    name:
      `${profile} profile: every store is read, processes only where that is permitted, and no text comes out`,
    // The compiled program has the strict set.
    ignore: BINARY !== null && profile !== "strict",
    async fn() {
      await using at = await stage();
      const planted = await plantEverything(at.lab, at.repo);
      await using actors = new Actors(`${at.lab.root}/bin`);
      const goose = posix ? await actors.sleep("goose", `${at.repo}/sub`) : 0;
      const opencode = `${at.lab.home}/.local/share/opencode`;
      const before = await folderState(opencode);
      const host = start(at.env, profile);
      await meet(host, "My Tool");
      const answers = [await host.payload("agents.presence", { repoPath: at.repo })];
      const { data } = answers[0];
      // The agent that runs these tests may be seen through its processes.
      const own = data.agents.filter(({ agent, sources }: Payload) =>
        planted.includes(agent) && sources.join() !== "process"
      );
      assert.deepEqual(own.map(({ agent }: Payload) => agent).sort(), planted);
      const seen = own.find(({ agent }: Payload) => agent === "goose");
      if (profile === "presence" && posix) {
        assert.deepEqual([seen.pid, shown(seen)], [goose, "goose process session"]);
        assert.deepEqual(data.sourcesUnavailable, []);
      } else {
        assert.deepEqual([seen.pid, shown(seen)], [null, "goose session"]);
        assert.deepEqual(
          data.sourcesUnavailable.map(({ source, reason }: Payload) => [source, reason]),
          [["process", "not_permitted"]],
        );
      }
      assert.deepEqual(data.caller, {
        clientName: "My-Tool",
        agent: "My-Tool",
        ownMcpPresenceExcluded: true,
      });
      const proposal = { repoPath: at.repo, paths: ["sub"], reason: "to see who is there" };
      answers.push(await host.call("operation.preview.discard", proposal));
      const { otherAgents } = JSON.parse(answers[1].content[0].text);
      assert(otherAgents.agentCount >= planted.length);
      assert.deepEqual(await folderState(opencode), before, "nothing appears beside a database");
      await until(() => exists(`${at.records}/${host.child.pid}.json`), "the record");
      const record = await Deno.readTextFile(`${at.records}/${host.child.pid}.json`);
      await host[Symbol.asyncDispose]();
      assert.equal(host.stderr, "");
      const ledger = await Deno.readTextFile(`${at.box.root}/run/audit/mcp.jsonl`);
      assert.match(ledger, /agents\.presence/);
      const out = [JSON.stringify(answers), record, ledger];
      assert(out.every((text) => !text.includes(MARKER)), "text of a store came out");
    },
  });
}

Deno.test({
  name: "the agent that started the server is told from a second session of the same agent",
  ignore: BINARY !== null || !posix,
  async fn() {
    await using at = await stage();
    const program = `${at.lab.root}/host/goose`;
    await at.lab.write(program, await Deno.readFile(await Deno.realPath("/bin/sh")));
    await Deno.chmod(program, 0o755);
    const { command, args } = serverCommand();
    const inside = [command, ...args].map((arg) => arg === "-P=strict" ? "-P=presence" : arg);
    // The shell stays above the server and, like an agent, sits in the repository.
    await using host = new Host({
      env: at.env,
      cwd: at.repo,
      command: { command: program, args: ["-c", '"$@"; exit $?', "goose", ...inside] },
    });
    await meet(host, "goose");
    const ask = async () => {
      const { agents } = (await host.payload("agents.presence", { repoPath: at.repo })).data;
      const { pid, sessions, likelyCaller } = agents.find(({ agent }: Payload) =>
        agent === "goose"
      );
      const args = { repoPath: at.repo, paths: ["sub"], reason: "to see who is there" };
      const preview = await host.call("operation.preview.discard", args);
      const { otherAgents } = JSON.parse(preview.content[0].text);
      return [pid, sessions, likelyCaller, otherAgents.omittedLikelyCaller];
    };
    assert.deepEqual(await ask(), [host.child.pid, undefined, true, 1]);
    await using actors = new Actors(`${at.lab.root}/bin`);
    const second = await actors.sleep("goose", `${at.repo}/sub`);
    // A look is kept for two seconds.
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    assert.deepEqual(await ask(), [second, 2, false, 0]);
    assert.equal(host.stderr, "");
  },
});

Deno.test("two sidecars see each other's records, never their own, and remove them when they end", async () => {
  await using at = await stage();
  const first = start(at.env), second = start(at.env);
  await meet(first, "codex-mcp-client");
  await meet(second, "Team Bot");
  const started = Date.now();
  await first.payload("repo.status", { repoPath: `${at.repo}/sub` });
  await second.payload("repo.brief", { repoPath: at.repo });
  const file = (host: Host) => `${at.records}/${host.child.pid}.json`;
  await until(async () => await exists(file(first)) && await exists(file(second)), "the records");
  const record = JSON.parse(await Deno.readTextFile(file(first)));
  assert(record.repos[0].lastCallMs >= started && record.repos[0].lastCallMs <= Date.now());
  assert(Math.abs(record.startedAtMs - started) < 60_000);
  assert.deepEqual({ ...record, startedAtMs: 0 }, {
    schemaVersion: 1,
    pid: first.child.pid,
    startedAtMs: 0,
    client: { name: "codex-mcp-client", version: "7.1" },
    repos: [{
      repoPath: `${at.repo}/sub`,
      lastCallMs: record.repos[0].lastCallMs,
      lastTool: "repo.status",
    }],
  });
  if (posix) assert.equal((await Deno.lstat(file(first))).mode! & 0o777, 0o600);
  const { agents } = (await second.payload("agents.presence", { repoPath: at.repo })).data;
  const others = agents.filter(({ sources }: Payload) => sources.includes("mcp"));
  assert.deepEqual(
    others.map(({ agent, lastTool, mcpClient, likelyCaller }: Payload) => [
      agent,
      lastTool,
      mcpClient,
      likelyCaller,
    ]),
    [["codex", "repo.status", { name: "codex-mcp-client", version: "7.1" }, false]],
  );
  // One ends with its input, the other by a signal.
  await first[Symbol.asyncDispose]();
  assert.equal(await exists(file(first)), false);
  if (posix) {
    second.child.kill("SIGTERM");
    assert.equal((await second.ended()).code, 0);
  } else await second[Symbol.asyncDispose]();
  assert.equal(await exists(file(second)), false);
  assert.deepEqual([first.stderr, second.stderr], ["", ""]);
});

Deno.test("calls that name no repository, refused ones and proposals that nobody took leave no record", async () => {
  await using at = await stage();
  await using host = start(at.env);
  await meet(host, "x");
  const proposal = { repoPath: at.repo, targetRef: "HEAD", reason: "to see what is kept" };
  await host.call("operation.preview.reset", proposal);
  await host.call("fleet.radar", { repoPaths: [at.repo] });
  await host.request("tools/call", { name: "repo.status", arguments: { repoPath: "relative" } });
  await host.request("tools/call", { name: "no.such", arguments: { repoPath: at.repo } });
  // The control, told after all of them: an error of a read is kept.
  const failed = await host.call("repo.status", { repoPath: at.box.home });
  assert.equal(failed.isError, true);
  const file = `${at.records}/${host.child.pid}.json`;
  await until(() => exists(file), "the record");
  const { repos } = JSON.parse(await Deno.readTextFile(file));
  assert.deepEqual(repos.map(({ repoPath, lastTool }: Payload) => [repoPath, lastTool]), [
    [at.box.home, "repo.status"],
  ]);
});

Deno.test("a refused proposal leaves no record, one that a gateway took does", async () => {
  await using at = await stage();
  let taken = false;
  await using gateway = gatewayWith(() =>
    taken ? answer(200, { status: "pending" }) : answer(403, { error: "policy_denied" })
  );
  const env = { ...at.env, FLUXGIT_MCP_HANDSHAKE_ADDR: gateway.address };
  await using host = start(env);
  await meet(host, "x");
  const ask = async (tool: string) => {
    const args = { repoPath: at.repo, targetRef: "HEAD", sourceRef: "main", reason: "to be kept" };
    const { sourceRef: _none, ...reset } = args;
    const result = await host.call(tool, tool.endsWith("merge") ? args : reset);
    return JSON.parse(result.content[0].text).status;
  };
  assert.equal(await ask("operation.preview.reset"), "refused");
  taken = true;
  assert.equal(await ask("operation.preview.merge"), "pending");
  const file = `${at.records}/${host.child.pid}.json`;
  await until(() => exists(file), "the record");
  const { repos } = JSON.parse(await Deno.readTextFile(file));
  assert.deepEqual(repos.map(({ lastTool }: Payload) => lastTool), ["operation.preview.merge"]);
});

Deno.test("the switches: no record but still looking; no looking but still a record", async () => {
  await using at = await stage();
  await at.lab.write(`${at.repo}/.aider.chat.history.md`, "");
  const silent = start({ ...at.env, FLUXGIT_MCP_PRESENCE_DISABLED: "" });
  await meet(silent, "silent");
  const { data } = await silent.payload("agents.presence", { repoPath: at.repo });
  assert(data.agents.some(({ agent }: Payload) => agent === "aider"));
  await silent[Symbol.asyncDispose]();
  assert.equal(await exists(at.records), false);
  const blind = start({ ...at.env, FLUXGIT_MCP_AGENT_DETECTION_DISABLED: "" });
  await meet(blind, "blind");
  const refused = JSON.parse(
    (await blind.call("agents.presence", { repoPath: at.repo })).content[0].text,
  );
  assert.equal(refused.error.code, 10011);
  const proposal = { repoPath: at.repo, targetRef: "HEAD", reason: "to see who is there" };
  const preview = JSON.parse(
    (await blind.call("operation.preview.reset", proposal)).content[0].text,
  );
  assert.equal("otherAgents" in preview, false);
  await until(() => exists(`${at.records}/${blind.child.pid}.json`), "the record");
  await blind[Symbol.asyncDispose]();
  assert.deepEqual([silent.stderr, blind.stderr], ["", ""]);
});

Deno.test({
  name: "a linked presence folder: one line for people, no file, and every call is answered",
  ignore: !posix,
  async fn() {
    await using at = await stage();
    await Deno.mkdir(`${at.box.root}/run/presence`, { recursive: true });
    await Deno.mkdir(`${at.box.root}/target`);
    await Deno.symlink(`${at.box.root}/target`, at.records);
    const host = start(at.env);
    await meet(host, "x");
    for (let i = 0; i < 3; i++) await host.payload("repo.status", { repoPath: at.repo });
    await until(() => host.stderr !== "", "the line");
    await host[Symbol.asyncDispose]();
    assert.match(host.stderr, /^fluxgit-sidecar: no presence record: [^\n]*not a folder[^\n]*\n$/);
    assert.deepEqual([...Deno.readDirSync(`${at.box.root}/target`)], []);
  },
});
