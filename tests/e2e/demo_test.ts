import assert from "node:assert/strict";
import { hashTree, Sandbox } from "../fixtures/sandbox.ts";
import { BINARY, ROOT } from "./host.ts";
import { storySandbox } from "./tool_calls.ts";

async function demo(box: Sandbox, args: string[]) {
  const out = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-remote", `${ROOT}/scripts/demo.ts`, ...args],
    cwd: ROOT,
    env: { XDG_CONFIG_HOME: box.home, GIT_CONFIG_NOSYSTEM: "1" },
    stdin: "null",
  }).output();
  const text = new TextDecoder();
  return { code: out.code, stdout: text.decode(out.stdout), stderr: text.decode(out.stderr) };
}

const ignore = BINARY !== null;

Deno.test({
  name: "the demo tells the story in lines that fit a terminal, and the conflict ahead",
  ignore,
  async fn() {
    await using box = await Sandbox.create();
    const { code, stdout, stderr } = await demo(box, []);
    assert.equal(code, 0, stderr);
    for (const line of stdout.split("\n")) assert(line.length <= 80, line);
    assert.match(stdout, /on feature\/checkout, 2 ahead and 1 behind origin\/feature\/checkout/);
    assert.match(stdout, /1 staged, 1 changed, 1 untracked; 1 stash/);
    assert.match(stdout, /merging main would conflict:\n +src\/price\.ts/);
    assert.match(stdout, /5 calls .* tokens\n13 git commands .* tokens/);
    assert.match(stdout, /operation\.preview\.commit\n.*status pending/);
    assert.match(stdout, /Merge docs\/readme into feature\/checkout/);
    const tops = [...stdout.matchAll(/git log --oneline --graph -4\n +\* +([0-9a-f]+) /g)].map((
      m,
    ) => m[1]);
    assert.equal(tops.length, 3, "after the commit, after the merge, after the undo");
    assert.equal(tops[0], tops[2], "the undo brought back what was there before the merge");
    assert.notEqual(tops[0], tops[1]);
    assert.equal(stderr, "");
  },
});

Deno.test({
  name:
    "the demo leaves every byte of a repository that is given to it, and runs none of its programs",
  ignore,
  async fn() {
    const { box, repo } = await storySandbox();
    await using _box = box;
    const evil = await box.evil();
    await box.git(repo, "config", "core.fsmonitor", evil.script);
    await box.git(repo, "config", "diff.external", evil.script);
    await box.git(repo, "status");
    assert.equal(await evil.ran(), true, "control: plain git runs it");
    await evil.reset();
    // Old times make a plain status want to write the index.
    await Deno.utime(`${repo}/src/money.ts`, 1, 1);
    const before = await hashTree(repo);
    const { code, stdout, stderr } = await demo(box, [repo]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Nothing in it is changed/);
    assert.equal(await hashTree(repo), before);
    assert.equal(await evil.ran(), false);
  },
});

Deno.test({
  name: "the demo says so when a path is no repository or is not there",
  ignore,
  async fn() {
    await using box = await Sandbox.create();
    const none = await demo(box, [box.home]);
    assert.match(none.stdout, /error 10010/);
    const missing = await demo(box, [`${box.root}/nowhere`]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /there is no such folder/);
  },
});
