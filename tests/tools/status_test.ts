import assert from "node:assert/strict";
import { data, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

Deno.test("repo.status tells an unborn branch with a staged file", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.write(repo, { "a.txt": "1\n" });
  await box.git(repo, "add", "a.txt");
  const status = await data("repo.status", { repoPath: repo });
  assert.equal(status.branch, "main");
  assert.equal(status.head, null);
  assert.equal(status.unborn, true);
  assert.deepEqual(status.entries, [{ status: "A ", path: "a.txt" }]);
  assert.equal(status.ahead, null);
});

Deno.test("repo.status gives names with spaces, quotes and other scripts unquoted, and both names of a rename", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", {
    "a -> b.txt": "1\n2\n3\n4\n",
    "a b.txt": "x\n",
    'q"uote.txt': "q\n",
  });
  await box.git(repo, "mv", "a -> b.txt", "c -> d.txt");
  await box.write(repo, { "a b.txt": "y\n", "café-日本.txt": "n\n", 'q"uote.txt': "r\n" });
  const status = await data("repo.status", { repoPath: repo });
  assert.deepEqual(status.entries, [
    { status: " M", path: "a b.txt" },
    { status: "R ", path: "c -> d.txt", origPath: "a -> b.txt", score: 100 },
    { status: " M", path: 'q"uote.txt' },
    { status: "??", path: "café-日本.txt" },
  ]);
  assert.deepEqual(status.counts, { staged: 1, unstaged: 2, untracked: 1, conflicted: 0 });
});

Deno.test("repo.status pages by the last entry given", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.write(repo, { "b": "", "d": "", "a": "", "c": "" });
  const first = await data("repo.status", { repoPath: repo, limit: 3 });
  assert.equal(first.truncated, true);
  assert.equal(first.total, 4);
  await Deno.writeTextFile(`${repo}/0`, "");
  const second = await data("repo.status", { repoPath: repo, limit: 3, cursor: first.nextCursor });
  assert.deepEqual(second.entries, [{ status: "??", path: "d" }]);
  assert.equal(second.nextCursor, null);
});

Deno.test("repo.status writes nothing and runs no fsmonitor, where plain git does", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "a.txt": "1\n" });
  const evil = await box.evil();
  await box.git(repo, "config", "core.fsmonitor", evil.script);
  await box.git(repo, "status");
  assert.equal(await evil.ran(), true, "control: plain git runs it");
  await evil.reset();
  await Deno.utime(`${repo}/a.txt`, 1, 1);
  const before = await hashTree(repo);
  await data("repo.status", { repoPath: repo });
  assert.equal(await evil.ran(), false);
  assert.equal(await hashTree(repo), before);
});

Deno.test("a directory that is no repository is error 10010 with git's reason, and a relative path is refused", async () => {
  await using box = await fresh();
  const error = await refusal("repo.status", { repoPath: box.root });
  assert.equal(error.form, "result");
  assert.equal(error.code, 10010);
  assert.equal(error.data.kind, "not_a_repository");
  const relative = await refusal("repo.status", { repoPath: "x" });
  assert.equal(relative.form, "rpc");
  assert.equal(relative.code, -32602);
});

Deno.test("a clone without trees says that objects are missing, and what to do", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "a": "1\n" });
  await box.git(repo, "config", "uploadpack.allowFilter", "true");
  const clone = ["clone", "-q", "--no-checkout", "--filter=tree:0", `file://${repo}`, "part"];
  await box.git(box.root, ...clone);
  const error = await refusal("repo.status", { repoPath: `${box.root}/part` });
  assert.equal(error.code, 10010);
  assert.equal(error.data.kind, "missing_objects");
  assert.match(error.data.hint, /partial clone/);
});

Deno.test("an order file that cannot be read does not cost the status", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "a": "1\n" });
  await box.write(repo, { "a": "2\n" });
  await box.git(repo, "config", "diff.orderFile", "gone");
  const control = await box.tryGit(repo, ["status"]);
  assert.match(control.stderr, /orderfile/, "control: plain git fails");
  assert.deepEqual((await data("repo.status", { repoPath: repo })).counts.unstaged, 1);
});
