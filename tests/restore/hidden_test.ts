import assert from "node:assert/strict";
import { compact } from "../../restore/compact.ts";
import { HiddenRepository } from "../../restore/hidden.ts";
import { fullRepository, Lab } from "./lab.ts";

/** What plain git shows of a repository to people and to other repositories. */
async function outside(lab: Lab, path: string): Promise<Record<string, string>> {
  const { box } = lab;
  return {
    log: await box.git(path, "log", "--all", "--format=%H %D"),
    reflogs: await box.git(path, "log", "--all", "--reflog", "--format=%H"),
    refs: await box.git(path, "for-each-ref"),
    fsck: await box.git(path, "fsck", "--full", "--unreachable", "--no-reflogs"),
    objects: await box.git(path, "count-objects", "-v"),
    config: await Deno.readTextFile(`${path}/.git/config`),
    status: await box.git(path, "status", "--porcelain", "--ignored"),
    worktrees: await box.git(path, "worktree", "list", "--porcelain"),
  };
}

Deno.test("points show in no log, ref, fsck, object count, configuration or status of the repository", async () => {
  await using lab = await Lab.create();
  const path = await fullRepository(lab);
  const before = await outside(lab, path);
  const point = await lab.point(path);
  await lab.finish(path, point);
  assert.deepEqual(await outside(lab, path), before);
  // The control: a commit under a ref of the repository, however it is named, is shown.
  const { box } = lab;
  const tree = (await box.git(path, "write-tree")).trim();
  const commit = (await box.git(path, "commit-tree", "-m", "a point as a ref", tree)).trim();
  await box.git(path, "update-ref", "refs/fluxgit/restore/control", commit);
  assert.notEqual((await outside(lab, path))["log"], before["log"]);
});

Deno.test("pushes, mirrors, clones and bundles do not carry points", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  // Git itself leaves the stash out of pushed mirrors: not what this is about.
  const refsOf = async (place: string) =>
    (await box.git(place, "for-each-ref", "--format=%(refname)")).replace("refs/stash\n", "");
  const refs = await refsOf(path);
  const point = await lab.point(path);
  await lab.finish(path, point);
  const places = ["all", "mirror", "clone", "mirrored", "bundled"].map((name) =>
    `${box.root}/${name}.git`
  );
  for (const place of places.slice(0, 2)) await box.git(box.root, "init", "-q", "--bare", place);
  await box.git(path, "push", "-q", "--all", places[0]!);
  await box.git(path, "push", "-q", "--tags", places[0]!);
  await box.git(path, "push", "-q", "--mirror", places[1]!);
  await box.git(box.root, "clone", "-q", "--no-local", path, places[2]!);
  await box.git(box.root, "clone", "-q", "--mirror", path, places[3]!);
  await box.git(path, "bundle", "create", "-q", `${box.root}/bundle`, "--all");
  await box.git(box.root, "clone", "-q", "--mirror", `${box.root}/bundle`, places[4]!);
  assert.equal(await refsOf(places[1]!), refs);
  assert.equal(await refsOf(places[3]!), refs);
  assert.equal(await refsOf(places[4]!), refs);
  const [copied] = [point.snapshot];
  for (const place of places) {
    const found = await box.tryGit(place, ["cat-file", "-e", copied]);
    assert.notEqual(found.code, 0, `${place} has the snapshot`);
  }
  const local = `${box.root}/local`;
  await box.git(box.root, "clone", "-q", path, local);
  assert.equal(await Deno.stat(`${local}/.git/fluxgit`).then(() => true, () => false), false);
});

Deno.test("a gc that keeps nothing leaves points whole: commits, staged files, stashes, work tree", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  const before = await lab.state(path);
  const point = await lab.point(path);
  const lost = (await box.git(path, "rev-parse", "stash@{1}")).trim();
  const root = (await box.git(path, "rev-list", "--max-parents=0", "HEAD")).trim();
  const destroy = async () => {
    await box.git(path, "reset", "-q", "--hard", root);
    await box.git(path, "clean", "-q", "-fd");
    await box.git(path, "stash", "clear");
    for (const ref of ["heads/feature", "tags/v1", "tags/light", "notes/commits"]) {
      await box.git(path, "update-ref", "-d", `refs/${ref}`);
    }
    await box.tryGit(path, ["symbolic-ref", "-d", "refs/remotes/origin/HEAD"]);
    await box.git(path, "update-ref", "-d", "refs/remotes/origin/main");
    await box.git(path, "reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all");
    await box.git(path, "gc", "-q", "--prune=now", "--aggressive");
    await box.git(path, "repack", "-q", "-a", "-d");
  };
  await destroy();
  // The control: git itself has lost them.
  assert.notEqual((await box.tryGit(path, ["cat-file", "-e", lost])).code, 0);
  await lab.apply(path, point);
  assert.deepEqual(await lab.state(path), before);
  await box.git(path, "fsck", "--full", "--strict");
  // Once more, now that the repository was packed in between, and after compaction.
  await destroy();
  const second = await lab.point(path, { operation: "discard" });
  await lab.locked(path, async (repo) => {
    const hidden = HiddenRepository.open(repo, { create: false });
    assert(hidden);
    await compact(repo, hidden);
    await compact(repo, hidden);
  });
  await destroy();
  await lab.apply(path, point);
  assert.deepEqual(await lab.state(path), before);
  await lab.apply(path, second);
  await box.git(path, "fsck", "--full");
});

Deno.test("compaction drops what no point needs and keeps no second copy of the repository", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  const noise = crypto.getRandomValues(new Uint8Array(60_000));
  await box.commit(path, "Big", { "big": noise });
  const hiddenBytes = () => ownBytes(`${path}/.git/fluxgit/restore.git/objects`);
  // Loose at first, then packed by a gc: the loose ones must not stay beside the pack.
  await lab.point(path);
  await box.git(path, "gc", "-q");
  await lab.finish(path, await lab.point(path));
  assert(await hiddenBytes() < 30_000, `${await hiddenBytes()} bytes`);
  for (let i = 0; i < 3; i++) {
    await box.write(path, { "note": `round ${i}\n` });
    await lab.point(path);
    await box.git(path, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now");
    await box.git(path, "repack", "-q", "-a", "-d", "-F");
    await box.commit(path, `Round ${i}`);
  }
  const point = await lab.point(path);
  await lab.finish(path, point);
  // Packs that the repository replaced are not kept beside the new one; links cost nothing.
  assert(await hiddenBytes() < 30_000, `${await hiddenBytes()} bytes`);
});

/** Bytes of files that have no other name: links into the repository do not count. */
async function ownBytes(folder: string): Promise<number> {
  let bytes = 0;
  for await (const entry of Deno.readDir(folder)) {
    const info = await Deno.lstat(`${folder}/${entry.name}`);
    if (entry.isDirectory) bytes += await ownBytes(`${folder}/${entry.name}`);
    else if ((info.nlink ?? 1) === 1) bytes += info.size;
  }
  return bytes;
}

Deno.test("no program of the repository runs while a point is made and applied", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const evil = await box.evil();
  const path = await fullRepository(lab);
  await box.git(path, "config", "core.fsmonitor", evil.script);
  await box.git(path, "config", "filter.evil.clean", evil.cat);
  await box.git(path, "config", "filter.evil.smudge", evil.cat);
  await box.git(path, "config", "filter.evil.process", evil.script);
  await box.write(path, { ".gitattributes": "* filter=evil diff=evil merge=evil\n" });
  await box.git(path, "config", "diff.evil.textconv", evil.cat);
  await box.git(path, "config", "diff.evil.command", evil.script);
  for (
    const hook of [
      "post-index-change",
      "reference-transaction",
      "post-checkout",
      "pre-auto-gc",
      "post-rewrite",
    ]
  ) {
    await Deno.copyFile(evil.script, `${path}/.git/hooks/${hook}`);
    await Deno.chmod(`${path}/.git/hooks/${hook}`, 0o755);
  }
  const point = await lab.point(path);
  await Deno.writeTextFile(`${path}/a.txt`, "changed after the point\n");
  await Deno.remove(`${path}/secret`);
  await lab.preview(path, point);
  const { verified } = await lab.apply(path, point);
  assert.equal(verified, true);
  assert.equal(await evil.ran(), false);
  // The control: plain git runs them.
  await box.tryGit(path, ["stash", "create"]);
  assert.equal(await evil.ran(), true);
});

const ALTERATIONS: Readonly<Record<string, (hidden: string, lab: Lab) => Promise<void>>> = {
  "a changed configuration": async (hidden) => {
    await Deno.writeTextFile(`${hidden}/config`, "[core]\n\tfsmonitor = /bin/false\n", {
      append: true,
    });
  },
  "a hook folder": async (hidden) => await Deno.mkdir(`${hidden}/hooks`),
  "a commondir file": async (hidden, { box }) => {
    await Deno.writeTextFile(`${hidden}/commondir`, box.root);
  },
  "attributes without the rule": async (hidden) => {
    await Deno.writeTextFile(`${hidden}/info/attributes`, "");
  },
  "objects that are a link": async (hidden, { box }) => {
    await Deno.rename(`${hidden}/objects`, `${box.root}/objects`);
    await Deno.symlink(`${box.root}/objects`, `${hidden}/objects`);
  },
  "a hidden repository that is a link": async (hidden, { box }) => {
    await Deno.rename(hidden, `${box.root}/moved.git`);
    await Deno.symlink(`${box.root}/moved.git`, hidden);
  },
  "a configuration that is a link": async (hidden, { box }) => {
    await Deno.rename(`${hidden}/config`, `${box.root}/config`);
    await Deno.symlink(`${box.root}/config`, `${hidden}/config`);
  },
};

for (const [name, alter] of Object.entries(ALTERATIONS)) {
  Deno.test(`a hidden repository with ${name} is refused, not used`, async () => {
    await using lab = await Lab.create();
    const path = await lab.box.repo();
    await lab.box.commit(path, "Base", { "f": "f\n" });
    await lab.point(path);
    await alter(`${path}/.git/fluxgit/restore.git`, lab);
    await assert.rejects(lab.point(path), (error: Error & { kind?: string }) => {
      assert.equal(error.kind, "store_altered", error.message);
      return true;
    });
  });
}

Deno.test("an index of the hidden repository that is damaged or gone is made anew", async () => {
  await using lab = await Lab.create();
  const path = await fullRepository(lab);
  const first = await lab.point(path);
  const index = `${path}/.git/fluxgit/restore.git/trees/main.index`;
  await Deno.writeTextFile(index, "this is no index");
  const second = await lab.point(path);
  await Deno.remove(index);
  await Deno.writeTextFile(`${index}.lock`, "left behind by a killed process");
  const third = await lab.point(path);
  const trees = await Promise.all([first, second, third].map(async (point) =>
    (await lab.box.git(
      path,
      "--git-dir=.git/fluxgit/restore.git",
      "rev-parse",
      `${point.snapshot}:worktree`,
    )).trim()
  ));
  assert.equal(new Set(trees).size, 1);
});
