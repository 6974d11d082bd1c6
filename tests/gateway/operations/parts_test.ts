import assert from "node:assert/strict";
import { Arming } from "../../../gateway/server/executor/shared/arming.ts";
import {
  ancestry,
  firstArguments,
  literalPathspecs,
  NamedPaths,
} from "../../../gateway/server/executor/shared/changed.ts";
import { readPatchText } from "../../../gateway/server/executor/shared/patch_text.ts";
import { pushUrls, trackingRef } from "../../../gateway/server/executor/shared/remote.ts";
import { openRepository } from "../../../git/repository.ts";
import { Sandbox, useSandbox } from "../../fixtures/sandbox.ts";

Deno.test("named paths stand for themselves and all below, never for names that only begin alike", () => {
  const named = new NamedPaths(["dir/", "a.txt"]);
  assert.deepEqual(
    ["dir", "dir/x", "dir/x/y", "dirt/x", "a.txt", "a.txt2", "b"].map((path) => named.covers(path)),
    [true, true, true, false, true, false, false],
  );
  const entry = (path: string) => ({
    kind: "tracked" as const,
    entry: { status: " M", path },
  });
  assert.deepEqual(named.without([entry("dir/deep/x")]), ["a.txt"]);
  assert.deepEqual(new NamedPaths(["."]).without([entry("x")]), []);
  assert.deepEqual(ancestry("a/b/c/"), ["a/b/c", "a/b", "a"]);
  assert.equal(literalPathspecs([".", "a*b/"]), ":/\0:(top,literal)a*b\0");
});

Deno.test("a list for a command line is cut by its length and its number", () => {
  assert.deepEqual(firstArguments(["a", "b", "c"], 2), ["a", "b"]);
  assert.equal(firstArguments(Array(100).fill("x".repeat(1_000)), 1_000).length, 65);
});

Deno.test("patches are read by their headers, content is left out", () => {
  const read = (text: string) => readPatchText(text, () => 0);
  const plain = read(
    "Some words first\n--- a/one.txt\t2026-01-01\n+++ b/one.txt\t2026-01-02\n@@ -1,2 +1,2 @@\n-- a/x\n+++ b/y\n same\n" +
      "--- a/two.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\\ No newline at end of file\n",
  );
  assert.deepEqual(plain.files.map(({ oldName, newName, kind }) => [oldName, newName, kind]), [
    ["one.txt", "one.txt", "changed"],
    ["two.txt", null, "deleted"],
  ]);
  assert.deepEqual([...plain.names], ["one.txt", "two.txt"]);
  const quoted = read(
    'diff --git "a/t\\303\\244b\\there" "b/t\\303\\244b\\there"\nold mode 100644\nnew mode 100755\n',
  );
  assert.deepEqual([...quoted.names], ["täb\there"]);
  assert.equal(quoted.files[0]!.newMode, "100755");
  const blanks = read("diff --git a/with blank b/with blank\nnew file mode 120000\n");
  assert.deepEqual([...blanks.names], ["with blank"]);
  const link = read(
    "diff --git a/l b/l\nindex 1234567..89abcde 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-x\n+y\n",
  );
  assert.equal(link.files[0]!.newMode, "120000");
  // An empty line of context may have lost its blank; carriage returns belong to the content.
  const odd = read(
    "--- a/x\r\n+++ b/x\r\n@@ -1,3 +1,3 @@\r\n a\r\n\r\n-b\r\n+c\r\n--- a/y\r\n+++ b/y\r\n",
  );
  assert.deepEqual([...odd.names], ["x", "y"]);
});

Deno.test("what arms is found by name and by mode, each kind once with its first paths", () => {
  const arming = new Arming();
  for (let i = 0; i < 100; i++) arming.see(`${i}/.gitattributes`);
  arming.see("x", "100755", "100755");
  arming.see("plain.txt", "100644");
  assert.equal(arming.notes().length, 1);
  assert.equal(arming.notes()[0]!.paths!.length, 50);
  arming.see("l", "120000");
  arming.see("new", "100755");
  arming.see("sub", "160000");
  arming.see("sub", "160000", "160000");
  assert.deepEqual(arming.notes().slice(1).map(({ paths }) => paths), [["l"], ["new"], ["sub"]]);
});

Deno.test("tracking refs and push URLs are what git would use", async () => {
  await using box = await Sandbox.create();
  useSandbox(box);
  const path = await box.repo();
  const set = async (key: string, ...values: string[]) => {
    for (const value of values) await box.git(path, "config", "--add", key, value);
  };
  await set("remote.a.fetch", "+refs/heads/main:refs/remotes/a/trunk");
  await set("remote.b.fetch", "^refs/heads/secret", "+refs/heads/*:refs/remotes/elsewhere/*");
  await set("remote.c.fetch", "+refs/heads/release/*:refs/remotes/c/r/*");
  await set("remote.d.url", "short:d", "/plain");
  await set("remote.e.url", "short:e");
  await box.git(path, "config", "remote.e.pushurl", "other:e");
  await set("url./long/.insteadOf", "short:");
  await set("url./longer/.insteadOf", "short:d");
  await set("url./push/.pushInsteadOf", "/plain");
  await set("url./never/.pushInsteadOf", "other:");
  const repo = await openRepository(path);
  assert.equal(trackingRef(repo, "a", "main"), "refs/remotes/a/trunk");
  assert.equal(trackingRef(repo, "a", "other"), null);
  assert.equal(trackingRef(repo, "b", "topic/x"), "refs/remotes/elsewhere/topic/x");
  assert.equal(trackingRef(repo, "c", "release/1"), "refs/remotes/c/r/1");
  assert.equal(trackingRef(repo, "c", "main"), null);
  for (const remote of ["d", "e"]) {
    const wanted = (await box.git(path, "remote", "get-url", "--push", "--all", remote)).trim();
    assert.deepEqual(pushUrls(repo, remote), wanted.split("\n"), remote);
  }
  assert.deepEqual(pushUrls(repo, "nowhere"), []);
});
