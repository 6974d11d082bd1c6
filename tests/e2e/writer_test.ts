import assert from "node:assert/strict";
import { BINARY, Host, serverEnv, until } from "./host.ts";
import { storySandbox } from "./tool_calls.ts";

/**
 * Runs inside the program, before its own first line: tries to write, and asks to be allowed to, again and
 * again, and tells on standard error what came of it. It has just the permissions that the program has at that moment.
 */
const PROBE = `
const path = Deno.env.get("FLUXGIT_RUN_DIR") + ".probe";
let last = "";
const look = () => {
  let outcome = "wrote";
  try {
    Deno.writeTextFileSync(path, "x");
  } catch (error) {
    outcome = error.name;
  }
  const line = outcome + " " + Deno.permissions.requestSync({ name: "write" }).state;
  if (line !== last) Deno.stderr.writeSync(new TextEncoder().encode("probe: " + line + "\\n"));
  last = line;
};
look();
// Preloaded code is waited for unless its timers are let go.
Deno.unrefTimer(setInterval(look, 2));
`;

Deno.test({
  name: "the main program can write before the writer starts and never after",
  ignore: BINARY !== null,
  async fn() {
    const { box, repo } = await storySandbox();
    await using _box = box;
    await Deno.writeTextFile(`${box.root}/probe.ts`, PROBE);
    const flags = ["--preload", `${box.root}/probe.ts`];
    await using host = new Host({ env: serverEnv(box), flags });
    await host.initialize();
    await host.payload("repo.status", { repoPath: repo });
    await until(() => /probe: NotCapable/.test(host.stderr), "the loss of the permission");
    assert.equal(
      host.stderr,
      "probe: wrote granted\nprobe: NotCapable denied\n",
      "first allowed (control), then denied for good",
    );
    const forecast = await host.payload("repo.conflictPreflight", {
      repoPath: repo,
      targetRef: "main",
    });
    assert.equal(forecast.data.conflicts.length, 1, "the worker still makes throw-away folders");
    assert.equal(host.stderr.split("\n").length, 3, "and the main program did not get it back");
  },
});

Deno.test("throw-away folders are private, below the run directory, and gone after the call", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  await using host = new Host({ env: serverEnv(box) });
  await host.initialize();
  await host.payload("repo.conflictPreflight", { repoPath: repo, targetRef: "main" });
  const folder = `${box.root}/run/tmp`;
  await until(async () => {
    for await (const _ of Deno.readDir(folder)) return false;
    return true;
  }, "an empty folder");
  assert.equal(((await Deno.stat(folder)).mode ?? 0) & 0o777, 0o700);
});

Deno.test("without a usable run directory reads go on and the reason is told", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  await Deno.writeTextFile(`${box.root}/file`, "");
  const env = { ...serverEnv(box), FLUXGIT_RUN_DIR: `${box.root}/file/run` };
  await using host = new Host({ env });
  await host.initialize();
  await host.payload("repo.status", { repoPath: repo });
  await until(() => host.stderr !== "", "a word on standard error");
  for (const line of host.stderr.trim().split("\n")) assert.match(line, /^fluxgit-sidecar: /);
  await host.payload("repo.status", { repoPath: repo });
  assert(
    (await host.call("repo.conflictPreflight", { repoPath: repo, targetRef: "main" })).content,
  );
  assert.deepEqual((await host.request("ping")).result, {});
});

Deno.test("a ledger that has no place changes no answer, and the reason is told", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  await Deno.writeTextFile(`${box.root}/file`, "");
  for (const ledger of [`${box.root}/file/ledger.jsonl`, "/proc/nowhere/ledger.jsonl"]) {
    const env = { ...serverEnv(box), FLUXGIT_MCP_AUDIT_LOG: ledger };
    await using host = new Host({ env });
    await host.initialize();
    const forecast = await host.payload("repo.conflictPreflight", {
      repoPath: repo,
      targetRef: "main",
    });
    assert.notEqual(forecast.data.status, "unknown", "a throw-away folder was made");
    await host.closeInput();
    await host.ended();
    assert.match(host.stderr, /^fluxgit-sidecar: the ledger cannot be written: .*restart/);
    assert.match(host.stderr, /1 ledger entries were not written/);
    assert.doesNotMatch(host.stderr, /allow-all/);
  }
});
