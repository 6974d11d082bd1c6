import assert from "node:assert/strict";
import { RESTORE_LIMITS, RestoreError } from "../../restore/mod.ts";
import { fullRepository, Lab } from "./lab.ts";

/** The kind of refusal that some work ends with, and its message. */
async function refused(work: Promise<unknown>): Promise<{ kind: string; message: string }> {
  try {
    await work;
  } catch (error) {
    assert(error instanceof RestoreError, String(error));
    return { kind: error.kind, message: error.message };
  }
  throw new assert.AssertionError({ message: "it was not refused" });
}

Deno.test("P-16: a point covers untracked files, which git stash create leaves out", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f": "f\n" });
  await box.write(path, { "f": "changed\n", "untracked": "only here\n" });
  const stash = (await box.git(path, "stash", "create")).trim();
  const control = await box.tryGit(path, ["cat-file", "-e", `${stash}:untracked`]);
  assert.notEqual(control.code, 0, "the control: it is not in the stash");
  const point = await lab.point(path);
  await Deno.remove(`${path}/untracked`);
  await lab.apply(path, point);
  assert.equal(await Deno.readTextFile(`${path}/untracked`), "only here\n");
});

Deno.test("P-17: files that came after the point stay, whatever git knows about ignoring them", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  const point = await lab.point(path);
  await box.write(path, {
    "later.txt": "untracked, made after the point\n",
    "dir/later.txt": "the same in a folder\n",
    "staged-later.txt": "staged, made after the point\n",
    "was-ignored.tmp": "ignored by a rule that came later\n",
    ".gitignore": "*.log\nbuild/\n*.tmp\n",
  });
  await box.git(path, "add", "staged-later.txt");
  const preview = await lab.preview(path, point);
  assert.deepEqual(preview.files.left, {
    count: 3,
    first: ["dir/later.txt", "later.txt", "staged-later.txt"],
  });
  assert.deepEqual(preview.files.removed.count, 0);
  await lab.apply(path, point);
  for (const name of ["later.txt", "dir/later.txt", "staged-later.txt", "was-ignored.tmp"]) {
    assert(await Deno.readTextFile(`${path}/${name}`), name);
  }
  assert.equal(await Deno.readTextFile(`${path}/.gitignore`), "*.log\nbuild/\n");
  // The control: what other tools do at this place deletes them.
  await box.git(path, "clean", "-q", "-fd");
  assert.equal(await Deno.stat(`${path}/later.txt`).then(() => true, () => false), false);
});

Deno.test("P-17: a file that is ignored again after the way back was left alone, and is no difference", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { ".gitignore": "*.log\n", "f": "f\n" });
  await box.write(path, { "a.log": "ignored\n" });
  const point = await lab.point(path);
  await box.write(path, { ".gitignore": "nothing\n", "f": "changed\n" });
  const preview = await lab.preview(path, point);
  assert.deepEqual(preview.files.left, { count: 1, first: ["a.log"] });
  const result = await lab.apply(path, point);
  assert.deepEqual([result.verified, result.differences], [true, []]);
  assert.equal(await Deno.readTextFile(`${path}/a.log`), "ignored\n");
});

Deno.test("P-17: commits made after the point are counted, and the new point keeps them through a gc", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  const point = await lab.point(path);
  await box.commit(path, "Later 1", { "l1": "1\n" });
  const last = await box.commit(path, "Later 2", { "l2": "2\n" });
  const preview = await lab.preview(path, point);
  assert.equal(preview.commitsLeftBehind, 2);
  assert.deepEqual(preview.head.from.oid, last);
  const { madePoint } = await lab.apply(path, point);
  assert.equal(await Deno.stat(`${path}/l1`).then(() => true, () => false), false);
  await box.git(path, "reflog", "expire", "--expire=now", "--all");
  await box.git(path, "gc", "-q", "--prune=now");
  assert.notEqual((await box.tryGit(path, ["cat-file", "-e", last])).code, 0);
  await lab.apply(path, madePoint);
  assert.equal((await box.git(path, "rev-parse", "HEAD")).trim(), last);
  assert.equal(await Deno.readTextFile(`${path}/l1`), "1\n");
});

Deno.test("a file of the point that is ignored by now is not overwritten before it is kept", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f": "f\n" });
  await box.write(path, { "notes.txt": "as it was\n" });
  const point = await lab.point(path);
  await box.write(path, { ".gitignore": "notes.txt\n", "notes.txt": "hours of work since\n" });
  const { madePoint } = await lab.apply(path, point);
  assert.equal(await Deno.readTextFile(`${path}/notes.txt`), "as it was\n");
  await lab.apply(path, madePoint);
  assert.equal(await Deno.readTextFile(`${path}/notes.txt`), "hours of work since\n");
});

Deno.test("something unknown in the way is refused with counts, and nothing is changed", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "a": "a file\n", "d/x": "in a folder\n", "g": "g\n" });
  await box.write(path, { ".gitignore": "*.cache\n" });
  const point = await lab.point(path);
  await Deno.remove(`${path}/a`);
  await box.write(path, { "a/unknown": "u\n", "a/also.cache": "ignored\n" });
  await Deno.remove(`${path}/d`, { recursive: true });
  await Deno.writeTextFile(`${path}/d`, "a file now\n");
  const before = await lab.state(path);
  const preview = await lab.preview(path, point);
  assert.deepEqual(preview.blockers.map(({ code, count, first }) => ({ code, count, first })), [
    { code: "in_the_way", count: 3, first: ["a/also.cache", "a/unknown", "d"] },
  ]);
  const { kind, message } = await refused(lab.apply(path, point));
  assert.equal(kind, "would_lose");
  assert.match(message, /nothing was changed.*3: a\/also\.cache, a\/unknown, d/);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("a folder swapped for a link is not written through", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "dir/f": "original\n", "dir/sub/g": "deep\n" });
  const point = await lab.point(path);
  const outside = `${box.root}/outside`;
  await box.write(outside, { "f": "not ours\n", "sub/g": "not ours either\n" });
  await Deno.remove(`${path}/dir`, { recursive: true });
  await Deno.symlink(outside, `${path}/dir`);
  // The control: a plain write through the name lands outside.
  await Deno.writeTextFile(`${path}/dir/control`, "landed outside\n");
  assert.equal(await Deno.readTextFile(`${outside}/control`), "landed outside\n");
  assert.equal((await refused(lab.apply(path, point))).kind, "would_lose");
  assert.equal(await Deno.readTextFile(`${outside}/f`), "not ours\n");
  assert.equal(await Deno.readTextFile(`${outside}/sub/g`), "not ours either\n");
});

Deno.test("a folder swapped for a link between the preview and the restore is not written through", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "dir/f": "original\n", "other": "o\n" });
  const point = await lab.point(path);
  await box.write(path, { "dir/f": "changed\n" });
  const { digest } = await lab.preview(path, point);
  const outside = `${box.root}/outside`;
  await box.write(outside, { "f": "not ours\n" });
  await Deno.rename(`${path}/dir`, `${box.root}/held`);
  await Deno.symlink(outside, `${path}/dir`);
  assert.equal((await refused(lab.apply(path, point, { expectedDigest: digest }))).kind, "stale");
  assert.equal((await refused(lab.apply(path, point))).kind, "would_lose");
  assert.equal(await Deno.readTextFile(`${outside}/f`), "not ours\n");
});

Deno.test("a restore of what changed since the preview is refused", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  const point = await lab.point(path);
  await box.write(path, { "a.txt": "changed\n" });
  const preview = await lab.preview(path, point);
  const changes: [string, () => Promise<unknown>][] = [
    ["a file", () => box.write(path, { "a.txt": "changed again\n" })],
    ["the index", () => box.git(path, "add", "a.txt")],
    ["a ref", () => box.git(path, "branch", "another")],
    ["permission bits", () => Deno.chmod(`${path}/secret`, 0o644)],
  ];
  let digest = preview.digest;
  for (const [what, change] of changes) {
    await change();
    const before = await lab.state(path);
    const { kind } = await refused(lab.apply(path, point, { expectedDigest: digest }));
    assert.equal(kind, "stale", what);
    assert.deepEqual(await lab.state(path), before);
    digest = (await lab.preview(path, point)).digest;
  }
  // A refresh of the index by `git status` is no change.
  await box.git(path, "status");
  await lab.apply(path, point, { expectedDigest: digest });
});

Deno.test("a git at work (index.lock) is waited out by nobody: refused, and its lock is left alone", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  const point = await lab.point(path);
  await box.write(path, { "a.txt": "changed\n" });
  await Deno.writeTextFile(`${path}/.git/index.lock`, "another git");
  const before = await lab.state(path);
  const { kind } = await refused(lab.apply(path, point));
  assert.equal(kind, "would_lose");
  assert.deepEqual(await lab.state(path), before);
  assert.equal(await Deno.readTextFile(`${path}/.git/index.lock`), "another git");
});

Deno.test("a point that cannot be made says why and leaves nothing in the list", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  const tooLarge = await refused(lab.point(path, { maxBytes: 10 }));
  assert.equal(tooLarge.kind, "cannot_make");
  assert.match(tooLarge.message, /more than 10 bytes/);
  await Deno.writeTextFile(`${path}/.git/index`, "this is no index at all, not even nearly one");
  const damaged = await refused(lab.point(path));
  assert.equal(damaged.kind, "cannot_make");
  assert.match(damaged.message, /index/);
  await Deno.remove(`${path}/.git/index`);
  await lab.point(path);
  assert.equal((await lab.points(path)).length, 1);
  await Deno.remove(`${path}/.git/fluxgit`, { recursive: true });
  await Deno.writeTextFile(`${path}/.git/fluxgit`, "in the way");
  assert.equal((await refused(lab.point(path))).kind, "cannot_make");
  await box.git(path, "status");
});

Deno.test("P-18: list and disk stay within their bounds however many points are made, and the newest is whole", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f": "f\n" });
  lab.bounds = { points: 8 };
  const objects = `${path}/.git/fluxgit/restore.git/objects`;
  for (let i = 0; i < 45; i++) {
    Deno.writeTextFileSync(`${path}/f`, `change ${i}\n`.repeat(500));
    const point = await lab.point(path);
    if (i === 44) await lab.finish(path, point);
  }
  const points = await lab.points(path);
  assert.equal(points.length, 8);
  const hidden = `--git-dir=${path}/.git/fluxgit/restore.git`;
  const refs = await box.git(path, hidden, "for-each-ref", "refs/restore/");
  assert.equal(refs.split("\n").filter((line) => line.endsWith("/before")).length, 8);
  // They made about 300 objects; those that the last eight need lie in one pack.
  const left = await countFiles(objects);
  assert(left < 60, String(left));
  assert.deepEqual(lab.log, []);
  await Deno.writeTextFile(`${path}/f`, "lost\n");
  await lab.apply(path, points.at(-1)!);
  assert.equal(await Deno.readTextFile(`${path}/f`), "change 44\n".repeat(500));
  assert.equal((await refused(lab.apply(path, "000000000-aaaaaaaa"))).kind, "not_found");
});

async function countFiles(folder: string): Promise<number> {
  let count = 0;
  for await (const entry of Deno.readDir(folder)) {
    count += entry.isDirectory ? await countFiles(`${folder}/${entry.name}`) : 1;
  }
  return count;
}

Deno.test("points older than the bound fall out, but the newest stays", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f": "f\n" });
  const old = await lab.point(path);
  lab.advance(RESTORE_LIMITS.ageMs + 60_000);
  const fresh = await lab.point(path);
  assert.deepEqual((await lab.points(path)).map((point) => point.id), [fresh.id]);
  assert.equal((await refused(lab.apply(path, old))).kind, "not_found");
});

Deno.test("the oldest point of a full list can be gone back to, although it falls out by that", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f": "f\n" });
  lab.bounds = { points: 2 };
  await box.write(path, { "f": "the oldest\n" });
  const oldest = await lab.point(path);
  await box.write(path, { "f": "newer\n" });
  await lab.point(path);
  lab.advance(RESTORE_LIMITS.ageMs * 2);
  await lab.apply(path, oldest);
  assert.equal(await Deno.readTextFile(`${path}/f`), "the oldest\n");
  assert.equal((await lab.points(path)).some((point) => point.id === oldest.id), false);
});
