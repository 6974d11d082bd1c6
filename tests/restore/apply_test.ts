import assert from "node:assert/strict";
import { fullRepository, Lab } from "./lab.ts";

/** Damages a repository by plain git and the file system. */
type Damage = (lab: Lab, path: string) => Promise<void>;

const DAMAGES: Readonly<Record<string, Damage>> = {
  "reset --hard": async ({ box }, path) => {
    await box.git(path, "reset", "-q", "--hard", "HEAD~2");
  },
  "reset --soft and --mixed": async ({ box }, path) => {
    await box.git(path, "reset", "-q", "--soft", "HEAD~1");
    await box.git(path, "reset", "-q", "HEAD~1");
  },
  "discarding every change": async ({ box }, path) => {
    await box.git(path, "checkout", "-q", "-f", "HEAD", "--", ".");
  },
  "clean -fd of untracked files": async ({ box }, path) => {
    await box.git(path, "clean", "-q", "-fd");
  },
  "deleted branches, tags, notes and remote-tracking refs": async ({ box }, path) => {
    await box.git(path, "branch", "-q", "-D", "feature");
    await box.git(path, "tag", "-d", "v1", "light");
    await box.git(path, "update-ref", "-d", "refs/notes/commits");
    await box.git(path, "symbolic-ref", "-d", "refs/remotes/origin/HEAD");
    await box.git(path, "update-ref", "-d", "refs/remotes/origin/main");
  },
  "a rebase onto another history": async ({ box }, path) => {
    await box.commit(path, "Everything");
    await box.git(path, "checkout", "-q", "feature");
    await box.commit(path, "Elsewhere", { "dir/other.txt": "from the other side\n" });
    await box.git(path, "checkout", "-q", "main");
    await box.git(path, "rebase", "-q", "feature");
    await box.git(path, "branch", "-f", "feature", "main~2");
  },
  "a dropped and a cleared stash": async ({ box }, path) => {
    await box.git(path, "stash", "drop", "-q", "stash@{1}");
    await box.git(path, "stash", "clear");
  },
  "changed modes and links": async (_lab, path) => {
    await Deno.chmod(`${path}/run.sh`, 0o644);
    await Deno.chmod(`${path}/a.txt`, 0o755);
    await Deno.chmod(`${path}/secret`, 0o644);
    await Deno.chmod(`${path}/dir/deep/c.bin`, 0o644);
    await Deno.remove(`${path}/link`);
    await Deno.writeTextFile(`${path}/link`, "a file now\n");
    await Deno.remove(`${path}/dir/b.txt`);
    await Deno.symlink("../a.txt", `${path}/dir/b.txt`);
  },
  "removed folders": async (_lab, path) => {
    await Deno.remove(`${path}/dir`, { recursive: true });
  },
  "a detached HEAD on another branch's commit": async ({ box }, path) => {
    await box.git(path, "checkout", "-q", "-f", "--detach", "feature");
  },
  "a deleted index": async (_lab, path) => {
    await Deno.remove(`${path}/.git/index`);
  },
  "a merge that stopped in a conflict": async ({ box }, path) => {
    await box.git(path, "checkout", "-q", "-f", "feature");
    await box.commit(path, "Other side", { "a.txt": "the other side\n" });
    const merged = await box.tryGit(path, ["merge", "main"]);
    assert.notEqual(merged.code, 0);
  },
};

for (const [name, damage] of Object.entries(DAMAGES)) {
  Deno.test(`apply brings everything back byte for byte after ${name}`, async () => {
    await using lab = await Lab.create();
    const path = await fullRepository(lab);
    const before = await lab.state(path);
    const point = await lab.point(path);
    assert.deepEqual(await lab.state(path), before, "making a point changes nothing");
    await damage(lab, path);
    assert.notDeepEqual(await lab.state(path), before, "the damage is real");
    const result = await lab.apply(path, point);
    assert.deepEqual(result.differences, []);
    assert.equal(result.verified, true);
    assert.deepEqual(await lab.state(path), before);
  });

  Deno.test(`applying the point that apply made takes it back after ${name}`, async () => {
    await using lab = await Lab.create();
    const path = await fullRepository(lab);
    const point = await lab.point(path);
    await damage(lab, path);
    const damaged = await lab.state(path);
    const { madePoint } = await lab.apply(path, point);
    await lab.apply(path, madePoint);
    assert.deepEqual(await lab.state(path), damaged);
  });
}

Deno.test("apply with nothing to do changes nothing and says so beforehand", async () => {
  await using lab = await Lab.create();
  const path = await fullRepository(lab);
  const before = await lab.state(path);
  const point = await lab.point(path);
  assert.equal((await lab.preview(path, point)).nothingToDo, true);
  await lab.apply(path, point);
  assert.deepEqual(await lab.state(path), before);
});
