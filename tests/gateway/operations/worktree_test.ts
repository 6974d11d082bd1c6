import assert from "node:assert/strict";
import { placeProblems } from "../../../gateway/server/executor/worktree.ts";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { GatewayLab, hook } from "../harness.ts";

async function start(lab: GatewayLab): Promise<{ path: string; first: string; second: string }> {
  const path = await lab.box.repo();
  const first = await lab.box.commit(path, "First", { "a.txt": "a\n", "b.txt": "b\n" });
  const second = await lab.box.commit(path, "Second", { "a.txt": "aa\n", "new.txt": "n\n" });
  return { path, first, second };
}

Deno.test("a work tree is added beside the repository, for a new branch or one that exists", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path, first, second } = await start(lab);
  const before = await lab.state(path);
  const card = await lab.show(path, "worktree", { branch: "topic/one" });
  assert.equal(card.effect!.details["worktreePath"], `${path}-topic-one`);
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(record.result!["worktreePath"], `${path}-topic-one`);
  assert.equal(record.result!["branch"], "topic/one");
  assert.equal((await box.git(`${path}-topic-one`, "rev-parse", "HEAD")).trim(), second);
  const after = await lab.state(path);
  assert.deepEqual(after.files, before.files);
  assert.equal(after.head, before.head);

  await box.git(path, "branch", "old", "HEAD~1");
  const named = `${box.root}/a place/of mine`;
  await Deno.mkdir(`${box.root}/a place`);
  await lab.done(path, "worktree", { branch: "old", path: `${named}/` });
  assert.equal((await box.git(named, "rev-parse", "HEAD")).trim(), first);
  // From a linked work tree the default place is still beside the main one.
  const fromLinked = await lab.show(named, "worktree", { branch: "third" });
  assert.equal(fromLinked.effect!.details["worktreePath"], `${path}-third`);
});

Deno.test("a work tree is refused where its branch or its place is taken, unsafe or swapped", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await start(lab);
  const worktree = (members: Record<string, unknown>) => lab.refused(path, "worktree", members);
  assert.deepEqual(await worktree({ branch: "main" }), ["checked_out"]);
  await Deno.mkdir(`${path}-taken`);
  assert.deepEqual(await worktree({ branch: "taken" }), ["place_taken"]);
  assert.deepEqual(await worktree({ branch: "x", path: `${path}/inside` }), ["inside_repository"]);
  assert.deepEqual(await worktree({ branch: "x", path: `${path}/.git/inside` }), ["bad_path"]);
  assert.deepEqual(await worktree({ branch: "x", path: `${box.root}/no/parent` }), ["no_parent"]);
  assert.deepEqual(await worktree({ branch: "main/x" }), ["name_taken"]);
  const separate = `${box.root}/separate`;
  await box.git(
    box.root,
    "clone",
    "-q",
    "--separate-git-dir",
    `${box.root}/gitdir`,
    path,
    separate,
  );
  assert.deepEqual(
    await lab.refused(separate, "worktree", { branch: "x", path: `${box.root}/gitdir/wt` }),
    ["inside_repository"],
  );
  const unborn = await box.repo("unborn");
  assert((await lab.refused(unborn, "worktree", { branch: "x" })).includes("unborn"));
  // A branch that is being rebased in another work tree is in use although no HEAD names it.
  await box.git(path, "branch", "busy");
  await box.git(path, "worktree", "add", "-q", `${box.root}/busy`, "busy");
  await box.commit(`${box.root}/busy`, "Clash", { "a.txt": "clash\n" });
  await box.commit(path, "Main", { "a.txt": "main\n" });
  await box.tryGit(`${box.root}/busy`, ["rebase", "main"]);
  assert.deepEqual(await worktree({ branch: "busy", path: `${box.root}/elsewhere` }), [
    "checked_out",
  ]);

  // The folder above the place becomes another one between card and approval.
  await Deno.mkdir(`${box.root}/parent`);
  const card = await lab.show(path, "worktree", { branch: "x", path: `${box.root}/parent/x` });
  await Deno.rename(`${box.root}/parent`, `${box.root}/moved`);
  await Deno.mkdir(`${box.root}/trap`);
  await Deno.symlink(`${box.root}/trap`, `${box.root}/parent`);
  await assert.rejects(() => lab.approve(card), Refusal);
  assert.deepEqual([...Deno.readDirSync(`${box.root}/trap`)], []);
});

Deno.test("a failing checkout leaves neither branch nor folder of the work tree", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await start(lab);
  await box.git(path, "config", "filter.broken.smudge", "false");
  await box.git(path, "config", "filter.broken.required", "true");
  await Deno.writeTextFile(`${path}/.git/info/attributes`, "a.txt filter=broken\n");
  const before = await lab.state(path);
  const record = await lab.run(path, "worktree", { branch: "topic" });
  assert.equal(record.status, "failed", JSON.stringify(record.result));
  assert.deepEqual(await lab.state(path), before);
  await assert.rejects(() => Deno.lstat(`${path}-topic`), Deno.errors.NotFound);
  assert.equal((await box.git(path, "worktree", "list")).trim().split("\n").length, 1);
});

Deno.test("a post-checkout hook that fails leaves the work tree whole", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await start(lab);
  await hook(path, "post-checkout", "echo cannot install >&2; exit 3");
  const record = await lab.run(path, "worktree", { branch: "topic" });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.match(String(record.result!["message"]), /cannot install/);
  assert.equal(await Deno.readTextFile(`${path}-topic/a.txt`), "aa\n");
});

Deno.test("places on another platform are judged by its own rules", () => {
  const codes = (path: string, taken: string[] = []) =>
    placeProblems(path, taken, true).map(({ code }) => code);
  assert.deepEqual(codes("relative\\x"), ["bad_path"]);
  assert.deepEqual(codes("C:\\repo\\..\\x"), ["bad_path"]);
  assert.deepEqual(codes("C:\\repo\\.GIT\\x"), ["bad_path"]);
  assert.deepEqual(codes("C:\\repo\\git~1\\x"), ["bad_path"]);
  assert.deepEqual(codes("C:\\nowhere at all\\x"), ["no_parent"]);
});
