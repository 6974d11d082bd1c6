import assert from "node:assert/strict";
import { data, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

const TOOL = "worktree.changes";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

/** A merge stopped with one conflict of each common kind; `z.txt` changes cleanly. */
async function conflicted(box: Sandbox): Promise<string> {
  const repo = await box.repo();
  await box.commit(repo, "base", { "both": "1\n", "gone": "1\n", "z.txt": "1\n" });
  await box.git(repo, "checkout", "-q", "-b", "side");
  await box.commit(repo, "side", { "both": "2\n", "new": "s\n", "gone": "2\n", "z.txt": "2\n" });
  await box.git(repo, "checkout", "-q", "main");
  await box.git(repo, "rm", "-q", "gone");
  await box.commit(repo, "main", { "both": "3\n", "new": "m\n" });
  await box.tryGit(repo, ["merge", "side"]);
  return repo;
}

Deno.test("worktree.changes puts a file with staged and unstaged changes into both lists", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "a b.txt": "1\n", "gone.txt": "1\n", "same.txt": "1\n" });
  await box.write(repo, { "a b.txt": "2\n", "tmp/x": "", "tmp/y": "" });
  await box.git(repo, "add", "a b.txt");
  await box.write(repo, { "a b.txt": "3\n" });
  await Deno.remove(`${repo}/gone.txt`);
  const changes = await data(TOOL, { repoPath: repo });
  assert.deepEqual(changes.staged, [{ status: "MM", path: "a b.txt" }]);
  assert.deepEqual(changes.unstaged, [
    { status: "MM", path: "a b.txt" },
    { status: " D", path: "gone.txt" },
  ]);
  assert.deepEqual(changes.untracked, [{ status: "??", path: "tmp/" }]);
  assert.deepEqual(changes.conflicted, []);
  assert.deepEqual(changes.counts, { staged: 1, unstaged: 2, untracked: 1, conflicted: 0 });
  assert.equal(changes.total, 3);
  assert.equal(changes.truncated, false);
  assert.equal(changes.nextCursor, null);
});

Deno.test("worktree.changes keeps conflicted files out of the staged and unstaged lists and names each kind", async () => {
  await using box = await fresh();
  const repo = await conflicted(box);
  const changes = await data(TOOL, { repoPath: repo });
  assert.deepEqual(changes.conflicted, [
    { status: "UU", path: "both", conflict: "both-modified" },
    { status: "DU", path: "gone", conflict: "deleted-by-us" },
    { status: "AA", path: "new", conflict: "both-added" },
  ]);
  assert.deepEqual(changes.staged, [{ status: "M ", path: "z.txt" }]);
  assert.deepEqual(changes.unstaged, []);
});

Deno.test("worktree.changes and repo.status lose no conflicted entry at the end of a page", async () => {
  await using box = await fresh();
  const repo = await conflicted(box);
  for (const limit of [1, 2, 3]) {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await data("repo.status", {
        repoPath: repo,
        limit,
        ...(cursor ? { cursor } : {}),
      });
      seen.push(...page.entries.map((entry: { path: string }) => entry.path));
      cursor = page.nextCursor ?? undefined;
    } while (cursor);
    assert.deepEqual(seen, ["z.txt", "both", "gone", "new"], `limit ${limit}`);
  }
});

Deno.test("worktree.changes pages through every list at once, each entry exactly once", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const names = Array.from({ length: 7 }, (_, i) => `f${i}`);
  await box.commit(repo, "one", Object.fromEntries(names.map((name) => [name, "1\n"])));
  await box.write(repo, Object.fromEntries(names.map((name) => [name, "2\n"])));
  await box.git(repo, "add", "f0", "f1", "f2");
  await box.write(repo, { "u0": "", "u1": "", "u2": "", "u3": "", "u4": "" });
  const seen: Record<string, string[]> = {
    staged: [],
    unstaged: [],
    untracked: [],
    conflicted: [],
  };
  const more: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await data(TOOL, { repoPath: repo, limit: 2, ...(cursor ? { cursor } : {}) });
    for (const list of Object.keys(seen)) {
      assert(page[list].length <= 2);
      seen[list]!.push(...page[list].map((entry: { path: string }) => entry.path));
    }
    assert.equal(page.truncated, page.nextCursor !== null);
    if (page.more) more.push(page.more);
    cursor = page.nextCursor ?? undefined;
    // What appears before the cursor does not shift later pages.
    await box.write(repo, { "a-new-one": "" });
  } while (cursor);
  assert.deepEqual(seen["staged"], ["f0", "f1", "f2"]);
  assert.deepEqual(seen["unstaged"], ["f3", "f4", "f5", "f6"]);
  assert.deepEqual(seen["untracked"], ["u0", "u1", "u2", "u3", "u4"]);
  assert.deepEqual(more, [["staged", "unstaged", "untracked"], ["untracked"]]);
});

Deno.test("worktree.changes continues after names that are not UTF-8 or 4 KB long", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one");
  const deep = Array.from({ length: 15 }, () => "d".repeat(250)).join("/");
  const stdin = new Uint8Array([
    ...new TextEncoder().encode(`100644 ${"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"}\t${deep}\0`),
    ...new TextEncoder().encode("100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\tlatin"),
    0xe9,
    0,
    ...new TextEncoder().encode("100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\tz\0"),
  ]);
  await box.git(repo, "hash-object", "-w", "--stdin");
  await box.tryGit(repo, ["update-index", "-z", "--index-info"], { stdin });
  const first = await data(TOOL, { repoPath: repo, limit: 1 });
  assert.equal(first.staged[0].path, deep);
  const second = await data(TOOL, { repoPath: repo, limit: 1, cursor: first.nextCursor });
  assert.deepEqual(second.staged, [
    { status: "AD", path: "latin\uFFFD", pathBytes: btoa("latin\xe9") },
  ]);
  const third = await data(TOOL, { repoPath: repo, limit: 1, cursor: second.nextCursor });
  assert.equal(third.staged[0].path, "z");
  assert.equal(third.nextCursor, null);
});

Deno.test("worktree.changes gives renames, type changes, modes, intent to add, submodules and nested repositories their members", async () => {
  await using box = await fresh();
  const inner = await box.repo("inner-origin");
  await box.commit(inner, "inner", { "f": "1\n" });
  const repo = await box.repo();
  await box.commit(repo, "one", { "old": "1\n2\n3\n", "tool.sh": "#!\n", "kind": "x\n" });
  await box.git(repo, "submodule", "add", "-q", inner, "sub mod");
  await box.commit(repo, "sub");
  await box.git(repo, "mv", "old", "new");
  await box.write(repo, {
    "new": "1\n2\n3\n4\n",
    "later": "",
    "sub mod/f": "2\n",
    "sub mod/u": "",
  });
  await Deno.chmod(`${repo}/tool.sh`, 0o755);
  await Deno.remove(`${repo}/kind`);
  await Deno.symlink("new", `${repo}/kind`);
  await box.git(repo, "add", "-N", "later");
  await box.repo("repo/nested");
  const changes = await data(TOOL, { repoPath: repo });
  assert.deepEqual(changes.staged, [{ status: "RM", path: "new", origPath: "old", score: 100 }]);
  assert.deepEqual(changes.unstaged, [
    { status: " T", path: "kind", modes: { old: "100644", new: "120000" } },
    { status: " A", path: "later", intentToAdd: true },
    { status: "RM", path: "new", origPath: "old", score: 100 },
    {
      status: " M",
      path: "sub mod",
      submodule: { newCommits: false, modified: true, untracked: true },
    },
    { status: " M", path: "tool.sh", modes: { old: "100644", new: "100755" } },
  ]);
  assert.deepEqual(changes.untracked, [{ status: "??", path: "nested/", nestedRepo: true }]);
});

Deno.test("worktree.changes answers from a subdirectory, a linked worktree, an unborn branch and a sha256 repository", async () => {
  await using box = await fresh();
  const repo = await box.repo("one", "--object-format=sha256");
  await box.write(repo, { "dir/a": "1\n" });
  await box.git(repo, "add", "-A");
  assert.deepEqual((await data(TOOL, { repoPath: `${repo}/dir` })).staged, [
    { status: "A ", path: "dir/a" },
  ]);
  await box.commit(repo, "one");
  await box.git(repo, "worktree", "add", "-q", "-b", "side", `${box.root}/linked`);
  await box.write(`${box.root}/linked`, { "only-here": "" });
  assert.deepEqual((await data(TOOL, { repoPath: `${box.root}/linked` })).untracked, [
    { status: "??", path: "only-here" },
  ]);
  assert.equal((await data(TOOL, { repoPath: repo })).total, 0);
});

Deno.test("worktree.changes refuses a bare repository with what works there, and a foreign cursor", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.git(box.root, "init", "-q", "--bare", "bare.git");
  const error = await refusal(TOOL, { repoPath: `${box.root}/bare.git` });
  assert.equal(error.code, 10010);
  assert.equal(error.data.kind, "bare_repository");
  const foreign = btoa(JSON.stringify(["repo.status", 0, "x"]));
  for (const cursor of [foreign, "?", btoa(JSON.stringify([TOOL, 3, "%", 1, "", 1, "", 1, ""]))]) {
    const bad = await refusal(TOOL, { repoPath: repo, cursor });
    assert.equal(bad.code, -32602, cursor);
    assert.match(bad.data.details, /cursor/);
  }
});

Deno.test("worktree.changes is true under status settings that would hide changes, and says when filters were not run", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "a.txt": "1\n", ".gitattributes": "*.txt filter=evil\n" });
  await box.git(repo, "config", "status.showUntrackedFiles", "no");
  await box.git(repo, "config", "status.renames", "false");
  await box.write(repo, { "new": "" });
  assert.equal((await data(TOOL, { repoPath: repo })).untracked.length, 1);
  const evil = await box.evil();
  await box.git(repo, "config", "filter.evil.clean", evil.cat);
  await box.write(repo, { "a.txt": "2\n" });
  await box.git(repo, "status");
  assert.equal(await evil.ran(), true, "control: plain git runs the filter");
  await evil.reset();
  const before = await hashTree(repo);
  const changes = await data(TOOL, { repoPath: repo });
  assert.equal(await evil.ran(), false);
  assert.equal(await hashTree(repo), before);
  assert.deepEqual(changes.unstaged, [{ status: " M", path: "a.txt" }]);
  assert.equal(changes.warnings[0].code, "filter_not_run");
});

Deno.test("worktree.changes bounds a list whatever the repository holds", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.write(repo, Object.fromEntries(Array.from({ length: 1_200 }, (_, i) => [`u${i}`, ""])));
  const changes = await data(TOOL, { repoPath: repo, limit: 1000 });
  assert.equal(changes.untracked.length, 1_000);
  assert.equal(changes.counts.untracked, 1_200);
  assert.equal(changes.truncated, true);
  assert.equal((await refusal(TOOL, { repoPath: repo, limit: 1_001 })).code, -32602);
});
