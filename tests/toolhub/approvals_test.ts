import assert from "node:assert/strict";
import { ApprovalStore } from "../../toolhub/approvals/store.ts";
import { newTraceId } from "../../toolhub/audit/event.ts";
import { isoTime, parseTime } from "../../toolhub/clock.ts";
import { openFolders } from "../../toolhub/state/open.ts";
import { Host } from "../e2e/host.ts";
import { type Json, Lab } from "./lab.ts";

const T0 = 1_790_000_000_000_000;

/** A store with a clock that the test sets. */
async function store(lab: Lab) {
  await openFolders((name) => lab.env()[name]);
  const time = { now: T0 };
  const approvals = new ApprovalStore(lab.state, () => time.now, 300);
  const ask = (ttl = 300) =>
    approvals.create({
      kind: "file_write",
      payload: {},
      risk: "MEDIUM",
      risk_reason: "",
      trace_id: newTraceId(),
    }, ttl);
  return { approvals, time, ask };
}

Deno.test("times have microseconds, a fraction only when there is one, and are read back", () => {
  assert.equal(isoTime(T0, "Z"), "2026-09-21T14:13:20Z");
  assert.equal(isoTime(T0 + 1, "+00:00"), "2026-09-21T14:13:20.000001+00:00");
  for (const micros of [T0, T0 + 1, T0 + 999_999]) {
    assert.equal(parseTime(isoTime(micros, "Z")), micros);
    assert.equal(parseTime(isoTime(micros, "+00:00")), micros);
  }
  assert.equal(parseTime("yesterday"), null);
});

Deno.test("a request moves only along its way", async () => {
  await using lab = await Lab.create();
  const { approvals, ask } = await store(lab);
  const { request_id: id } = await ask();
  assert.equal((await approvals.consume(id, "file_write")).done, false);
  assert.equal((await approvals.approve(id)).done, true);
  assert.equal((await approvals.approve(id)).done, false);
  assert.equal((await approvals.reject(id)).done, false);
  assert.equal((await approvals.consume(id, "shell")).done, false);
  const used = await approvals.consume(id, "file_write");
  assert(used.done);
  assert.equal(used.record.status, "CONSUMED");
  for (const move of [approvals.approve(id), approvals.reject(id)]) {
    assert.equal((await move).done, false);
  }
  assert.equal((await approvals.consume(id, "file_write")).done, false);
  const { request_id: other } = await ask();
  assert.equal((await approvals.reject(other)).done, true);
  assert.equal((await approvals.approve(other)).done, false);
  assert.deepEqual(await approvals.approve("req_unknown"), { done: false, record: null });
  const text = Deno.readTextFileSync(`${lab.state}/approvals.json`);
  assert.equal(JSON.parse(text).version, 2);
  assert.equal(Deno.statSync(`${lab.state}/approvals.json`).mode! & 0o777, 0o600);
});

for (const move of ["approve", "reject", "consume"] as const) {
  Deno.test(`expiry is inclusive and wins over ${move}`, async () => {
    await using lab = await Lab.create();
    const { approvals, time, ask } = await store(lab);
    for (const [offset, done] of [[-1, true], [0, false], [1, false]] as const) {
      time.now = T0;
      const { request_id: id } = await ask();
      if (move === "consume") await approvals.approve(id);
      time.now = T0 + 300_000_000 + offset;
      const result = move === "consume"
        ? await approvals.consume(id, "file_write")
        : await approvals[move](id);
      assert.equal(result.done, done, String(offset));
      const kept = lab.stored()[id];
      if (!done) {
        assert.equal(kept.status, "EXPIRED");
        assert.equal(kept.decided_at, isoTime(time.now, "Z"));
      }
    }
  });
}

Deno.test("the clock is looked at under the lock: what expires while waiting is expired", async () => {
  await using lab = await Lab.create();
  const { approvals, time, ask } = await store(lab);
  const { request_id: id } = await ask();
  using file = Deno.openSync(`${lab.state}/approvals.json.lock`, { write: true });
  await file.lock(true);
  const waiting = approvals.approve(id);
  await new Promise((resolve) => setTimeout(resolve, 20));
  time.now += 300_000_000;
  file.unlockSync();
  const { done, record } = await waiting;
  assert.deepEqual([done, record?.status], [false, "EXPIRED"]);
});

Deno.test("listing shows expiry without storing it, a single look-up stores it, ended requests stay", async () => {
  await using lab = await Lab.create();
  const { approvals, time, ask } = await store(lab);
  const { request_id: rejected } = await ask();
  await approvals.reject(rejected);
  time.now += 1;
  const { request_id: id } = await ask();
  time.now += 300_000_000;
  assert.deepEqual(approvals.list().map(({ status }) => status), ["REJECTED", "EXPIRED"]);
  assert.equal(lab.stored()[id].status, "PENDING");
  const before = JSON.stringify(lab.stored()[rejected]);
  assert.equal((await approvals.get(id))?.status, "EXPIRED");
  assert.equal((await approvals.get(rejected))?.status, "REJECTED");
  assert.equal(lab.stored()[id].status, "EXPIRED");
  assert.equal(JSON.stringify(lab.stored()[rejected]), before);
  const { request_id: born } = await ask(0);
  assert.equal((await approvals.approve(born)).done, false);
});

Deno.test("a damaged store is an error for every step, and its bytes stay", async () => {
  await using lab = await Lab.create();
  const { approvals, ask } = await store(lab);
  await ask();
  const path = `${lab.state}/approvals.json`;
  const good = Deno.readTextFileSync(path);
  const record = Object.values(JSON.parse(good).requests)[0] as Json;
  const damaged = [
    "",
    "{",
    "[]",
    '{"version":3,"requests":{}}',
    '{"version":2,"requests":[]}',
    JSON.stringify({ version: 2, requests: { req_1: record } }),
    good.replace('"status": "PENDING"', '"status": "MAYBE"'),
    good.replace('"cwd": "."', '"cwd": 7'),
    good.replace('"cwd": "."', '"cwd": ".", "more": 1'),
    good.replace('"decided_at": null', '"decided_at": "soon"'),
    good.replace('"status": "PENDING"', '"status": "PENDING", "\\u0073tatus": "APPROVED"'),
  ];
  for (const text of damaged) {
    Deno.writeTextFileSync(path, text);
    await assert.rejects(ask(), /damaged/, text);
    assert.throws(() => approvals.list(), /damaged/);
    assert.equal(Deno.readTextFileSync(path), text);
  }
});

Deno.test("a store of version 1 is read", async () => {
  await using lab = await Lab.create();
  const { approvals, ask } = await store(lab);
  const { request_id: id } = await ask();
  const { trace_id: _trace, resume_tool: _tool, ...old } = lab.stored()[id];
  Deno.writeTextFileSync(
    `${lab.state}/approvals.json`,
    JSON.stringify({ version: 1, requests: { [id]: old } }),
  );
  const record = await approvals.get(id);
  assert.equal(record?.resume_tool, "filesystem.write_file_approved");
  assert.match(record!.trace_id, /^trc_legacy_/);
});

Deno.test("a person approves only what was shown", async () => {
  await using lab = await Lab.create();
  const { approvals, ask } = await store(lab);
  const shown = await ask();
  const path = `${lab.state}/approvals.json`;
  Deno.writeTextFileSync(path, Deno.readTextFileSync(path).replace('"cwd": "."', '"cwd": "x"'));
  await assert.rejects(approvals.approve(shown.request_id, shown), /not the one that was shown/);
  assert.equal(lab.stored()[shown.request_id].status, "PENDING");
});

Deno.test("pruning counts first, and removes only ended requests that are old enough", async () => {
  await using lab = await Lab.create();
  const { approvals, time, ask } = await store(lab);
  const { request_id: old } = await ask();
  await approvals.reject(old);
  time.now += 10_000_000;
  const { request_id: fresh } = await ask();
  await approvals.reject(fresh);
  const { request_id: open } = await ask();
  assert.deepEqual(await approvals.prune(T0, false), { removed: 1, kept: 2 });
  assert.equal(Object.keys(lab.stored()).length, 3);
  assert.deepEqual(await approvals.prune(T0, true), { removed: 1, kept: 2 });
  assert.deepEqual(Object.keys(lab.stored()).sort(), [fresh, open].sort());
});

Deno.test("a lock that another process holds is waited for, then told", async () => {
  await using lab = await Lab.create();
  const { approvals, ask } = await store(lab);
  await ask();
  const path = `${lab.state}/approvals.json.lock`;
  const holder = new Deno.Command(Deno.execPath(), {
    args: [
      "eval",
      `const f = Deno.openSync(${JSON.stringify(path)}, {write: true}); f.lockSync(true);
       Deno.stdout.writeSync(new Uint8Array([1])); await Deno.stdin.read(new Uint8Array(1));`,
    ],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = holder.stdout.getReader();
  await reader.read();
  await assert.rejects(ask(), /held the lock/);
  // The lock of a killed process is free: nothing stale is left behind.
  holder.kill("SIGKILL");
  await holder.status;
  await reader.cancel();
  await holder.stdin.close().catch(() => {});
  await ask();
  assert.equal(approvals.list().length, 2);
});

Deno.test("two servers that carry out the same approval at once do it exactly once", async () => {
  await using lab = await Lab.create();
  await using first = await lab.server();
  await using second = await lab.server();
  await Promise.all([first.initialize(), second.initialize()]);
  for (let round = 0; round < 4; round++) {
    const asked = await first.payload("shell.run", {
      program: "sh",
      args: ["-c", "echo once >> counter"],
    });
    await lab.approve(asked.request_id);
    const run = (host: Host) =>
      host.payload("shell.run_approved", { request_id: asked.request_id });
    const results = await Promise.all([run(first), run(second), run(first), run(second)]);
    assert.deepEqual(results.filter(({ executed }) => executed).length, 1);
    for (const { executed, approval_status, message } of results) {
      assert.equal(approval_status, "CONSUMED");
      if (!executed) assert.match(message, /Request is CONSUMED/);
    }
    const lines = Deno.readTextFileSync(`${lab.workspace}/counter`).trimEnd().split("\n");
    assert.equal(lines.length, round + 1);
  }
});
