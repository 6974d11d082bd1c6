import assert from "node:assert/strict";
import { hashTree, Sandbox, useSandbox } from "../../fixtures/sandbox.ts";
import { Lab } from "../core/lab.ts";
import { FakeTerminal, GatewayProcess } from "./world.ts";

Deno.test("wrong arguments of approvals are told with the usage and end with 2", async () => {
  const wrong: [string[], RegExp][] = [
    [[], /needs a subcommand/],
    [["undo"], /unknown subcommand/],
    [["__proto__"], /unknown subcommand/],
    [["\u001b[2J"], /\\u\{1b\}/],
    [["list", "x"], /x is not an argument of approvals list/],
    [["list", "--completed"], /not an argument/],
    [["show"], /needs the id/],
    [["show", "../x"], /needs the id/],
    [["show", "a".repeat(129)], /needs the id/],
    [["show", "a", "b"], /b is not an argument/],
    [["approve", "a", "--all"], /not an argument/],
    [["approve", "a", "--reason", "x"], /not an argument/],
    [["approve", "a", "--confirm-step"], /number of a step/],
    [["approve", "a", "--confirm-step", "0"], /number of a step/],
    [["approve", "a", "--confirm-step", "11"], /number of a step/],
    [["approve", "a", "--confirm-step", "1e0"], /number of a step/],
    [["approve", "a", "--yes"], /not an argument/],
    [["reject", "a", "--reason"], /--reason needs/],
    [["reject", "a", "--reason", ""], /--reason needs/],
    [["reject", "a", "--reason", "x".repeat(4_097)], /--reason needs/],
    [["reconcile", "a"], /either --completed or --failed/],
    [["reconcile", "a", "--completed", "--failed"], /either --completed or --failed/],
  ];
  for (const [args, message] of wrong) {
    const terminal = new FakeTerminal({ FLUXGIT_RUN_DIR: "/nowhere" });
    assert.equal(await terminal.approvals(...args), 2, args.join(" "));
    assert.match(terminal.err, message);
    assert.match(terminal.err, /^fluxgit-sidecar: .*\nUsage: /);
    assert.equal(terminal.out, "");
  }
  for (const args of [["--help"], ["approve", "--help"]]) {
    const terminal = new FakeTerminal({});
    assert.equal(await terminal.approvals(...args), 0);
    assert.match(terminal.err, /^Usage: /);
  }
  const piped = new FakeTerminal({ FLUXGIT_RUN_DIR: "/nowhere" }, { interactive: false });
  assert.equal(await piped.approvals("list"), 2);
  assert.match(piped.err, /give the pairing code with --code-stdin/);
});

Deno.test("without a running gateway, or with somebody else behind its file, no code is asked for", async () => {
  const box = await Sandbox.create();
  await using _ = box;
  const runDir = `${box.root}/run`;
  await Deno.mkdir(runDir);
  const list = async (env: Record<string, string> = { FLUXGIT_RUN_DIR: runDir }) => {
    const terminal = new FakeTerminal(env);
    terminal.type("SECRETSX");
    assert.equal(await terminal.approvals("list"), 1);
    assert(!terminal.err.includes("Pairing code"), terminal.err);
    return terminal.err;
  };
  assert.match(await list(), /no gateway runs .*start one in another terminal/);
  assert.match(await list({}), /no run directory/);
  assert.match(await list({ FLUXGIT_RUN_DIR: "" }), /no run directory/);
  const file = `${runDir}/gateway.json`;
  const write = (value: unknown) =>
    Deno.writeTextFile(file, typeof value === "string" ? value : JSON.stringify(value));
  for (
    const value of [
      "{",
      "null",
      { address: 5 },
      { address: "127.0.0.1:0" },
      { address: "localhost:5000" },
      { address: "127.0.0.1@evil:80" },
      { address: "10.0.0.1:5000" },
      { address: "127.0.0.1:1" },
      "x".repeat(5_000),
    ]
  ) {
    await write(value);
    assert.match(await list(), /no gateway runs/);
  }
  // A program that took the port of a gateway that was killed.
  const asked: string[] = [];
  const stranger = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      asked.push(`${request.method} ${new URL(request.url).pathname} ${await request.text()}`);
      return Response.json({ service: "another", session: "x" });
    },
  );
  await write({ version: 1, address: `127.0.0.1:${stranger.addr.port}`, pid: 1 });
  assert.match(await list(), /no gateway runs/);
  assert.deepEqual(asked, ["GET /v1/mcp/health "]);
  await Deno.remove(file);
  await Deno.writeTextFile(
    `${box.root}/real.json`,
    JSON.stringify({
      version: 1,
      address: `127.0.0.1:${stranger.addr.port}`,
    }),
  );
  await Deno.symlink(`${box.root}/real.json`, file);
  assert.match(await list(), /no gateway runs/);
  assert.equal(asked.length, 1, "a link is not followed");
  await stranger.shutdown();
});

Deno.test("a file that names another program's address gives that program neither code nor link", async () => {
  await using lab = await Lab.create();
  const { auth, address } = lab.gateway;
  const bodies: string[] = [];
  const impostor = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      bodies.push(await request.text());
      return new URL(request.url).pathname === "/v1/mcp/health"
        ? Response.json({ service: "fluxgit-gateway", apiVersion: 1, attended: true })
        : Response.json({ session: "x".repeat(43), proposals: [], total: 0 });
    },
  );
  const file = `${lab.runDir}/gateway.json`;
  const real = await Deno.readTextFile(file);
  await Deno.writeTextFile(
    file,
    real.replace(address, `127.0.0.1:${impostor.addr.port}`),
  );
  const link = lab.gateway.approveUrl()!;
  for (const typed of [auth.code, link]) {
    const terminal = terminalOf(lab);
    terminal.type(typed);
    await terminal.approvals("list");
    if (typed === link) assert.match(terminal.err, /that link is not of the gateway at/);
  }
  await impostor.shutdown();
  const sent = bodies.join("\n");
  assert(!sent.includes(auth.code) && !sent.includes(auth.link!), sent);
  // What it was sent opens nothing at the gateway, but the code and the link still do.
  const proof = JSON.parse(bodies.find((body) => body.includes("proof"))!);
  const passedOn = await lab.send("POST", "/v1/human/session", proof);
  assert.equal(passedOn.status, 401);
  await Deno.writeTextFile(file, real);
  for (const typed of [auth.code, link]) {
    const terminal = terminalOf(lab);
    terminal.type(typed);
    assert.equal(await terminal.approvals("list"), 0, terminal.err);
  }
});

/** A terminal for a lab's gateway. */
function terminalOf(lab: Lab, options: { interactive?: boolean } = {}): FakeTerminal {
  return new FakeTerminal({ FLUXGIT_RUN_DIR: lab.runDir }, options);
}

Deno.test("a person approves at a terminal: code, card, yes; permissions and session are given up", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed("commit", { reason: "two\nlines" });
  const terminal = terminalOf(lab);
  const code = lab.gateway.auth.code;
  terminal.type(`${code.slice(0, 4)}-${code.slice(4).toLowerCase()}`, "yes");
  assert.equal(await terminal.approvals("approve", id), 0, terminal.err);
  assert.equal(terminal.out, "completed: done\n");
  assert.match(terminal.err, /^Pairing code or link/);
  for (
    const line of [
      /risk: LOW/,
      /says it is tester \(self-declared, not verified\)/,
      /\n {2}\| two\n {2}\| lines\n/,
      /Effect: a stand-in for an operation/,
      /Digest sha256:[0-9a-f]{64}/,
      /Approve this\? Type yes: /,
      /To go back: fluxgit-sidecar restore show /,
    ]
  ) assert.match(terminal.err, line);
  assert.deepEqual(terminal.dropped, ["read", "write", "run", "env", "sys", "ffi"]);
  // It signed out: no session is left that somebody could find.
  const { auth } = lab.gateway;
  let sessions = 0;
  auth.signOut = () => void sessions++;
  const again = terminalOf(lab);
  again.type(code);
  await again.approvals("list");
  assert.equal(sessions, 1);
});

Deno.test("anything but yes decides nothing", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed();
  for (const answer of ["", "y", "no", "yes please"]) {
    const terminal = terminalOf(lab);
    terminal.type(lab.gateway.auth.code, answer);
    assert.equal(await terminal.approvals("approve", id), 1);
    assert.match(terminal.err, /nothing was decided/);
  }
  const ended = terminalOf(lab);
  ended.type(lab.gateway.auth.code);
  ended.close();
  assert.equal(await ended.approvals("approve", id), 1);
  const empty = terminalOf(lab);
  empty.close();
  assert.equal(await empty.approvals("approve", id), 1);
  assert.match(empty.err, /no pairing code was given/);
  assert.equal((await lab.status(id)).body.status, "pending");
  assert.equal(lab.operation.executed.length, 0);
});

Deno.test("the link does for the code", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed();
  const terminal = terminalOf(lab);
  terminal.type(lab.gateway.approveUrl()!, "yes");
  assert.equal(await terminal.approvals("approve", id), 0, terminal.err);
  assert.equal(lab.gateway.auth.link, null);
});

Deno.test("typed words are asked for, by hand and by --code-stdin", async () => {
  await using lab = await Lab.create();
  lab.operation.words = "discard a.txt";
  const { code } = lab.gateway.auth;
  const approve = async (id: string, words: string[], flags: string[] = []) => {
    const terminal = terminalOf(lab, { interactive: flags.length === 0 });
    terminal.type(code, ...words);
    terminal.close();
    const exit = await terminal.approvals("approve", id, ...flags);
    return { exit, terminal };
  };
  const id = await lab.proposed("discard");
  const wrong = await approve(id, ["discard b.txt"]);
  assert.equal(wrong.exit, 1);
  assert.match(wrong.terminal.err, /Type these words to approve: discard a\.txt/);
  assert.match(wrong.terminal.err, /type exactly: discard a\.txt/);
  assert.equal((await approve(id, ["yes"])).exit, 1);
  assert.equal((await approve(id, [], ["--code-stdin"])).exit, 1);
  assert.equal((await approve(id, ["discard a.txt"], ["--code-stdin"])).exit, 0);
  assert.equal((await approve(await lab.proposed("discard"), ["discard a.txt"])).exit, 0);
});

Deno.test("a card that changed while the person read it is shown again and asked for again", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed();
  const terminal = terminalOf(lab);
  terminal.type(lab.gateway.auth.code);
  const running = terminal.approvals("approve", id);
  await terminal.shown(/Type yes/);
  await Deno.writeTextFile(`${lab.repo}/fact`, "2");
  terminal.type("yes");
  await terminal.shown(/the card changed since it was shown/);
  assert.equal((await lab.status(id)).body.status, "pending");
  terminal.type("yes");
  assert.equal(await running, 0, terminal.err);
  assert.equal(terminal.err.match(/Proposal /g)!.length, 2);
  // A script is not asked again: what it saw is what it approves.
  const other = await lab.proposed();
  const script = terminalOf(lab, { interactive: false });
  let looks = 0;
  lab.operation.inspecting = async () => {
    if (++looks === 2) await Deno.writeTextFile(`${lab.repo}/fact`, "3");
  };
  await lab.looked(other);
  looks = 0;
  script.type(lab.gateway.auth.code);
  assert.equal(await script.approvals("approve", other, "--code-stdin"), 1);
  assert.match(script.err, /the card changed since it was shown/);
});

Deno.test("switches and boxes are passed on, and blocked or ended cards are not asked about", async () => {
  await using lab = await Lab.create();
  const approve = async (id: string, ...flags: string[]) => {
    const terminal = terminalOf(lab, { interactive: false });
    terminal.type(lab.gateway.auth.code);
    terminal.close();
    return { exit: await terminal.approvals("approve", id, "--code-stdin", ...flags), terminal };
  };
  const patch = await lab.proposed("patch");
  assert.equal((await approve(patch, "--apply-to-index")).exit, 0);
  assert.deepEqual(lab.gateway.service.record(patch).overrides, { applyToIndex: true });
  assert.equal((await approve(await lab.proposed("commit"), "--apply-to-index")).exit, 1);
  lab.operation.destructiveSteps = [1];
  const steps = [1, 2].map(() => ({ operationType: "discard", paths: ["a.txt"] }));
  const plan = await lab.proposed("plan", { steps });
  const missing = await approve(plan);
  assert.equal(missing.exit, 1);
  assert.match(missing.terminal.err, /confirm each destructive step: 2/);
  assert.equal((await approve(plan, "--confirm-step", "2")).exit, 0);
  lab.operation.destructiveSteps = [];
  const decided = await approve(plan);
  assert.equal(decided.exit, 1);
  assert.match(decided.terminal.err, /the proposal is completed/);
  lab.operation.blockers = [{ code: "x", message: "something is in the way" }];
  const blocked = await approve(await lab.proposed());
  assert.equal(blocked.exit, 1);
  assert.match(blocked.terminal.err, /Cannot be approved: something is in the way/);
  lab.operation.blockers = [];
  lab.operation.executing = () => Promise.reject(new Error("it broke"));
  const failed = await approve(await lab.proposed());
  assert.equal(failed.exit, 1);
  assert.match(failed.terminal.out, /^failed: it broke/);
  assert.equal((await approve("unknown-id")).exit, 1);
});

Deno.test("list shows what is open, what was interrupted and how many ask for the same; --all the past", async () => {
  await using lab = await Lab.create();
  const list = async (...flags: string[]) => {
    const terminal = terminalOf(lab);
    terminal.type(lab.gateway.auth.code);
    assert.equal(await terminal.approvals("list", ...flags), 0, terminal.err);
    return terminal;
  };
  assert.match((await list()).err, /Nothing is waiting/);
  const ids = [await lab.proposed(), await lab.proposed(), await lab.proposed("push")];
  for (const id of ids) await lab.looked(id);
  await lab.cancel(ids[2]!);
  const open = await list();
  assert(open.out.includes(ids[0]!) && open.out.includes(ids[1]!) && !open.out.includes(ids[2]!));
  assert.match(open.out, /commit +5:00 +low +tester +\S+repo \(one of 2 that ask for the same\)/);
  assert.match(open.out, /\n {4}a stand-in for an operation\n/);
  const all = await list("--all");
  assert.match(all.out, new RegExp(`${ids[2]}  push +cancelled`));
});

Deno.test("reject takes a reason, reconcile shows what is known and asks", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed();
  const terminal = terminalOf(lab);
  terminal.type(lab.gateway.auth.code);
  assert.equal(await terminal.approvals("reject", id, "--reason", "not today"), 0);
  assert.equal(terminal.out, "rejected\n");
  assert.equal((await lab.status(id)).body.rejectionReason, "not today");
  const again = terminalOf(lab);
  again.type(lab.gateway.auth.code);
  assert.equal(await again.approvals("reject", id), 1);
  const cut = await lab.proposed();
  await lab.stop();
  const { DatabaseSync } = await import("node:sqlite");
  const db = new DatabaseSync(`${lab.runDir}/gateway/journal.sqlite`);
  db.prepare("UPDATE proposals SET status='executing' WHERE preview_id=?").run(cut);
  db.close();
  await lab.start();
  const no = terminalOf(lab);
  no.type(lab.gateway.auth.code, "no");
  assert.equal(await no.approvals("reconcile", cut, "--failed"), 1);
  assert.match(no.err, /Interrupted: it was cut off before it changed anything/);
  assert.match(no.err, /Record it as failed\? Type yes/);
  assert.equal((await lab.status(cut)).body.status, "executing");
  const yes = terminalOf(lab);
  yes.type(lab.gateway.auth.code, "yes");
  assert.equal(await yes.approvals("reconcile", cut, "--failed"), 0, yes.err);
  assert.equal((await lab.status(cut)).body.status, "failed");
  const open = await lab.proposed();
  const wrong = terminalOf(lab, { interactive: false });
  wrong.type(lab.gateway.auth.code);
  assert.equal(await wrong.approvals("reconcile", open, "--completed", "--code-stdin"), 1);
});

Deno.test("as processes with the narrow permissions: an agent proposes, a person looks, approves, and it is done", async () => {
  const box = await Sandbox.create();
  await using _ = box;
  useSandbox(box);
  const repo = await box.repo();
  await box.commit(repo, "first", { "a.txt": "one\n" });
  const hostile = "why\u001b]52;c;ZXZpbA==\u0007 \u202enot\u202c this\u200b?";
  await box.write(repo, { "a.txt": "two\n", "evil\u001b[31m\u202e.txt": "x\n" });
  const before = await hashTree(`${repo}/.git/refs`);
  await using gateway = await GatewayProcess.start(box);
  const { previewId } = await gateway.propose("commit", repo, {
    message: "A change\u0007",
    stageAll: true,
    reason: hostile,
  });
  const list = await gateway.approvals(["list"]);
  assert.equal(list.code, 0, list.stderr);
  assert(list.stdout.startsWith(previewId));
  const show = await gateway.approvals(["show", previewId]);
  assert.equal(show.code, 0, show.stderr);
  // deno-lint-ignore no-control-regex
  assert(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u202e]/.test(show.stdout + list.stdout));
  assert.match(
    show.stdout,
    /why\\u\{1b\}\]52;c;ZXZpbA==\\u\{7\} \\u\{202e\}not\\u\{202c\} this\\u\{200b\}\?/,
  );
  assert.match(show.stdout, /evil\\u\{1b\}\[31m\\u\{202e\}\.txt/);
  assert.match(show.stdout, /Diff:/);
  assert.equal(await hashTree(`${repo}/.git/refs`), before, "looking changes nothing");
  const wrong = await gateway.approvals(["approve", previewId, "--apply-to-index"]);
  assert.equal(wrong.code, 1);
  const approve = await gateway.approvals(["approve", previewId]);
  assert.equal(approve.code, 0, approve.stderr);
  assert.match(approve.stdout, /^completed: /);
  const status = await gateway.status(previewId);
  assert.equal(status.status, "completed");
  const head = (await box.git(repo, "rev-parse", "HEAD")).trim();
  assert.equal(status.result.commitSha, head);
  assert.equal(status.result.restorePoint.afterCommit, head);
});
