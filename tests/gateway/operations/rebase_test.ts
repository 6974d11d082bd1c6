import assert from "node:assert/strict";
import { GatewayLab, hook } from "../harness.ts";

/** feature (checked out) has two commits of its own, main has gone on. */
async function apart(lab: GatewayLab): Promise<{ path: string; main: string; feature: string }> {
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n", "b.txt": "b\n" });
  await box.git(path, "switch", "-q", "-c", "feature");
  await box.commit(path, "One", { "a.txt": "1\n2\n3\n4\n5\n6\n7\neight\n" });
  const feature = await box.commit(path, "Two", { "f.txt": "f\n" });
  await box.git(path, "switch", "-q", "main");
  const main = await box.commit(path, "Main", {
    "a.txt": "one\n2\n3\n4\n5\n6\n7\n8\n",
    "m.txt": "m\n",
  });
  await box.git(path, "switch", "-q", "feature");
  return { path, main, feature };
}

const subjects = async (lab: GatewayLab, path: string, range: string) =>
  (await lab.box.git(path, "log", "--format=%s", range)).split("\n").filter(Boolean);

Deno.test("a rebase replays what the card lists, with the files that it showed, and undo takes it back", async () => {
  await using lab = await GatewayLab.create();
  const { path, main, feature } = await apart(lab);
  await lab.box.write(path, { "untracked.txt": "u\n" });
  const before = await lab.state(path);
  const card = await lab.show(path, "rebase", { ontoRef: "main" });
  assert.deepEqual(card.blockers, []);
  assert(card.warnings.some(({ code }) => code === "history_rewritten"));
  assert.deepEqual(card.effect!.commits.map(({ subject, fate }) => [subject, fate]), [
    ["Two", "replayed"],
    ["One", "replayed"],
  ]);
  // From the branch as it is to what it will be: what main brings.
  assert.deepEqual(card.effect!.files.map(({ path, status }) => `${status} ${path}`), [
    "M a.txt",
    "A m.txt",
  ]);
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(record.result!["replayedCommits"], 2);
  assert.equal(record.result!["changedByPrograms"], undefined);
  assert.deepEqual(await subjects(lab, path, `${main}..feature`), ["Two", "One"]);
  assert.deepEqual(record.result!["restorePoint"], {
    operation: "rebase",
    branchRef: "refs/heads/feature",
    beforeCommit: feature,
    afterCommit: record.result!["newHeadSha"],
    canUndo: true,
  });
  const after = await lab.state(path);
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
  await lab.redo(path);
  assert.deepEqual(await lab.state(path), after);
});

Deno.test("settings that would turn the rebase into another one do not", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path, main } = await apart(lab);
  await box.commit(path, "fixup! One", { "a.txt": "1\n2\n3\n4\n5\n6\nseven\neight\n" });
  await box.git(path, "branch", "stacked", "HEAD~1");
  const stacked = (await box.git(path, "rev-parse", "stacked")).trim();
  for (
    const [key, value] of [
      ["rebase.autoSquash", "true"],
      ["rebase.autoStash", "true"],
      ["rebase.updateRefs", "true"],
      ["rebase.forkPoint", "true"],
      ["rebase.backend", "apply"],
      ["rebase.stat", "true"],
      ["rebase.rebaseMerges", "true"],
    ] as const
  ) await box.git(path, "config", key, value);
  await lab.done(path, "rebase", { currentRef: "feature", ontoRef: "main" });
  assert.deepEqual(await subjects(lab, path, `${main}..feature`), ["fixup! One", "Two", "One"]);
  // A branch that nobody approved to be moved stands where it stood.
  assert.equal((await box.git(path, "rev-parse", "stacked")).trim(), stacked);
});

Deno.test("a conflict is told before, with its commit and paths, and nothing begins", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await apart(lab);
  const clash = await box.commit(path, "Clash", { "m.txt": "another m\n" });
  const card = await lab.show(path, "rebase", { ontoRef: "main" });
  const conflict = card.blockers.find(({ code }) => code === "conflicts")!;
  assert.match(conflict.message, new RegExp(clash.slice(0, 12)));
  assert.deepEqual(conflict.paths, ["m.txt"]);
  assert.deepEqual(await lab.refused(path, "rebase", { ontoRef: "main" }), ["conflicts"]);
});

Deno.test("a conflict that could not be foretold puts everything back", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await apart(lab);
  // More commits than are tried out for a card.
  for (let i = 0; i < 61; i++) await box.commit(path, `Step ${i}`, { "many.txt": `${i}\n` });
  await box.commit(path, "Clash", { "m.txt": "another m\n" });
  const before = await lab.state(path);
  const card = await lab.show(path, "rebase", { ontoRef: "main" });
  assert.deepEqual(card.blockers, []);
  assert(card.warnings.some(({ code }) => code === "not_predicted"));
  const record = await lab.approve(card);
  assert.equal(record.status, "failed");
  assert.match(String(record.result!["message"]), /m\.txt/);
  assert.equal(record.result!["repositoryUnchanged"], true);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("merges, applied and published commits are told, and so is a branch that only goes forward", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path, main } = await apart(lab);
  await box.git(path, "update-ref", "refs/remotes/origin/feature", "HEAD~1");
  await box.git(path, "switch", "-q", "-c", "side", "HEAD~1");
  await box.commit(path, "Side", { "s.txt": "s\n" });
  await box.git(path, "switch", "-q", "feature");
  await box.git(path, "merge", "-q", "--no-edit", "side");
  await box.git(path, "switch", "-q", "main");
  await box.git(path, "cherry-pick", "feature~2");
  const onMain = (await subjects(lab, path, `${main}..main`)).sort();
  await box.git(path, "switch", "-q", "feature");
  const card = await lab.show(path, "rebase", { ontoRef: "main" });
  const codes = card.warnings.map(({ code }) => code);
  assert(codes.includes("merges_flattened"), String(codes));
  assert(codes.includes("published"), String(codes));
  assert(codes.includes("already_applied"), String(codes));
  assert.equal(card.effect!.details["alreadyApplied"], onMain.length);
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(record.result!["replayedCommits"], card.effect!.commitsTotal);
  assert.equal(record.result!["changedByPrograms"], undefined);

  await box.git(path, "switch", "-q", "-c", "behind", "main~1");
  const forward = await lab.show(path, "rebase", { ontoRef: "main" });
  assert.equal(forward.effect!.commitsTotal, 0);
  assert.equal(
    forward.effect!.refs[0]!.after,
    (await box.git(path, "rev-parse", "main")).trim(),
  );
  const done = await lab.approve(forward);
  assert.equal(done.status, "completed", JSON.stringify(done.result));
  assert.equal(done.result!["replayedCommits"], 0);
});

Deno.test("a rebase is refused for what is dirty, elsewhere, unknown, done or unfinished", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await apart(lab);
  const rebase = (members: Record<string, unknown>) => lab.refused(path, "rebase", members);
  assert.deepEqual(await rebase({ ontoRef: "nowhere" }), ["unknown_ref"]);
  assert.deepEqual(await rebase({ ontoRef: "main~1" }), ["already_there"]);
  assert.deepEqual(await rebase({ ontoRef: "main", currentRef: "main" }), ["not_checked_out"]);
  await box.write(path, { "m.txt": "untracked\n" });
  assert.deepEqual(await rebase({ ontoRef: "main" }), ["untracked_in_the_way"]);
  await Deno.writeTextFile(`${path}/.git/info/exclude`, "m.txt\n");
  assert.deepEqual(await rebase({ ontoRef: "main" }), ["ignored_in_the_way"]);
  await Deno.remove(`${path}/m.txt`);
  await Deno.remove(`${path}/.git/info/exclude`);
  await box.write(path, { "b.txt": "dirty\n" });
  assert.deepEqual(await rebase({ ontoRef: "main" }), ["local_changes"]);
  await box.git(path, "checkout", "-q", "b.txt");
  await box.git(path, "switch", "-q", "--detach");
  assert.deepEqual(await rebase({ ontoRef: "main" }), ["detached"]);
  await box.git(path, "switch", "-q", "feature");
  await box.commit(path, "Clash", { "m.txt": "clash\n" });
  await box.tryGit(path, ["rebase", "main"]);
  assert((await rebase({ ontoRef: "main" })).includes("operation_in_progress"));
});

Deno.test("a pre-rebase hook that says no ends it, and a slow one is not waited for", async () => {
  await using lab = await GatewayLab.create({ approvedDeadlineMs: 4_000 });
  const { path } = await apart(lab);
  const before = await lab.state(path);
  await hook(path, "pre-rebase", "echo frozen branch >&2; exit 1");
  const refused = await lab.run(path, "rebase", { ontoRef: "main" });
  assert.equal(refused.status, "failed");
  assert.match(String(refused.result!["message"]), /frozen branch/);
  assert.deepEqual(await lab.state(path), before);
  await hook(path, "pre-rebase", "exec sleep 60");
  const slow = await lab.run(path, "rebase", { ontoRef: "main" });
  assert.equal(slow.status, "failed");
  assert.match(String(slow.result!["message"]), /did not finish within 4000 ms/);
  assert.deepEqual(await lab.state(path), before);
});
