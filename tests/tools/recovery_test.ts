import assert from "node:assert/strict";
import { registerRepository } from "../../restore/mod.ts";
import { call, data, type Payload } from "../fixtures/call.ts";
import { hashTree } from "../fixtures/sandbox.ts";
import { fullRepository, Lab } from "../restore/lab.ts";

/** Tools read; nothing below these folders may differ afterwards. */
async function reading<T>(lab: Lab, path: string, work: () => Promise<T>): Promise<T> {
  const before = [await hashTree(path), await hashTree(lab.runDir)];
  const result = await work();
  assert.deepEqual([await hashTree(path), await hashTree(lab.runDir)], before);
  return result;
}

Deno.test("restore points are listed newest first, with what can be undone and done again", async () => {
  await using lab = await Lab.create();
  const { box, runDir } = lab;
  const path = await fullRepository(lab);
  const start = (await box.git(path, "rev-parse", "HEAD")).trim();
  const first = await lab.point(path, { operation: "commit", previewId: "p-1" });
  const second = await box.commit(path, "Second", { s: "s\n" });
  await lab.finish(path, first);
  const last = await lab.point(path, { operation: "reset", resetMode: "hard" });
  await box.git(path, "reset", "-q", "--hard", start);
  await lab.finish(path, last);
  const options = { runDir };
  const repoId = await registerRepository(runDir, path);
  const list = () => data("flux.restorePoints", { repoPath: path }, options);
  const two = await reading(lab, path, list);
  assert.equal(two.restoreCount, 2);
  assert.equal(two.warnings, undefined);
  assert.deepEqual(two.restorePoints.map((point: Payload) => [point.id, point.canUndo]), [
    [last.id, true],
    [first.id, false],
  ]);
  assert.deepEqual(two.restorePoints[0], {
    id: last.id,
    repoId,
    before: second,
    after: start,
    operation: "reset",
    kind: "operation",
    state: "finished",
    canUndo: true,
    canRedo: false,
    approvalRequired: true,
    metadata: {
      checkpointPath: `${runDir}/restore/${repoId}.json`,
      createdAt: Math.floor(last.createdAtMs / 1000),
      branchRef: "refs/heads/main",
      undone: false,
      beforeRef: null,
      afterRef: null,
      upstreamRef: null,
      resetMode: "hard",
      plan: null,
      currentBranchRef: "refs/heads/main",
      currentHead: start,
    },
  });
  const one = await data("flux.restorePoints", { repoPath: path, limit: 1 }, options);
  assert.deepEqual([one.restorePoints.length, one.total, one.truncated], [1, 2, true]);
  const latest = await data("flux.latestRestorePoint", { repoPath: path }, options);
  assert.deepEqual(latest.latestRestorePoint, two.restorePoints[0]);
  assert.deepEqual([latest.restorePoints.length, latest.restoreCount, latest.total], [1, 1, 2]);
  await lab.undo(path);
  const after = await list();
  assert.deepEqual(
    after.restorePoints.map((point: Payload) => [point.kind, point.canUndo, point.canRedo]),
    [["restore", false, false], ["operation", false, true], ["operation", true, false]],
  );
  // A subdirectory is the same repository, and so is its id given outright.
  const inside = await data("flux.restorePoints", { repoPath: `${path}/dir`, repoId }, options);
  assert.equal(inside.total, 3);
});

Deno.test("details come by id and say what a point covers; an id that is none finds nothing", async () => {
  await using lab = await Lab.create();
  const path = await fullRepository(lab);
  const first = await lab.point(path, { operation: "discard", agentId: "helper" });
  await lab.finish(path, first);
  await lab.point(path);
  const ask = (args: Record<string, unknown> = {}) =>
    data("flux.restorePointDetails", { repoPath: path, ...args }, { runDir: lab.runDir });
  const found = (await reading(lab, path, () => ask({ restorePointId: first.id }))).restorePoint;
  assert.equal(found.id, first.id);
  assert.equal(found.agentId, "helper");
  assert.equal(found.files, first.files);
  assert.deepEqual(found.notCovered, { ignored: { count: 2, first: ["build/", "x.log"] } });
  assert.deepEqual([found.refs, found.refsTotal], [[], 0]);
  assert.equal((await ask()).restorePoint.state, "open");
  const none = await ask({ restorePointId: "no-such-point" });
  assert.deepEqual([none.restorePoint, none.restoreCount], [null, 2]);
});

Deno.test("a damaged list is said, never taken for none", async () => {
  await using lab = await Lab.create();
  const path = await fullRepository(lab);
  await lab.point(path);
  const repoId = await registerRepository(lab.runDir, path);
  await Deno.writeTextFile(`${lab.runDir}/restore/${repoId}.json`, "{}");
  await Deno.mkdir(`${lab.runDir}/rebase`, { recursive: true });
  await Deno.writeTextFile(`${lab.runDir}/rebase/${repoId}.json`, "[1]");
  for (
    const name of [
      "flux.latestRestorePoint",
      "flux.restorePoints",
      "flux.restorePointDetails",
      "safety.timeline",
      "safety.eventDetails",
    ]
  ) {
    const { warnings } = await data(name, { repoPath: path }, { runDir: lab.runDir });
    assert.deepEqual(
      warnings.map((warning: Payload) => warning.code),
      ["store_unreadable", "store_unreadable"],
      name,
    );
    assert.match(warnings[0].message, /there may be restore points that are not shown/);
  }
});

Deno.test("an id of another repository shows nothing of it, and says why", async () => {
  await using lab = await Lab.create();
  const { box, runDir } = lab;
  const path = await fullRepository(lab);
  await lab.point(path);
  const repoId = await registerRepository(runDir, path);
  const other = await box.repo("other");
  await box.commit(other, "Other", { o: "o\n" });
  for (const asked of [repoId, "unknown", "../restore/x", "a".repeat(300)]) {
    const answer = await data("flux.restorePoints", { repoPath: other, repoId: asked }, { runDir });
    assert.equal(answer.total, 0);
    assert.equal(answer.warnings[0].code, "source_unavailable");
    assert.match(answer.warnings[0].message, /not registered for this repository/);
  }
  // Not even when the registry is right and the list was copied over.
  const otherId = await registerRepository(runDir, other);
  await Deno.copyFile(`${runDir}/restore/${repoId}.json`, `${runDir}/restore/${otherId}.json`);
  const copied = await data("flux.restorePoints", { repoPath: other }, { runDir });
  assert.equal(copied.total, 0);
  assert.match(copied.warnings[0].message, /another repository/);
});

Deno.test("the desktop application's single checkpoint is read beside the list, and ours is not shown twice", async () => {
  await using lab = await Lab.create();
  const { box, runDir } = lab;
  const path = await box.repo();
  const before = await box.commit(path, "One", { f: "1\n" });
  const after = await box.commit(path, "Two", { f: "2\n" });
  const repoId = await registerRepository(runDir, path);
  await Deno.mkdir(`${runDir}/rebase`);
  const file = `${runDir}/rebase/${repoId}.json`;
  const refs = `refs/fluxgit/checkpoints/rebase/${repoId}`;
  const record = {
    version: 1,
    operation: "rebase",
    branch_ref: "refs/heads/main",
    before_commit: before,
    after_commit: after,
    before_ref: `${refs}/before`,
    after_ref: `${refs}/after`,
    created_at: 1_700_000_000,
    undone: false,
    upstream_ref: null,
    plan: { pick_count: 2, squash_count: 0, fixup_count: 0, drop_count: 0 },
  };
  await Deno.writeTextFile(file, JSON.stringify(record));
  const ask = () => data("flux.restorePoints", { repoPath: path }, { runDir });
  const [point] = (await ask()).restorePoints;
  assert.deepEqual(point, {
    id: `checkpoint-1700000000-${after.slice(0, 12)}`,
    repoId,
    before,
    after,
    operation: "rebase",
    canUndo: true,
    canRedo: false,
    approvalRequired: true,
    metadata: {
      checkpointPath: file,
      createdAt: 1_700_000_000,
      branchRef: "refs/heads/main",
      undone: false,
      beforeRef: record.before_ref,
      afterRef: record.after_ref,
      upstreamRef: null,
      resetMode: null,
      plan: record.plan,
      currentBranchRef: "refs/heads/main",
      currentHead: after,
    },
  });
  await Deno.writeTextFile(file, JSON.stringify({ operation: 5, created_at: "x" }));
  const [odd] = (await ask()).restorePoints;
  assert.deepEqual([odd.operation, odd.before, odd.metadata.createdAt], [null, null, null]);
  const made = await lab.point(path, { operation: "reset" });
  await box.git(path, "reset", "-q", "--hard", before);
  await lab.finish(path, made);
  assert.deepEqual((await ask()).restorePoints.map((one: Payload) => one.id), [made.id]);
});

Deno.test("the timeline mixes points and movements by time, and each event can be looked up for good", async () => {
  await using lab = await Lab.create();
  const { box, runDir } = lab;
  const path = await box.repo();
  for (let i = 0; i < 20; i++) await box.commit(path, `fix merge button ${i}`, { f: `${i}\n` });
  await box.git(path, "reset", "-q", "--hard", "HEAD~1");
  await box.git(path, "reset", "-q", "--hard", "HEAD~1");
  const point = await lab.point(path, { operation: "reset" });
  await lab.finish(path, point);
  const ask = (args: Record<string, unknown> = {}) =>
    data("safety.timeline", { repoPath: path, ...args }, { runDir });
  const all = await reading(lab, path, () => ask({ reflogLimit: 100, limit: 200 }));
  assert.equal(all.eventCount, 23);
  const ids = all.events.map((event: Payload) => event.id);
  assert.equal(new Set(ids).size, 23, "movements within one second have ids of their own");
  const times = all.events.map((event: Payload) => event.occurredAtUnix);
  assert.deepEqual(times, [...times].sort((a, b) => b - a));
  const resets = all.events.filter((event: Payload) => event.summary.startsWith("reset:"));
  assert.deepEqual(resets.map((event: Payload) => event.severity), ["warning", "warning"]);
  const commits = all.events.filter((event: Payload) => event.summary.startsWith("commit"));
  assert(commits.every((event: Payload) => event.severity === "info"), "a subject is no verb");
  assert.equal(commits.at(-1).headBefore, null);
  assert.equal(commits.at(-1).canCompare, false);
  const [ofPoint] = all.events.filter((event: Payload) => event.source === "restore_point");
  assert.equal(ofPoint.id, `restore:${ofPoint.restorePoint.repoId}:${point.id}`);
  // Newer movements change no id, and an old one is found although the list would not show it.
  for (let i = 0; i < 15; i++) await box.commit(path, `later ${i}`, { g: `${i}\n` });
  for (const id of [ids[0], ids[1], ids.at(-1), ofPoint.id]) {
    const { event, eventFound } = await data(
      "safety.eventDetails",
      { repoPath: path, eventId: id },
      { runDir },
    );
    assert.equal(eventFound, true, id);
    assert.equal(event.id, id);
  }
  const newest = await data("safety.eventDetails", { repoPath: path }, { runDir });
  assert.deepEqual([newest.eventFound, newest.event.source], [true, newest.event.source]);
  const absent = await data(
    "safety.eventDetails",
    { repoPath: path, eventId: "reflog:HEAD:0-nothing" },
    { runDir },
  );
  assert.deepEqual([absent.event, absent.eventFound], [null, false]);
  const cut = await ask({ limit: 5 });
  assert.deepEqual([cut.events.length, cut.truncated], [5, true]);
  const only = await ask({ includeReflog: false });
  assert.deepEqual(only.events.map((event: Payload) => event.source), ["restore_point"]);
  const moves = await ask({ includeRestorePoints: false });
  assert(moves.events.every((event: Payload) => event.source === "reflog"));
});

Deno.test("unborn, detached and bare repositories have a timeline too", async () => {
  await using lab = await Lab.create();
  const { box, runDir } = lab;
  const unborn = await box.repo("unborn");
  await lab.point(unborn);
  const first = await data("safety.timeline", { repoPath: unborn }, { runDir });
  assert.deepEqual(
    first.events.map((event: Payload) => [event.source, event.headBefore, event.headAfter]),
    [["restore_point", null, null]],
  );
  const detached = await box.repo("detached");
  const head = await box.commit(detached, "One", { f: "1\n" });
  await box.git(detached, "checkout", "-q", "--detach");
  const point = await lab.point(detached);
  await lab.finish(detached, point);
  const answer = await call("flux.latestRestorePoint", { repoPath: detached }, { runDir });
  assert.deepEqual(
    [answer.data.latestRestorePoint.canUndo, answer.data.latestRestorePoint.metadata.currentHead],
    [true, head],
  );
  const bare = `${box.root}/bare.git`;
  await box.git(box.root, "clone", "-q", "--bare", detached, bare);
  const none = await data("safety.timeline", { repoPath: bare }, { runDir });
  assert.deepEqual(none.events, []);
  assert.equal(none.warnings[0].code, "reflog_disabled");
});
