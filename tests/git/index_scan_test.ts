import assert from "node:assert/strict";
import { guardSubmodules, openSubmodule, scanIndex } from "../../git/index_scan.ts";
import { openRepository } from "../../git/repository.ts";
import { readWorkTree } from "../../git/work_tree.ts";
import { data } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

const scan = async (path: string) => await scanIndex(await openRepository(path));

/** A repository with `sub`, which holds `deep`; each is a clone of one library with a file `f`. */
async function nested(box: Sandbox) {
  const lib = await box.repo("lib");
  await box.commit(lib, "l", { f: "1\n" });
  const repo = await box.repo("repo");
  await box.git(repo, "submodule", "--quiet", "add", lib, "sub");
  await box.git(`${repo}/sub`, "submodule", "--quiet", "add", lib, "deep");
  await box.commit(`${repo}/sub`, "nest");
  await box.commit(repo, "pin");
  return { lib, repo, sub: `${repo}/sub`, deep: `${repo}/sub/deep` };
}

/** Names a clean filter in the configuration of a submodule and makes its file look touched. */
async function arm(box: Sandbox, sub: string, name: string, program: string): Promise<void> {
  await box.git(sub, "config", `filter.${name}.clean`, program);
  const gitDir = (await box.git(sub, "rev-parse", "--absolute-git-dir")).trim();
  await Deno.mkdir(`${gitDir}/info`, { recursive: true });
  await Deno.writeTextFile(`${gitDir}/info/attributes`, `f filter=${name}\n`);
  await Deno.utime(`${sub}/f`, 1, 1);
}

Deno.test("hidden flags, gitlinks and stages are counted off the index, none of it for an unborn or bare one", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const none = { entries: 0, gitlinks: [], gitlinksCut: false };
  assert.deepEqual({ ...none, ...await scan(repo) }, {
    ...none,
    skipWorktree: 0,
    assumeUnchanged: 0,
    hidden: 0,
  });
  const one = await box.commit(repo, "one", { a: "1\n", b: "1\n", c: "1\n", "d\te\nf": "1\n" });
  await box.git(repo, "update-index", "--skip-worktree", "a", "d\te\nf");
  await box.git(repo, "update-index", "--assume-unchanged", "b", "d\te\nf");
  await box.tryGit(repo, ["update-index", "--add", "--index-info"], {
    stdin: `160000 ${one} 0\tlink\n160000 ${one} 1\tun\n160000 ${one} 3\tun\n`,
  });
  const found = await scan(repo);
  assert.equal(found.entries, 7);
  assert.deepEqual([found.skipWorktree, found.assumeUnchanged, found.hidden], [2, 2, 3]);
  assert.deepEqual(found.gitlinks, [
    { path: "link", oid: one, stage: 0 },
    { path: "un", oid: one, stage: 1 },
    { path: "un", oid: one, stage: 3 },
  ]);
  await box.git(box.root, "init", "-q", "--bare", "bare.git");
  assert.equal((await scan(`${box.root}/bare.git`)).entries, 0);
});

Deno.test("many gitlinks are kept up to a bound, and the rest is said", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const one = await box.commit(repo, "one");
  const lines = Array.from({ length: 1_200 }, (_, i) => `160000 ${one} 0\tl${i}\n`).join("");
  await box.tryGit(repo, ["update-index", "--add", "--index-info"], { stdin: lines });
  const found = await scan(repo);
  assert.equal(found.entries, 1_200);
  assert.equal(found.gitlinks.length, 1_000);
  assert.equal(found.gitlinksCut, true);
  const answer = await data("submodule.status", { repoPath: repo, limit: 1000 });
  assert.equal(answer.submodules.length, 1_000);
  assert.equal(answer.truncated, true);
  assert.equal(answer.total, null);
  assert.match(JSON.stringify(answer.warnings), /submodules_unreadable/);
});

Deno.test("a scan is new after every change of the index, its time set back or not", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n", b: "1\n" });
  const index = `${repo}/.git/index`;
  for (let i = 0; i < 4; i++) {
    await box.git(
      repo,
      "update-index",
      i % 2 ? "--no-assume-unchanged" : "--assume-unchanged",
      "a",
    );
    await Deno.utime(index, 1_000_000, 1_000_000);
    assert.equal((await scan(repo)).assumeUnchanged, i % 2 ? 0 : 1);
  }
});

Deno.test("an index in other forms is read through git", async () => {
  await using box = await fresh();
  for (const args of [["--index-version", "4"], ["--split-index"]]) {
    const repo = await box.repo(`repo${args[0]}`);
    const one = await box.commit(repo, "one", { a: "1\n", "dir/b": "1\n" });
    await box.tryGit(repo, ["update-index", "--add", "--cacheinfo", `160000,${one},link`]);
    await box.git(repo, "update-index", ...args);
    const found = await scan(repo);
    assert.equal(found.entries, 3, args.join(" "));
    assert.equal(found.gitlinks.length, 1);
  }
});

Deno.test("filters of submodules at every depth are switched off in status, where plain git runs them", async () => {
  await using box = await fresh();
  const evil = await box.evil();
  const { repo, sub, deep } = await nested(box);
  for (const [where, name] of [[sub, "a=b"], [deep, "dots.in"]] as const) {
    await arm(box, where, name, evil.cat);
    await box.git(repo, "--no-optional-locks", "status");
    assert.equal(await evil.ran(), true, `control: ${where}`);
    await evil.reset();
  }
  await Deno.utime(`${sub}/f`, 2, 2);
  await Deno.utime(`${deep}/f`, 2, 2);
  const opened = await openRepository(repo);
  const guard = await guardSubmodules(opened);
  assert.equal(guard.complete, true);
  assert.deepEqual(Object.fromEntries(guard.overrides), {
    "filter.a=b.clean": "",
    "filter.dots.in.clean": "",
  });
  const before = await hashTree(repo);
  await readWorkTree(opened, { limit: 10 });
  assert.equal(await evil.ran(), false);
  assert.equal(await hashTree(repo), before);
});

Deno.test("fsmonitor and hooks of a submodule are not run, where plain git runs the fsmonitor", async () => {
  await using box = await fresh();
  const evil = await box.evil();
  const { repo, sub } = await nested(box);
  await box.git(sub, "config", "core.fsmonitor", evil.script);
  const gitDir = (await box.git(sub, "rev-parse", "--absolute-git-dir")).trim();
  await Deno.mkdir(`${gitDir}/hooks`, { recursive: true });
  await Deno.copyFile(evil.script, `${gitDir}/hooks/post-index-change`);
  await box.git(repo, "status");
  assert.equal(await evil.ran(), true, "control");
  await evil.reset();
  await Deno.utime(`${sub}/f`, 1, 1);
  await readWorkTree(await openRepository(repo), { limit: 10 });
  assert.equal(await evil.ran(), false);
});

Deno.test("a submodule that cannot be read safely is not looked into at all, and the answer says so", async () => {
  await using box = await fresh();
  const evil = await box.evil();
  const { repo, sub } = await nested(box);
  await box.write(sub, { untracked: "u\n" });
  await arm(box, sub, "plain", evil.cat);
  const gitDir = (await box.git(sub, "rev-parse", "--absolute-git-dir")).trim();
  const raw = Uint8Array.from(
    `[filter "\xe9"]\n\tclean = ${evil.cat}\n`,
    (c) => c.charCodeAt(0),
  );
  await Deno.writeFile(`${gitDir}/config`, raw, { append: true });
  const opened = await openRepository(repo);
  assert.equal((await guardSubmodules(opened)).complete, false);
  const status = await data("repo.status", { repoPath: repo });
  assert.equal(status.clean, true);
  assert.equal(status.warnings[0].code, "submodules_unreadable");
  assert.equal(await evil.ran(), false);
  await box.git(repo, "status");
  assert.equal(await evil.ran(), true, "control");
});

Deno.test("an empty folder is no submodule, and a link in a submodule's place is not followed", async () => {
  await using box = await fresh();
  const { lib, repo } = await nested(box);
  const opened = await openRepository(repo);
  const [link] = (await scanIndex(opened)).gitlinks;
  const found = await openSubmodule(opened, link!);
  assert(typeof found === "object");
  assert.equal(found.path, `${repo}/sub`);
  await Deno.remove(`${repo}/sub`, { recursive: true });
  assert.equal(await openSubmodule(opened, link!), "uninitialised");
  await Deno.mkdir(`${repo}/sub`);
  assert.equal(await openSubmodule(opened, link!), "uninitialised");
  await Deno.remove(`${repo}/sub`);
  await Deno.symlink(lib, `${repo}/sub`);
  assert.equal(await openSubmodule(opened, link!), "unreadable");
});

Deno.test("lock files of other processes stop no read and stay where they are", async () => {
  await using box = await fresh();
  const { repo } = await nested(box);
  await Deno.writeTextFile(`${repo}/.git/index.lock`, "");
  const before = await hashTree(repo);
  for (const tool of ["repo.status", "submodule.status", "worktree.list", "conflict.read"]) {
    await data(tool, { repoPath: repo });
  }
  assert.equal(await hashTree(repo), before);
  const control = await box.tryGit(repo, ["add", "-A"]);
  assert.match(control.stderr, /index\.lock/, "control: a writer is stopped");
});
