import assert from "node:assert/strict";
import { data, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

/** `main` and `side` changed the same line of `f.txt`; `clean` changed another file. */
async function diverged(box: Sandbox, name = "repo", ...init: string[]) {
  const repo = await box.repo(name, ...init);
  await box.commit(repo, "root");
  await box.commit(repo, "base", { "f.txt": "1\n2\n3\n", "g.txt": "g\n" });
  await box.git(repo, "branch", "old");
  await box.git(repo, "checkout", "-q", "-b", "side");
  await box.commit(repo, "side", { "f.txt": "1\nside\n3\n" });
  await box.git(repo, "checkout", "-q", "-b", "clean", "old");
  await box.commit(repo, "clean", { "g.txt": "other\n" });
  await box.git(repo, "checkout", "-q", "main");
  await box.commit(repo, "main", { "f.txt": "1\nmain\n3\n" });
  return repo;
}

const forecast = (repoPath: string, targetRef: string, currentRef?: string) =>
  data("repo.conflictPreflight", {
    repoPath,
    targetRef,
    ...(currentRef === undefined ? {} : { currentRef }),
  });

Deno.test("repo.conflictPreflight tells the five outcomes of a merge apart", async () => {
  await using box = await fresh();
  const repo = await diverged(box);
  await box.git(repo, "checkout", "-q", "--orphan", "apart");
  await box.commit(repo, "apart");
  await box.git(repo, "checkout", "-q", "main");
  const conflicts = await forecast(repo, "side");
  assert.equal(conflicts.status, "conflicts");
  assert.deepEqual(conflicts.conflictingPaths, ["f.txt"]);
  assert.deepEqual(conflicts.conflicts, [{ path: "f.txt", kind: "both-modified" }]);
  assert.equal(conflicts.conflictCount, 1);
  assert.equal(conflicts.currentRef, "HEAD");
  assert.equal(conflicts.currentOid, (await box.git(repo, "rev-parse", "main")).trim());
  assert.equal(conflicts.mergeBaseOid, (await box.git(repo, "rev-parse", "old")).trim());
  const clean = await forecast(repo, "clean");
  assert.equal(clean.status, "clean-merge");
  assert.equal(clean.conflictCount, 0);
  assert.equal((await forecast(repo, "old")).status, "already-up-to-date");
  assert.equal((await forecast(repo, "main", "old")).status, "fast-forward");
  assert.equal((await forecast(repo, "main", " ")).status, "already-up-to-date");
  const apart = await forecast(repo, "apart");
  assert.equal(apart.status, "unrelated-histories");
  assert.equal(apart.mergeBaseOid, null);
});

Deno.test("repo.conflictPreflight names kinds, and git's word where a kind is not enough", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const seven = "a\nb\nc\nd\ne\nf\ng\n";
  await box.commit(repo, "base", {
    "bin": new Uint8Array([0, 1]),
    "del.txt": "a\nb\nc\n",
    "ren.txt": seven,
    "way": "x\ny\nz\n",
    "auto.txt": "1\n2\n3\n4\n5\n6\n7\n8\n",
  });
  await box.git(repo, "checkout", "-q", "-b", "side");
  await box.git(repo, "rm", "-q", "way", "del.txt");
  await box.git(repo, "mv", "ren.txt", "ren-side.txt");
  await box.commit(repo, "side", {
    "bin": new Uint8Array([0, 2]),
    "both -> added\t.txt": "side\n",
    "way/inner": "i\n",
    "auto.txt": "1\n2\n3\n4\n5\n6\n7\nside\n",
  });
  await box.git(repo, "checkout", "-q", "main");
  await box.git(repo, "mv", "ren.txt", "ren-main.txt");
  await box.commit(repo, "main", {
    "bin": new Uint8Array([0, 3]),
    "both -> added\t.txt": "main\n",
    "del.txt": "a\nB\nc\n",
    "way": "x\ny\nZ\n",
    "auto.txt": "main\n2\n3\n4\n5\n6\n7\n8\n",
  });
  const { conflicts, conflictingPaths } = await forecast(repo, "side");
  assert.deepEqual(conflicts, [
    { path: "bin", kind: "both-modified", type: "binary" },
    { path: "both -> added\t.txt", kind: "both-added" },
    { path: "del.txt", kind: "deleted-by-them", type: "modify/delete" },
    { path: "ren-main.txt", kind: "added-by-us", type: "rename/rename" },
    { path: "ren-side.txt", kind: "added-by-them", type: "rename/rename" },
    { path: "ren.txt", kind: "both-deleted", type: "rename/rename" },
    { path: "way", kind: "deleted-by-them", type: "file/directory" },
  ]);
  assert(!conflictingPaths.includes("auto.txt"), "what merges cleanly is no conflict");
});

Deno.test("repo.conflictPreflight follows renames and is not fooled by the text of files", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "base", { "a.txt": "our team has four words\n2\n3\n4\n5\n6\n7\n8\n" });
  await box.git(repo, "checkout", "-q", "-b", "side");
  await box.git(repo, "mv", "a.txt", "b.txt");
  await box.commit(repo, "moved");
  await box.git(repo, "checkout", "-q", "main");
  await box.commit(repo, "edited", {
    "a.txt": "our team has four words\n2\n3\n4\n5\n6\n7\nCONFLICT (content): Merge conflict in x\n",
  });
  const answer = await forecast(repo, "side");
  assert.equal(answer.status, "clean-merge");
  assert.deepEqual(answer.conflictingPaths, []);
});

Deno.test("repo.conflictPreflight gives paths that are not UTF-8 losslessly", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const raw = "latin\\351.txt";
  const stage = async (text: string, parent?: string) => {
    const blob = (await box.tryGit(repo, ["hash-object", "-w", "--stdin"], { stdin: text })).stdout
      .trim();
    const tree = (await box.tryGit(repo, ["mktree"], { stdin: `100644 blob ${blob}\t"${raw}"\n` }))
      .stdout.trim();
    const args = ["commit-tree", tree, "-m", text, ...(parent ? ["-p", parent] : [])];
    return (await box.git(repo, ...args)).trim();
  };
  const base = await stage("base\n");
  await box.git(repo, "update-ref", "refs/heads/one", await stage("one\n", base));
  await box.git(repo, "update-ref", "refs/heads/two", await stage("two\n", base));
  const answer = await forecast(repo, "two", "one");
  assert.deepEqual(answer.conflicts, [{
    path: "latin\uFFFD.txt",
    pathBytes: btoa("latin\xe9.txt"),
    kind: "both-modified",
  }]);
});

Deno.test("merge drivers of the repository are not run and the answer says so, clean merges included; plain git runs them", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const lines = "1\n2\n3\n4\n5\n6\n7\n8\n";
  await box.commit(repo, "base", {
    ".gitattributes": "*.txt merge=odd=na.me\n",
    "f.txt": "1\n2\n3\n",
    "auto.txt": lines,
    "plain.md": lines,
  });
  await box.git(repo, "checkout", "-q", "-b", "clean");
  await box.commit(repo, "clean", { "auto.txt": lines + "9\n", "plain.md": lines + "9\n" });
  await box.git(repo, "checkout", "-q", "-b", "side");
  await box.commit(repo, "side", { "f.txt": "1\nside\n3\n" });
  await box.git(repo, "checkout", "-q", "main");
  await box.commit(repo, "main", {
    "f.txt": "1\nmain\n3\n",
    "auto.txt": "0\n" + lines,
    "plain.md": "0\n" + lines,
  });
  const evil = await box.evil();
  await Deno.writeTextFile(
    `${repo}/.git/config`,
    (await Deno.readTextFile(`${repo}/.git/config`)) +
      `[merge "odd=na.me"]\n\tdriver = ${evil.script} %O %A %B\n`,
  );
  await box.tryGit(repo, ["merge-tree", "--write-tree", "main", "side"]);
  assert.equal(await evil.ran(), true, "control: plain git runs the driver");
  await evil.reset();
  const side = await forecast(repo, "side");
  assert.equal(side.status, "conflicts");
  assert.deepEqual(side.conflictingPaths, ["f.txt"]);
  assert.deepEqual(
    side.warnings.map((w: { code: string; count: number }) => [w.code, w.count]),
    [["merge_driver_not_run", 2]],
  );
  const clean = await forecast(repo, "clean");
  assert.equal(clean.status, "clean-merge");
  assert.equal(clean.warnings[0].code, "merge_driver_not_run");
  assert.equal(clean.warnings[0].count, 1);
  assert.equal(await evil.ran(), false);
});

Deno.test("a driver that merge.default names is not run either, and counted", async () => {
  await using box = await fresh();
  const repo = await diverged(box);
  const evil = await box.evil();
  await box.git(repo, "config", "merge.default", "evil");
  await box.git(repo, "config", "merge.evil.driver", `${evil.script} %O %A %B`);
  await box.tryGit(repo, ["merge-tree", "--write-tree", "main", "side"]);
  assert.equal(await evil.ran(), true, "control");
  await evil.reset();
  const answer = await forecast(repo, "side");
  assert.equal(answer.status, "conflicts");
  assert.equal(answer.warnings[0].count, 1);
  assert.equal(await evil.ran(), false);
});

Deno.test("a driver of the user's own configuration decides as it would in a real merge", async () => {
  await using box = await fresh();
  const repo = await diverged(box);
  await box.git(repo, "config", "--global", "merge.ours.driver", "true");
  await box.write(repo, { ".git/info/attributes": "*.txt merge=ours\n" });
  const answer = await forecast(repo, "side");
  assert.equal(answer.status, "clean-merge");
  assert.equal(answer.warnings, undefined);
});

Deno.test("with filters and fsmonitor in the repository's configuration a forecast runs neither", async () => {
  await using box = await fresh();
  const repo = await diverged(box);
  const evil = await box.evil();
  await box.git(repo, "config", "core.fsmonitor", evil.script);
  await box.git(repo, "config", "filter.evil.clean", evil.cat);
  await box.git(repo, "config", "merge.renormalize", "true");
  await box.write(repo, { ".git/info/attributes": "* filter=evil\n" });
  await box.tryGit(repo, ["merge-tree", "--write-tree", "main", "side"]);
  assert.equal(await evil.ran(), true, "control: renormalising runs the filter");
  await evil.reset();
  assert.equal((await forecast(repo, "side")).status, "conflicts");
  assert.equal(await evil.ran(), false);
});

Deno.test("a partial clone gives unknown with missing_objects, and nothing is fetched", async () => {
  await using box = await fresh();
  const origin = await diverged(box, "origin");
  await box.git(origin, "config", "uploadpack.allowFilter", "true");
  const repo = `${box.root}/partial`;
  await box.git(
    box.root,
    "clone",
    "-q",
    "--no-checkout",
    "--filter=blob:none",
    `file://${origin}`,
    repo,
  );
  const evil = await box.evil();
  await box.git(repo, "config", "remote.origin.uploadpack", evil.script);
  const before = await hashTree(repo);
  const answer = await forecast(repo, "origin/side");
  assert.equal(answer.status, "unknown");
  assert.equal(answer.conflictCount, null);
  assert.equal(answer.warnings[0].code, "missing_objects");
  assert.notEqual(answer.mergeBaseOid, null);
  assert.equal(await hashTree(repo), before);
  assert.equal(await evil.ran(), false);
  await box.tryGit(repo, ["merge-tree", "--write-tree", "HEAD", "origin/side"]);
  assert.equal(await evil.ran(), true, "control: plain git asks the remote");
});

Deno.test("in a shallow clone an absent common ancestor is unknown, not unrelated", async () => {
  await using box = await fresh();
  const origin = await diverged(box, "origin");
  const repo = `${box.root}/shallow`;
  await box.git(
    box.root,
    "clone",
    "-q",
    "--depth=1",
    "--no-single-branch",
    `file://${origin}`,
    repo,
  );
  const answer = await forecast(repo, "origin/side");
  assert.equal(answer.status, "unknown");
  assert.equal(answer.mergeBaseOid, null);
  assert.equal(answer.warnings[0].code, "missing_objects");
  await box.git(repo, "fetch", "-q", "--depth=2", "origin", "+refs/heads/*:refs/remotes/origin/*");
  const deeper = await forecast(repo, "origin/side");
  assert.equal(deeper.status, "conflicts");
  assert.equal(deeper.shallow, true);
});

Deno.test("criss-cross histories name every merge base", async () => {
  await using box = await fresh();
  const repo = await diverged(box);
  await box.git(repo, "checkout", "-q", "-b", "other", "clean");
  await box.git(repo, "merge", "-q", "-m", "x", "main");
  await box.git(repo, "checkout", "-q", "main");
  await box.git(repo, "merge", "-q", "-m", "y", "clean");
  await box.commit(repo, "one", { "n.txt": "1\n" });
  await box.git(repo, "checkout", "-q", "other");
  await box.commit(repo, "two", { "n.txt": "2\n" });
  const answer = await forecast(repo, "main");
  assert.equal(answer.mergeBases.length, 2);
  assert.equal(answer.mergeBaseOid, answer.mergeBases[0]);
  assert.deepEqual(answer.conflicts, [{ path: "n.txt", kind: "both-added" }]);
});

Deno.test("forecasts work in a bare repository, a linked worktree, with sha256 and with borrowed objects", async () => {
  await using box = await fresh();
  const repo = await diverged(box);
  const bare = `${box.root}/bare.git`;
  await box.git(box.root, "clone", "-q", "--bare", repo, bare);
  assert.equal((await forecast(bare, "side", "main")).status, "conflicts");
  const linked = `${box.root}/linked "tree":x`;
  await box.git(repo, "worktree", "add", "-q", linked, "clean");
  assert.equal((await forecast(linked, "side")).status, "clean-merge");
  const borrowing = `${box.root}/bor:row"ing`;
  await box.git(box.root, "clone", "-q", "--shared", repo, borrowing);
  assert.equal((await forecast(borrowing, "origin/side")).status, "conflicts");
  const sha256 = await diverged(box, "sha256", "--object-format=sha256");
  const answer = await forecast(sha256, "side");
  assert.equal(answer.status, "conflicts");
  assert.equal(answer.targetOid.length, 64);
});

Deno.test("a submodule that moved on both sides is a conflict of its path", async () => {
  await using box = await fresh();
  const lib = await box.repo("lib");
  const one = await box.commit(lib, "1", { "l": "1\n" });
  await box.git(lib, "checkout", "-q", "-b", "x");
  const two = await box.commit(lib, "2", { "l": "2\n" });
  await box.git(lib, "checkout", "-q", "-b", "y", one);
  const three = await box.commit(lib, "3", { "l": "3\n" });
  const repo = await box.repo();
  await box.git(repo, "submodule", "--quiet", "add", lib, "sub mod");
  await box.git(`${repo}/sub mod`, "checkout", "-q", one);
  await box.commit(repo, "pin 1");
  await box.git(repo, "checkout", "-q", "-b", "side");
  await box.git(`${repo}/sub mod`, "checkout", "-q", two);
  await box.commit(repo, "pin 2");
  await box.git(repo, "checkout", "-q", "main");
  await box.git(`${repo}/sub mod`, "checkout", "-q", three);
  await box.commit(repo, "pin 3");
  const answer = await forecast(repo, "side");
  assert.equal(answer.status, "conflicts");
  assert.equal(answer.conflicts[0].path, "sub mod");
  assert.equal(answer.conflicts[0].kind, "both-modified");
});

Deno.test("a long list of conflicts is cut and counted", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const files = (text: string) =>
    Object.fromEntries(
      Array.from({ length: 230 }, (_, i) => [`f${String(i).padStart(3, "0")}`, text]),
    );
  await box.commit(repo, "base", files("0\n"));
  await box.git(repo, "checkout", "-q", "-b", "side");
  await box.commit(repo, "side", files("1\n"));
  await box.git(repo, "checkout", "-q", "main");
  await box.commit(repo, "main", files("2\n"));
  const answer = await forecast(repo, "side");
  assert.equal(answer.conflictCount, 230);
  assert.equal(answer.conflicts.length, 200);
  assert.equal(answer.truncated, true);
  assert.equal(answer.conflicts[199].path, "f199");
});

Deno.test("refs that look like options are refused before git runs, and absent ones are named", async () => {
  await using box = await fresh();
  const repo = await diverged(box);
  for (const ref of ["--output=/tmp/x", "-O", "--stdin"]) {
    const refused = await refusal("repo.conflictPreflight", { repoPath: repo, targetRef: ref });
    assert.equal(refused.code, -32602);
    assert.match(refused.data.details, /targetRef/);
  }
  const absent = await refusal("repo.conflictPreflight", { repoPath: repo, targetRef: "nowhere" });
  assert.equal(absent.code, 10010);
  assert.match(absent.data.details, /targetRef "nowhere" does not name a commit/);
  const unborn = await refusal("repo.conflictPreflight", {
    repoPath: await box.repo("empty"),
    targetRef: "HEAD",
  });
  assert.equal(unborn.code, 10010);
  const tagged =
    (await box.git(repo, "tag", "-a", "-m", "t", "v1", "side"), await forecast(repo, "v1"));
  assert.equal(tagged.targetOid, (await box.git(repo, "rev-parse", "side")).trim());
});
