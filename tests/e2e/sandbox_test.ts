/** `docs/sandbox.md` as written: its blocks are taken out of the document and run. */

import assert from "node:assert/strict";
import { Sandbox } from "../fixtures/sandbox.ts";
import { BINARY, Host, ROOT, serverEnv } from "./host.ts";
import { storySandbox } from "./tool_calls.ts";

/** The code block whose fence is followed by `sh NAME`. */
async function block(name: string): Promise<string> {
  const text = await Deno.readTextFile(`${ROOT}/docs/sandbox.md`);
  const found = text.match(new RegExp("^```sh " + name + "\\n([\\s\\S]*?)^```$", "m"));
  assert(found?.[1], `docs/sandbox.md has no block ${name}`);
  return found[1];
}

/** A shell that runs a block with the document's values, `deno` being the one that runs this test. */
async function shell(box: Sandbox, script: string, values: Record<string, string>, cwd: string) {
  await Deno.mkdir(`${box.root}/bin`, { mode: 0o755 });
  await Deno.symlink(Deno.execPath(), `${box.root}/bin/deno`);
  const env = serverEnv(box);
  delete env["FLUXGIT_RUN_DIR"];
  return new Host({
    command: { command: "/bin/sh", args: ["-c", script] },
    env: { ...env, ...values, PATH: `${env["PATH"]}:${box.root}/bin` },
    cwd,
  });
}

const ignore = BINARY !== null;

for (const profile of ["strict", "presence"]) {
  Deno.test({
    name: `the ${profile} profile of docs/sandbox.md serves, as written`,
    ignore,
    async fn() {
      const { box, repo } = await storySandbox();
      await using _box = box;
      await using host = await shell(box, await block(profile), { SIDECAR: ROOT }, ROOT);
      await host.initialize();
      const { data } = await host.payload("repo.status", { repoPath: repo });
      assert.equal(data.branch, "feature/checkout");
      assert.equal(host.stderr, "");
    },
  });
}

Deno.test({
  name: "the flags for one repository serve it, keep out of others, and make throw-away folders",
  ignore,
  async fn() {
    const { box, repo } = await storySandbox();
    await using _box = box;
    const other = await box.repo("other");
    await box.commit(other, "one", { "a.txt": "1\n" });
    await Deno.mkdir(`${box.root}/run`);
    const names = (await block("values")).match(/^[A-Z]+(?==)/gm);
    assert.deepEqual(names, ["SIDECAR", "REPO", "RUN"]);
    const values = { SIDECAR: ROOT, REPO: repo, RUN: `${box.root}/run` };
    const narrow = await block("narrow");
    await using host = await shell(box, narrow, values, "/");
    await host.initialize();
    const status = await host.payload("repo.status", { repoPath: repo });
    assert.equal(status.data.branch, "feature/checkout");
    assert.equal(status.data.entries.length, 3);
    await host.payload("repo.brief", { repoPath: repo });
    await host.payload("diff.text", { repoPath: repo });
    const forecast = await host.payload("repo.conflictPreflight", {
      repoPath: repo,
      targetRef: "main",
    });
    assert.equal(forecast.data.conflicts.length, 1);
    const refused = await host.request("tools/call", {
      name: "repo.status",
      arguments: { repoPath: other },
    });
    assert(refused.error, "another repository is refused");
    await host.closeInput();
    await host.ended();
    assert.equal(host.stderr, "", "nothing was missing, and the ledger was written");
    const ledger = await Deno.readTextFile(`${box.root}/run/audit/mcp.jsonl`);
    assert.equal(ledger.split("\n").filter((line) => line.includes('"tool_call"')).length, 4);
  },
});

Deno.test({
  name: "the flags for one repository are no wider than they say",
  ignore,
  async fn() {
    await using box = await Sandbox.create();
    const repo = await box.repo();
    await Deno.mkdir(`${box.root}/run`);
    await Deno.mkdir(`${box.root}/code`);
    // A program in the sidecar's place that tells what it was given.
    await Deno.writeTextFile(
      `${box.root}/code/main.ts`,
      `const state = (d: Deno.PermissionDescriptor) => Deno.permissions.querySync(d).state === "granted";
console.log(JSON.stringify({ jsonrpc: "2.0", given: {
  readAll: state({ name: "read" }), readHome: state({ name: "read", path: ${
        JSON.stringify(box.home)
      } }),
  readRepo: state({ name: "read", path: ${JSON.stringify(repo)} }),
  writeRepo: state({ name: "write", path: ${JSON.stringify(repo)} }),
  writeRun: state({ name: "write", path: ${JSON.stringify(`${box.root}/run`)} }),
  runGit: state({ name: "run", command: "git" }), runSh: state({ name: "run", command: "sh" }),
  net: state({ name: "net", host: "127.0.0.1:80" }), env: state({ name: "env" }),
} }));
`,
    );
    const values = { SIDECAR: `${box.root}/code`, REPO: repo, RUN: `${box.root}/run` };
    await using host = await shell(box, await block("narrow"), values, "/");
    await host.ended();
    assert.deepEqual(host.notifications[0]?.given, {
      readAll: false,
      readHome: false,
      readRepo: true,
      writeRepo: false,
      writeRun: true,
      runGit: true,
      runSh: false,
      net: false,
      env: false,
    });
  },
});
