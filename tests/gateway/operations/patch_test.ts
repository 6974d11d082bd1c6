import assert from "node:assert/strict";
import { deltaResultSize } from "../../../gateway/server/executor/shared/binary_delta.ts";
import { readPatchText } from "../../../gateway/server/executor/shared/patch_text.ts";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { GatewayLab } from "../harness.ts";

async function start(lab: GatewayLab): Promise<string> {
  const path = await lab.box.repo();
  await lab.box.commit(path, "First", {
    "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n",
    "b.txt": "-- an odd line\n++ another\nrest\n",
    "dir/c.txt": "c\n",
    ".gitignore": "*.log\n",
  });
  return path;
}

/** A patch that git itself makes of changes, which are then taken back. */
async function patchOf(
  lab: GatewayLab,
  path: string,
  change: () => Promise<void>,
): Promise<string> {
  await change();
  await lab.box.git(path, "add", "-A");
  const patch = await lab.box.git(path, "diff", "--cached", "--binary", "--find-renames");
  await lab.box.git(path, "reset", "-q", "--hard");
  return patch;
}

const newFile = (name: string, content = "x", mode = "100644") =>
  `diff --git a/${name} b/${name}\nnew file mode ${mode}\n--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+${content}\n`;

Deno.test("a patch changes, adds, deletes, renames and marks files as the card says, and undo takes it back", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  const patchContent = await patchOf(lab, path, async () => {
    await box.write(path, {
      "a.txt": "1\n2\n3\n4\n5\nsix\n7\n8\n",
      "new file.txt": "new\n",
      "bin": new Uint8Array([0, 1, 2, 255, 0, 7]),
    });
    await box.git(path, "mv", "b.txt", "dir/moved b.txt");
    await Deno.remove(`${path}/dir/c.txt`);
  });
  await box.write(path, { "untracked.txt": "u\n" });
  const before = await lab.state(path);
  const card = await lab.show(path, "patch", { patchContent });
  assert.deepEqual(card.blockers, []);
  assert.equal(card.words, null);
  assert.deepEqual(
    card.effect!.files.map(({ path, status, origPath }) => [status, path, origPath ?? null]),
    [
      ["M", "a.txt", null],
      ["A", "bin", null],
      ["R", "dir/moved b.txt", "b.txt"],
      ["D", "dir/c.txt", null],
      ["A", "new file.txt", null],
    ].sort((one, two) => (String(one[1]) < String(two[1]) ? -1 : 1)),
  );
  assert.equal(card.effect!.diff, patchContent);
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(record.result!["stagedToIndex"], false);
  assert.deepEqual((record.result!["appliedFiles"] as string[]).toSorted(), [
    "a.txt",
    "b.txt",
    "bin",
    "dir/c.txt",
    "dir/moved b.txt",
    "new file.txt",
  ]);
  assert.equal(await Deno.readTextFile(`${path}/a.txt`), "1\n2\n3\n4\n5\nsix\n7\n8\n");
  assert.deepEqual((await lab.state(path)).index, before.index);
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("the person's switch decides about the index, and another choice is another card", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  const patchContent = await patchOf(
    lab,
    path,
    () => lab.box.write(path, { "dir/c.txt": "patched\n" }),
  );
  const before = await lab.state(path);
  const { previewId } = await lab.propose(path, "patch", { patchContent });
  const plain = await lab.card(previewId);
  const staged = await lab.card(previewId, { applyToIndex: true });
  assert.notEqual(plain.digest, staged.digest);
  await assert.rejects(
    () => lab.approve(plain, { overrides: { applyToIndex: true } }),
    (error) => error instanceof Refusal && error.code === "card_changed",
  );
  const record = await lab.approve(staged);
  assert.equal(record.result!["stagedToIndex"], true);
  assert.equal(await lab.box.git(path, "status", "--porcelain"), "M  dir/c.txt\n");
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
  // The agent asks for the index, the person says no.
  const record2 = await lab.run(path, "patch", { patchContent, applyToIndex: true }, {
    applyToIndex: false,
  });
  assert.equal(record2.result!["stagedToIndex"], false);
  assert.equal(await lab.box.git(path, "status", "--porcelain"), " M dir/c.txt\n");
});

Deno.test("the card says where hunks really land, and a patch that does not apply touches nothing", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  const patchContent = await patchOf(
    lab,
    path,
    () => lab.box.write(path, { "a.txt": "1\n2\n3\n4\nfive\n6\n7\n8\n" }),
  );
  await lab.box.write(path, { "a.txt": "0\n0\n1\n2\n3\n4\n5\n6\n7\n8\n" });
  const card = await lab.show(path, "patch", { patchContent });
  assert.deepEqual(card.effect!.details["places"], [
    "Hunk #1 succeeded at 4 (offset 2 lines).",
  ]);
  await lab.box.write(path, { "a.txt": "something else\n" });
  assert.deepEqual(
    await lab.refused(path, "patch", {
      patchContent: patchContent + newFile("also.txt"),
    }),
    ["does_not_apply"],
  );
  assert.deepEqual(await lab.refused(path, "patch", { patchContent: "no patch at all\n" }), [
    "unreadable_patch",
  ]);
});

Deno.test("paths out of the work tree or into a git directory are refused, by git and by own code", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  const bad = [
    "a/../../x",
    "../x",
    ".git/hooks/pre-commit",
    ".GIT/config",
    ".git./config",
    "dir/.git/config",
    "GIT~1/config",
  ];
  for (const name of bad) {
    const codes = await lab.refused(path, "patch", { patchContent: newFile(name) });
    assert(codes.some((code) => /path_outside|unreadable_patch/.test(code)), `${name}: ${codes}`);
  }
  for (
    const patchContent of [
      "--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-x\n+y\n",
      `diff --git a/a.txt b/x\nsimilarity index 100%\nrename from a.txt\nrename to ../x\n`,
      `diff --git a/x b/a.txt\nsimilarity index 100%\ncopy from ../../secret\ncopy to stolen.txt\n`,
      `diff --git "a/\\056\\056/x" "b/\\056\\056/x"\nnew file mode 100644\n--- /dev/null\n+++ "b/\\056\\056/x"\n@@ -0,0 +1 @@\n+x\n`,
    ]
  ) {
    const codes = await lab.refused(path, "patch", { patchContent });
    assert(
      codes.some((code) => /path_outside|unreadable_patch|does_not_apply/.test(code)),
      `${patchContent}: ${codes}`,
    );
  }
  // The control: with --unsafe-paths git writes outside.
  const outside = `${box.root}/plain`;
  await Deno.mkdir(outside);
  const unsafe = await box.tryGit(outside, ["apply", "--unsafe-paths", "-"], {
    stdin: newFile("../escaped.txt"),
  });
  assert(
    unsafe.code === 0 && await Deno.readTextFile(`${box.root}/escaped.txt`) === "x\n",
    unsafe.stderr,
  );
});

Deno.test("a removed line that looks like a header is no header", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  const patchContent = await patchOf(
    lab,
    path,
    () => lab.box.write(path, { "b.txt": "rest\n-- ../../etc/passwd\n" }),
  );
  assert.match(patchContent, /^--- an odd line$/m);
  assert.match(patchContent, /^\+-- \.\.\/\.\.\/etc\/passwd$/m);
  const back = await patchOf(lab, path, async () => {
    await lab.box.write(path, { "b.txt": "-- ../../etc/passwd\n" });
    await lab.box.git(path, "commit", "-q", "-a", "-m", "x");
    await lab.box.write(path, { "b.txt": "gone\n" });
  });
  assert.match(back, /^--- \.\.\/\.\.\/etc\/passwd$/m);
  assert.equal((await lab.run(path, "patch", { patchContent: back })).status, "completed");
});

Deno.test("a patch cannot write through a link, whether the link is in it, there before, or put there after the card", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  const outside = `${box.root}/outside`;
  await Deno.mkdir(outside);
  const link =
    `diff --git a/nl b/nl\nnew file mode 120000\n--- /dev/null\n+++ b/nl\n@@ -0,0 +1 @@\n+../outside\n\\ No newline at end of file\n`;
  assert.deepEqual(
    await lab.refused(path, "patch", { patchContent: link + newFile("nl/x") }),
    ["does_not_apply"],
  );
  await Deno.symlink(outside, `${path}/there`);
  assert.deepEqual(
    await lab.refused(path, "patch", { patchContent: newFile("there/x") }),
    ["beyond_link"],
  );
  const card = await lab.show(path, "patch", { patchContent: newFile("later/x") });
  await Deno.symlink(outside, `${path}/later`);
  const before = await lab.state(path);
  await assert.rejects(() => lab.approve(card), Refusal);
  assert.deepEqual(await lab.state(path), before);
  assert.deepEqual([...Deno.readDirSync(outside)], []);
});

Deno.test("a patch that changes what runs later asks for typed words and names the files", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  const arming: [string, string][] = [
    [newFile(".gitattributes", "*.txt filter=evil"), ".gitattributes"],
    [newFile(".gitmodules", "[submodule]"), ".gitmodules"],
    [newFile(".husky/pre-commit"), ".husky/pre-commit"],
    [newFile(".vscode/tasks.json", "{}"), ".vscode/tasks.json"],
    [newFile(".mcp.json", "{}"), ".mcp.json"],
    [newFile("docs/CLAUDE.md"), "docs/CLAUDE.md"],
    [newFile("run.sh", "#!/bin/sh", "100755"), "run.sh"],
    [newFile("pw", "/etc/passwd", "120000"), "pw"],
    ["diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n", "a.txt"],
    [
      "diff --git a/dir/c.txt b/package.json\nsimilarity index 100%\nrename from dir/c.txt\nrename to package.json\n",
      "package.json",
    ],
  ];
  for (const [patchContent, name] of arming) {
    const card = await lab.show(path, "patch", { patchContent });
    assert.deepEqual(card.blockers, [], name);
    assert.equal(card.words, "apply patch", name);
    const named = card.warnings.filter(({ code }) => code === "changes_what_runs_later");
    assert(named.some(({ paths }) => paths!.includes(name)), name);
    await assert.rejects(() => lab.approve(card, { words: null }), Refusal);
    lab.service.cancel(card.previewId, "test-agent", null);
  }
  const before = await lab.state(path);
  const record = await lab.run(path, "patch", { patchContent: arming[7]![0] });
  assert.equal(record.status, "completed");
  assert.equal(await Deno.readLink(`${path}/pw`), "/etc/passwd\n");
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("what a binary patch would make is limited, not what it says in text", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  const bomb = await patchOf(
    lab,
    path,
    () => box.write(path, { "bomb": new Uint8Array(80 * 1024 * 1024) }),
  );
  assert(bomb.length < 2_000_000);
  assert.deepEqual(await lab.refused(path, "patch", { patchContent: bomb }), ["patch_too_large"]);

  // A delta: a few bytes that say "copy" again and again.
  const base = new Uint8Array(1_000_000);
  crypto.getRandomValues(base.subarray(0, 65_536));
  await box.commit(path, "A base", { "base.bin": base });
  const small = await patchOf(lab, path, async () => {
    const changed = base.slice();
    changed[10] = (changed[10]! + 1) & 0xff;
    await box.write(path, { "base.bin": changed });
  });
  assert.match(small, /^delta \d+$/m);
  const text = readPatchText(small, deltaResultSize);
  assert.equal(text.unreadable, false);
  assert(text.binaryBytes > 2_000_000, `both directions make a million bytes: ${text.binaryBytes}`);
  assert.equal((await lab.run(path, "patch", { patchContent: small })).status, "completed");
  const broken = small.replace(/^delta (\d+)\n./m, "delta $1\n!");
  assert.deepEqual(await lab.refused(path, "patch", { patchContent: broken }), [
    "unreadable_patch",
  ]);
});

Deno.test("settings for apply and a broken filter change nothing of what was shown; filters of the repository wait for the yes", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  await box.git(path, "config", "apply.whitespace", "fix");
  await box.git(path, "config", "apply.ignoreWhitespace", "change");
  const evil = await box.evil();
  await box.git(path, "config", "filter.mine.clean", evil.cat);
  await box.git(path, "config", "filter.mine.smudge", evil.cat);
  await Deno.writeTextFile(`${path}/.git/info/attributes`, "a.txt filter=mine\n");
  const patchContent = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-1\n+1 with blanks   \n 2\n";
  const card = await lab.show(path, "patch", { patchContent });
  assert.deepEqual(card.blockers, []);
  assert.equal(await evil.ran(), false, "a filter ran before anybody approved");
  assert.equal((await lab.approve(card)).status, "completed");
  assert.equal(await evil.ran(), true);
  assert.match(await Deno.readTextFile(`${path}/a.txt`), /^1 with blanks {3}\n2\n/);
});

Deno.test("line ends: a patch with plain ones applies to a work tree with the other kind", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.git(path, "config", "core.autocrlf", "true");
  await box.commit(path, "First", { "w.txt": "one\r\ntwo\r\nthree\r\n" });
  const patchContent = "--- a/w.txt\n+++ b/w.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
  await lab.done(path, "patch", { patchContent });
  assert.equal(await Deno.readTextFile(`${path}/w.txt`), "one\r\nTWO\r\nthree\r\n");
});

Deno.test("what no restore point could bring back is not patched: ignored files, other repositories", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  await box.write(path, { "x.log": "one\n" });
  const log = "--- a/x.log\n+++ b/x.log\n@@ -1 +1 @@\n-one\n+two\n";
  assert.deepEqual(await lab.refused(path, "patch", { patchContent: log }), ["ignored_file"]);
  assert.equal(
    (await lab.run(path, "patch", { patchContent: newFile("y.log") })).status,
    "completed",
  );
  const inner = await box.repo("inner");
  await box.commit(inner, "Inner", { "i.txt": "i\n" });
  await box.git(path, "submodule", "add", "-q", inner, "sub");
  const into = "--- a/sub/i.txt\n+++ b/sub/i.txt\n@@ -1 +1 @@\n-i\n+j\n";
  assert.deepEqual(await lab.refused(path, "patch", { patchContent: into }), [
    "inside_other_repository",
  ]);
  // The control: plain git writes into the submodule.
  assert.equal((await box.tryGit(path, ["apply", "-"], { stdin: into })).code, 0);
  assert.equal(await Deno.readTextFile(`${path}/sub/i.txt`), "j\n");
  const bare = await box.repo("bare.git", "--bare");
  assert((await lab.refused(bare, "patch", { patchContent: log })).includes("bare_repository"));
});

Deno.test("an edit of another file leaves the card good", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  const card = await lab.show(path, "patch", {
    patchContent: "--- a/dir/c.txt\n+++ b/dir/c.txt\n@@ -1 +1 @@\n-c\n+C\n",
  });
  await lab.box.write(path, { "a.txt": "somebody works here\n" });
  assert.equal((await lab.approve(card)).status, "completed");
  assert.equal(await Deno.readTextFile(`${path}/a.txt`), "somebody works here\n");
});
