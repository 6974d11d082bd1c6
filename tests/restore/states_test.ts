import assert from "node:assert/strict";
import { compact } from "../../restore/compact.ts";
import { HiddenRepository } from "../../restore/hidden.ts";
import { fullRepository, Lab } from "./lab.ts";

/** Takes a point, lets `damage` loose, applies, and compares everything. */
async function roundTrip(
  lab: Lab,
  path: string,
  damage: () => Promise<unknown>,
): Promise<void> {
  const before = await lab.state(path);
  const point = await lab.point(path);
  assert.deepEqual(await lab.state(path), before, "making a point changes nothing");
  await damage();
  assert.notDeepEqual(await lab.state(path), before, "the damage is real");
  const result = await lab.apply(path, point);
  assert.deepEqual(result.differences, []);
  assert.deepEqual(await lab.state(path), before);
}

Deno.test("a conflict that was being resolved comes back: stages, markers and MERGE_HEAD", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f.txt": "base\n", "kept.txt": "kept\n" });
  await box.git(path, "checkout", "-q", "-b", "side");
  await box.commit(path, "Side", { "f.txt": "side\n", "added.txt": "by the side\n" });
  await box.git(path, "checkout", "-q", "main");
  await box.commit(path, "Main", { "f.txt": "main\n" });
  assert.notEqual((await box.tryGit(path, ["merge", "side"])).code, 0);
  await Deno.writeTextFile(`${path}/f.txt`, "half resolved\n");
  await roundTrip(lab, path, async () => {
    await box.git(path, "merge", "--abort");
  });
  assert.match(await box.git(path, "ls-files", "-u"), /\t?f\.txt/);
  await box.git(path, "add", "f.txt");
  await box.git(path, "commit", "-q", "-m", "The merge goes on");
  assert.equal((await box.git(path, "rev-list", "--parents", "-1", "HEAD")).split(" ").length, 3);
});

Deno.test("a rebase that stopped comes back and can be continued", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f.txt": "base\n" });
  await box.git(path, "checkout", "-q", "-b", "topic");
  await box.commit(path, "Topic 1", { "f.txt": "topic\n" });
  await box.commit(path, "Topic 2", { "g.txt": "more\n" });
  await box.git(path, "checkout", "-q", "main");
  await box.commit(path, "Main", { "f.txt": "main\n" });
  await box.git(path, "checkout", "-q", "topic");
  assert.notEqual((await box.tryGit(path, ["rebase", "main"])).code, 0);
  await roundTrip(lab, path, async () => {
    await box.git(path, "rebase", "--abort");
  });
  await box.write(path, { "f.txt": "resolved\n" });
  await box.git(path, "add", "f.txt");
  await box.git(path, "-c", "core.editor=true", "rebase", "--continue");
  assert.equal((await box.git(path, "log", "--format=%s")).trim(), "Topic 2\nTopic 1\nMain\nBase");
});

Deno.test("skip-worktree, assume-unchanged and intent-to-add flags come back", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "a": "a\n", "b": "b\n", "c": "c\n" });
  await box.git(path, "update-index", "--skip-worktree", "a");
  await box.git(path, "update-index", "--assume-unchanged", "b");
  await box.write(path, { "a": "hidden change\n", "b": "hidden too\n", "n": "new\n" });
  await box.git(path, "add", "-N", "n");
  const flags = await box.git(path, "ls-files", "-v");
  await roundTrip(lab, path, async () => {
    await box.git(path, "update-index", "--no-skip-worktree", "a");
    await box.git(path, "update-index", "--no-assume-unchanged", "b");
    await box.git(path, "reset", "-q", "--hard");
  });
  assert.equal(await box.git(path, "ls-files", "-v"), flags);
});

Deno.test("a sparse checkout comes back with nothing written outside its cone", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "in/a": "a\n", "out/b": "b\n", "top": "t\n" });
  await box.git(path, "sparse-checkout", "set", "--cone", "--sparse-index", "in");
  await box.write(path, { "in/a": "changed\n" });
  await roundTrip(lab, path, async () => {
    await box.git(path, "reset", "-q", "--hard");
    await box.git(path, "rm", "-q", "--sparse", "top");
  });
  assert.equal((await box.tryGit(path, ["ls-files", "--error-unmatch", "out/b"])).code, 0);
});

Deno.test("an unborn branch becomes unborn again, and its index is as it was", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.write(path, { "staged": "s\n", "untracked": "u\n" });
  await box.git(path, "add", "staged");
  await roundTrip(lab, path, () => box.commit(path, "The first commit"));
});

Deno.test("a repository without index or files can be gone back to", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await roundTrip(lab, path, () => box.commit(path, "First", { "f": "f\n" }));
});

Deno.test("a detached HEAD with changes comes back", async () => {
  await using lab = await Lab.create();
  const path = await fullRepository(lab);
  const { box } = lab;
  await box.git(path, "checkout", "-q", "--detach");
  await roundTrip(lab, path, async () => {
    await box.git(path, "checkout", "-q", "-f", "main");
    await box.git(path, "clean", "-q", "-fd");
  });
});

Deno.test("a sha256 repository comes back", async () => {
  await using lab = await Lab.create();
  const path = await fullRepository(lab, "--object-format=sha256");
  const { box } = lab;
  await roundTrip(lab, path, async () => {
    await box.git(path, "reset", "-q", "--hard", "HEAD~1");
    await box.git(path, "branch", "-q", "-D", "feature");
  });
});

Deno.test("a linked work tree has points of its own and leaves the others' branches alone", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const main = await fullRepository(lab);
  await box.git(main, "worktree", "add", "-q", `${box.root}/linked`, "feature");
  const linked = await Deno.realPath(`${box.root}/linked`);
  await box.write(linked, { "a.txt": "in the linked one\n", "own": "untracked here\n" });
  await box.git(linked, "add", "a.txt");
  const mainBefore = await lab.state(main);
  await roundTrip(lab, linked, async () => {
    await box.git(linked, "reset", "-q", "--hard", "HEAD~1");
    await box.git(linked, "clean", "-q", "-fd");
  });
  assert.deepEqual(await lab.state(main), mainBefore);
  // Now the other work tree moves on: going back here must not move its branch.
  const point = await lab.point(linked);
  const moved = await box.commit(main, "On main meanwhile", { "x": "x\n" });
  const preview = await lab.preview(linked, point);
  assert.deepEqual(preview.refsLeft, [
    { ref: "refs/heads/main", reason: "checked_out_in_another_work_tree" },
  ]);
  await lab.apply(linked, point);
  assert.equal((await box.git(main, "rev-parse", "main")).trim(), moved);
});

Deno.test("a bare repository's refs come back", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const source = await fullRepository(lab);
  const path = `${box.root}/bare.git`;
  await box.git(box.root, "clone", "-q", "--bare", source, path);
  await roundTrip(lab, path, async () => {
    await box.git(path, "branch", "-q", "-D", "feature");
    await box.git(path, "update-ref", "refs/heads/main", "main~1");
  });
});

Deno.test("bytes come back although attributes, autocrlf, filters and encodings would change them", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const evil = await box.evil();
  const path = await box.repo();
  await box.git(path, "config", "core.autocrlf", "true");
  await box.git(path, "config", "filter.rot.clean", "tr a-z n-za-m");
  await box.git(path, "config", "filter.rot.smudge", "tr a-z n-za-m");
  await box.git(path, "config", "filter.rot.required", "true");
  await box.commit(path, "Base", {
    ".gitattributes":
      "*.auto text=auto\n*.crlf text eol=crlf\n*.lf text eol=lf\n*.id ident\n*.rot filter=rot\n*.u16 working-tree-encoding=UTF-16LE\n",
    "mixed.auto": "a\r\nb\nc\r\n",
    "file.crlf": "a\r\nb\r\n",
    "file.lf": "a\nb\n",
    "file.id": "$Id$ and $Id: something of its own $\n",
    "file.rot": "secret words\n",
    "file.u16": new Uint8Array([104, 0, 233, 0, 10, 0]),
  });
  await box.git(path, "rm", "-q", "--cached", "file.id");
  await Deno.remove(`${path}/file.id`);
  await box.git(path, "reset", "-q", "--hard");
  // Changed in ways that git would not keep, and new files under the same rules.
  await box.write(path, {
    "mixed.auto": "x\r\ny\nz\r\n\r",
    "file.crlf": "only\nline feeds\n",
    "file.lf": "carriage\r\nreturns\r\n",
    "new.rot": "never filtered\n",
    "new.id": "$Id: 0123456789abcdef0123456789abcdef01234567 $\n",
    "new.u16": new Uint8Array([1, 2, 3]),
  });
  const ignoredEvil = `${evil.script} %f`;
  await box.git(path, "config", "filter.rot.clean", ignoredEvil);
  await box.git(path, "config", "filter.rot.smudge", ignoredEvil);
  const before = await lab.state(path);
  const point = await lab.point(path);
  for await (const entry of Deno.readDir(path)) {
    if (entry.isFile && !entry.name.startsWith(".git")) await Deno.remove(`${path}/${entry.name}`);
  }
  await lab.apply(path, point);
  assert.deepEqual(await lab.state(path), before);
  assert.equal(await evil.ran(), false, "no filter was run");
  // The control: plain git does run it, and loses bytes.
  await box.tryGit(path, ["add", "-A"]);
  assert.equal(await evil.ran(), true);
});

Deno.test("a split index comes back with the shared file that it builds on", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  await box.git(path, "update-index", "--split-index");
  await box.write(path, { "dir/b.txt": "another change\n" });
  await box.git(path, "add", "dir/b.txt");
  const listed = await box.git(path, "ls-files", "-s");
  await roundTrip(lab, path, async () => {
    await box.git(path, "update-index", "--no-split-index");
    await box.git(path, "reset", "-q", "--hard");
    for await (const entry of Deno.readDir(`${path}/.git`)) {
      if (entry.name.startsWith("sharedindex.")) await Deno.remove(`${path}/.git/${entry.name}`);
    }
  });
  assert.equal(await box.git(path, "ls-files", "-s"), listed);
});

Deno.test("an index of version 4 comes back, and what only it named is there after a gc", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  await box.git(path, "update-index", "--index-version=4");
  await box.write(path, { "dir/staged-only": "never committed\n" });
  await box.git(path, "add", "dir/staged-only");
  await box.git(path, "write-tree");
  await Deno.remove(`${path}/dir/staged-only`);
  await roundTrip(lab, path, async () => {
    await box.git(path, "reset", "-q", "--hard");
    await box.git(path, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now");
  });
  assert.equal(await box.git(path, "show", ":dir/staged-only"), "never committed\n");
  await box.git(path, "fsck", "--strict");
});

Deno.test("names that are not UTF-8, or hold line ends, quotes and backslashes, come back", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "plain": "p\n" });
  await box.write(path, {
    "line\nend": "1\n",
    'quo"te': "2\n",
    "back\\slash": "3\n",
    " blanks ": "4\n",
    "-dash": "5\n",
    "tab\there": "6\n",
    ":(top)magic": "7\n",
  });
  // The runtime cannot name these bytes; git's own plumbing can write them.
  const blob = (await box.tryGit(path, ["hash-object", "-w", "--stdin"], { stdin: "odd\n" })).stdout
    .trim();
  const entry = new Uint8Array([
    ...new TextEncoder().encode(`100644 ${blob} 0\todd-`),
    0xff,
    0xfe,
    0,
  ]);
  await box.tryGit(path, ["update-index", "-z", "--index-info"], { stdin: entry });
  await box.git(path, "checkout-index", "-a", "-f");
  const before = await box.git(path, "ls-files", "-s", "-z");
  const statusBefore = await box.git(path, "status", "--porcelain", "-z");
  const indexBefore = await Deno.readFile(`${path}/.git/index`);
  const point = await lab.point(path);
  await box.git(path, "rm", "-q", "-r", "-f", "--cached", ".");
  await box.git(path, "clean", "-q", "-f");
  const { differences } = await lab.apply(path, point);
  assert.deepEqual(differences, []);
  assert.deepEqual(await Deno.readFile(`${path}/.git/index`), indexBefore);
  assert.equal(await box.git(path, "ls-files", "-s", "-z"), before);
  assert.equal(await box.git(path, "status", "--porcelain", "-z"), statusBefore);
});

Deno.test("submodules, nested repositories and ignored files are named as not covered and left alone", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const other = await box.repo("other");
  await box.commit(other, "Other", { "o": "o\n" });
  const path = await fullRepository(lab);
  await box.git(path, "-c", "protocol.file.allow=always", "submodule", "add", "-q", other, "sub");
  await box.git(path, "commit", "-q", "-m", "Add a submodule");
  await box.write(path, {
    "sub/o": "changed inside\n",
    "nested/f": "f\n",
    "empty-nested/g": "g\n",
  });
  await box.git(`${path}/nested`, "init", "-q");
  await box.git(`${path}/nested`, "commit", "-q", "--allow-empty", "-m", "n");
  await box.git(`${path}/empty-nested`, "init", "-q");
  const point = await lab.point(path);
  const { notCovered } = point;
  assert.deepEqual(notCovered.ignored, { count: 2, first: ["build/", "x.log"] });
  assert.deepEqual(notCovered.nestedRepositories, {
    count: 2,
    first: ["empty-nested/", "nested/"],
  });
  assert.deepEqual(notCovered.submodules, { count: 1, first: ["sub/"] });
  await box.git(path, "reset", "-q", "--hard", "HEAD~1");
  await lab.apply(path, point);
  assert.equal(await Deno.readTextFile(`${path}/sub/o`), "changed inside\n");
  assert.equal(await Deno.readTextFile(`${path}/nested/f`), "f\n");
  assert.equal(await Deno.readTextFile(`${path}/x.log`), "ignored\n");
  assert.match(await box.git(path, "ls-files", "-s", "sub"), /^160000/);
});

Deno.test("a tracked file that an ignore rule matches is covered", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  await box.write(path, { "forced.log": "tracked all the same\n" });
  await box.git(path, "add", "-f", "forced.log");
  await box.git(path, "commit", "-q", "-m", "Forced", "forced.log");
  await box.write(path, { "forced.log": "changed\n" });
  await roundTrip(lab, path, () => box.git(path, "checkout", "-q", "HEAD", "--", "forced.log"));
});

Deno.test("a file that became a folder and a folder that became a file come back when git knows them", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "x": "a file\n", "y/inside": "in a folder\n" });
  await roundTrip(lab, path, async () => {
    await box.git(path, "rm", "-q", "-r", "x", "y");
    await box.commit(path, "Swapped", { "x/now": "a folder\n", "y": "a file\n" });
  });
});

Deno.test("a branch gives way to one below it, and back", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f": "f\n" });
  await box.git(path, "branch", "topic");
  const point = await lab.point(path);
  const before = await lab.state(path);
  await box.git(path, "branch", "-q", "-D", "topic");
  await box.git(path, "branch", "topic/one");
  await lab.finish(path, point);
  await lab.apply(path, point);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("a work tree whose git directory stands inside it under another name is taken without it", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = `${box.root}/separate`;
  await Deno.mkdir(path);
  await box.git(path, "init", "-q", `--separate-git-dir=${path}/store`, ".");
  await box.commit(path, "Base", { "f": "f\n" }).catch(() => {});
  await box.git(path, "rm", "-q", "-r", "--cached", "--ignore-unmatch", "store");
  await box.git(path, "commit", "-q", "--allow-empty", "-m", "Only f");
  await box.write(path, { "g": "untracked\n" });
  const point = await lab.point(path);
  await Deno.remove(`${path}/g`);
  await lab.apply(path, point);
  assert.equal(await Deno.readTextFile(`${path}/g`), "untracked\n");
});

Deno.test("shallow and partial clones, borrowed objects and a work tree elsewhere come back, and compact", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const source = await fullRepository(lab);
  await box.git(source, "config", "uploadpack.allowFilter", "true");
  const url = `file://${source}`;
  const ways: Record<string, string[]> = {
    shallow: ["clone", "-q", "--depth=1", "--no-single-branch", url],
    partial: ["clone", "-q", "--filter=blob:none", url],
    borrowing: ["clone", "-q", "--shared", source],
  };
  const paths: string[] = [];
  for (const [name, args] of Object.entries(ways)) {
    await box.git(box.root, ...args, `${box.root}/${name}`);
    paths.push(`${box.root}/${name}`);
  }
  const elsewhere = `${box.root}/elsewhere`;
  await Deno.mkdir(elsewhere);
  await box.git(box.root, "clone", "-q", source, `${box.root}/moved`);
  await box.git(`${box.root}/moved`, "config", "core.worktree", elsewhere);
  await box.git(`${box.root}/moved`, "checkout", "-q", "-f", "HEAD");
  for (const path of paths) {
    await box.write(path, { "a.txt": "changed\n", "new": "new\n" });
    await box.git(path, "branch", "extra");
    const before = await lab.state(path);
    const point = await lab.point(path);
    await box.git(path, "reset", "-q", "--hard");
    await box.git(path, "clean", "-q", "-fd");
    await box.commit(path, "Later", { "later": "l\n" });
    await box.git(path, "branch", "-q", "-D", "extra");
    const finished = await lab.finish(path, point);
    assert.equal(finished.state, "finished");
    await lab.locked(path, async (repo) => {
      await compact(repo, HiddenRepository.open(repo, { create: false })!);
    });
    const { differences } = await lab.apply(path, point);
    assert.deepEqual(differences, [], path);
    assert.deepEqual(await lab.state(path), before, path);
    await box.git(path, "fsck", "--connectivity-only");
  }
  assert.deepEqual(lab.log, []);
  // The repository is asked for by its own path; its files lie in another folder.
  const moved = `${box.root}/moved/.git`;
  await box.write(elsewhere, { "a.txt": "changed elsewhere\n" });
  const repoPath = await Deno.realPath(elsewhere);
  await Deno.symlink(moved, `${elsewhere}/.git`);
  const point = await lab.point(repoPath);
  await box.git(repoPath, "checkout", "-q", "-f", "HEAD");
  await lab.apply(repoPath, point);
  assert.equal(await Deno.readTextFile(`${elsewhere}/a.txt`), "changed elsewhere\n");
});
