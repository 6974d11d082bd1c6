import assert from "node:assert/strict";
import { gitCapabilities } from "../../git/capabilities.ts";
import { operationAt, readOperation } from "../../git/in_progress.ts";
import { openRepository } from "../../git/repository.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

/** `main` and `t` (commits t1, t2) changed the same line; `old` is where they parted. */
async function diverged(box: Sandbox, ...init: string[]) {
  const repo = await box.repo("repo", ...init);
  await box.commit(repo, "base", { f: "1\n2\n3\n" });
  await box.git(repo, "branch", "old");
  await box.git(repo, "checkout", "-q", "-b", "t");
  const t1 = await box.commit(repo, "t1", { f: "1\nt\n3\n" });
  const t2 = await box.commit(repo, "t2", { g: "x\n" });
  await box.git(repo, "checkout", "-q", "main");
  const m1 = await box.commit(repo, "m1", { f: "1\nm\n3\n" });
  const old = (await box.git(repo, "rev-parse", "old")).trim();
  return { repo, old, t1, t2, m1 };
}

const quiet = { env: { GIT_EDITOR: "true", GIT_SEQUENCE_EDITOR: "true" } };
const rebase = (box: Sandbox, repo: string, edit: string, ...args: string[]) =>
  box.tryGit(repo, ["rebase", "-i", ...args], {
    env: { GIT_EDITOR: "true", GIT_SEQUENCE_EDITOR: edit },
  });

/** What is in progress, read without writing, with the answer for an index that has conflicts or not. */
async function operation(box: Sandbox, path: string) {
  const before = await hashTree(path);
  const repo = await openRepository(path);
  const unmerged = (await box.git(path, "ls-files", "-u")) !== "";
  const found = await readOperation(repo, unmerged);
  assert.equal(await hashTree(path), before, "nothing is written");
  return found;
}

Deno.test("nothing in progress is null, on an unborn branch too", async () => {
  await using box = await fresh();
  assert.equal(await operation(box, await box.repo("empty")), null);
  const { repo } = await diverged(box);
  assert.equal(await operation(box, repo), null);
});

Deno.test("a stopped rebase tells its branch, target, step and commit, and no cherry-pick beside it", async () => {
  await using box = await fresh();
  const { repo, t1, m1 } = await diverged(box);
  await box.git(repo, "checkout", "-q", "t");
  await box.tryGit(repo, ["rebase", "main"]);
  const stopped = {
    kind: "rebase",
    backend: "merge",
    branch: "t",
    onto: m1,
    step: 1,
    total: 2,
    oid: t1,
    paused: "conflict",
  };
  assert.deepEqual(await operation(box, repo), stopped);
  await box.git(repo, "checkout", "--ours", "f");
  await box.git(repo, "add", "f");
  assert.deepEqual(await operation(box, repo), { ...stopped, paused: "unknown" });
  const asked = await readOperation(await openRepository(repo));
  assert.equal(asked?.paused, undefined, "not told when the caller does not know the index");
});

Deno.test("a rebase of the apply backend is a rebase, with its own counters", async () => {
  await using box = await fresh();
  const { repo, t1, m1 } = await diverged(box);
  await box.git(repo, "checkout", "-q", "t");
  await box.tryGit(repo, ["rebase", "--apply", "main"]);
  assert.deepEqual(await operation(box, repo), {
    kind: "rebase",
    backend: "apply",
    branch: "t",
    onto: m1,
    step: 1,
    total: 2,
    oid: t1,
    paused: "conflict",
  });
});

Deno.test("a rebase of a detached HEAD has no branch", async () => {
  await using box = await fresh();
  const { repo } = await diverged(box);
  for (const backend of ["--merge", "--apply"]) {
    await box.git(repo, "checkout", "-q", "--detach", "t");
    await box.tryGit(repo, ["rebase", backend, "main"]);
    const found = await operation(box, repo);
    assert.equal(found?.kind, "rebase");
    assert.equal(found?.branch, undefined);
    await box.git(repo, "rebase", "--abort");
  }
});

Deno.test("a stopped am is am, not rebase, also when patches are applied while a rebase waits", async () => {
  await using box = await fresh();
  const { repo, old } = await diverged(box);
  const patches = await box.git(repo, "format-patch", "--stdout", "old..t");
  await box.tryGit(repo, ["am"], { stdin: patches });
  assert.deepEqual(await operation(box, repo), {
    kind: "am",
    step: 1,
    total: 2,
    paused: "unknown",
  });
  await box.git(repo, "am", "--abort");
  await box.tryGit(repo, ["am", "-3"], { stdin: patches });
  assert.equal((await operation(box, repo))?.paused, "conflict");
  await box.git(repo, "am", "--abort");
  await box.git(repo, "checkout", "-q", "t");
  await rebase(box, repo, "sed -i -e '1a break'", "old");
  const mail = await box.git(repo, "format-patch", "--stdout", "old..main");
  await box.tryGit(repo, ["am"], { stdin: mail });
  const both = await operation(box, repo);
  assert.deepEqual(both, { kind: "am", step: 1, total: 1, paused: "unknown", also: ["rebase"] });
  await box.git(repo, "am", "--abort");
  const waiting = await operation(box, repo);
  assert.equal(waiting?.kind, "rebase");
  assert.equal(waiting?.onto, old);
  assert.equal(waiting?.paused, "edit");
});

Deno.test("a rebase stopped to edit says so, and a cherry-pick begun there is the inner one", async () => {
  await using box = await fresh();
  const { repo, t1, m1 } = await diverged(box);
  await box.git(repo, "checkout", "-q", "t");
  await rebase(box, repo, "sed -i -e '1s/pick/edit/'", "old");
  const stopped = await operation(box, repo);
  assert.equal(stopped?.paused, "edit");
  assert.equal(stopped?.oid, t1);
  await box.tryGit(repo, ["cherry-pick", m1]);
  assert.deepEqual(await operation(box, repo), {
    kind: "cherry-pick",
    oid: m1,
    paused: "conflict",
    also: ["rebase"],
  });
});

Deno.test("a failed command of an interactive rebase leaves no commit, and why it stopped is not known", async () => {
  await using box = await fresh();
  const { repo } = await diverged(box);
  await box.git(repo, "checkout", "-q", "t");
  await rebase(box, repo, "sed -i -e '1a exec false'", "old");
  const found = await operation(box, repo);
  assert.equal(found?.kind, "rebase");
  assert.deepEqual([found?.step, found?.total, found?.oid], [2, 3, undefined]);
  assert.equal(found?.paused, "unknown");
});

Deno.test("the merge that a rebase with merges stops in belongs to it; a merge of one's own is the inner one", async () => {
  await using box = await fresh();
  const { repo, old } = await diverged(box);
  await box.git(repo, "checkout", "-q", "-b", "joined", "t");
  await box.tryGit(repo, ["merge", "-q", "main"]);
  await box.git(repo, "checkout", "--ours", "f");
  const joined = await box.commit(repo, "joined");
  await box.git(repo, "checkout", "-q", "-b", "elsewhere", "old");
  await box.commit(repo, "elsewhere", { h: "h\n" });
  await box.git(repo, "checkout", "-q", "joined");
  await box.tryGit(repo, ["rebase", "-r", "--onto", "elsewhere", "old"], quiet);
  const own = await operation(box, repo);
  assert.equal(own?.kind, "rebase");
  assert.equal(own?.oid, joined);
  assert.equal(own?.also, undefined);
  await box.git(repo, "rebase", "--abort");
  await rebase(box, repo, "sed -i -e '1s/pick/edit/'", "old");
  await box.tryGit(repo, ["merge", "-q", "main"]);
  const inner = await operation(box, repo);
  assert.equal(inner?.kind, "merge");
  assert.deepEqual(inner?.also, ["rebase"]);
  assert.notEqual(old, joined);
});

Deno.test("a merge names the commit that is merged, conflicted or waiting to be committed", async () => {
  await using box = await fresh();
  const { repo, m1, t2 } = await diverged(box);
  await box.git(repo, "checkout", "-q", "t");
  await box.tryGit(repo, ["merge", "main"]);
  assert.deepEqual(await operation(box, repo), { kind: "merge", oid: m1, paused: "conflict" });
  await box.git(repo, "merge", "--abort");
  await box.git(repo, "checkout", "-q", "old");
  await box.git(repo, "merge", "-q", "--no-ff", "--no-commit", "t");
  assert.deepEqual(await operation(box, repo), { kind: "merge", oid: t2, paused: "unknown" });
});

Deno.test("cherry-picks and reverts name their commit, and sequences are told between two commits as well", async () => {
  await using box = await fresh();
  const { repo, t1, t2, m1 } = await diverged(box);
  await box.tryGit(repo, ["cherry-pick", "t~1", "t"]);
  assert.deepEqual(await operation(box, repo), {
    kind: "cherry-pick",
    oid: t1,
    paused: "conflict",
  });
  await box.git(repo, "checkout", "--theirs", "f");
  await box.git(repo, "commit", "-q", "-a", "-m", "resolved");
  await assert.rejects(Deno.stat(`${repo}/.git/CHERRY_PICK_HEAD`), "only the sequencer speaks now");
  assert.deepEqual(await operation(box, repo), {
    kind: "cherry-pick",
    oid: t1,
    paused: "unknown",
  });
  // A single revert begun meanwhile is the inner one.
  await box.tryGit(repo, ["revert", "--no-edit", m1]);
  assert.deepEqual(await operation(box, repo), {
    kind: "revert",
    oid: m1,
    paused: "conflict",
    also: ["cherry-pick"],
  });
  await box.git(repo, "reset", "-q", "--hard");
  await box.git(repo, "cherry-pick", "--quit");
  assert.equal(await operation(box, repo), null);
  await box.git(repo, "checkout", "-q", "t");
  await box.commit(repo, "t3", { f: "1\nagain\n3\n" });
  await box.tryGit(repo, ["revert", "--no-edit", t1, t2]);
  assert.deepEqual(await operation(box, repo), { kind: "revert", oid: t1, paused: "conflict" });
  await box.git(repo, "checkout", "--ours", "f");
  await box.git(repo, "commit", "-q", "-a", "--allow-empty", "-m", "resolved");
  assert.deepEqual(await operation(box, repo), { kind: "revert", oid: t1, paused: "unknown" });
});

Deno.test("a bisect tells where it began and what it tests, waits for a good commit, and surrounds a merge", async () => {
  await using box = await fresh();
  const { repo, old, t1 } = await diverged(box);
  await box.git(repo, "checkout", "-q", "t");
  await box.git(repo, "bisect", "start");
  await box.git(repo, "bisect", "bad");
  assert.deepEqual(await operation(box, repo), { kind: "bisect", branch: "t" });
  assert.equal((await box.git(repo, "symbolic-ref", "--short", "HEAD")).trim(), "t");
  await box.git(repo, "bisect", "good", old);
  assert.deepEqual(await operation(box, repo), { kind: "bisect", branch: "t", oid: t1 });
  await box.tryGit(repo, ["merge", "main"]);
  const both = await operation(box, repo);
  assert.equal(both?.kind, "merge");
  assert.deepEqual(both?.also, ["bisect"]);
  await box.git(repo, "merge", "--abort");
  await box.git(repo, "bisect", "reset");
  await box.git(repo, "checkout", "-q", "--detach");
  await box.git(repo, "bisect", "start");
  assert.deepEqual(await operation(box, repo), { kind: "bisect" }, "no id passes for a branch");
});

Deno.test("conflicts of a stash are no operation", async () => {
  await using box = await fresh();
  const { repo } = await diverged(box);
  await box.write(repo, { f: "1\nstashed\n3\n" });
  await box.git(repo, "stash", "-q");
  await box.git(repo, "checkout", "-q", "t");
  await box.tryGit(repo, ["stash", "apply"]);
  assert.notEqual(await box.git(repo, "ls-files", "-u"), "");
  assert.equal(await operation(box, repo), null);
});

Deno.test("each linked worktree has operations of its own", async () => {
  await using box = await fresh();
  const { repo, m1 } = await diverged(box);
  const linked = `${box.root}/linked`;
  await box.git(repo, "worktree", "add", "-q", linked, "t");
  await box.tryGit(linked, ["rebase", "main"]);
  const there = await operation(box, linked);
  assert.equal(there?.kind, "rebase");
  assert.equal(there?.branch, "t");
  assert.equal(there?.onto, m1);
  assert.equal(await operation(box, repo), null);
  assert.equal(operationAt(`${repo}/.git/worktrees/linked`)?.branch, "t");
});

Deno.test("state files that are garbage, huge, directories or pipes do no harm", async () => {
  await using box = await fresh();
  const { repo } = await diverged(box);
  const dir = `${repo}/.git`;
  await Deno.writeTextFile(`${dir}/CHERRY_PICK_HEAD`, "not an id\n");
  await Deno.mkdir(`${dir}/REVERT_HEAD`);
  await box.write(dir, { "sequencer/todo": "# nothing\n" });
  assert.equal(await operation(box, repo), null);
  await new Deno.Command("mkfifo", { args: [`${dir}/MERGE_HEAD`] }).output();
  assert.deepEqual(operationAt(dir), { kind: "merge" });
  await Deno.remove(`${dir}/MERGE_HEAD`);
  await box.write(dir, { "rebase-merge/done": "pick x\n".repeat(100_000) + "break\n" });
  const opened = await openRepository(repo);
  assert.deepEqual(await readOperation(opened, false), {
    kind: "rebase",
    backend: "merge",
    paused: "edit",
  });
});

const { reftable } = await gitCapabilities();

Deno.test({
  name: "where refs are kept in a reftable, git is asked, and a branch of such a name fools nobody",
  ignore: !reftable,
  async fn() {
    await using box = await fresh();
    const { repo, t1, m1 } = await diverged(box, "--ref-format=reftable");
    await box.git(repo, "branch", "REVERT_HEAD");
    assert.equal(await operation(box, repo), null);
    await box.tryGit(repo, ["cherry-pick", "t~1"]);
    assert.deepEqual(await operation(box, repo), {
      kind: "cherry-pick",
      oid: t1,
      paused: "conflict",
    });
    await box.git(repo, "cherry-pick", "--abort");
    await box.git(repo, "checkout", "-q", "t");
    await box.tryGit(repo, ["merge", "main"]);
    assert.deepEqual(await operation(box, repo), { kind: "merge", oid: m1, paused: "conflict" });
    await box.git(repo, "merge", "--abort");
    await box.tryGit(repo, ["rebase", "main"]);
    const stopped = await operation(box, repo);
    assert.equal(stopped?.kind, "rebase");
    assert.equal(stopped?.oid, t1);
    assert.equal(stopped?.also, undefined);
  },
});
