import assert from "node:assert/strict";
import { data, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

// deno-lint-ignore no-explicit-any
type Answer = any;

const status = async (repoPath: string, args: Record<string, unknown> = {}): Promise<Answer> => {
  const before = await hashTree(repoPath);
  const answer = await data("submodule.status", { repoPath, ...args });
  assert.equal(await hashTree(repoPath), before, "nothing is written");
  return answer;
};

/** A repository with the submodule `sub mod` pinned to the first of two commits of `lib`. */
async function pinned(box: Sandbox) {
  const lib = await box.repo("lib");
  const one = await box.commit(lib, "1", { l: "1\n" });
  const repo = await box.repo("repo");
  await box.git(repo, "submodule", "--quiet", "add", lib, "sub mod");
  await box.commit(repo, "pin");
  const two = await box.commit(lib, "2", { l: "2\n" });
  return { lib, repo, sub: `${repo}/sub mod`, one, two };
}

Deno.test("submodule.status gives recorded and checked-out commit, and tells all kinds of dirt apart", async () => {
  await using box = await fresh();
  const { repo, sub, one, two } = await pinned(box);
  const clean = await status(repo);
  assert.deepEqual(clean.submodules, [{
    path: "sub mod",
    commit: one,
    recorded: one,
    declared: true,
    state: " ",
    checkedOut: one,
    initialized: true,
    dirty: { modified: false, untracked: false },
    description: "",
  }]);
  assert.equal(clean.total, 1);
  assert.equal(clean.warnings, undefined);
  await box.write(sub, { new: "n\n" });
  assert.deepEqual((await status(repo)).submodules[0].dirty, { modified: false, untracked: true });
  await box.write(sub, { l: "dirt\n" });
  assert.deepEqual((await status(repo)).submodules[0].dirty, { modified: true, untracked: true });
  await box.git(sub, "checkout", "-q", "-f", ".");
  await box.git(sub, "fetch", "-q");
  await box.git(sub, "checkout", "-q", two);
  const [moved] = (await status(repo)).submodules;
  assert.deepEqual([moved.state, moved.recorded, moved.checkedOut], ["+", one, two]);
});

Deno.test("a submodule that is not checked out shows nothing of its parent, empty folder or none", async () => {
  await using box = await fresh();
  const { repo, one } = await pinned(box);
  const clone = `${box.root}/clone`;
  await box.git(box.root, "clone", "-q", repo, clone);
  const expected = [{
    path: "sub mod",
    commit: one,
    recorded: one,
    declared: true,
    state: "-",
    checkedOut: null,
    initialized: false,
    dirty: null,
    description: "",
  }];
  assert.equal((await Deno.stat(`${clone}/sub mod`)).isDirectory, true);
  assert.deepEqual((await status(clone)).submodules, expected);
  await box.git(clone, "submodule", "--quiet", "init");
  assert.deepEqual(
    (await status(clone)).submodules,
    expected,
    "init without update changes nothing",
  );
  await Deno.remove(`${clone}/sub mod`);
  assert.deepEqual((await status(clone)).submodules, expected);
  const parent = (await box.git(`${clone}`, "rev-parse", "HEAD")).trim();
  await Deno.mkdir(`${clone}/sub mod`);
  const plain = (await box.git(`${clone}/sub mod`, "rev-parse", "HEAD")).trim();
  assert.equal(plain, parent, "control: git asked there answers for the parent");
});

Deno.test("submodules of submodules follow their parent, and their dirt is its dirt", async () => {
  await using box = await fresh();
  const { repo, lib, sub } = await pinned(box);
  await box.git(sub, "submodule", "--quiet", "add", lib, "deep/er");
  const pin = await box.commit(sub, "nest");
  await box.git(repo, "submodule", "--quiet", "add", lib, "sub");
  await box.commit(repo, "pin again");
  const names = (answer: Answer) => answer.submodules.map((s: Answer) => s.path);
  const all = await status(repo);
  assert.deepEqual(names(all), ["sub", "sub mod", "sub mod/deep/er"]);
  assert.equal(all.submodules[1].recorded, pin);
  await box.write(`${sub}/deep/er`, { untracked: "u\n" });
  const [, outer, inner] = (await status(repo)).submodules;
  assert.deepEqual(inner.dirty, { modified: false, untracked: true });
  assert.deepEqual(outer.dirty, { modified: false, untracked: true });
  await box.write(`${sub}/deep/er`, { l: "changed\n" });
  const changed = (await status(repo)).submodules;
  assert.deepEqual(changed.map((s: Answer) => s.dirty.modified), [false, true, true]);
  assert.deepEqual(changed.map((s: Answer) => s.state), [" ", " ", " "]);
  assert.deepEqual(names(await status(repo, { path: "sub" })), ["sub"]);
  assert.deepEqual(names(await status(repo, { path: `${repo}/sub mod/` })), [
    "sub mod",
    "sub mod/deep/er",
  ]);
  assert.deepEqual(names(await status(repo, { path: "sub mod/deep" })), ["sub mod/deep/er"]);
  assert.deepEqual(names(await status(repo, { path: "nowhere" })), []);
  const refused = await refusal("submodule.status", { repoPath: repo, path: "../x" });
  assert.equal(refused.code, -32602);
});

Deno.test("a long list goes on with its cursor, at every depth", async () => {
  await using box = await fresh();
  const { repo, lib, sub } = await pinned(box);
  await box.git(sub, "submodule", "--quiet", "add", lib, "a");
  await box.git(sub, "submodule", "--quiet", "add", lib, "b");
  await box.commit(sub, "nest");
  await box.git(repo, "submodule", "--quiet", "add", lib, "sub mod-2");
  await box.git(repo, "submodule", "--quiet", "add", lib, "z");
  await box.commit(repo, "more");
  const all = (await status(repo)).submodules.map((s: Answer) => s.path);
  assert.deepEqual(all, ["sub mod", "sub mod/a", "sub mod/b", "sub mod-2", "z"]);
  const seen: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const page: Answer = await status(repo, { limit: 1, cursor });
    assert.equal(page.truncated, page.nextCursor !== null);
    assert.equal(page.total, null);
    seen.push(...page.submodules.map((s: Answer) => s.path));
    cursor = page.nextCursor;
  }
  assert.deepEqual(seen, all);
  const refused = await refusal("submodule.status", { repoPath: repo, cursor: "bogus" });
  assert.equal(refused.code, -32602);
});

Deno.test("a conflicted submodule gives the ids of all stages", async () => {
  await using box = await fresh();
  const { lib, repo, sub, one, two } = await pinned(box);
  await box.git(lib, "checkout", "-q", "-b", "y", one);
  const three = await box.commit(lib, "3", { l: "3\n" });
  await box.git(sub, "fetch", "-q");
  for (const [branch, oid] of [["side", two], ["ours", three]] as const) {
    await box.git(repo, "checkout", "-q", "-b", branch, "main");
    await box.git(sub, "checkout", "-q", oid);
    await box.commit(repo, branch);
  }
  await box.tryGit(repo, ["merge", "side"]);
  const [entry] = (await status(repo)).submodules;
  assert.equal(entry.state, "U");
  assert.deepEqual(entry.conflict, { base: one, ours: three, theirs: two });
  assert.equal(entry.commit, three);
  assert.equal(entry.recorded, three);
  assert.equal(entry.checkedOut, three);
});

Deno.test("a pin without .gitmodules is not declared, and a repository without a commit has none checked out", async () => {
  await using box = await fresh();
  const { repo, one } = await pinned(box);
  await box.git(repo, "update-index", "--add", "--cacheinfo", `160000,${one},bare pin`);
  await box.git(repo, "init", "-q", "bare pin");
  const [pin, sub] = (await status(repo)).submodules;
  assert.equal(pin.path, "bare pin");
  assert.equal(pin.declared, false);
  assert.deepEqual([pin.state, pin.checkedOut, pin.initialized], ["+", null, true]);
  assert.equal(sub.declared, true);
  await Deno.remove(`${repo}/.gitmodules`);
  assert.equal((await status(repo)).submodules[1].declared, true, "the index still names it");
  await Deno.writeTextFile(`${repo}/.gitmodules`, "[submodule\n");
  const broken = await status(repo);
  assert.equal(broken.submodules[1].declared, null);
  assert.equal(broken.warnings[0].code, "config_unreadable");
});

Deno.test("what cannot be looked into is null with a warning, not the parent and not clean", async () => {
  await using box = await fresh();
  const { repo, sub, one } = await pinned(box);
  await Deno.writeTextFile(`${sub}/.git`, "gitdir: ../.git/modules/nowhere\n");
  const broken = await status(repo);
  const [entry] = broken.submodules;
  assert.deepEqual(
    [entry.state, entry.checkedOut, entry.initialized, entry.dirty],
    [null, null, null, null],
  );
  assert.equal(entry.recorded, one);
  assert.equal(broken.warnings[0].code, "submodules_unreadable");
  assert.equal(broken.warnings[0].path, "sub mod");
  const other = await box.repo("other");
  await box.commit(other, "other");
  await Deno.remove(sub, { recursive: true });
  await Deno.symlink(other, sub);
  const linked = (await status(repo)).submodules[0];
  assert.equal(linked.initialized, null, "a link in its place is not followed");
  assert.equal(linked.checkedOut, null);
});

Deno.test("pins whose names are not UTF-8 are listed losslessly and found by their bytes", async () => {
  await using box = await fresh();
  const { repo, one } = await pinned(box);
  await box.tryGit(repo, ["update-index", "--add", "--index-info"], {
    stdin: new Uint8Array([
      ...new TextEncoder().encode(`160000 ${one} 0\tlatin`),
      0xe9,
      0x0a,
    ]),
  });
  const answer = await status(repo);
  const odd = answer.submodules.find((s: Answer) => s.pathBytes !== undefined);
  assert.equal(odd.path, "latin\uFFFD");
  assert.equal(atob(odd.pathBytes), "latin\xe9");
  assert.deepEqual([odd.recorded, odd.state, odd.declared], [one, null, false]);
  const found = await status(repo, { pathBytes: odd.pathBytes });
  assert.deepEqual(found.submodules.map((s: Answer) => s.path), ["latin\uFFFD"]);
});

Deno.test("submodules inside a linked worktree are those of that worktree", async () => {
  await using box = await fresh();
  const { repo, one } = await pinned(box);
  const linked = `${box.root}/linked`;
  await box.git(repo, "worktree", "add", "-q", "-b", "x", linked);
  assert.equal((await status(linked)).submodules[0].state, "-");
  await box.git(linked, "submodule", "--quiet", "update", "--init");
  await box.write(`${linked}/sub mod`, { untracked: "u\n" });
  const [entry] = (await status(linked)).submodules;
  assert.deepEqual([entry.state, entry.checkedOut, entry.dirty.untracked], [" ", one, true]);
  assert.equal((await status(repo)).submodules[0].dirty.untracked, false);
  await Deno.mkdir(`${repo}/folder`);
  const below = await data("submodule.status", { repoPath: `${repo}/folder` });
  assert.equal(below.submodules[0].path, "sub mod", "asked from a subfolder, named from the top");
});

Deno.test("filters and fsmonitor of a submodule's own configuration are not run, where plain git runs both", async () => {
  await using box = await fresh();
  const { repo, sub } = await pinned(box);
  const evil = await box.evil();
  await box.git(sub, "config", "core.fsmonitor", evil.script);
  await box.git(sub, "config", "filter.odd=na.me.clean", evil.cat);
  const attributes = (await box.git(sub, "rev-parse", "--git-path", "info/attributes")).trim();
  await box.write("", {
    [attributes.startsWith("/") ? attributes : `${sub}/${attributes}`]: "* filter=odd=na.me\n",
  });
  const stale = () => Deno.utime(`${sub}/l`, 1, 1);
  await stale();
  await box.git(repo, "status");
  const ran = await Deno.readTextFile(evil.mark);
  assert(
    ran.includes(evil.script) && ran.includes(evil.cat),
    "control: git in the parent runs both",
  );
  await evil.reset();
  await stale();
  const [entry] = (await status(repo)).submodules;
  assert.equal(await evil.ran(), false);
  assert.equal(entry.initialized, true);
  await data("repo.status", { repoPath: repo });
  assert.equal(await evil.ran(), false);
});

Deno.test("a bare repository is told to have no work tree", async () => {
  await using box = await fresh();
  const bare = `${box.root}/bare.git`;
  await box.git(box.root, "init", "-q", "--bare", bare);
  const error = await refusal("submodule.status", { repoPath: bare });
  assert.equal(error.code, 10010);
  assert.equal(error.data.kind, "bare_repository");
});

Deno.test("pins are read from repositories with 64-digit ids, and none is an empty list", async () => {
  await using box = await fresh();
  const lib = await box.repo("lib", "--object-format=sha256");
  const pin = await box.commit(lib, "l");
  const repo = await box.repo("repo", "--object-format=sha256");
  assert.deepEqual((await status(repo)).submodules, []);
  await box.git(repo, "submodule", "--quiet", "add", lib, "s");
  const [entry] = (await status(repo)).submodules;
  assert.deepEqual([entry.recorded, entry.checkedOut, entry.state], [pin, pin, " "]);
});
