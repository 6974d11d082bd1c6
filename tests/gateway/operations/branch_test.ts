import assert from "node:assert/strict";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { GatewayLab, hook } from "../harness.ts";

async function start(lab: GatewayLab): Promise<{ path: string; first: string; second: string }> {
  const path = await lab.box.repo();
  const first = await lab.box.commit(path, "First", { "a.txt": "a\n", "b.txt": "b\n" });
  const second = await lab.box.commit(path, "Second", { "a.txt": "aa\n", "new.txt": "n\n" });
  return { path, first, second };
}

const current = async (lab: GatewayLab, path: string) =>
  (await lab.box.git(path, "symbolic-ref", "HEAD")).trim();

Deno.test("a branch is made at HEAD and switched to, with local changes carried over", async () => {
  await using lab = await GatewayLab.create();
  const { path, second } = await start(lab);
  await lab.box.write(path, { "a.txt": "work\n", "u.txt": "u\n" });
  const before = await lab.state(path);
  const record = await lab.run(path, "branch", { name: "topic/one" });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(record.result!["branch"], "topic/one");
  assert.equal(record.result!["checkedOut"], true);
  assert.equal(await current(lab, path), "refs/heads/topic/one");
  assert.equal((await lab.box.git(path, "rev-parse", "topic/one")).trim(), second);
  const after = await lab.state(path);
  assert.deepEqual(after.files, before.files);
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("a branch that starts elsewhere shows what changes on disk; without checkout nothing moves", async () => {
  await using lab = await GatewayLab.create();
  const { path, first } = await start(lab);
  const before = await lab.state(path);
  await lab.done(path, "branch", { name: "plain", startPoint: "HEAD~1", checkout: false });
  assert.equal((await lab.box.git(path, "rev-parse", "plain")).trim(), first);
  assert.equal(await current(lab, path), "refs/heads/main");
  await lab.applyPoint(
    path,
    (lab.service.list(["completed"])).proposals[0]!.result!.restorePointId!,
  );
  assert.deepEqual(await lab.state(path), before);
  const card = await lab.show(path, "branch", { name: "old", startPoint: "HEAD~1" });
  assert.deepEqual(card.effect!.files.map(({ path, status }) => `${status} ${path}`), [
    "M a.txt",
    "D new.txt",
  ]);
  assert.equal((await lab.approve(card)).status, "completed");
  await assert.rejects(() => Deno.lstat(`${path}/new.txt`));
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("a branch is refused for bad, taken and clashing names, unknown starts and what is in the way", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await start(lab);
  const branch = (members: Record<string, unknown>) => lab.refused(path, "branch", members);
  for (const bad of ["-x", "refs/heads/x", "a..b", "a b", "x.lock", "HEAD", "@", "a\nb", ".x"]) {
    await assert.rejects(() => lab.propose(path, "branch", { name: bad }), Refusal, bad);
  }
  assert.deepEqual(await branch({ name: "main" }), ["exists"]);
  assert.deepEqual(await branch({ name: "main/sub" }), ["name_taken"]);
  await box.git(path, "branch", "deep/er/branch");
  assert.deepEqual(await branch({ name: "deep" }), ["name_taken"]);
  assert.deepEqual(await branch({ name: "x", startPoint: "nowhere" }), ["unknown_ref"]);
  await box.write(path, { "a.txt": "work\n" });
  assert.deepEqual(await branch({ name: "x", startPoint: "HEAD~1" }), ["local_changes"]);
  await box.git(path, "checkout", "-q", "a.txt");
  await box.git(path, "switch", "-q", "-c", "other", "HEAD~1");
  await box.write(path, { "new.txt": "mine\n" });
  assert.deepEqual(await branch({ name: "x", startPoint: "main" }), ["untracked_in_the_way"]);
  await Deno.writeTextFile(`${path}/.git/info/exclude`, "new.txt\n");
  assert.deepEqual(await branch({ name: "x", startPoint: "main" }), ["ignored_in_the_way"]);
  const bare = await box.repo("bare.git", "--bare");
  assert((await lab.refused(bare, "branch", { name: "x" })).includes("bare_repository"));
});

Deno.test("a post-checkout hook that fails cannot prevent the switch, and is told", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await start(lab);
  await hook(path, "post-checkout", "echo cannot install >&2; exit 3");
  const record = await lab.run(path, "branch", { name: "topic" });
  assert.equal(record.status, "completed");
  assert.match(String(record.result!["message"]), /cannot install/);
  assert.equal(await current(lab, path), "refs/heads/topic");
});

Deno.test("a reference-transaction hook that says no leaves no branch behind", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await start(lab);
  await hook(
    path,
    "reference-transaction",
    `[ "$1" = prepared ] && { echo frozen >&2; exit 1; }; exit 0`,
  );
  const before = await lab.state(path);
  const record = await lab.run(path, "branch", { name: "topic" });
  assert.equal(record.status, "failed");
  assert.equal(record.result!["repositoryUnchanged"], true);
  assert.deepEqual(await lab.state(path), before);
});
