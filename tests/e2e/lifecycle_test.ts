import assert from "node:assert/strict";
import { Sandbox } from "../fixtures/sandbox.ts";
import { Host, runningCommands, serverEnv, until } from "./host.ts";

/** Ten times what the contract allows: a loaded machine may be slow, a hang is not. */
const SLACK_MS = 10_000;

async function repository(): Promise<{ box: Sandbox; repo: string }> {
  const box = await Sandbox.create();
  const repo = await box.repo();
  await box.commit(repo, "one", { "a.txt": "1\n" });
  return { box, repo };
}

/**
 * A git in PATH that hangs in `status` and is the real one otherwise. `started` tells when a hanging
 * child is there, `running` whether it still is.
 */
async function hangingGit(box: Sandbox) {
  const real = (await run("sh", "-c", "command -v git")).trim();
  const mark = `sleep 4${box.root.replace(/\D/g, "").padEnd(4, "1").slice(0, 4)}.${Deno.pid}`;
  const seconds = mark.slice("sleep ".length);
  await Deno.mkdir(`${box.root}/bin`, { mode: 0o755 });
  await Deno.writeTextFile(
    `${box.root}/bin/git`,
    `#!/bin/sh
for word in "$@"; do
  if [ "$word" = status ]; then exec sleep ${seconds}; fi
done
exec '${real}' "$@"
`,
    { mode: 0o755 },
  );
  const running = async () => (await runningCommands()).some((line) => line.endsWith(mark));
  return {
    env: { ...serverEnv(box), PATH: `${box.root}/bin:${Deno.env.get("PATH") ?? ""}` },
    started: () => until(running, "a hanging git"),
    running,
  };
}

async function run(command: string, ...args: string[]): Promise<string> {
  return new TextDecoder().decode((await new Deno.Command(command, { args }).output()).stdout);
}

Deno.test("the process ends with 0 at the end of input, and answers what was asked before", async () => {
  const { box, repo } = await repository();
  await using _box = box;
  await using host = new Host({ env: serverEnv(box) });
  await host.initialize();
  const answer = host.call("repo.status", { repoPath: repo });
  const took = await host.endsAfter(() => host.closeInput());
  assert.equal((await answer).isError, false);
  assert.equal((await host.child.status).code, 0);
  assert(took < SLACK_MS, `took ${took} ms`);
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`${signal} ends the process and the git that it was waiting for`, async () => {
    const { box, repo } = await repository();
    await using _box = box;
    const git = await hangingGit(box);
    await using host = new Host({ env: git.env });
    await host.initialize();
    void host.call("repo.status", { repoPath: repo }).catch(() => {});
    await git.started();
    const took = await host.endsAfter(() => host.child.kill(signal));
    assert.equal((await host.child.status).code, 0);
    assert(took < SLACK_MS, `took ${took} ms`);
    assert.equal(await git.running(), false, "the child is gone");
  });
}

Deno.test("the end of input stops a git that does not come to an end", async () => {
  const { box, repo } = await repository();
  await using _box = box;
  const git = await hangingGit(box);
  await using host = new Host({ env: git.env });
  await host.initialize();
  void host.call("repo.status", { repoPath: repo }).catch(() => {});
  await git.started();
  const took = await host.endsAfter(() => host.closeInput());
  assert(took < SLACK_MS, `took ${took} ms`);
  assert.equal(await git.running(), false, "the child is gone");
});

Deno.test("a cancelled call stops its git, is not answered, and the next call is", async () => {
  const { box, repo } = await repository();
  await using _box = box;
  const git = await hangingGit(box);
  await using host = new Host({ env: git.env });
  await host.initialize();
  await host.send({
    jsonrpc: "2.0",
    id: "slow",
    method: "tools/call",
    params: { name: "repo.status", arguments: { repoPath: repo } },
  });
  await git.started();
  await host.send({
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: "slow" },
  });
  await until(async () => !await git.running(), "the end of the child");
  assert.deepEqual((await host.request("ping")).result, {});
});

Deno.test("a host that stops reading ends the process quietly", async () => {
  const { box } = await repository();
  await using _box = box;
  await using host = new Host({ env: serverEnv(box) });
  await host.initialize();
  await host.closeOutput();
  const took = await host.endsAfter(async () => {
    for (let i = 0; i < 5; i++) {
      await host.send({ jsonrpc: "2.0", id: `x${i}`, method: "tools/list" }).catch(() => {});
    }
  });
  assert.equal((await host.child.status).code, 0);
  assert(took < SLACK_MS, `took ${took} ms`);
  assert.equal(host.stderr, "");
});

Deno.test("a server killed in the middle of calls leaves neither index.lock nor a running git", async () => {
  const { box, repo } = await repository();
  await using _box = box;
  const files: Record<string, string> = {};
  for (let i = 0; i < 2_000; i++) files[`d${i % 40}/f${i}.txt`] = `${i}\n`;
  await box.commit(repo, "many", files);
  // Stale times make git want to refresh its index, which is when it would take the lock.
  await run("sh", "-c", `find '${repo}' -name '*.txt' -exec touch -d @1 {} +`);
  const host = new Host({ env: serverEnv(box) });
  await host.initialize();
  await host.call("repo.status", { repoPath: repo });
  for (let i = 0; i < 20; i++) void host.call("repo.status", { repoPath: repo }).catch(() => {});
  host.child.kill("SIGKILL");
  await host.ended();
  await until(
    async () => !(await runningCommands()).some((line) => line.includes(box.root)),
    "the end of every git",
  );
  assert.equal(await Deno.stat(`${repo}/.git/index.lock`).then(() => true, () => false), false);
});

Deno.test("fifty calls in flight are all answered, each with its own id", async () => {
  const { box, repo } = await repository();
  await using _box = box;
  await using host = new Host({ env: serverEnv(box) });
  await host.initialize();
  const answers = await Promise.all(
    Array.from({ length: 50 }, () =>
      host.request("tools/call", {
        name: "repo.status",
        arguments: { repoPath: repo },
      })),
  );
  assert.equal(new Set(answers.map((answer) => answer.id)).size, 50);
  for (const answer of answers) {
    assert.equal(JSON.parse(answer.result.content[0].text).data.branch, "main");
  }
});

for (const how of ["SIGTERM", "the end of input"] as const) {
  Deno.test(`a git that ignores signals does not outlive ${how}`, async () => {
    const { box, repo } = await repository();
    await using _box = box;
    const pids = `${box.root}/pids`;
    await Deno.writeTextFile(
      `${box.root}/git`,
      `#!/bin/sh
for word in "$@"; do
  case "$word" in version|--version) echo "git version 2.47.3"; exit 0;; esac
done
trap '' TERM INT HUP
echo $$ >> '${pids}'
while :; do sleep 0.1; done
`,
      { mode: 0o755 },
    );
    const env = { ...serverEnv(box), PATH: `${box.root}:${Deno.env.get("PATH") ?? ""}` };
    await using host = new Host({ env });
    await host.initialize();
    void host.call("repo.status", { repoPath: repo }).catch(() => {});
    const stubborn = async () =>
      (await Deno.readTextFile(pids).catch(() => "")).split("\n").filter((line) => line !== "");
    await until(async () => (await stubborn()).length > 0, "a stubborn git");
    const took = await host.endsAfter(() =>
      how === "SIGTERM" ? host.child.kill(how) : host.closeInput()
    );
    assert(took < SLACK_MS, `took ${took} ms`);
    const stillThere = async () => {
      const out = await new Deno.Command("ps", { args: ["-eo", "pid=,stat="] }).output();
      const running = new TextDecoder().decode(out.stdout).split("\n").map((line) =>
        line.trim().split(/\s+/)
      ).filter(([, state]) => !state?.startsWith("Z")).map(([pid]) => pid);
      return (await stubborn()).filter((pid) => running.includes(pid));
    };
    await until(async () => (await stillThere()).length === 0, "the end of every git");
  });
}
