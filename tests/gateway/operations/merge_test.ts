import assert from "node:assert/strict";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { GatewayLab, hook } from "../harness.ts";

/** main and feature have gone apart and merge cleanly; feature is one commit ahead of its base. */
async function apart(lab: GatewayLab): Promise<{ path: string; main: string; feature: string }> {
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n", "b.txt": "b\n" });
  await box.git(path, "switch", "-q", "-c", "feature");
  const feature = await box.commit(path, "Feature", {
    "a.txt": "1\n2\n3\n4\n5\n6\n7\neight\n",
    "f.txt": "f\n",
  });
  await box.git(path, "switch", "-q", "main");
  const main = await box.commit(path, "Main", { "a.txt": "one\n2\n3\n4\n5\n6\n7\n8\n" });
  return { path, main, feature };
}

const parents = async (lab: GatewayLab, path: string, rev: string) =>
  (await lab.box.git(path, "log", "-1", "--format=%P", rev)).trim().split(" ");

Deno.test("a merge makes the commit and the files that the card showed, and undo takes it back", async () => {
  await using lab = await GatewayLab.create();
  const { path, main, feature } = await apart(lab);
  await lab.box.write(path, { "untracked.txt": "u\n", "b.txt": "local change\n" });
  const before = await lab.state(path);
  const card = await lab.show(path, "merge", { sourceRef: "feature", targetRef: "main" });
  assert.deepEqual(card.blockers, []);
  assert.equal(card.effect!.details["kind"], "merge commit");
  assert.equal(card.effect!.details["message"], "Merge feature into main\n");
  // From main as it is to what main will be: the change of main itself is not among them.
  assert.deepEqual(card.effect!.files.map(({ path, status }) => `${status} ${path}`), [
    "M a.txt",
    "A f.txt",
  ]);
  assert.match(card.effect!.diff!, /-8\n\+eight/);
  assert.deepEqual(card.effect!.commits.map(({ oid, fate }) => [oid, fate]), [[feature, "merged"]]);
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  const result = record.result!;
  assert.deepEqual(await parents(lab, path, "main"), [main, feature]);
  assert.equal(result["mergeCommit"], (await lab.box.git(path, "rev-parse", "main")).trim());
  assert.equal(result["commitSha"], result["mergeCommit"]);
  assert.equal(result["changedByPrograms"], undefined);
  assert.deepEqual(result["conflicts"], []);
  assert.deepEqual(result["restorePoint"], {
    operation: "merge",
    branchRef: "refs/heads/main",
    beforeCommit: main,
    afterCommit: result["mergeCommit"],
    canUndo: true,
  });
  assert.equal(await Deno.readTextFile(`${path}/b.txt`), "local change\n");
  const after = await lab.state(path);
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
  await lab.redo(path);
  assert.deepEqual(await lab.state(path), after);
});

Deno.test("a squash makes one commit with one parent and lists what is in it", async () => {
  await using lab = await GatewayLab.create();
  const { path, main } = await apart(lab);
  const before = await lab.state(path);
  const card = await lab.show(path, "merge", {
    sourceRef: "feature",
    targetRef: "main",
    strategy: "squash",
  });
  assert.equal(card.effect!.details["kind"], "one new commit");
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.deepEqual(await parents(lab, path, "main"), [main]);
  assert.equal(
    await lab.box.git(path, "log", "-1", "--format=%B"),
    "Squash feature into main\n\n* Feature\n\n",
  );
  assert.deepEqual((await lab.state(path)).inProgress, []);
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("what only goes forward moves the branch, unless the user wants a merge commit", async () => {
  await using lab = await GatewayLab.create();
  const { path, feature } = await apart(lab);
  await lab.box.git(path, "switch", "-q", "-c", "old", "main~1");
  await lab.box.write(path, { "staged.txt": "s\n" });
  await lab.box.git(path, "add", "staged.txt");
  const card = await lab.show(path, "merge", { sourceRef: "feature", targetRef: "old" });
  assert.equal(card.effect!.details["kind"], "fast-forward");
  assert.deepEqual(card.effect!.refs[0]!.after, feature);
  const record = await lab.approve(card);
  assert.equal(record.result!["mergeCommit"], feature);
  assert.equal(await lab.box.git(path, "status", "--porcelain"), "A  staged.txt\n");
  await lab.undo(path);

  await lab.box.git(path, "config", "merge.ff", "false");
  await lab.box.git(path, "reset", "-q", "--hard");
  const other = await lab.show(path, "merge", { sourceRef: "feature", targetRef: "old" });
  assert.equal(other.effect!.details["kind"], "merge commit");
  assert.equal((await lab.approve(other)).status, "completed");
  assert.equal((await parents(lab, path, "old")).length, 2);
});

Deno.test("settings that would turn the merge into another one do not", async () => {
  await using lab = await GatewayLab.create();
  const { path, main, feature } = await apart(lab);
  for (
    const [key, value] of [
      ["branch.main.mergeOptions", "-s ours --no-commit --squash"],
      ["pull.twohead", "ours"],
      ["merge.log", "20"],
      ["merge.ff", "only"],
      ["merge.autoStash", "true"],
      ["commit.cleanup", "scissors"],
      ["merge.branchdesc", "true"],
    ] as const
  ) await lab.box.git(path, "config", key, value);
  await lab.done(path, "merge", { sourceRef: "feature", targetRef: "main" });
  assert.deepEqual(await parents(lab, path, "main"), [main, feature]);
  assert.equal(await lab.box.git(path, "show", "main:f.txt"), "f\n");
  assert.equal(await lab.box.git(path, "log", "-1", "--format=%B"), "Merge feature into main\n\n");
});

Deno.test("a branch that is checked out nowhere is merged without touching a file", async () => {
  await using lab = await GatewayLab.create();
  const { path, main, feature } = await apart(lab);
  await lab.box.git(path, "switch", "-q", "-c", "elsewhere");
  await lab.box.write(path, { "a.txt": "work in progress\n" });
  const before = await lab.state(path);
  const record = await lab.run(path, "merge", { sourceRef: "feature", targetRef: "main" });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.deepEqual(await parents(lab, path, "main"), [main, feature]);
  const after = await lab.state(path);
  assert.deepEqual(after.files, before.files);
  assert.deepEqual(after.index, before.index);
  assert.equal(after.head, before.head);
  assert.equal(
    await lab.box.git(path, "show", "main:a.txt"),
    "one\n2\n3\n4\n5\n6\n7\neight\n",
  );
  assert.equal(
    (record.result!["restorePoint"] as { branchRef: string }).branchRef,
    "refs/heads/main",
  );
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);

  const bare = `${lab.box.root}/bare.git`;
  await lab.box.git(lab.box.root, "clone", "-q", "--bare", path, bare);
  await lab.box.git(bare, "config", "user.name", "Bare");
  const squash = await lab.run(bare, "merge", {
    sourceRef: "feature",
    targetRef: "refs/heads/main",
    strategy: "squash",
  });
  assert.equal(squash.status, "completed", JSON.stringify(squash.result));
  assert.deepEqual(await parents(lab, bare, "main"), [main]);
});

Deno.test("conflicts are told on the card with their paths and stop it", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await apart(lab);
  await lab.box.commit(path, "Clash", { "f.txt": "mine\n", "a.txt": "1\n" });
  const card = await lab.show(path, "merge", { sourceRef: "feature", targetRef: "main" });
  const conflict = card.blockers.find(({ code }) => code === "conflicts")!;
  assert.deepEqual(conflict.paths, ["a.txt", "f.txt"]);
  assert.deepEqual(
    await lab.refused(path, "merge", { sourceRef: "feature", targetRef: "main" }),
    ["conflicts"],
  );
});

Deno.test("a merge is refused for what is merged, unknown, unrelated, elsewhere or unfinished", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await apart(lab);
  const merge = (sourceRef: string, targetRef: string) =>
    lab.refused(path, "merge", { sourceRef, targetRef });
  assert.deepEqual(await merge("main~1", "main"), ["already_merged"]);
  assert.deepEqual(await merge("nowhere", "main"), ["unknown_ref"]);
  assert.deepEqual(await merge("feature", "nowhere"), ["not_a_branch"]);
  await box.git(path, "tag", "v1", "feature");
  assert.deepEqual(await merge("main", "v1"), ["not_a_branch"]);
  await box.git(path, "switch", "-q", "--orphan", "unrelated");
  await box.commit(path, "Unrelated", { "u.txt": "u\n" });
  await box.git(path, "switch", "-q", "main");
  assert.deepEqual(await merge("unrelated", "main"), ["unrelated"]);
  await box.git(path, "worktree", "add", "-q", `${box.root}/linked`, "feature");
  assert.deepEqual(await merge("main", "feature"), ["checked_out_elsewhere"]);
  await box.write(path, { "staged.txt": "s\n" });
  await box.git(path, "add", "staged.txt");
  assert.deepEqual(await merge("feature", "main"), ["staged_changes"]);
  await box.git(path, "rm", "-q", "-f", "staged.txt");
  await box.write(path, { "a.txt": "uncommitted\n" });
  assert.deepEqual(await merge("feature", "main"), ["local_changes"]);
  await box.git(path, "checkout", "-q", "a.txt");
  await box.write(path, { "f.txt": "untracked\n" });
  assert.deepEqual(await merge("feature", "main"), ["untracked_in_the_way"]);
  await Deno.remove(`${path}/f.txt`);
  await box.git(path, "switch", "-q", "--detach");
  await assert.rejects(
    () => lab.propose(path, "merge", { sourceRef: "-x", targetRef: "main" }),
    Refusal,
  );
  assert.deepEqual(await merge("feature", "HEAD"), ["not_a_branch"]);
  const unborn = await box.repo("unborn");
  assert((await lab.refused(unborn, "merge", { sourceRef: "x", targetRef: "main" })).length > 0);
});

Deno.test("an ignored file in the place of a merged one stops the merge", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await apart(lab);
  await Deno.writeTextFile(`${path}/.git/info/exclude`, "f.txt\n");
  await lab.box.write(path, { "f.txt": "an ignored file of mine\n" });
  assert.deepEqual(
    await lab.refused(path, "merge", { sourceRef: "feature", targetRef: "main" }),
    ["ignored_in_the_way"],
  );
  // The control: plain git overwrites it.
  await lab.box.git(path, "merge", "-q", "feature");
  assert.equal(await Deno.readTextFile(`${path}/f.txt`), "f\n");
});

Deno.test("a hook that says no leaves nothing of the merge behind", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await apart(lab);
  for (const [strategy, name] of [["merge", "pre-merge-commit"], ["squash", "pre-commit"]]) {
    await hook(path, name!, "echo not today >&2; exit 1");
    const before = await lab.state(path);
    const card = await lab.show(path, "merge", {
      sourceRef: "feature",
      targetRef: "main",
      strategy,
    });
    assert(
      card.warnings.some(({ code, message }) => code === "hooks_run" && message.includes(name!)),
    );
    const record = await lab.approve(card);
    assert.equal(record.status, "failed");
    assert.match(String(record.result!["message"]), /not today/);
    assert.equal(record.result!["repositoryUnchanged"], true);
    assert.deepEqual(await lab.state(path), before);
    await Deno.remove(`${path}/.git/hooks/${name}`);
  }
});

Deno.test("a merge driver of the repository runs only on approval, and a result that differs is told", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await apart(lab);
  const evil = await box.evil();
  await Deno.writeTextFile(
    `${box.root}/driver.sh`,
    `#!/bin/sh\necho ran >> '${evil.mark}'\necho merged by a driver > "$2"\n`,
    { mode: 0o755 },
  );
  await box.git(path, "config", "merge.mine.driver", `${box.root}/driver.sh %O %A %B`);
  await Deno.writeTextFile(`${path}/.git/info/attributes`, "a.txt merge=mine\n");
  const card = await lab.show(path, "merge", { sourceRef: "feature", targetRef: "main" });
  assert.equal(await evil.ran(), false);
  assert(card.warnings.some(({ code }) => code === "merge_driver_not_run"));
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(await evil.ran(), true);
  assert.equal(record.result!["changedByPrograms"], true);
  assert.equal(await Deno.readTextFile(`${path}/a.txt`), "merged by a driver\n");
});

Deno.test("files that change what runs later are named, even behind thousands of others", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await apart(lab);
  await lab.box.git(path, "switch", "-q", "feature");
  const files: Record<string, string> = {
    "z/.gitattributes": "* filter=x\n",
    "z/run": "#!/bin/sh\n",
  };
  for (let i = 0; i < 2_100; i++) files[`many/${i}`] = `${i}\n`;
  await lab.box.write(path, files);
  await Deno.chmod(`${path}/z/run`, 0o755);
  await Deno.symlink("/etc/passwd", `${path}/z/link`);
  await lab.box.commit(path, "Many");
  await lab.box.git(path, "switch", "-q", "main");
  const card = await lab.show(path, "merge", { sourceRef: "feature", targetRef: "main" });
  assert.equal(card.effect!.filesTotal, 2_105);
  assert.equal(card.effect!.files.length, 2_000);
  const found = new Map(
    card.warnings.filter(({ code }) => code === "changes_what_runs_later")
      .map(({ message, paths }) => [message, paths]),
  );
  assert.deepEqual(found.get("makes symbolic links"), ["z/link"]);
  assert.deepEqual(found.get("makes files executable"), ["z/run"]);
  assert([...found.values()].some((paths) => paths!.includes("z/.gitattributes")));
});

Deno.test("the source is merged as it was on the card: a moved ref makes the card stale", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path, feature } = await apart(lab);
  const card = await lab.show(path, "merge", { sourceRef: "feature", targetRef: "main" });
  const tree = (await box.git(path, "rev-parse", "feature^{tree}")).trim();
  const moved = (await box.git(path, "commit-tree", "-p", feature, "-m", "Sneaked in", tree))
    .trim();
  await box.git(path, "update-ref", "refs/heads/feature", moved);
  const before = await lab.state(path);
  await assert.rejects(
    () => lab.approve(card),
    (error) => error instanceof Refusal && error.code === "card_changed",
  );
  assert.deepEqual(await lab.state(path), before);
  const again = await lab.card(card.previewId);
  assert(
    again.warnings.some(({ code, message }) =>
      code === "moved_since_proposal" && message.includes("source")
    ),
  );
  assert.notEqual(again.digest, card.digest);
});
