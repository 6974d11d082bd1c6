import assert from "node:assert/strict";
import { resolveProgram } from "../../toolhub/shell/resolve.ts";
import { buildEnvironment, readEnvironment } from "../../toolhub/shell/environment.ts";
import { runningCommands, until } from "../e2e/host.ts";
import { Lab, type Tools } from "./lab.ts";

const RUN = "shell.run";
const GO = "shell.run_approved";

/** Makes an executable script in the workspace. */
function script(lab: Lab, name: string, body: string): string {
  const path = lab.write(name, `#!/bin/sh\n${body}\n`);
  Deno.chmodSync(path, 0o755);
  return path;
}

async function runApproved(tools: Tools, args: Record<string, unknown>) {
  const id = await tools.approved(RUN, args);
  return await tools.call(GO, { request_id: id });
}

Deno.test("an approved program gets its arguments untouched, no shell, no input and nearly no environment", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  script(lab, "show.sh", 'for a in "$@"; do printf "[%s]" "$a"; done; pwd; env; cat');
  Deno.mkdirSync(`${lab.workspace}/sub`);
  const args = ["", "a b", "$HOME", "*", ";touch x", "line\nbreak", '"', "\\"];
  const done = await runApproved(tools, { program: "../show.sh".slice(1), args, cwd: "." });
  assert.equal(done.executed, true);
  assert.equal(done.returncode, 0);
  const expected = args.map((arg) => `[${arg}]`).join("") + lab.workspace + "\n";
  assert(done.stdout.startsWith(expected), done.stdout);
  const env = done.stdout.slice(expected.length).trim().split("\n").map((line: string) =>
    line.split("=")[0]
  ).sort();
  // The shell that runs the script sets PWD (and OLDPWD, _) by itself.
  assert.deepEqual(env.filter((name: string) => !/^(?:PWD|OLDPWD|_|SHLVL)$/.test(name)), [
    "TOOLHUB_REQUEST_ID",
  ]);
  assert.equal(done.message, "");
});

Deno.test("exit codes, standard error, and cut output are told", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const failed = await runApproved(tools, {
    program: "sh",
    args: ["-c", "printf 'a\\r\\nb\\377' >&2; exit 3"],
  });
  assert.equal(failed.returncode, 3);
  assert.equal(failed.stderr, "a\nb\ufffd");
  const long = await runApproved(tools, {
    program: "sh",
    args: ["-c", "head -c 20005 /dev/zero | tr '\\0' x"],
  });
  assert.equal(long.stdout, "x".repeat(20_000) + "\n\n[ToolHub truncated 5 characters]");
  const huge = await runApproved(tools, {
    program: "sh",
    args: ["-c", "head -c 5000000 /dev/zero | tr '\\0' x"],
  });
  assert.match(huge.stdout, /\[ToolHub discarded 4737856 output bytes\]/);
  assert(huge.stdout.length < 21_000);
});

Deno.test("bad commands make no request", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  lab.write("plain.txt", "x");
  Deno.symlinkSync(lab.outside, `${lab.workspace}/out`);
  const cases: [args: Record<string, unknown>, key: RegExp][] = [
    [{ program: "no-such-program-here" }, /could not be resolved at approval creation/],
    [{ program: "./plain.txt" }, /could not be resolved/],
    [{ program: " " }, /names no program/],
    [{ program: "sh\0" }, /NUL/],
    [{ program: "sh", args: ["a\0b"] }, /NUL/],
    [{ program: "sh", args: Array(257).fill("x") }, /more than 256 arguments/],
    [{ program: "sh", args: ["x".repeat(32_769)] }, /more than 32768/],
    [{ program: "sh", cwd: "none" }, /Working directory not found/],
    [{ program: "sh", cwd: "plain.txt" }, /not a directory/],
    [{ program: "sh", cwd: "out" }, /escapes workspace/],
    [{ program: "sh", cwd: "/" }, /escapes workspace/],
  ];
  for (const [args, key] of cases) assert.match(await tools.error(RUN, args), key);
  assert.throws(() => lab.stored(), Deno.errors.NotFound);
  const events = lab.audit();
  assert.equal(events.length, cases.length);
  assert.equal(events[0].error_type, "ExecutableResolutionError");
  assert.equal(events[7].extra.command_policy.decision, "refused");
  assert.equal(events[7].risk, "HIGH");
});

Deno.test("a name is looked up once, in the order of PATH, and a later PATH changes nothing", async () => {
  await using lab = await Lab.create();
  const first = `${lab.root}/first`, second = `${lab.root}/second`;
  for (const [folder, word] of [[first, "one"], [second, "two"]]) {
    Deno.mkdirSync(folder!);
    Deno.writeTextFileSync(`${folder}/tool`, `#!/bin/sh\necho ${word}\n`, { mode: 0o755 });
  }
  const path = { PATH: `${first}:${second}:/usr/bin:/bin` };
  await using tools = await lab.hub({ env: path });
  const id = await tools.approved(RUN, { program: "tool" });
  await using other = await lab.hub({ env: { PATH: `${second}:/usr/bin:/bin` } });
  assert.equal((await other.call(GO, { request_id: id })).stdout, "one\n");
  const env = (value: string) => (name: string) => name === "PATH" ? value : undefined;
  const cwd = `${first}`;
  assert.equal(resolveProgram("tool", cwd, env(":/bin")), `${first}/tool`);
  assert.equal(resolveProgram("tool", lab.root, env("second")), `${second}/tool`);
  assert.equal(resolveProgram("./tool", cwd, env("")), `${first}/tool`);
  assert.throws(() => resolveProgram("tool", lab.root, env("/nowhere")), /could not be resolved/);
});

Deno.test("a program replaced after the approval is refused and the request used up", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const path = script(lab, "tool.sh", "echo good");
  const id = await tools.approved(RUN, { program: "./tool.sh" });
  Deno.writeTextFileSync(path, `#!/bin/sh\ntouch '${lab.root}/mark'\n`);
  const refused = await tools.call(GO, { request_id: id });
  assert.equal(refused.executed, false);
  assert.equal(refused.approval_status, "CONSUMED");
  assert.match(refused.message, /content changed/);
  assert.throws(() => Deno.statSync(`${lab.root}/mark`), Deno.errors.NotFound);
  // The control: run by name, it would leave the mark.
  await new Deno.Command(path).output();
  Deno.statSync(`${lab.root}/mark`);
  const event = lab.audit().at(-1);
  assert.equal(event.action, "approval_rejected");
  assert.equal(event.error_type, "ExecutableIdentityMismatch");
  assert.match((await tools.call(GO, { request_id: id })).message, /CONSUMED/);
});

Deno.test("the check of the program is the last step before its start", async () => {
  await using lab = await Lab.create();
  const path = script(lab, "tool.sh", "echo good");
  const swap = () => Deno.writeTextFileSync(path, "#!/bin/sh\necho evil\n");
  for (const hooks of [{ beforeVerify: swap }, { betweenChecks: swap }]) {
    await using tools = await lab.hub({ hooks });
    Deno.writeTextFileSync(path, "#!/bin/sh\necho good\n");
    const refused = await runApproved(tools, { program: "./tool.sh" });
    assert.equal(refused.executed, false);
    assert.match(refused.message, /content changed/);
  }
});

Deno.test("a script that an interpreter runs is bound like the program, also through a link", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  lab.write("job.sh", "echo good");
  const cases: [args: string[], change: () => void][] = [
    [["job.sh"], () => lab.write("job.sh", "echo evil")],
    [["--rcfile=job.sh", "-c", ":"], () => lab.write("job.sh", "echo evil")],
    [["later.sh"], () => lab.write("later.sh", "echo evil")],
    [["link.sh"], () => {
      lab.write("other.sh", "echo evil");
      Deno.removeSync(`${lab.workspace}/link.sh`);
      Deno.symlinkSync("other.sh", `${lab.workspace}/link.sh`);
    }],
  ];
  Deno.symlinkSync("job.sh", `${lab.workspace}/link.sh`);
  for (const [args, change] of cases) {
    lab.write("job.sh", "echo good");
    const id = await tools.approved(RUN, { program: "bash", args });
    change();
    const refused = await tools.call(GO, { request_id: id });
    assert.equal(refused.executed, false, args.join(" "));
    assert.match(refused.message, /content changed/);
  }
  lab.write("job.sh", "echo good");
  assert.equal((await runApproved(tools, { program: "sh", args: ["job.sh"] })).stdout, "good\n");
});

Deno.test("a working directory swapped for a link is refused", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  Deno.mkdirSync(`${lab.workspace}/dir`);
  Deno.mkdirSync(`${lab.workspace}/other`);
  for (const target of [lab.outside, "other"]) {
    const id = await tools.approved(RUN, { program: "pwd", cwd: "dir" });
    Deno.removeSync(`${lab.workspace}/dir`);
    Deno.symlinkSync(target, `${lab.workspace}/dir`);
    const refused = await tools.call(GO, { request_id: id });
    assert.equal(refused.executed, false);
    assert.equal(refused.approval_status, "CONSUMED");
    assert.match(refused.message, /escapes workspace|another folder/);
    Deno.removeSync(`${lab.workspace}/dir`);
    Deno.mkdirSync(`${lab.workspace}/dir`);
  }
});

Deno.test("a working directory swapped while the files are checked is refused", async () => {
  await using lab = await Lab.create();
  const dir = `${lab.workspace}/dir`;
  const swap = () => {
    Deno.removeSync(dir);
    Deno.symlinkSync(lab.outside, dir);
  };
  for (const hooks of [{ beforeVerify: swap }, { betweenChecks: swap }]) {
    Deno.mkdirSync(dir);
    await using tools = await lab.hub({ hooks });
    const refused = await runApproved(tools, { program: "pwd", cwd: "dir" });
    assert.deepEqual([refused.executed, refused.stdout], [false, ""]);
    assert.match(refused.message, /escapes workspace/);
    Deno.removeSync(dir);
  }
  Deno.mkdirSync(dir);
  await using tools = await lab.hub();
  const control = await runApproved(tools, { program: "pwd", cwd: "dir" });
  assert.equal(control.stdout, `${dir}\n`);
});

Deno.test("a stored request that was tampered with is refused", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const path = `${lab.state}/approvals.json`;
  // deno-lint-ignore no-explicit-any
  const tamper = async (change: (record: any) => void) => {
    const id = await tools.approved(RUN, { program: "true" });
    const store = JSON.parse(Deno.readTextFileSync(path));
    change(store.requests[id]);
    Deno.writeTextFileSync(path, JSON.stringify(store));
    const refused = await tools.call(GO, { request_id: id });
    assert.equal(refused.executed, false);
    assert.equal(refused.approval_status, "CONSUMED");
    return refused.message;
  };
  assert.match(
    await tamper(({ payload }) => delete payload.executable_snapshot),
    /no executable snapshot/,
  );
  assert.match(await tamper(({ payload }) => payload.executable_snapshot.size = true), /malformed/);
  assert.match(
    await tamper(({ payload }) => payload.executable_snapshot.sha256 = "x"),
    /malformed/,
  );
  assert.match(
    await tamper(({ payload }) => payload.executable_snapshot.sha256 = "0".repeat(64)),
    /content changed/,
  );
  assert.match(
    await tamper(({ payload }) => payload.execution_environment.variables.LD_PRELOAD = "/x.so"),
    /environment is malformed/,
  );
  assert.match(await tamper(({ payload }) => delete payload.execution_environment), /environment/);
  assert.match(await tamper(({ payload }) => payload.operand_snapshots = [{}]), /malformed/);
  assert.match(
    await tamper(({ payload }) => payload.workspace_root = lab.outside),
    /different ToolHub workspace/,
  );
  assert.match(await tamper((record) => record.cwd = "../outside"), /escapes/);
});

Deno.test("the environment is fixed by the platform, and its digest is checked", () => {
  const id = `req_${"a".repeat(32)}`;
  const server: Record<string, string> = {
    LD_PRELOAD: "/x.so",
    NODE_OPTIONS: "--require x",
    PATH: "/evil",
    SystemRoot: "C:\\Windows",
    TEMP: "relative",
    TMP: "C:\\Temp ",
  };
  const read = (name: string) => server[name];
  assert.deepEqual(buildEnvironment(id, read, false).variables, { TOOLHUB_REQUEST_ID: id });
  assert.deepEqual(buildEnvironment(id, read, true).variables, {
    TOOLHUB_REQUEST_ID: id,
    SystemRoot: "C:\\Windows",
  });
  const stored = buildEnvironment(id, read, false);
  assert.deepEqual(readEnvironment(stored, id, false), { TOOLHUB_REQUEST_ID: id });
  assert.throws(() => readEnvironment(stored, `req_${"b".repeat(32)}`, false), /malformed/);
  assert.throws(
    () => readEnvironment({ ...stored, sha256: "0".repeat(64) }, id, false),
    /malformed/,
  );
  assert.throws(() => readEnvironment(stored, id, true), /malformed/);
});

/** A marker that only the processes of this test carry in their command lines. */
function sleeper(): { seconds: string; running: () => Promise<boolean> } {
  const seconds = `4${Math.floor(Math.random() * 900 + 100)}.${Deno.pid}`;
  return {
    seconds,
    running: async () => (await runningCommands()).some((line) => line.includes(seconds)),
  };
}

Deno.test("at the time limit everything that the program started is stopped, however it hid", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const { seconds, running } = sleeper();
  script(
    lab,
    "tree.sh",
    `echo begun; trap '' TERM
     sleep ${seconds} &
     env -i sleep ${seconds} &
     setsid sleep ${seconds} &
     (setsid sh -c 'sleep ${seconds} & sleep ${seconds}' &)
     while :; do sleep ${seconds}; done`,
  );
  const done = await runApproved(tools, { program: "./tree.sh", timeout_seconds: 0 });
  assert.equal(done.timed_out, true);
  assert.equal(done.executed, true);
  assert.equal(done.returncode, null);
  assert.equal(done.stdout, "begun\n");
  await until(async () => !await running(), "the end of all that was started");
  const event = lab.audit().at(-1);
  assert.equal(event.action, "timeout");
  assert.equal(event.error_type, "TimeoutExpired");
});

Deno.test("what a program leaves behind is stopped when it ends", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const { seconds, running } = sleeper();
  script(lab, "leave.sh", `sleep ${seconds} & (setsid sleep ${seconds} &) ; echo done`);
  const done = await runApproved(tools, { program: "./leave.sh" });
  assert.equal(done.returncode, 0);
  assert.equal(done.stdout, "done\n");
  await until(async () => !await running(), "the end of what was left behind");
});

Deno.test("a cancelled call and the end of the server stop the program", async () => {
  await using lab = await Lab.create();
  const { seconds, running } = sleeper();
  script(lab, "wait.sh", `(setsid sleep ${seconds} &); sleep ${seconds}`);
  await using tools = await lab.hub();
  const id = await tools.approved(RUN, { program: "./wait.sh", timeout_seconds: 60 });
  const going = tools.call(GO, { request_id: id });
  await until(running, "the start");
  tools.cancel();
  const done = await going;
  assert.equal(done.timed_out, false);
  assert.match(done.message, /cancelled/);
  await until(async () => !await running(), "the end after cancelling");
  const server = await lab.server();
  try {
    await server.initialize();
    const asked = await server.payload(RUN, { program: "./wait.sh", timeout_seconds: 60 });
    await lab.approve(asked.request_id);
    server.request("tools/call", { name: GO, arguments: { request_id: asked.request_id } }).catch(
      () => {},
    );
    await until(running, "the start");
  } finally {
    await server[Symbol.asyncDispose]();
  }
  await until(async () => !await running(), "the end with the server");
  const event = lab.audit().at(-1);
  assert.equal(event.action, "cancelled");
  assert.equal(event.executed, true);
  assert.equal(event.success, false);
});

Deno.test("a program that cannot be started is a tool error, and the request is used up", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const path = lab.write("broken", "#!/no/such/interpreter\n");
  Deno.chmodSync(path, 0o755);
  const id = await tools.approved(RUN, { program: "./broken" });
  assert.match(await tools.error(GO, { request_id: id }), /not found|Failed to start/);
  assert.equal(lab.stored()[id].status, "CONSUMED");
});

Deno.test("unknown, pending, rejected and expired requests run nothing", async () => {
  await using lab = await Lab.create();
  const time = { now: 1_790_000_000_000_000 };
  await using tools = await lab.hub({ clock: () => time.now });
  const unknown = await tools.call(GO, { request_id: "req_none" });
  assert.match(unknown.message, /Unknown approval request/);
  assert.deepEqual([unknown.approval_status, unknown.risk, unknown.program, unknown.cwd], [
    null,
    "HIGH",
    "",
    ".",
  ]);
  const ask = async () => (await tools.call(RUN, { program: "true" })).request_id;
  const pending = await ask();
  const rejected = await ask();
  await tools.hub.approvals.reject(rejected);
  const expired = await tools.approved(RUN, { program: "true" });
  for (const [id, status] of [[pending, "PENDING"], [rejected, "REJECTED"]]) {
    const answer = await tools.call(GO, { request_id: id });
    assert.equal(answer.approval_status, status);
    assert.equal(answer.executed, false);
    assert.equal(answer.program, "true");
  }
  time.now += 300_000_000;
  assert.equal((await tools.call(GO, { request_id: expired })).approval_status, "EXPIRED");
});
