import assert from "node:assert/strict";
import { LineParser, RecordParser } from "../../git/worktrees.ts";
import { data } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

// deno-lint-ignore no-explicit-any
type Entry = any;

/** The list asked from a path, without anything being written, by the last part of each path. */
async function list(path: string): Promise<{ all: Entry[]; by: Record<string, Entry> }> {
  const before = await hashTree(path);
  const answer = await data("worktree.list", { repoPath: path });
  assert.equal(await hashTree(path), before);
  assert.equal(answer.total, answer.worktrees.length);
  assert.equal(answer.truncated, undefined);
  const by = Object.fromEntries(answer.worktrees.map((w: Entry) => [w.path.split("/").at(-1), w]));
  return { all: answer.worktrees, by };
}

Deno.test("worktree.list tells branch, detached, locked, stale and which one was asked", async () => {
  await using box = await fresh();
  const repo = await box.repo("shop");
  const one = await box.commit(repo, "one", { f: "1\n" });
  await box.git(repo, "worktree", "add", "-q", "-b", "feat/x", "../plain");
  await box.git(repo, "worktree", "add", "-q", "--detach", "../apart");
  await box.git(repo, "worktree", "lock", "--reason", 'why\nnot "é"', "../apart");
  await box.git(repo, "worktree", "add", "-q", "-b", "gone", "../gone");
  await Deno.remove(`${box.root}/gone`, { recursive: true });
  await box.git(repo, "worktree", "add", "-q", "-b", "held", "../held");
  await box.git(repo, "worktree", "lock", "../held");
  const two = await box.commit(`${box.root}/plain`, "two", { f: "2\n" });
  const { all, by } = await list(repo);
  assert.deepEqual(all[0], {
    path: repo,
    isMain: true,
    current: true,
    head: one,
    headSha: one.slice(0, 12),
    branch: "main",
    detached: false,
    locked: false,
    prunable: false,
  });
  assert.deepEqual(by.plain, {
    path: `${box.root}/plain`,
    isMain: false,
    head: two,
    headSha: two.slice(0, 12),
    branch: "feat/x",
    detached: false,
    locked: false,
    prunable: false,
  });
  assert.equal(by.apart.detached, true);
  assert.equal(by.apart.branch, undefined);
  assert.equal(by.apart.lockedReason, 'why\nnot "é"');
  assert.equal(by.held.locked, true);
  assert.equal(by.held.lockedReason, undefined);
  assert.equal(by.gone.prunable, true);
  assert.match(by.gone.prunableReason, /non-existent/);
  const asked = await list(`${box.root}/plain`);
  assert.deepEqual(asked.all.filter((w) => w.current).map((w) => w.branch), ["feat/x"]);
  assert.equal(asked.by.shop.isMain, true);
  await Deno.mkdir(`${box.root}/plain/sub`);
  assert.equal((await list(`${box.root}/plain/sub`)).by.plain.current, true, "a subfolder too");
});

Deno.test("worktree.list works from a bare repository and names it as such from its worktrees", async () => {
  await using box = await fresh();
  const seed = await box.repo("seed");
  await box.commit(seed, "one");
  const bare = `${box.root}/shop.git`;
  await box.git(box.root, "clone", "-q", "--bare", seed, bare);
  await box.git(bare, "worktree", "add", "-q", "../linked", "-b", "x");
  const { all } = await list(bare);
  assert.deepEqual(all[0], {
    path: bare,
    isMain: true,
    current: true,
    bare: true,
    head: null,
    detached: false,
    locked: false,
    prunable: false,
  });
  assert.equal(all[1].branch, "x");
  const linked = await list(`${box.root}/linked`);
  assert.equal(linked.all[0].bare, true);
  assert.equal(linked.all[0].current, undefined);
  assert.equal(linked.all[1].current, true);
});

Deno.test("worktree.list gives null for the head of an unborn branch, and full ids of 64 digits", async () => {
  await using box = await fresh();
  const { all } = await list(await box.repo("empty"));
  assert.deepEqual([all[0].head, all[0].headSha, all[0].unborn, all[0].branch], [
    null,
    undefined,
    true,
    "main",
  ]);
  const wide = await box.repo("wide", "--object-format=sha256");
  await box.commit(wide, "one");
  const { all: [main] } = await list(wide);
  assert.equal(main.head.length, 64);
  assert.equal(main.headSha.length, 12);
});

Deno.test("worktree.list resolves entries that are written relative to their own folder", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one");
  await box.git(repo, "worktree", "add", "-q", "-b", "near", "../near");
  await box.git(repo, "worktree", "add", "-q", "-b", "lost", "../lost");
  await Deno.writeTextFile(`${repo}/.git/worktrees/near/gitdir`, "../../../../near/.git\n");
  await Deno.writeTextFile(`${repo}/.git/worktrees/lost/gitdir`, "../../../../nowhere/.git\n");
  const { by } = await list(repo);
  assert.equal(by.near.path, `${box.root}/near`);
  assert.equal(by.near.prunable, false);
  assert.equal(by.nowhere.prunable, true);
  assert.equal((await list(`${box.root}/near`)).by.near.current, true);
});

Deno.test("names with newlines and bytes that are not UTF-8 forge no entries", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one");
  const odd = `${box.root}/odd\nlocked\nHEAD x`;
  await box.git(repo, "worktree", "add", "-q", "-b", "odd", odd);
  const { all } = await list(repo);
  assert.equal(all.length, 2);
  assert.equal(all[1].path, odd);
  assert.equal(all[1].locked, false);
  await box.git(repo, "worktree", "add", "-q", "-b", "raw", "../raw");
  const admin = `${repo}/.git/worktrees/raw/gitdir`;
  const written = new TextEncoder().encode(`${box.root}/latin?/.git\n`);
  written[written.indexOf(0x3f)] = 0xe9;
  await Deno.writeFile(admin, written);
  const raw = (await list(repo)).all.find((w) => w.branch === "raw");
  assert.equal(raw.path, `${box.root}/latin\uFFFD`);
  assert.equal(atob(raw.pathBytes), `${box.root}/latin\xe9`);
});

Deno.test("worktree.list tells what is unfinished in each worktree, with the branch being rebased", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "base", { f: "1\n" });
  await box.git(repo, "branch", "t");
  await box.commit(repo, "m", { f: "m\n" });
  const linked = `${box.root}/linked`;
  await box.git(repo, "worktree", "add", "-q", linked, "t");
  await box.commit(linked, "t", { f: "t\n" });
  await box.tryGit(linked, ["rebase", "main"]);
  await box.git(repo, "bisect", "start");
  const { all } = await list(repo);
  assert.deepEqual(all[0].operation, { kind: "bisect", branch: "main" });
  assert.equal(all[1].detached, true);
  assert.equal(all[1].operation.kind, "rebase");
  assert.equal(all[1].operation.branch, "t");
});

Deno.test("the main entry names the work tree where git names the git directory", async () => {
  await using box = await fresh();
  const lib = await box.repo("lib");
  await box.commit(lib, "l");
  const repo = await box.repo();
  await box.git(repo, "submodule", "--quiet", "add", lib, "sub");
  assert.equal((await list(`${repo}/sub`)).all[0].path, `${repo}/sub`);
  await box.git(`${repo}/sub`, "worktree", "add", "-q", "-b", "x", `${box.root}/beside`);
  const beside = await list(`${box.root}/beside`);
  assert.equal(beside.all[0].path, `${repo}/sub`);
  assert.equal(beside.by.beside.current, true);
  await box.git(box.root, "init", "-q", `--separate-git-dir=${box.root}/sep.git`, "separate");
  assert.equal((await list(`${box.root}/separate`)).all[0].path, `${box.root}/separate`);
});

Deno.test("the lines of older gits are read with the same result", () => {
  const oid = "0123456789".repeat(4);
  const lines = [
    "worktree /srv/main",
    `HEAD ${oid}`,
    "branch refs/heads/main",
    "",
    "worktree /srv/two\nlines",
    `HEAD ${oid}`,
    "detached",
    'locked "why\\nnot \\"\\303\\251\\""',
    "prunable gitdir file points to non-existent location",
    "",
    "worktree /srv/bare.git",
    "bare",
    "",
    "",
  ].join("\n");
  const found: unknown[] = [];
  const parser = new LineParser((one) => found.push(one));
  const bytes = new TextEncoder().encode(lines);
  for (let i = 0; i < bytes.length; i += 7) parser.push(bytes.subarray(i, i + 7));
  parser.finish();
  const expected = [
    { path: "/srv/main", head: oid, branch: "refs/heads/main" },
    {
      path: "/srv/two\nlines",
      head: oid,
      detached: true,
      locked: 'why\nnot "\xc3\xa9"',
      prunable: "gitdir file points to non-existent location",
    },
    { path: "/srv/bare.git", bare: true },
  ];
  assert.deepEqual(found, expected);
  const records: unknown[] = [];
  const strict = new RecordParser((one) => records.push(one));
  strict.push(bytes.map((b) => (b === 10 ? 0 : b)).slice(0, -1));
  strict.finish();
  assert.equal(records.length, 3);
});
