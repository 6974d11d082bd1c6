import assert from "node:assert/strict";
import { parseDiff, unquote } from "../../../gateway/page/diff_parse.ts";
import { changedWords, pairLines } from "../../../gateway/page/diff_words.ts";
import { Sandbox } from "../../fixtures/sandbox.ts";

Deno.test("a diff of git's own is read with every file, change, mode and line count", async () => {
  await using sandbox = await Sandbox.create();
  const repo = await sandbox.repo();
  await sandbox.commit(repo, "First", {
    "kept.txt": "one\ntwo\nthree\n",
    "gone.txt": "bye\n",
    "moved.txt": "a\nb\nc\nd\n",
    "run.sh": "#!/bin/sh\n",
    '-- a name\twith odd "letters".txt': "x\n",
    "binary.bin": new Uint8Array([0, 1, 2]),
  });
  await sandbox.write(repo, {
    "kept.txt": "one\n2\nthree",
    "new.txt": "--- not a header\n+++ neither\n",
    '-- a name\twith odd "letters".txt': "y\n",
    "binary.bin": new Uint8Array([0, 9]),
  });
  await sandbox.git(repo, "rm", "-q", "gone.txt");
  await sandbox.git(repo, "mv", "moved.txt", "elsewhere.txt");
  await Deno.chmod(`${repo}/run.sh`, 0o755);
  await sandbox.git(repo, "add", "-A");
  const text = await sandbox.git(repo, "diff", "--cached", "-M");
  const files = new Map(parseDiff(text).map((file) => [file.path, file]));
  const short = [...files].map(([path, file]) =>
    `${path} ${file.change} +${file.added} -${file.deleted}`
  ).sort();
  assert.deepEqual(short, [
    '-- a name\twith odd "letters".txt modified +1 -1',
    "binary.bin modified +0 -0",
    "elsewhere.txt renamed +0 -0",
    "gone.txt deleted +0 -1",
    "kept.txt modified +2 -2",
    "new.txt added +2 -0",
    "run.sh modified +0 -0",
  ]);
  assert.equal(files.get("binary.bin")!.binary, true);
  assert.equal(files.get("elsewhere.txt")!.oldPath, "moved.txt");
  assert.deepEqual(files.get("run.sh")!.modes, { old: "100644", new: "100755" });
  const kept = files.get("kept.txt")!.hunks[0]!.lines;
  assert.ok(kept.some((line) => line.kind === "\\"), "a missing line end is told");
  const added = files.get("new.txt")!.hunks[0]!.lines.map((line) => line.text);
  assert.deepEqual(added, ["--- not a header", "+++ neither"], "content is never read as a header");
});

Deno.test("text beside the files of a patch stands for itself and is not lost", () => {
  const files = parseDiff(
    "From: somebody\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39.5\n",
  );
  assert.deepEqual(files.map((file) => file.path), ["", "x", ""]);
  assert.deepEqual(files[0]!.notes, ["From: somebody", ""]);
  assert.ok(files[2]!.notes.includes("2.39.5"));
});

Deno.test("a hunk that promises more lines than there are ends where it ends", () => {
  const files = parseDiff("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\ndiff --git a/y b/y\n");
  assert.deepEqual(files.map((file) => file.path), ["x", "y"]);
});

Deno.test("quoted names are read as the bytes that they stand for", () => {
  assert.equal(unquote('"a\\303\\244\\t\\"b\\\\"'), 'aä\t"b\\');
  assert.equal(unquote("plain"), "plain");
});

Deno.test("only what changed within a line is marked, and both lines are whole", () => {
  const found = changedWords("let a = old(1);", "let a = newer(1);")!;
  const marked = (parts: readonly { text: string; changed: boolean }[]) =>
    parts.filter((part) => part.changed).map((part) => part.text);
  assert.deepEqual(marked(found.left), ["old"]);
  assert.deepEqual(marked(found.right), ["newer"]);
  assert.equal(found.left.map((part) => part.text).join(""), "let a = old(1);");
  assert.equal(found.right.map((part) => part.text).join(""), "let a = newer(1);");
});

Deno.test("lines with nothing in common, and far too long ones, are marked as a whole", () => {
  assert.equal(changedWords("alpha beta", "12345 67"), null);
  assert.equal(changedWords("a".repeat(3_000), "a".repeat(3_001)), null);
});

Deno.test("deleted and added lines that belong together stand side by side", () => {
  const [file] = parseDiff("--- a/x\n+++ b/x\n@@ -1,4 +1,3 @@\n same\n-one\n-two\n+ONE\n end\n");
  const rows = pairLines(file!.hunks[0]!.lines).map((row) =>
    `${row.left?.text ?? ""}|${row.right?.text ?? ""}`
  );
  assert.deepEqual(rows, ["same|same", "one|ONE", "two|", "end|end"]);
});
