import assert from "node:assert/strict";
import { applyPatch, parsePatch } from "../../toolhub/workspace/patch.ts";
import { Lab } from "./lab.ts";

const HEAD = "--- a/f.txt\n+++ b/f.txt\n";

function patched(content: string, hunks: string): string {
  return applyPatch(content, parsePatch(HEAD + hunks, "f.txt"));
}

Deno.test("hunks apply at their exact places", () => {
  const file = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  assert.equal(
    patched(file, "@@ -1,2 +1,3 @@\n 1\n+1a\n 2\n@@ -8,2 +9,1 @@ more\n-8\n 9\n"),
    "1\n1a\n2\n3\n4\n5\n6\n7\n9\n",
  );
  assert.equal(patched("a\n", "@@ -1 +1,2 @@\n a\n+b\n"), "a\nb\n");
});

Deno.test("a hunk without old lines inserts after the line that it names, also into an empty file", () => {
  assert.equal(patched("", "@@ -0,0 +1 @@\n+first\n"), "first\n");
  assert.equal(patched("a\nb\n", "@@ -0,0 +1 @@\n+first\n"), "first\na\nb\n");
  assert.equal(patched("a\nb\n", "@@ -1,0 +2 @@\n+x\n"), "a\nx\nb\n");
  assert.equal(patched("a\nb\n", "@@ -2,0 +3 @@\n+x\n"), "a\nb\nx\n");
  assert.equal(patched("a\nb\n", "@@ -1,0 +2 @@\n+x\n@@ -2 +3 @@\n-b\n+B\n"), "a\nx\nB\n");
  assert.equal(patched("a\n", "@@ -1 +0,0 @@\n-a\n"), "");
});

Deno.test("the same patches give what git gives", async () => {
  await using lab = await Lab.create();
  const cases = [
    ["1\n2\n3\n", "@@ -1,0 +2,2 @@\n+x\n+y\n@@ -3 +5 @@\n-3\n+three\n"],
    ["1\n2", "@@ -2 +2 @@\n-2\n\\ No newline at end of file\n+two\n"],
    ["1\n2\n", "@@ -2 +2 @@\n-2\n+two\n\\ No newline at end of file\n"],
    ["", "@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"],
  ];
  for (const [content, hunks] of cases) {
    const path = lab.write("f.txt", content!);
    lab.write("p", HEAD + hunks);
    const git = await new Deno.Command("git", {
      args: ["apply", "--unidiff-zero", "p"],
      cwd: lab.workspace,
    }).output();
    assert.equal(git.code, 0, new TextDecoder().decode(git.stderr));
    assert.equal(patched(content!, hunks!), Deno.readTextFileSync(path));
  }
});

Deno.test("lines keep their own line ends, and added ones take those of the line before", () => {
  assert.equal(patched("a\r\nb\r\nc\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n"), "a\r\nx\r\nb\r\nc\n");
  assert.equal(patched("\ufeffa\r\n", "@@ -1 +1,2 @@\n \ufeffa\n+b\n"), "\ufeffa\r\nb\r\n");
});

Deno.test("what is no strict single-file patch is malformed", () => {
  const bad = [
    "",
    "diff --git a/f.txt b/f.txt\n" + HEAD + "@@ -1 +1 @@\n-a\n+b\n",
    "--- a/f.txt\n",
    HEAD,
    HEAD + "-a\n+b\n",
    HEAD + "@@ -1 +1 @@\n-a\n",
    HEAD + "@@ -1,0 +1 @@\n-a\n+b\n",
    HEAD + "@@ -0 +1 @@\n-a\n+b\n",
    HEAD + "@@ -1 +1 @@\n\\ No newline\n-a\n+b\n",
    HEAD + "@@ -1,2 +1,2 @@\n a\n\n",
    HEAD + "@@ -1 +1 @@\n-a\n*b\n",
    HEAD + "@@ -5 +5 @@\n-a\n+b\n@@ -2 +2 @@\n-c\n+d\n",
    HEAD + "@@ -1 +1 @@\n-a\n+b\n--- a/g.txt\n+++ b/g.txt\n@@ -1 +1 @@\n-a\n+b\n",
  ];
  for (const text of bad) assert.throws(() => parsePatch(text, "f.txt"), /malformed/i, text);
  for (const name of ["a/g.txt", "a/../f.txt", "/dev/null", "/f.txt"]) {
    assert.throws(
      () => parsePatch(`--- ${name}\n+++ b/f.txt\n@@ -1 +1 @@\n-a\n+b\n`, "f.txt"),
      /does not match target/,
      name,
    );
  }
  const windows = "--- a\\src\\f.txt\t2020-01-01\n+++ src/f.txt\n@@ -1 +1 @@\n-a\n+b\n";
  assert.equal(parsePatch(windows, "src/f.txt").additions, 1);
});

Deno.test("a patch that does not fit changes nothing", () => {
  assert.throws(() => patched("a\n", "@@ -1 +1 @@\n-b\n+c\n"), /does not match the file/);
  assert.throws(() => patched("a", "@@ -1 +1 @@\n-a\n+c\n"), /does not match the file/);
  assert.throws(() => patched("a\n", "@@ -7 +7 @@\n-a\n+c\n"), /out of range/);
  assert.throws(() => patched("", "@@ -1,0 +1 @@\n+c\n"), /out of range/);
});

Deno.test("a patch goes through approval to the file, once", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const path = lab.write("f.txt", "a\r\nb\r\n");
  Deno.chmodSync(path, 0o755);
  const patch = HEAD + "@@ -1,2 +1,2 @@\n-a\n+A\n b\n";
  const { sha256 } = await tools.call("filesystem.read_file", { path: "f.txt" });
  const id = await tools.approved("filesystem.apply_patch", {
    path: "f.txt",
    patch,
    expected_hash: sha256,
  });
  assert.equal(Deno.readTextFileSync(path), "a\r\nb\r\n");
  const done = await tools.call("filesystem.apply_patch_approved", { request_id: id });
  assert.equal(Deno.readTextFileSync(path), "A\r\nb\r\n");
  assert.deepEqual(
    [done.changed, done.additions, done.deletions, done.bytes_before, done.bytes_after],
    [true, 1, 1, 6, 6],
  );
  assert.equal(done.previous_hash, sha256);
  assert.equal(Deno.statSync(path).mode! & 0o777, 0o755);
  const again = await tools.call("filesystem.apply_patch_approved", { request_id: id });
  assert.equal(again.executed, false);
});

Deno.test("submission checks the form of a patch, execution whether it fits", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const path = lab.write("f.txt", "a\n");
  const submit = (patch: string, more = {}) => ({ path: "f.txt", patch, ...more });
  const PATCH = "filesystem.apply_patch";
  assert.match(await tools.error(PATCH, submit("x")), /Malformed patch/);
  assert.match(await tools.error(PATCH, submit("x".repeat(262_145))), /too large/);
  assert.match(await tools.error(PATCH, { path: "none", patch: HEAD }), /File not found/);
  const good = HEAD + "@@ -1 +1 @@\n-a\n+b\n";
  assert.match(await tools.error(PATCH, submit(good, { expected_hash: "0" })), /Conflict/);
  const id = await tools.approved(PATCH, submit(HEAD + "@@ -1 +1 @@\n-z\n+b\n"));
  const text = await tools.error("filesystem.apply_patch_approved", { request_id: id });
  assert.match(text, /does not match the file.*used up/);
  assert.equal(Deno.readTextFileSync(path), "a\n");
  const same = await tools.approved(PATCH, submit(HEAD + "@@ -1 +1 @@\n-a\n+a\n"));
  const before = Deno.statSync(path).ino;
  const done = await tools.call("filesystem.apply_patch_approved", { request_id: same });
  assert.equal(done.changed, false);
  assert.equal(Deno.statSync(path).ino, before, "an unchanged file is not written");
});

Deno.test("what git's own diff says leads from one file to the other", async () => {
  await using lab = await Lab.create();
  // A small generator of its own: the same files in every run.
  let seed = 7;
  const below = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
  const text = (lines: string[]) =>
    lines.join("\n") + (below(3) > 0 && lines.length > 0 ? "\n" : "");
  for (let round = 0; round < 60; round++) {
    const before = Array.from({ length: below(12) }, () => "abcde"[below(5)]!);
    const after = before.flatMap((line) => {
      const dice = below(6);
      return dice === 0 ? [] : dice === 1 ? [line, "new"] : dice === 2 ? ["-- x"] : [line];
    });
    const [old, next] = [text(before), text(after)];
    if (old === next) continue;
    lab.write("old", old);
    lab.write("new", next);
    const out = await new Deno.Command("git", {
      args: ["diff", "--no-index", `-U${below(4)}`, "old", "new"],
      cwd: lab.workspace,
    }).output();
    const hunks = new TextDecoder().decode(out.stdout).split(/^(?=@@ )/m).slice(1).join("");
    assert.equal(patched(old, hunks), next, JSON.stringify({ old, next, hunks }));
  }
});
