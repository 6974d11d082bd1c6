import assert from "node:assert/strict";
import {
  canRedo,
  canUndo,
  checkpointPath,
  listPath,
  readCheckpoint,
  readList,
  redoCandidate,
  registerRepository,
  restoreBranch,
  RestoreError,
  type RestorePoint,
  undoCandidate,
} from "../../restore/mod.ts";
import { fullRepository, Lab } from "./lab.ts";

/** An operation as the gateway runs it: a point before, its end recorded after. */
async function operation(
  lab: Lab,
  path: string,
  name: string,
  act: () => Promise<unknown>,
): Promise<RestorePoint> {
  const point = await lab.point(path, { operation: name });
  await act();
  return await lab.finish(path, point);
}

Deno.test("undo and redo walk through operations one by one, byte for byte", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  const states = [await lab.state(path)];
  const steps: [string, () => Promise<unknown>][] = [
    ["commit", () => box.commit(path, "One", { "one": "1\n" })],
    ["discard", async () => {
      await box.write(path, { "a.txt": "to be discarded\n" });
      await box.git(path, "checkout", "-q", "--", "a.txt");
    }],
    ["branch", () => box.git(path, "checkout", "-q", "-b", "made-by-it")],
    ["patch", () => box.write(path, { "patched/new.txt": "made by the operation\n" })],
    ["reset", () => box.git(path, "reset", "-q", "--hard", "HEAD~1")],
  ];
  // What the operation "discard" removes is no part of the state before it: only what it changes counts.
  for (const [name, act] of steps) {
    await operation(lab, path, name, act);
    states.push(await lab.state(path));
  }
  for (let i = states.length - 2; i >= 0; i--) {
    await lab.undo(path);
    assert.deepEqual(await lab.state(path), states[i], `undo to ${i}`);
  }
  await assert.rejects(lab.undo(path), RestoreError);
  for (let i = 1; i < states.length; i++) {
    await lab.redo(path);
    assert.deepEqual(await lab.state(path), states[i], `redo to ${i}`);
  }
  await assert.rejects(lab.redo(path), RestoreError);
});

Deno.test("undo of a merge removes the files that it brought, and refuses when HEAD has moved on", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f": "f\n" });
  await box.git(path, "checkout", "-q", "-b", "side");
  await box.commit(path, "Side", { "brought/by/merge": "m\n" });
  await box.git(path, "checkout", "-q", "main");
  const before = await lab.state(path);
  const point = await operation(
    lab,
    path,
    "merge",
    () => box.git(path, "merge", "-q", "--no-ff", "--no-edit", "side"),
  );
  assert.equal(point.head.ref, "refs/heads/main");
  assert.deepEqual(point.refs.map((change) => change.ref), ["refs/heads/main"]);
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
  assert.equal(await Deno.stat(`${path}/brought`).then(() => true, () => false), false);
  await lab.redo(path);
  await box.commit(path, "Later", { "later": "l\n" });
  await assert.rejects(lab.undo(path), (error: RestoreError) => {
    assert.equal(error.kind, "not_undoable");
    assert.match(error.message, /HEAD has moved since merge/);
    return true;
  });
});

Deno.test("a new operation after an undo ends what could be done again", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f": "f\n" });
  await operation(lab, path, "discard", () => box.write(path, { "f": "changed\n" }));
  await lab.undo(path);
  const points = await lab.points(path);
  const list = { repoPath: path, points, branchTips: [] };
  const undone = redoCandidate(list);
  assert(undone);
  assert.equal(canRedo(undone, undone.head), true);
  assert.equal(canUndo(undone, undone.headAfter!), false);
  assert.equal(undoCandidate(list), null);
  await operation(lab, path, "discard", () => box.write(path, { "f": "otherwise\n" }));
  await assert.rejects(lab.redo(path), /nothing to redo/);
});

Deno.test("the reference's checkpoint file follows operations that move a branch, undo and redo", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  const first = await box.commit(path, "Base", { "f": "f\n" });
  const second = await box.commit(path, "Second", { "f": "g\n" });
  await box.git(path, "update-ref", "refs/remotes/origin/main", first);
  await box.git(path, "config", "remote.origin.url", path);
  await box.git(path, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*");
  await box.git(path, "config", "branch.main.remote", "origin");
  await box.git(path, "config", "branch.main.merge", "refs/heads/main");
  const repoId = await registerRepository(lab.runDir, path);
  const point = await lab.point(path, { operation: "reset", resetMode: "hard" });
  await box.git(path, "reset", "-q", "--hard", first);
  await lab.finish(path, point);
  const text = () => Deno.readTextFile(checkpointPath(lab.runDir, repoId)).then(JSON.parse);
  const refs = `refs/fluxgit/checkpoints/rebase/${repoId}`;
  assert.deepEqual(await text(), {
    version: 1,
    operation: "reset",
    branch_ref: "refs/heads/main",
    before_commit: second,
    after_commit: first,
    before_ref: `${refs}/before`,
    after_ref: `${refs}/after`,
    created_at: Math.floor(point.createdAtMs / 1000),
    undone: false,
    upstream_ref: "refs/remotes/origin/main",
    branch_has_upstream: true,
    before_commit_reachable_from_upstream: false,
    reset_mode: "hard",
    plan: { pick_count: 0, squash_count: 0, fixup_count: 0, drop_count: 0 },
    repo_path: path,
    restore_point: point.id,
  });
  const mode = (await Deno.stat(checkpointPath(lab.runDir, repoId))).mode! & 0o777;
  assert.equal(mode, 0o600);
  // The refs that it names keep the commits, and only the hidden repository has them.
  const hidden = `--git-dir=${path}/.git/fluxgit/restore.git`;
  assert.equal((await box.git(path, hidden, "rev-parse", `${refs}/before`)).trim(), second);
  assert.equal(await box.git(path, "for-each-ref", "refs/fluxgit"), "");
  await lab.undo(path);
  assert.equal((await text()).undone, true);
  await lab.redo(path);
  assert.equal((await text()).undone, false);
  const read = readCheckpoint(lab.runDir, repoId, path);
  assert.equal(read.kind === "ok" && read.checkpoint.before, second);
  // An operation that moves nothing leaves it as it is; another repository's is refused.
  await operation(lab, path, "discard", () => box.write(path, { "f": "x\n" }));
  assert.equal((await text()).operation, "reset");
  assert.equal(readCheckpoint(lab.runDir, repoId, "/elsewhere").kind, "corrupt");
});

Deno.test("the tip of a deleted branch is kept through a gc and can be made a branch again", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f": "f\n" });
  await box.git(path, "checkout", "-q", "-b", "doomed/branch");
  const tip = await box.commit(path, "Only here", { "only": "here\n" });
  await box.git(path, "checkout", "-q", "main");
  await operation(
    lab,
    path,
    "branchDelete",
    () => box.git(path, "branch", "-q", "-D", "doomed/branch"),
  );
  const repoId = await registerRepository(lab.runDir, path);
  const tips = async () => {
    const state = await readList(lab.runDir, repoId, path);
    return state.kind === "ok" ? state.list.branchTips : [];
  };
  const [kept, ...others] = await tips();
  assert(kept);
  assert.deepEqual(others, []);
  assert.equal(kept.ref, "refs/heads/doomed/branch");
  assert.equal(kept.oid, tip);
  // All points fall out of the list; the tip does not.
  lab.bounds = { points: 1 };
  await lab.point(path);
  await lab.finish(path, await lab.point(path));
  await box.git(path, "reflog", "expire", "--expire=now", "--all");
  await box.git(path, "gc", "-q", "--prune=now");
  assert.notEqual((await box.tryGit(path, ["cat-file", "-e", tip])).code, 0);
  const made = await lab.locked(
    path,
    (repo, context) => restoreBranch(repo, context, kept.id),
  );
  assert.equal(made.oid, tip);
  assert.equal((await box.git(path, "rev-parse", "doomed/branch")).trim(), tip);
  assert.equal(await box.git(path, "show", "doomed/branch:only"), "here\n");
  assert.deepEqual(await tips(), []);
  await assert.rejects(
    lab.locked(path, (repo, context) => restoreBranch(repo, context, kept.id)),
    /no tip/,
  );
});

Deno.test("a failed operation is recorded as failed and is nothing to undo", async () => {
  await using lab = await Lab.create();
  const path = await fullRepository(lab);
  const before = await lab.state(path);
  const point = await lab.point(path, { operation: "patch" });
  await lab.box.write(path, { "a.txt": "half done\n" });
  await lab.finish(path, point, "failed");
  await lab.apply(path, point);
  assert.deepEqual(await lab.state(path), before);
  const [first] = await lab.points(path);
  assert.equal(first!.state, "failed");
  assert.equal(canUndo(first!, first!.headAfter!), false);
});

Deno.test("the list survives damage: it is put aside and the points are found again", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  const before = await lab.state(path);
  const point = await lab.point(path);
  const repoId = await registerRepository(lab.runDir, path);
  const file = listPath(lab.runDir, repoId);
  const text = await Deno.readTextFile(file);
  await Deno.writeTextFile(file, text.replace('"operation"', '"Operation"'));
  const read = await readList(lab.runDir, repoId, path);
  assert.equal(read.kind, "corrupt");
  assert.match(read.kind === "corrupt" ? read.reason : "", /checksum/);
  await box.git(path, "reset", "-q", "--hard");
  await lab.apply(path, point);
  assert.deepEqual(await lab.state(path), before);
  assert.equal(lab.log.length, 1);
  assert.match(lab.log[0]!, /damaged.*1 points were found again/);
  const names = [...Deno.readDirSync(`${lab.runDir}/restore`)].map((entry) => entry.name);
  assert.equal(names.filter((name) => name.includes(".damaged-")).length, 1);
});
