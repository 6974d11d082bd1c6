import assert from "node:assert/strict";
import { GIT_LIMITS, runGit, type RunOptions, streamGit } from "../../git/command.ts";
import { GitError } from "../../git/errors.ts";
import { useVariables } from "../../git/program.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

/** The door with a shell script for git. `$DIR` in the script is the sandbox. */
async function withScript(script: string) {
  const box = await Sandbox.create();
  const path = `${box.root}/git`;
  await Deno.writeTextFile(path, `#!/bin/sh\nDIR='${box.root}'\n${script}\n`, { mode: 0o755 });
  useVariables((name) =>
    ({ FLUXGIT_MCP_GIT_PATH: path, HOME: box.home, PATH: Deno.env.get("PATH") ?? "" })[name]
  );
  return box;
}

const version = (options: RunOptions = {}) =>
  runGit({ path: "/", overrides: [] }, ["version"], options);

async function failure(work: Promise<unknown>): Promise<GitError> {
  const error = await work.then(() => null, (error: unknown) => error);
  assert(error instanceof GitError, `it failed with ${error}`);
  return error;
}

async function pidOf(box: Sandbox, file = "pid"): Promise<number> {
  for (let i = 0; i < 500; i++) {
    const text = await Deno.readTextFile(`${box.root}/${file}`).catch(() => "");
    if (text.endsWith("\n")) return Number(text);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("the child did not start");
}

async function isRunning(pid: number): Promise<boolean> {
  const { success } = await new Deno.Command("kill", {
    args: ["-0", String(pid)],
    stderr: "null",
  }).output();
  return success;
}

Deno.test("a child that overruns its deadline is stopped and the call says so", async () => {
  await using box = await withScript('echo $$ > "$DIR/pid"; exec sleep 60');
  const error = await failure(version({ deadlineMs: 600 }));
  assert.equal(error.kind, "timed_out");
  assert.match(String(error.data?.["details"]), /600 ms/);
  assert.equal(await isRunning(await pidOf(box)), false);
});

Deno.test("a child that ignores the polite signal is killed, when late and when cancelled", async () => {
  const deaf = 'trap "" TERM; echo $$ > "$DIR/pid"; while :; do sleep 0.05; done';
  await using box = await withScript(deaf);
  assert.equal((await failure(version({ deadlineMs: 600 }))).kind, "timed_out");
  assert.equal(await isRunning(await pidOf(box)), false);
  await Deno.remove(`${box.root}/pid`);
  const controller = new AbortController();
  const call = failure(version({ signal: controller.signal }));
  const pid = await pidOf(box);
  assert.equal(await isRunning(pid), true, "control: it runs until it is cancelled");
  controller.abort();
  assert.equal((await call).kind, "cancelled");
  assert.equal(await isRunning(pid), false);
});

Deno.test("a call cancelled before or while it waits for its turn starts nothing", async () => {
  await using box = await withScript('echo x >> "$DIR/started"; exec sleep 1');
  const gone = new AbortController();
  gone.abort();
  assert.equal((await failure(version({ signal: gone.signal }))).kind, "cancelled");
  await assert.rejects(Deno.stat(`${box.root}/started`));
  const cores = navigator.hardwareConcurrency;
  const busy = Array.from({ length: cores }, () => version());
  const controller = new AbortController();
  const waiting = failure(version({ signal: controller.signal }));
  controller.abort();
  assert.equal((await waiting).kind, "cancelled");
  await Promise.all(busy);
  const started = (await Deno.readTextFile(`${box.root}/started`)).trim().split("\n").length;
  assert.equal(started, cores);
});

Deno.test("output over its ceiling fails or is cut, and the child that goes on writing is stopped", async () => {
  await using box = await withScript(
    'trap "" TERM PIPE; echo $$ > "$DIR/pid"; while :; do echo 0123456789 2>/dev/null; done',
  );
  const error = await failure(version({ maxBytes: 1000 }));
  assert.equal(error.kind, "output_limit");
  assert.match(String(error.data?.["details"]), /1000 bytes/);
  assert.equal(await isRunning(await pidOf(box)), false);
  const cut = await version({ maxBytes: 25, overflow: "cut" });
  assert.equal(cut.cut, true);
  assert.equal(new TextDecoder().decode(cut.stdout), "0123456789\n0123456789\n012");
});

Deno.test("output of exactly the ceiling is whole", async () => {
  await using _box = await withScript("printf 0123456789");
  const whole = await version({ maxBytes: 10 });
  assert.equal(whole.cut, false);
  assert.equal(whole.stdout.length, 10);
});

Deno.test("a flood on standard error stops the child; less of it is kept in part", async () => {
  await using box = await withScript(
    'echo $$ > "$DIR/pid"; [ -f "$DIR/little" ] || exec cat /dev/zero >&2; ' +
      "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 3",
  );
  assert.equal((await failure(version())).kind, "output_limit");
  assert.equal(await isRunning(await pidOf(box)), false);
  await box.write(box.root, { little: "" });
  const some = await version({ okCodes: [3] });
  assert.equal(some.stderr.length, GIT_LIMITS.stderrKept);
});

Deno.test("what a child leaves behind with its pipes open neither hangs the call nor costs its answer", async () => {
  await using box = await withScript(
    'echo answer; sleep 30 & echo $! > "$DIR/pid"; exit 0',
  );
  const before = Date.now();
  const out = await version();
  assert.equal(new TextDecoder().decode(out.stdout), "answer\n");
  const pid = await pidOf(box);
  assert.equal(await isRunning(pid), true, "control: it still holds the pipes");
  assert(Date.now() - before < 10 * GIT_LIMITS.pipesMs);
  Deno.kill(pid, "SIGKILL");
});

Deno.test("input that the child does not read is no failure, much of it included", async () => {
  await using _box = await withScript("exec 0<&-; echo done");
  const out = await version({ stdin: new Uint8Array(8 * 1024 * 1024) });
  assert.equal(new TextDecoder().decode(out.stdout), "done\n");
});

Deno.test("input reaches the child whole while its output is read", async () => {
  await using _box = await withScript("exec cat");
  const bytes = new Uint8Array(2 * 1024 * 1024).map((_, i) => i % 251);
  const out = await version({ stdin: bytes });
  assert.deepEqual(out.stdout.length, bytes.length);
  assert.equal(out.stdout.every((byte, i) => byte === i % 251), true);
});

Deno.test("an error in the reader of output is thrown, not swallowed, and the child is stopped", async () => {
  await using box = await withScript('echo $$ > "$DIR/pid"; echo x; exec sleep 60');
  const broken = streamGit({ path: "/", overrides: [] }, ["version"], {}, () => {
    throw new RangeError("from the reader");
  });
  await assert.rejects(broken, RangeError);
  assert.equal(await isRunning(await pidOf(box)), false);
});

Deno.test("a child ended from outside gives no answer, whatever codes are accepted", async () => {
  await using _box = await withScript("echo half; kill -9 $$");
  const error = await failure(version({ okCodes: "any" }));
  assert.equal(error.kind, "failed");
  assert.match(String(error.data?.["details"]), /SIGKILL/);
});

Deno.test("exit codes are answers only when they are expected", async () => {
  await using _box = await withScript("echo 'fatal: not a git repository' >&2; exit 128");
  const error = await failure(version());
  assert.equal(error.kind, "not_a_repository");
  assert.equal(error.exitCode, 128);
  assert.deepEqual(error.data?.["command"], ["git", "-C", "<repoPath>", "version"]);
  assert.equal((await version({ okCodes: [0, 128] })).code, 128);
  assert.equal((await version({ okCodes: "any" })).code, 128);
});

Deno.test("no more children run at once than there are cores, and answers do not mix", async () => {
  await using box = await withScript(
    'mkdir "$DIR/running/$$"; ls "$DIR/running" | wc -l >> "$DIR/counts"; sleep 0.05; ' +
      'for last in "$@"; do :; done; echo "$last"; rmdir "$DIR/running/$$"',
  );
  await Deno.mkdir(`${box.root}/running`);
  const calls = Array.from({ length: 20 }, async (_, i) => {
    const out = await runGit({ path: "/", overrides: [] }, ["version", `call-${i}`]);
    return new TextDecoder().decode(out.stdout).trim();
  });
  assert.deepEqual(await Promise.all(calls), Array.from({ length: 20 }, (_, i) => `call-${i}`));
  const counts = (await Deno.readTextFile(`${box.root}/counts`)).trim().split("\n").map(Number);
  assert.equal(counts.length, 20);
  assert(Math.max(...counts) <= navigator.hardwareConcurrency);
});

Deno.test("only reading commands run, and of these only the forms that read", async () => {
  await using box = await Sandbox.create();
  useSandbox(box);
  const repo = await box.repo();
  const one = await box.commit(repo, "one", { f: "1\n" });
  const before = await hashTree(box.root);
  const target = { path: repo, overrides: [] };
  const refused = [
    ["commit", "-m", "x"],
    ["update-ref", "refs/heads/x", one],
    ["config", "user.name", "x"],
    ["config", "--add", "user.name", "x"],
    ["config", "--unset", "user.name"],
    ["worktree", "add", `${box.root}/wt`],
    ["worktree", "prune"],
    ["reflog", "expire", "--all"],
    ["reflog", "delete", "HEAD@{0}"],
    ["symbolic-ref", "HEAD", "refs/heads/x"],
    ["symbolic-ref", "-d", "HEAD"],
    ["merge-tree", "--write-tree", one, one],
    ["log", `--output=${box.root}/out`],
    ["log", `--outpu=${box.root}/out`],
    ["diff", "--ext-diff"],
    ["diff", "--ext"],
    ["show", "--textconv", one],
    ["log", "--show-signature"],
    ["diff", "--no-index", "/etc/hostname", "/dev/null"],
    ["cat-file", "--filters", `${one}:f`],
    [],
  ];
  for (const args of refused) {
    const error = await failure(runGit(target, args));
    assert.equal(error.kind, "failed", args.join(" "));
    assert.match(String(error.data?.["details"]), /not one that|not a reading form/);
  }
  assert.equal(await hashTree(box.root), before);
  const read = [
    ["log", "--text", "--oneline", "--", "--output=f"],
    ["config", "--get", "core.bare"],
    ["worktree", "list"],
    ["reflog", "show"],
    ["symbolic-ref", "-q", "HEAD"],
  ];
  for (const args of read) assert.equal((await runGit(target, args)).code, 0, args.join(" "));
  const control = ["log", `--output=${box.root}/out`, "-1"];
  await box.git(repo, ...control);
  assert.notEqual(await hashTree(box.root), before, "control: plain git writes where it is told");
});

Deno.test("more drivers than an environment can hold are refused with the reason, not run", async () => {
  await using box = await Sandbox.create();
  useSandbox(box);
  const overrides = Array.from({ length: 1_200 }, (_, i) => [`filter.f${i}.clean`, ""] as const);
  const many = await failure(runGit({ path: box.root, overrides }, ["version"]));
  assert.match(String(many.data?.["details"]), /1200 filter and merge drivers/);
  const wide = [[`filter.${"x".repeat(100_000)}.clean`, ""] as const];
  const long = await failure(runGit({ path: box.root, overrides: wide }, ["version"]));
  assert.equal(long.kind, "failed");
});
