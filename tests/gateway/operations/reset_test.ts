import assert from "node:assert/strict";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { GatewayLab } from "../harness.ts";

async function threeCommits(lab: GatewayLab): Promise<{ path: string; oids: string[] }> {
  const path = await lab.box.repo();
  const oids = [
    await lab.box.commit(path, "First", { "a.txt": "one\n", "dir/b.txt": "b\n" }),
    await lab.box.commit(path, "Second", { "a.txt": "two\n", "new.txt": "new\n" }),
    await lab.box.commit(path, "Third", { "a.txt": "three\n" }),
  ];
  return { path, oids };
}

Deno.test("a soft reset moves the branch and leaves index and files alone", async () => {
  await using lab = await GatewayLab.create();
  const { path, oids } = await threeCommits(lab);
  await lab.box.write(path, { "a.txt": "staged\n", "untracked.txt": "u\n" });
  await lab.box.git(path, "add", "a.txt");
  const before = await lab.state(path);
  const card = await lab.show(path, "reset", { targetRef: "HEAD~1", mode: "soft" });
  assert.equal(card.words, null);
  assert.deepEqual(card.effect!.refs, [{
    ref: "refs/heads/main",
    before: oids[2],
    after: oids[1],
  }]);
  assert.deepEqual(card.effect!.commits.map(({ subject, fate }) => [subject, fate]), [
    ["Third", "lost"],
  ]);
  assert.equal(card.effect!.details["commitsOnNoOtherBranch"], 1);
  const record = await lab.approve(card);
  assert.equal(record.status, "completed");
  assert.equal(record.result!["newHeadSha"], oids[1]);
  assert.equal(record.result!["mode"], "soft");
  assert.deepEqual(record.result!["restorePoint"], {
    operation: "reset",
    branchRef: "refs/heads/main",
    beforeCommit: oids[2],
    afterCommit: oids[1],
    canUndo: true,
  });
  const after = await lab.state(path);
  assert.deepEqual(after.files, before.files);
  assert.deepEqual(after.index, before.index);
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("a mixed reset says which staged content is lost, and undo brings it back", async () => {
  await using lab = await GatewayLab.create();
  const { path, oids } = await threeCommits(lab);
  await lab.box.write(path, { "a.txt": "staged\n" });
  await lab.box.git(path, "add", "a.txt");
  await lab.box.write(path, { "a.txt": "and changed again\n" });
  const before = await lab.state(path);
  const card = await lab.show(path, "reset", { targetRef: oids[0]! });
  assert.deepEqual(
    card.warnings.filter(({ code }) => code === "staged_content_lost").map(({ paths }) => paths),
    [["a.txt"]],
  );
  assert.equal(card.effect!.details["unstaged"], 1);
  const record = await lab.approve(card);
  assert.equal(record.status, "completed");
  assert.equal(await Deno.readTextFile(`${path}/a.txt`), "and changed again\n");
  assert.equal((await lab.box.git(path, "diff", "--cached", "--name-only")).trim(), "");
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("a hard reset asks for typed words, shows what is overwritten, and can be undone", async () => {
  await using lab = await GatewayLab.create();
  const { path, oids } = await threeCommits(lab);
  await lab.box.write(path, { "a.txt": "precious\n", "dir/b.txt": "edited\n", "mine.txt": "m\n" });
  await lab.box.git(path, "add", "dir/b.txt");
  const before = await lab.state(path);
  const card = await lab.show(path, "reset", { targetRef: "HEAD~2", mode: "hard" });
  assert.equal(card.words, "reset main");
  assert.equal(card.destructive, true);
  assert.equal(card.risk, "high");
  assert.deepEqual(
    card.effect!.files.map(({ path }) => path).sort(),
    ["a.txt", "dir/b.txt", "new.txt"],
  );
  // The diff adds what will be gone: the list says so.
  const gone = card.effect!.files.find((file) => file.path === "new.txt");
  assert.deepEqual([gone?.status, gone?.note], ["A", "not in the target: the file is removed"]);
  assert.match(card.effect!.diff!, /\+precious/);
  assert(card.warnings.some(({ code }) => code === "uncommitted_lost"));
  for (const words of [null, "", "reset", "reset  mains", "RESET main"]) {
    await assert.rejects(
      () => lab.approve(card, { words }),
      (error) => error instanceof Refusal && error.code === "words_missing",
    );
  }
  assert.deepEqual(await lab.state(path), before);
  const record = await lab.approve(card, { words: "  reset   main " });
  assert.equal(record.status, "completed");
  assert.equal(await Deno.readTextFile(`${path}/a.txt`), "one\n");
  assert.equal((await lab.box.git(path, "rev-parse", "HEAD")).trim(), oids[0]);
  // Untracked files that are in nobody's way stay.
  assert.equal(await Deno.readTextFile(`${path}/mine.txt`), "m\n");
  const after = await lab.state(path);
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
  await lab.redo(path);
  assert.deepEqual(await lab.state(path), after);
  await lab.applyPoint(path, String(record.result!["restorePointId"]));
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("untracked files in the way of a hard reset are listed and come back; ignored ones stop it", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await threeCommits(lab);
  await lab.box.git(path, "rm", "-q", "new.txt");
  await lab.box.commit(path, "Without new.txt");
  await lab.box.write(path, { "new.txt": "an untracked file of mine\n" });
  const before = await lab.state(path);
  const card = await lab.show(path, "reset", { targetRef: "HEAD~1", mode: "hard" });
  const lost = card.effect!.files.find((file) => file.path === "new.txt" && file.status === "?");
  assert.match(lost!.note!, /untracked/);
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(await Deno.readTextFile(`${path}/new.txt`), "new\n");
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);

  await Deno.writeTextFile(`${path}/.git/info/exclude`, "new.txt\n");
  // The control: plain git overwrites an ignored file without a word.
  const copy = `${lab.box.root}/copy`;
  await lab.box.git(lab.box.root, "clone", "-q", path, copy);
  await Deno.writeTextFile(`${copy}/.git/info/exclude`, "new.txt\n");
  await Deno.writeTextFile(`${copy}/new.txt`, "an ignored file of mine\n");
  await lab.box.git(copy, "reset", "-q", "--hard", "HEAD~1");
  assert.equal(await Deno.readTextFile(`${copy}/new.txt`), "new\n");

  const codes = await lab.refused(path, "reset", { targetRef: "HEAD~1", mode: "hard" });
  assert.deepEqual(codes, ["ignored_in_the_way"]);
});

Deno.test("a reset is refused for names, states and work trees that do not allow it", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await threeCommits(lab);
  assert.deepEqual(await lab.refused(path, "reset", { targetRef: "nowhere" }), ["unknown_ref"]);
  await assert.rejects(() => lab.propose(path, "reset", { targetRef: "--hard" }), Refusal);

  await Deno.writeTextFile(`${path}/.git/index.lock`, "");
  assert.deepEqual(await lab.refused(path, "reset", { targetRef: "HEAD" }), ["index_locked"]);
  await Deno.remove(`${path}/.git/index.lock`);

  await box.git(path, "switch", "-q", "-c", "other", "HEAD~1");
  await box.commit(path, "Other", { "a.txt": "other\n" });
  await box.tryGit(path, ["merge", "main"]);
  assert.deepEqual(
    await lab.refused(path, "reset", { targetRef: "HEAD", mode: "hard" }),
    ["operation_in_progress"],
  );
  await box.git(path, "merge", "--abort");

  const unborn = await box.repo("unborn");
  assert.deepEqual(await lab.refused(unborn, "reset", { targetRef: "HEAD" }), [
    "unknown_ref",
    "unborn",
  ]);
  const bare = await box.repo("bare.git", "--bare");
  assert((await lab.refused(bare, "reset", { targetRef: "HEAD" })).includes("bare_repository"));
});

Deno.test("a reset works on a detached HEAD, in a linked work tree and with long ids", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await box.repo("sha256", "--object-format=sha256");
  const first = await box.commit(path, "First", { "a.txt": "one\n" });
  assert.equal(first.length, 64);
  await box.commit(path, "Second", { "a.txt": "two\n" });
  await box.git(path, "switch", "-q", "--detach");
  const before = await lab.state(path);
  const card = await lab.show(path, "reset", { targetRef: "HEAD~1", mode: "hard" });
  assert.equal(card.words, "reset HEAD");
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal((await box.git(path, "rev-parse", "HEAD")).trim(), first);
  // Only the detached HEAD moved, and no branch is named as moved.
  assert.equal((await box.git(path, "rev-parse", "main")).trim() === first, false);
  assert.equal(record.result!["restorePoint"], undefined);
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);

  await box.git(path, "worktree", "add", "-q", "-b", "side", `${box.root}/linked`, "main");
  const linked = `${box.root}/linked`;
  const main = await lab.state(path);
  await box.write(linked, { "a.txt": "dirty\n" });
  const linkedBefore = await lab.state(linked);
  await lab.done(linked, "reset", { targetRef: first, mode: "hard" });
  assert.equal(await Deno.readTextFile(`${linked}/a.txt`), "one\n");
  assert.deepEqual((await lab.state(path)).files, main.files);
  await lab.undo(linked);
  assert.deepEqual(await lab.state(linked), linkedBefore);
});

Deno.test("in a partial clone the card names files without fetching them, and the approved reset may fetch", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path: source, oids } = await threeCommits(lab);
  await box.git(source, "config", "uploadpack.allowFilter", "true");
  await box.git(source, "config", "uploadpack.allowAnySHA1InWant", "true");
  const path = `${box.root}/partial`;
  await box.git(box.root, "clone", "-q", "--filter=blob:none", `file://${source}`, path);
  const objects = async () =>
    (await box.git(path, "count-objects", "-v")).match(/in-pack: \d+/)![0];
  const before = await objects();
  const card = await lab.show(path, "reset", { targetRef: oids[0]!, mode: "hard" });
  assert.deepEqual(card.blockers, []);
  assert.deepEqual(card.effect!.files.map(({ path }) => path).sort(), ["a.txt", "new.txt"]);
  assert.equal(await objects(), before);
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(await Deno.readTextFile(`${path}/a.txt`), "one\n");
});

Deno.test("a hard reset leaves what is checked out in submodules alone, whatever the settings say", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const inner = await box.repo("inner");
  await box.commit(inner, "Inner", { "i.txt": "i\n" });
  const path = await box.repo();
  await box.git(path, "submodule", "add", "-q", inner, "sub");
  await box.commit(path, "With submodule");
  await box.commit(path, "Next", { "a.txt": "a\n" });
  await box.git(path, "config", "submodule.recurse", "true");
  await box.write(`${path}/sub`, { "i.txt": "work in the submodule\n" });
  // The control: plain git follows the setting and loses it.
  const copy = `${box.root}/copy`;
  await box.git(box.root, "clone", "-q", "--recurse-submodules", path, copy);
  await box.git(copy, "config", "submodule.recurse", "true");
  await box.write(`${copy}/sub`, { "i.txt": "work in the submodule\n" });
  await box.git(copy, "reset", "-q", "--hard", "HEAD~1");
  assert.equal(await Deno.readTextFile(`${copy}/sub/i.txt`), "i\n");

  const record = await lab.run(path, "reset", { targetRef: "HEAD~1", mode: "hard" });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(await Deno.readTextFile(`${path}/sub/i.txt`), "work in the submodule\n");
});
