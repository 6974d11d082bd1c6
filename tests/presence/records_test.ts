import assert from "node:assert/strict";
import { PresenceRecord, type RecordedCall } from "../../common/writer/presence_record.ts";
import { brief, Lab, MARKER, processList } from "./lab.ts";

/** Presence records: how they are read, and how they are written. */

interface Entry {
  path: string;
  agoMs?: number;
  tool?: string;
}

function record(lab: Lab, name: string | null, entries: readonly Entry[], more = {}): unknown {
  return {
    schemaVersion: 1,
    pid: 1,
    client: { name, version: "1.2" },
    repos: entries.map(({ path, agoMs = 0, tool = "repo.brief" }) => ({
      repoPath: path,
      lastCallMs: lab.now - agoMs,
      lastTool: tool,
      arguments: MARKER,
    })),
    ...more,
  };
}

Deno.test("records: only sound, fresh ones of others count", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.runDir}/presence/mcp`;
  const good = (path: string) => record(lab, "opencode", [{ path }]);
  await lab.write(`${folder}/11.json`, good(lab.a));
  await lab.write(`${folder}/12.json`, JSON.stringify(good(lab.b)).padEnd(65_537));
  await lab.write(`${folder}/13.tmp`, good(lab.b));
  await lab.write(`${lab.root}/real.json`, good(lab.b));
  await Deno.symlink(`${lab.root}/real.json`, `${folder}/14.json`);
  await lab.write(
    `${folder}/15.json`,
    record(lab, "codex", [{ path: lab.b }], { schemaVersion: 2 }),
  );
  await lab.age(await lab.write(`${folder}/16.json`, good(lab.b)));
  await lab.write(`${folder}/17.json`, record(lab, "goose", [{ path: lab.b, agoMs: 16 * 60_000 }]));
  await lab.write(`${folder}/18.json`, record(lab, "goose", [{ path: lab.b, agoMs: -120_000 }]));
  await lab.write(`${folder}/19.json`, good(lab.elsewhere));
  await lab.write(`${folder}/20.json`, `{"schemaVersion": 1, "repos": [`);
  await lab.write(`${folder}/21.json`, record(lab, "goose", [{ path: "relative" }]));
  await lab.write(`${folder}/999999.json`, good(lab.c));
  const found = await lab.one();
  assert.deepEqual(found, {
    agent: "opencode",
    root: lab.a,
    state: "working",
    sources: ["mcp"],
    pid: null,
    lastActivityMs: lab.now,
    branch: null,
    lastTool: "repo.brief",
    files: [],
    mcpClient: { name: "opencode", version: "1.2" },
    sessions: 1,
  });
});

Deno.test("records: a call half a minute ago is work, one five minutes ago is not", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.runDir}/presence/mcp`;
  await lab.write(
    `${folder}/1.json`,
    record(lab, null, [{ path: lab.a, agoMs: 30_000 }, { path: lab.b, agoMs: 300_000 }]),
  );
  assert.deepEqual(brief(lab, await lab.findings()), [
    "mcp-client A working",
    "mcp-client B recent",
  ]);
});

Deno.test("records: a call beats a turn that is over in the agent's own log", async () => {
  await using lab = await Lab.create();
  await lab.lines(
    ".codex/sessions/2030/1/2/r.jsonl",
    { type: "session_meta", payload: { cwd: lab.a } },
    { timestamp: lab.time(), payload: { type: "task_complete" } },
  );
  await lab.write(
    `${lab.runDir}/presence/mcp/1.json`,
    record(lab, "codex-mcp-client", [{ path: lab.a, agoMs: 10_000 }]),
  );
  const found = await lab.one();
  assert.deepEqual([found.sources, found.state], [["session", "mcp"], "working"]);
});

Deno.test("records: the writer must be alive, and the same process, where that can be asked", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.runDir}/presence/mcp`;
  const write = (pid: number, name: string, startedAtMs?: number) =>
    lab.write(
      `${folder}/${pid}.json`,
      record(lab, name, [{ path: lab.a }], startedAtMs === undefined ? {} : { startedAtMs }),
    );
  await write(1, "gone", lab.now - 60_000);
  await write(2, "alive", lab.now - 61_000);
  await write(3, "another-one", lab.now - 600_000);
  await write(4, "without-a-start");
  await write(5, "younger-than-its-record");
  await lab.age(`${folder}/5.json`, 60_000);
  const processes = processList(
    lab.now,
    [2, 1, "deno", "deno", 60],
    [3, 1, "deno", "deno", 60],
    [4, 1, "deno", "deno", 60],
    [5, 1, "deno", "deno", 1],
  );
  const agents = (await lab.findings({ processes })).map(({ agent }) => agent).sort();
  assert.deepEqual(agents, ["alive", "without-a-start"]);
  // The control: where nobody can be asked, freshness decides.
  assert.equal((await lab.findings()).length, 5);
});

Deno.test("records: two sidecars of one client are one finding that says so", async () => {
  await using lab = await Lab.create();
  for (const pid of [1, 2]) {
    await lab.write(
      `${lab.runDir}/presence/mcp/${pid}.json`,
      record(lab, "codex", [{ path: `${lab.a}/src`, agoMs: pid * 1_000, tool: `tool.${pid}` }]),
    );
  }
  const found = await lab.one();
  assert.deepEqual([found.sessions, found.lastActivityMs], [2, lab.now - 1_000]);
});

function call(path: string, at: number, client: RecordedCall["client"]): RecordedCall {
  return { client, repoPath: path, lastCallMs: at, lastTool: "repo.status" };
}

function written(lab: Lab): Record<string, unknown> {
  return JSON.parse(Deno.readTextFileSync(`${lab.runDir}/presence/mcp/77.json`));
}

const posix = Deno.build.os !== "windows";

Deno.test("writing: sixteen repositories, the newest first, private, and gone at the end", async () => {
  await using lab = await Lab.create();
  const failures: unknown[] = [];
  const own = new PresenceRecord(lab.runDir, 77, 5, (error) => failures.push(error));
  const client = { name: "  codex\u0007 ", version: "\u0001\u0002" };
  for (let i = 0; i < 20; i++) own.add(call(`/r/${i}`, i, client));
  own.add(call("/r/10", 99, client));
  // What came close together is written a moment later.
  await until(() => (written(lab)["repos"] as unknown[]).length === 16);
  const { repos, ...rest } = written(lab) as { repos: { repoPath: string }[] };
  assert.deepEqual(rest, {
    schemaVersion: 1,
    pid: 77,
    startedAtMs: 5,
    client: { name: "codex", version: null },
  });
  assert.deepEqual(repos.map(({ repoPath }) => repoPath).slice(0, 3), ["/r/10", "/r/19", "/r/18"]);
  assert.deepEqual(Object.keys(repos[0]!), ["repoPath", "lastCallMs", "lastTool"]);
  if (posix) {
    assert.equal(Deno.lstatSync(`${lab.runDir}/presence/mcp/77.json`).mode! & 0o777, 0o600);
    assert.equal(Deno.lstatSync(`${lab.runDir}/presence/mcp`).mode! & 0o777, 0o700);
  }
  own.leave();
  assert.deepEqual([...Deno.readDirSync(`${lab.runDir}/presence/mcp`)], []);
  own.add(call("/r/1", 1, client));
  assert.deepEqual([...Deno.readDirSync(`${lab.runDir}/presence/mcp`)], []);
  assert.deepEqual(failures, []);
});

Deno.test("writing: what was left behind a day ago is swept, other files are not", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.runDir}/presence/mcp`;
  for (const name of ["1.json", "x.tmp", "y.txt"]) {
    await lab.age(await lab.write(`${folder}/${name}`, "{}"), 25 * 3_600_000);
  }
  await lab.age(await lab.write(`${folder}/2.json`, "{}"), 23 * 3_600_000);
  new PresenceRecord(lab.runDir, 77, 5, failed).add(
    call("/r", 1, { name: null, version: null }),
  );
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  assert.deepEqual(names, ["2.json", "77.json", "y.txt"]);
});

for (const linked of ["presence", "presence/mcp"]) {
  Deno.test(`writing: through a linked ${linked} nothing is written and nothing swept`, async () => {
    await using lab = await Lab.create();
    const target = `${lab.root}/target`;
    await lab.age(await lab.write(`${target}/mcp/1.json`, "{}"), 25 * 3_600_000);
    await lab.age(await lab.write(`${target}/1.json`, "{}"), 25 * 3_600_000);
    if (linked.includes("/")) await Deno.mkdir(`${lab.runDir}/presence`);
    await Deno.symlink(target, `${lab.runDir}/${linked}`);
    const failures: unknown[] = [];
    const own = new PresenceRecord(lab.runDir, 77, 5, (error) => failures.push(error));
    own.add(call("/r", 1, { name: null, version: null }));
    assert.match(String(failures[0]), /not a folder/);
    const names = [...Deno.readDirSync(target)].map(({ name }) => name).sort();
    assert.deepEqual(names, ["1.json", "mcp"]);
    assert.deepEqual([...Deno.readDirSync(`${target}/mcp`)].map(({ name }) => name), ["1.json"]);
  });
}

Deno.test("writing: a link planted under the record's name is replaced, its target left alone", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.runDir}/presence/mcp`;
  await lab.write(`${lab.root}/victim`, "keep");
  await Deno.mkdir(folder, { recursive: true });
  await Deno.symlink(`${lab.root}/victim`, `${folder}/77.json`);
  // The control: writing to the name as such would go through the link.
  await Deno.writeTextFile(`${folder}/77.json`, "overwritten");
  assert.equal(await Deno.readTextFile(`${lab.root}/victim`), "overwritten");
  await lab.write(`${lab.root}/victim`, "keep");
  new PresenceRecord(lab.runDir, 77, 5, failed).add(
    call("/r", 1, { name: null, version: null }),
  );
  assert(Deno.lstatSync(`${folder}/77.json`).isFile);
  assert.equal(await Deno.readTextFile(`${lab.root}/victim`), "keep");
});

async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 30_000;
  while (!holds()) {
    if (performance.now() > end) throw new Error("it did not come to pass");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function failed(error: unknown): never {
  throw error;
}
