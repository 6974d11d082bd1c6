import assert from "node:assert/strict";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { GatewayLab } from "../harness.ts";

async function messy(lab: GatewayLab): Promise<string> {
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "First", {
    "a.txt": "a\n",
    "b.txt": "b\n",
    "dir/c.txt": "c\n",
    "dir/deep/d.txt": "d\n",
    "old name.txt": "a file that is long enough to be found again under another name\n",
    ".gitignore": "*.log\n",
  });
  return path;
}

Deno.test("discarding takes staged, unstaged, deleted and untracked files back, and undo brings all of it back", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await messy(lab);
  await box.write(path, {
    "a.txt": "staged\n",
    "dir/new.txt": "untracked\n",
    "dir/x.log": "log\n",
  });
  await box.git(path, "add", "a.txt");
  await box.write(path, { "a.txt": "staged and changed again\n", "b.txt": "kept\n" });
  await Deno.remove(`${path}/dir/c.txt`);
  await Deno.chmod(`${path}/dir/deep/d.txt`, 0o755);
  await box.write(path, { "dir/announced.txt": "intent to add\n" });
  await box.git(path, "add", "-N", "dir/announced.txt");
  const before = await lab.state(path);
  const card = await lab.show(path, "discard", { paths: ["a.txt", "dir/"] });
  assert.equal(card.words, "discard 5 files");
  assert.equal(card.destructive, true);
  assert.deepEqual(card.effect!.files.map(({ path, status }) => `${status} ${path}`).sort(), [
    "? dir/new.txt",
    "A dir/announced.txt",
    "D dir/c.txt",
    "M a.txt",
    "M dir/deep/d.txt",
  ]);
  assert.match(card.effect!.diff!, /\+staged and changed again/);
  assert.deepEqual(
    card.warnings.find(({ code }) => code === "staged_content_lost")?.paths,
    ["a.txt"],
  );
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.deepEqual((record.result!["pathsDiscarded"] as string[]).toSorted(), [
    "a.txt",
    "dir/announced.txt",
    "dir/c.txt",
    "dir/deep/d.txt",
    "dir/new.txt",
  ]);
  assert.equal(typeof record.result!["restorePointId"], "string");
  assert.equal(
    await box.git(path, "status", "--porcelain", "--untracked-files=all", "--ignored"),
    " M b.txt\n!! dir/x.log\n",
  );
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("a whole folder of untracked files goes, with the folders that become empty", async () => {
  await using lab = await GatewayLab.create();
  const path = await messy(lab);
  await lab.box.write(path, { "junk/one/x.txt": "x\n", "junk/two.txt": "y\n" });
  const before = await lab.state(path);
  await lab.done(path, "discard", { paths: ["junk"] });
  await assert.rejects(() => Deno.lstat(`${path}/junk`), Deno.errors.NotFound);
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("everything can be named at once, and the words count files", async () => {
  await using lab = await GatewayLab.create();
  const path = await messy(lab);
  await lab.box.write(path, { "a.txt": "x\n", "n.txt": "n\n" });
  const card = await lab.show(path, "discard", { paths: ["."] });
  assert.equal(card.words, "discard 2 files");
  await assert.rejects(() => lab.approve(card, { words: "discard 1 file" }), Refusal);
  assert.equal((await lab.approve(card)).status, "completed");
  assert.equal(await lab.box.git(path, "status", "--porcelain"), "");
});

Deno.test("a staged rename is two paths: each is discarded by its own name", async () => {
  await using lab = await GatewayLab.create();
  const path = await messy(lab);
  await lab.box.git(path, "mv", "old name.txt", "new name.txt");
  const before = await lab.state(path);
  await lab.done(path, "discard", { paths: ["new name.txt"] });
  assert.equal(await lab.box.git(path, "status", "--porcelain"), 'D  "old name.txt"\n');
  await lab.done(path, "discard", { paths: ["old name.txt"] });
  assert.equal(await lab.box.git(path, "status", "--porcelain"), "");
  await lab.undo(path);
  await lab.applyPoint(
    path,
    (await lab.service.list(["completed"])).proposals.at(-1)!.result!.restorePointId!,
  );
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("discarding is refused for what is not there, other repositories, conflicts and unborn branches", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await messy(lab);
  assert.deepEqual(await lab.refused(path, "discard", { paths: ["a.txt", "nowhere"] }), [
    "nothing_to_discard",
  ]);
  await box.write(path, { "x.log": "ignored\n" });
  assert.deepEqual(await lab.refused(path, "discard", { paths: ["x.log"] }), [
    "nothing_to_discard",
  ]);
  const nested = await box.repo("repo/nested");
  await box.commit(nested, "Inside", { "n.txt": "n\n" });
  assert.deepEqual(await lab.refused(path, "discard", { paths: ["nested"] }), [
    "nested_repository",
  ]);
  const inner = await box.repo("inner");
  await box.commit(inner, "Inner", { "i.txt": "i\n" });
  await box.git(path, "submodule", "add", "-q", inner, "sub");
  await box.git(path, "add", ".gitmodules", "sub");
  await box.git(path, "commit", "-q", "-m", "Submodule");
  await box.write(`${path}/sub`, { "i.txt": "changed inside\n" });
  assert.deepEqual(await lab.refused(path, "discard", { paths: ["sub"] }), ["submodule"]);
  assert.equal(await Deno.readTextFile(`${path}/sub/i.txt`), "changed inside\n");
  await box.git(`${path}/sub`, "checkout", "-q", "--", ".");

  await box.git(path, "switch", "-q", "-c", "other");
  await box.commit(path, "Other", { "a.txt": "other\n" });
  await box.git(path, "switch", "-q", "main");
  await box.commit(path, "Main", { "a.txt": "main\n" });
  await box.tryGit(path, ["merge", "other"]);
  const codes = await lab.refused(path, "discard", { paths: ["a.txt"] });
  assert(codes.includes("operation_in_progress") && codes.includes("conflicted"), String(codes));

  const unborn = await box.repo("unborn");
  await box.write(unborn, { "s.txt": "staged\n" });
  await box.git(unborn, "add", "s.txt");
  assert.deepEqual(await lab.refused(unborn, "discard", { paths: ["s.txt"] }), ["unborn"]);
  await assert.rejects(
    async () =>
      await lab.propose(await box.repo("b.git", "--bare"), "discard", { paths: ["../x"] }),
    Refusal,
  );
});

Deno.test("discard paths that lead out of the work tree or into a git directory are refused at admission", async () => {
  await using lab = await GatewayLab.create();
  const path = await messy(lab);
  for (
    const bad of [
      "../x",
      "/etc/passwd",
      "dir/../../x",
      ".git/config",
      ".GIT/hooks/x",
      ".git ",
      "GIT~1/config",
      "dir/.git/x",
      "",
      "a\0b",
    ]
  ) {
    await assert.rejects(
      () => lab.propose(path, "discard", { paths: [bad] }),
      (error) => error instanceof Refusal && error.status === 422,
      bad,
    );
  }
  // Magic is literal: no file has that name.
  for (const magic of [":(top)a.txt", ":!a.txt", ":/", "*.txt", ":(exclude)*"]) {
    await lab.box.write(path, { "a.txt": "changed\n" });
    assert.deepEqual(await lab.refused(path, "discard", { paths: [magic] }), [
      "nothing_to_discard",
    ]);
  }
});

Deno.test("a folder where a file was: its untracked files go, and an ignored one in it stops everything", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await messy(lab);
  await Deno.remove(`${path}/a.txt`);
  await box.write(path, { "a.txt/inside.txt": "untracked\n" });
  const before = await lab.state(path);
  await lab.done(path, "discard", { paths: ["a.txt"] });
  assert.equal(await Deno.readTextFile(`${path}/a.txt`), "a\n");
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);

  await box.write(path, { "a.txt/precious.log": "ignored\n" });
  // The control: plain git removes the folder with everything in it.
  const copy = `${box.root}/copy`;
  await box.git(box.root, "clone", "-q", path, copy);
  await Deno.remove(`${copy}/a.txt`);
  await box.write(copy, { "a.txt/precious.log": "ignored\n" });
  await box.git(copy, "restore", "--source=HEAD", "--staged", "--worktree", "a.txt");
  assert.equal(await Deno.readTextFile(`${copy}/a.txt`), "a\n");

  assert.deepEqual(await lab.refused(path, "discard", { paths: ["a.txt"] }), [
    "ignored_in_the_way",
  ]);
  assert.equal(await Deno.readTextFile(`${path}/a.txt/precious.log`), "ignored\n");
});

Deno.test("an ignored file in the place of a tracked one that was staged as deleted is not overwritten", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "First", { ".env": "committed\n" });
  await box.git(path, "rm", "-q", "--cached", ".env");
  await box.write(path, { ".gitignore": ".env\n", ".env": "my secret of today\n" });
  assert.deepEqual(await lab.refused(path, "discard", { paths: [".env"] }), [
    "ignored_in_the_way",
  ]);
  assert.equal(await Deno.readTextFile(`${path}/.env`), "my secret of today\n");
});

Deno.test("a link where a folder was is never followed, and not removed unless it is named", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await messy(lab);
  const outside = `${box.root}/outside`;
  await box.write(outside, { "c.txt": "somebody else's\n", "deep/d.txt": "too\n" });
  await Deno.remove(`${path}/dir`, { recursive: true });
  await Deno.symlink(outside, `${path}/dir`);
  assert.deepEqual(await lab.refused(path, "discard", { paths: ["dir/c.txt"] }), [
    "link_in_the_way",
  ]);
  const before = await lab.state(path);
  await lab.done(path, "discard", { paths: ["dir"] });
  assert.equal((await Deno.lstat(`${path}/dir`)).isDirectory, true);
  assert.equal(await Deno.readTextFile(`${path}/dir/c.txt`), "c\n");
  assert.equal(await Deno.readTextFile(`${outside}/c.txt`), "somebody else's\n");
  assert.equal(await Deno.readTextFile(`${outside}/deep/d.txt`), "too\n");
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("what changed since the card was shown is not discarded: content, kind, case twins", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await messy(lab);
  const changes: [string, () => Promise<void>][] = [
    ["another content", () => box.write(path, { "a.txt": "something precious\n" })],
    ["a folder now", async () => {
      await Deno.remove(`${path}/a.txt`);
      await box.write(path, { "a.txt/x.txt": "x\n" });
    }],
    ["a link now", async () => {
      await Deno.remove(`${path}/a.txt`);
      await Deno.symlink("b.txt", `${path}/a.txt`);
    }],
    ["executable now", () => Deno.chmod(`${path}/a.txt`, 0o755)],
    ["staged now", async () => void await box.git(path, "add", "a.txt")],
  ];
  for (const [what, change] of changes) {
    await box.write(path, { "a.txt": "changed\n" });
    const card = await lab.show(path, "discard", { paths: ["a.txt"] });
    await change();
    const before = await lab.state(path);
    await assert.rejects(
      () => lab.approve(card),
      (error) => error instanceof Refusal && error.code === "card_changed",
      what,
    );
    assert.deepEqual(await lab.state(path), before, what);
    await Deno.remove(`${path}/a.txt`, { recursive: true });
    await box.git(path, "reset", "-q", "--hard");
    lab.service.cancel(card.previewId, "test-agent", null);
  }
  await box.write(path, { "A.TXT": "a twin\n", "a.txt": "changed\n" });
  await lab.done(path, "discard", { paths: ["a.txt"] });
  assert.equal(await Deno.readTextFile(`${path}/A.TXT`), "a twin\n");
  assert.equal(await Deno.readTextFile(`${path}/a.txt`), "a\n");
});

Deno.test("line ends and sparse checkouts come out as git would have them", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.git(path, "config", "core.autocrlf", "true");
  await box.commit(path, "First", { "crlf.txt": "one\r\ntwo\r\n", "far/x.txt": "x\r\n" });
  await box.write(path, { "crlf.txt": "changed\r\n" });
  await lab.done(path, "discard", { paths: ["crlf.txt"] });
  assert.equal(await Deno.readTextFile(`${path}/crlf.txt`), "one\r\ntwo\r\n");
  assert.equal(await box.git(path, "status", "--porcelain"), "");

  await box.git(path, "sparse-checkout", "set", "--no-cone", "/*", "!/far/");
  await assert.rejects(() => Deno.lstat(`${path}/far`));
  await box.write(path, { "crlf.txt": "changed again\r\n" });
  await lab.done(path, "discard", { paths: ["."] });
  assert.equal(await box.git(path, "status", "--porcelain"), "");
  await assert.rejects(() => Deno.lstat(`${path}/far`), "a file outside the sparse checkout came");
});

Deno.test("long lists of paths are no longer than a command line can take", async () => {
  await using lab = await GatewayLab.create();
  const path = await messy(lab);
  const folder = "f".repeat(200);
  const files: Record<string, string> = {};
  for (let i = 0; i < 1_200; i++) files[`${folder}/${i}.txt`] = `${i}\n`;
  await lab.box.write(path, files);
  const card = await lab.show(path, "discard", { paths: Object.keys(files) });
  assert.equal(card.effect!.filesTotal, 1_200);
  assert.deepEqual(card.blockers, []);
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal((record.result!["pathsDiscarded"] as string[]).length, 1_200);
  assert.equal(await lab.box.git(path, "status", "--porcelain"), "");
});
