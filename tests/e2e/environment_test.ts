import assert from "node:assert/strict";
import { BINARY, Host, serverEnv } from "./host.ts";
import { storySandbox } from "./tool_calls.ts";

Deno.test("the six variables that hosts pass on are enough", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  // What the official clients hand to a server when a configuration names no environment.
  const env: Record<string, string> = {
    HOME: box.home,
    LOGNAME: "nobody",
    PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
    SHELL: "/bin/sh",
    TERM: "xterm",
    USER: "nobody",
  };
  await using host = new Host({ env });
  await host.initialize();
  const payload = await host.payload("repo.status", { repoPath: repo });
  assert.equal(payload.data.branch, "feature/checkout");
  const forecast = await host.payload("repo.conflictPreflight", {
    repoPath: repo,
    targetRef: "main",
  });
  assert.equal(forecast.data.conflicts.length, 1);
  assert.equal(host.stderr, "");
});

Deno.test("GIT_ variables of the host change no answer and leave no trace file", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  const other = await box.repo("other");
  const hostile = {
    GIT_DIR: `${other}/.git`,
    GIT_WORK_TREE: other,
    GIT_INDEX_FILE: `${box.root}/index`,
    GIT_TRACE: `${box.root}/trace`,
    GIT_TRACE2_EVENT: `${box.root}/trace2`,
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.fsmonitor",
    GIT_CONFIG_VALUE_0: `touch ${box.root}/ran`,
    GIT_EXTERNAL_DIFF: `touch ${box.root}/ran`,
  };
  const control = await box.tryGit(repo, ["status", "--short"], { env: hostile });
  assert.notEqual(control.stdout.includes("src/cart.ts"), true, "control: plain git is misled");
  const made = ["trace", "trace2", "ran"].map((name) => `${box.root}/${name}`);
  const exist = async () => {
    const there = await Promise.all(
      made.map((path) => Deno.stat(path).then(() => true, () => false)),
    );
    return there.some((is) => is);
  };
  assert.equal(await exist(), true, "control: plain git writes a trace");
  for (const path of made) await Deno.remove(path).catch(() => {});
  await using host = new Host({ env: { ...serverEnv(box), ...hostile } });
  await host.initialize();
  const payload = await host.payload("repo.status", { repoPath: repo });
  assert.equal(payload.data.branch, "feature/checkout");
  assert.equal(payload.data.entries.length, 3);
  await host.payload("diff.text", { repoPath: repo });
  assert.equal(await exist(), false);
});

Deno.test("a git in the working directory or behind a relative PATH entry is not run", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  const evil = await box.evil();
  await Deno.copyFile(evil.script, `${repo}/git`);
  await Deno.chmod(`${repo}/git`, 0o755);
  await box.tryGit(repo, ["--version"], { env: { PATH: `${repo}:/usr/bin:/bin` } });
  const control = new Deno.Command("git", {
    clearEnv: true,
    cwd: repo,
    env: { PATH: `${repo}:/usr/bin:/bin` },
  });
  await control.output();
  assert.equal(await evil.ran(), true, "control: PATH leads to it");
  await evil.reset();
  const env = { ...serverEnv(box), PATH: `.::${Deno.env.get("PATH")}` };
  await using host = new Host({ env, cwd: repo });
  await host.initialize();
  // Refusing is right, reading with the other git is right; running this one is not.
  await host.call("repo.status", { repoPath: repo });
  assert.equal(await evil.ran(), false);
});

Deno.test("no git in PATH is told in the answer, and the server lives on", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  await using host = new Host({ env: { ...serverEnv(box), PATH: `${box.root}/nothing` } });
  await host.initialize();
  const result = await host.call("repo.status", { repoPath: repo });
  assert.equal(result.isError, true);
  const error = JSON.parse(result.content[0].text).error;
  assert.equal(error.code, 10010);
  assert.deepEqual((await host.request("ping")).result, {});
  if (BINARY === null) assert.match(host.stderr, /git|^$/);
});

Deno.test("a git that is too old is told with its version", async () => {
  const { box, repo } = await storySandbox();
  await using _box = box;
  await Deno.mkdir(`${box.root}/bin`, { mode: 0o755 });
  await Deno.writeTextFile(`${box.root}/bin/git`, "#!/bin/sh\necho git version 2.17.1\n", {
    mode: 0o755,
  });
  const env = { ...serverEnv(box), PATH: `${box.root}/bin:${Deno.env.get("PATH")}` };
  await using host = new Host({ env });
  await host.initialize();
  const result = await host.call("repo.status", { repoPath: repo });
  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /2\.17\.1/);
});
