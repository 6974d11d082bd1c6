import assert from "node:assert/strict";
import { gitCapabilities } from "../../git/capabilities.ts";
import { openRepository } from "../../git/repository.ts";
import { readReflogFile, readReflogThroughGit } from "../../git/reflog_read.ts";
import { data, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

/** Three commits, the last one thrown away by a reset, then one amended. */
async function moved(box: Sandbox) {
  const repo = await box.repo();
  const one = await box.commit(repo, "one", { a: "1\n" });
  const two = await box.commit(repo, "two", { a: "2\n" });
  const three = await box.commit(repo, "three", { a: "3\n" });
  await box.git(repo, "reset", "-q", "--hard", "HEAD~2");
  const four = await box.commit(repo, "four", { a: "4\n" });
  await box.git(repo, "commit", "-q", "--amend", "-m", "four again");
  const five = (await box.git(repo, "rev-parse", "HEAD")).trim();
  return { repo, one, two, three, four, five };
}

// deno-lint-ignore no-explicit-any
type Entry = any;

Deno.test("repo.reflog gives both ids from the reflog itself, positional selectors and what can be recovered", async () => {
  await using box = await fresh();
  const { repo, one, two, three, four, five } = await moved(box);
  const log = await data("repo.reflog", { repoPath: repo });
  assert.equal(log.total, 6);
  assert.equal(log.reflogEnabled, true);
  assert.deepEqual(
    log.entries.map((e: Entry) => [e.selector, e.action, e.oldCommit, e.newCommit, e.rewrote]),
    [
      ["HEAD@{0}", "amend", four, five, true],
      ["HEAD@{1}", "commit", one, four, false],
      ["HEAD@{2}", "reset", three, one, true],
      ["HEAD@{3}", "commit", two, three, false],
      ["HEAD@{4}", "commit", one, two, false],
      ["HEAD@{5}", "commit", null, one, false],
    ],
  );
  assert.deepEqual(
    log.entries.map((e: Entry) => [e.recovery, e.unreachableCommits ?? 0]),
    [["amend", 1], ["none", 0], ["reset", 2], ["lost-commit", 1], ["none", 0], ["none", 0]],
  );
  assert.equal(log.entries[0].authorName, "Test Author");
  assert.equal(log.entries[0].shortNewCommit, five.slice(0, 7));
  assert.deepEqual(log.entries.map((e: Entry) => e.canCompare), [
    true,
    true,
    true,
    true,
    true,
    false,
  ]);
  for (const entry of log.entries) {
    const says = (await box.git(repo, "rev-parse", entry.selector)).trim();
    assert.equal(entry.newCommit, says, "the selector means the same to plain git");
  }
});

Deno.test("commits that a branch, a tag or another worktree still reaches are not called lost; restore points do not count", async () => {
  await using box = await fresh();
  const { repo, three, four } = await moved(box);
  const recovery = async () => {
    const { entries } = await data("repo.reflog", { repoPath: repo });
    return [entries[2].recovery, entries[0].recovery];
  };
  assert.deepEqual(await recovery(), ["reset", "amend"]);
  await box.git(repo, "update-ref", "refs/fluxgit/checkpoints/x/before", three);
  assert.deepEqual(await recovery(), ["reset", "amend"]);
  await box.git(repo, "tag", "keep", three);
  await box.git(repo, "worktree", "add", "-q", "--detach", `${box.root}/wt`, four);
  assert.deepEqual(await recovery(), ["none", "none"]);
});

Deno.test("pages of a reflog stay right while movements are added, and after old ones expired", async () => {
  await using box = await fresh();
  const { repo } = await moved(box);
  const first = await data("repo.reflog", { repoPath: repo, limit: 2 });
  assert.equal(first.truncated, true);
  await box.commit(repo, "six");
  const second = await data("repo.reflog", { repoPath: repo, limit: 2, cursor: first.nextCursor });
  assert.deepEqual(second.entries.map((e: Entry) => e.message), [
    "reset: moving to HEAD~2",
    "commit: three",
  ]);
  assert.deepEqual(second.entries.map((e: Entry) => e.selector), ["HEAD@{3}", "HEAD@{4}"]);
  const oldest = (await Deno.readTextFile(`${repo}/.git/logs/HEAD`)).split("\n");
  await Deno.writeTextFile(`${repo}/.git/logs/HEAD`, oldest.slice(1).join("\n"));
  const third = await data("repo.reflog", { repoPath: repo, limit: 2, cursor: second.nextCursor });
  assert.deepEqual(third.entries.map((e: Entry) => e.message), ["commit: two"]);
  assert.equal(third.nextCursor, null);
  await Deno.writeTextFile(`${repo}/.git/logs/HEAD`, "");
  const error = await refusal("repo.reflog", { repoPath: repo, cursor: second.nextCursor });
  assert.equal(error.code, -32602);
  assert.match(error.data.details, /no longer in this reflog/);
  const other = await refusal("repo.reflog", {
    repoPath: repo,
    refName: "main",
    cursor: second.nextCursor,
  });
  assert.match(other.data.details, /another refName/);
});

Deno.test("a switched-off reflog says so; one that was written before is still read", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.git(repo, "config", "core.logAllRefUpdates", "false");
  await box.commit(repo, "one");
  const off = await data("repo.reflog", { repoPath: repo });
  assert.deepEqual(off.entries, []);
  assert.equal(off.reflogEnabled, false);
  assert.equal(off.warnings[0].code, "reflog_disabled");
  const tag = await box.repo("tagged");
  await box.commit(tag, "one");
  await box.git(tag, "tag", "v1");
  assert.equal((await data("repo.reflog", { repoPath: tag, refName: "v1" })).reflogEnabled, false);
  await box.git(tag, "config", "core.logAllRefUpdates", "always");
  const always = await data("repo.reflog", { repoPath: tag, refName: "v1" });
  assert.equal(always.reflogEnabled, true);
  assert.equal(always.ref, "refs/tags/v1");
  assert.equal(always.warnings, undefined);
  await box.git(tag, "config", "core.logAllRefUpdates", "false");
  const kept = await data("repo.reflog", { repoPath: tag });
  assert.equal(kept.entries.length, 1);
  assert.equal(kept.reflogEnabled, true, "git goes on writing a log that is there");
});

Deno.test("an unborn branch has an empty reflog, and a HEAD that became unborn keeps its own", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const empty = await data("repo.reflog", { repoPath: repo });
  assert.deepEqual(empty.entries, []);
  assert.equal((await data("repo.reflog", { repoPath: repo, refName: "main" })).unborn, true);
  await box.commit(repo, "one");
  await box.git(repo, "checkout", "-q", "--orphan", "fresh");
  assert.notEqual((await box.tryGit(repo, ["reflog"])).code, 0, "control: plain git refuses");
  const orphan = await data("repo.reflog", { repoPath: repo });
  assert.equal(orphan.entries[0].message, "commit (initial): one");
});

Deno.test("a name that is no ref, an option or a path is refused", async () => {
  await using box = await fresh();
  const { repo } = await moved(box);
  for (
    const refName of ["nothing", "HEAD~1", "main@{1}", "../../HEAD", "refs/heads/../../../x", "a b"]
  ) {
    const error = await refusal("repo.reflog", { repoPath: repo, refName });
    assert.equal(error.code, 10010, refName);
    assert.match(error.data.details, /does not name a ref/);
  }
  const option = await refusal("repo.reflog", { repoPath: repo, refName: "--all" });
  assert.equal(option.code, -32602);
});

Deno.test("names are found in git's order; remote HEADs, stashes, upstreams and other worktrees have their own logs", async () => {
  await using box = await fresh();
  const { repo } = await moved(box);
  await box.git(box.root, "clone", "-q", repo, `${box.root}/clone`);
  const clone = `${box.root}/clone`;
  const origin = await data("repo.reflog", { repoPath: clone, refName: "origin" });
  assert.equal(origin.ref, "refs/remotes/origin/HEAD");
  assert.equal(origin.entries.length, 1);
  await box.git(clone, "branch", "origin/main");
  const branch = await data("repo.reflog", { repoPath: clone, refName: "origin/main" });
  assert.equal(branch.ref, "refs/heads/origin/main");
  const upstream = await data("repo.reflog", { repoPath: clone, refName: "@{u}" });
  assert.equal(upstream.ref, "refs/remotes/origin/main");
  await box.write(clone, { a: "stash me\n" });
  await box.git(clone, "stash", "-q");
  await box.write(clone, { a: "stash me too\n" });
  await box.git(clone, "stash", "-q");
  const stash = await data("repo.reflog", { repoPath: clone, refName: "stash" });
  assert.deepEqual(stash.entries.map((e: Entry) => [e.selector, e.recovery, e.rewrote]), [
    ["stash@{0}", "none", false],
    ["stash@{1}", "none", false],
  ]);
  await box.git(repo, "worktree", "add", "-q", "-b", "side", `${box.root}/linked`);
  await box.commit(`${box.root}/linked`, "in the linked one");
  const linked = await data("repo.reflog", { repoPath: `${box.root}/linked` });
  assert.equal(linked.entries[0].message, "commit: in the linked one");
  const across = await data("repo.reflog", { repoPath: repo, refName: "worktrees/linked/HEAD" });
  assert.equal(across.entries[0].message, "commit: in the linked one");
  const main = await data("repo.reflog", {
    repoPath: `${box.root}/linked`,
    refName: "main-worktree/HEAD",
  });
  assert.equal(main.total, 6);
});

Deno.test("a branch forced back or sideways rewrote, one that moved ahead by several commits did not", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const one = await box.commit(repo, "one");
  await box.commit(repo, "two");
  const three = await box.commit(repo, "three");
  await box.git(repo, "branch", "b", one);
  await box.git(repo, "branch", "-f", "b", three);
  await box.git(repo, "branch", "-f", "b", one);
  await box.git(repo, "checkout", "-q", "-b", "side", one);
  const side = await box.commit(repo, "side");
  await box.git(repo, "branch", "-f", "b", three);
  await box.git(repo, "branch", "-f", "b", side);
  const { entries } = await data("repo.reflog", { repoPath: repo, refName: "b" });
  assert.deepEqual(entries.map((e: Entry) => e.rewrote), [true, false, true, false, false]);
});

Deno.test("pruned commits make rewrote and recovery unknown instead of guessed", async () => {
  await using box = await fresh();
  const { repo, three } = await moved(box);
  const object = `${repo}/.git/objects/${three.slice(0, 2)}/${three.slice(2)}`;
  await Deno.remove(object);
  const { entries } = await data("repo.reflog", { repoPath: repo });
  assert.equal(entries[2].oldCommit, three);
  assert.equal(entries[2].rewrote, null);
  assert.equal(entries[2].recovery, null);
  assert.equal(entries[2].oldCommitMissing, true);
  assert.equal(entries[2].canCompare, false);
  assert.equal(entries[0].recovery, "amend", "the others are still known");
});

Deno.test("in a shallow clone a movement over the boundary is unknown, not a rewrite", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  for (const n of ["1", "2", "3", "4"]) await box.commit(repo, n);
  await box.git(box.root, "clone", "-q", "--depth=1", `file://${repo}`, `${box.root}/shallow`);
  const shallow = `${box.root}/shallow`;
  await box.commit(repo, "5");
  await box.commit(repo, "6");
  await box.git(shallow, "fetch", "-q", "--depth=1");
  const { entries } = await data("repo.reflog", { repoPath: shallow, refName: "origin/main" });
  assert.equal(entries[0].action, "fetch");
  assert.equal(entries[0].rewrote, null);
});

Deno.test("corrupt lines, odd bytes, endless messages and impossible dates do not disturb their neighbours", async () => {
  await using box = await fresh();
  const { repo, one, two } = await moved(box);
  const file = `${repo}/.git/logs/HEAD`;
  const odd = new Uint8Array([
    ...new TextEncoder().encode(
      `${one} ${two} Ren? <r@x> 99999999999999999999 +0000\tcommit: caf?\n`.replaceAll("?", "~"),
    ).map((b) => b === 0x7e ? 0xe9 : b),
    ...new TextEncoder().encode(
      `garbage\n\n${one} ${two} no mail 5 +0000\tx\n${one} ${two} L <l@x> 7 +0000\tcommit: ${
        "é".repeat(40_000)
      }\n${two} ${one} U <u@x> 8 +0000\tunfinished`,
    ),
  ]);
  await Deno.writeFile(file, odd, { append: true });
  const { entries, total } = await data("repo.reflog", { repoPath: repo });
  assert.equal(total, 8);
  assert.equal(entries[0].messageTruncated, true);
  assert.match(entries[0].message, /^commit: é+$/);
  assert.equal(entries[1].message, "commit: caf\uFFFD");
  assert.equal(entries[1].authorName, "Ren\uFFFD");
  assert.equal(entries[1].timestamp, null);
  assert.equal(entries[1].timestampRaw, "99999999999999999999");
  assert.equal(entries[2].action, "amend");
  // Not `HEAD@{0}`, which newer git takes for HEAD itself.
  const newest = (await box.git(repo, "log", "-g", "-1", "--format=%H", "HEAD", "--")).trim();
  assert.equal(entries[0].newCommit, newest, "positions agree with plain git");
  const plain = await box.tryGit(repo, ["rev-parse", "HEAD@{2}"]);
  // Older git gives up at the impossible date.
  if (plain.code === 0) assert.equal(entries[2].newCommit, plain.stdout.trim());
});

Deno.test("a reflog that is a link out of the repository is not followed", async () => {
  await using box = await fresh();
  const { repo } = await moved(box);
  const other = await box.repo("other");
  const secret = await box.commit(other, "secret");
  await box.commit(other, "later");
  await Deno.remove(`${repo}/.git/logs`, { recursive: true });
  await Deno.symlink(`${other}/.git/logs`, `${repo}/.git/logs`);
  const followed = (await box.git(repo, "rev-parse", "HEAD@{1}")).trim();
  assert.equal(followed, secret, "control: plain git follows it");
  const answer = await data("repo.reflog", { repoPath: repo });
  assert.deepEqual(answer.entries, []);
  assert.equal(answer.total, null);
  assert.equal(answer.warnings[0].code, "reflog_unreadable");
  await Deno.remove(`${repo}/.git/logs`);
  await Deno.mkdir(`${repo}/.git/logs`);
  await Deno.symlink(`${other}/.git/logs/HEAD`, `${repo}/.git/logs/HEAD`);
  assert.equal(
    (await data("repo.reflog", { repoPath: repo })).warnings[0].code,
    "reflog_unreadable",
  );
});

Deno.test("reading through git, as repositories with ref tables need, gives what the file says", async () => {
  await using box = await fresh();
  const { repo } = await moved(box);
  const opened = await openRepository(repo);
  const file = `${repo}/.git/logs/HEAD`;
  const strip = (page: Awaited<ReturnType<typeof readReflogFile>>) =>
    page.entries.map(({ cursor: _, ...entry }) => entry);
  const byFile = await readReflogFile(file, [`${repo}/.git`], 4);
  const byGit = await readReflogThroughGit(opened, "HEAD", 4);
  assert.deepEqual(strip(byGit), strip(byFile));
  assert.equal(byGit.more, true);
  await box.git(repo, "reset", "-q", "--soft", "HEAD~1");
  const rest = await readReflogThroughGit(opened, "HEAD", 4, byGit.entries.at(-1)!.cursor);
  const restByFile = await readReflogFile(file, [`${repo}/.git`], 4, byFile.entries.at(-1)!.cursor);
  assert.deepEqual(strip(rest), strip(restByFile));
  assert.equal(rest.total, 7);
  assert.equal(rest.entries.at(-1)?.oldOid, null);
});

Deno.test("ids of 64 digits and bare repositories work; reading writes nothing", async () => {
  await using box = await fresh();
  const repo = await box.repo("long", "--object-format=sha256");
  const one = await box.commit(repo, "one");
  await box.git(repo, "commit", "-q", "--amend", "--allow-empty", "-m", "again");
  const before = await hashTree(repo);
  const { entries } = await data("repo.reflog", { repoPath: repo });
  assert.equal(await hashTree(repo), before);
  assert.equal(entries[0].oldCommit, one);
  assert.equal(entries[0].recovery, "amend");
  await box.git(box.root, "clone", "-q", "--bare", repo, `${box.root}/bare.git`);
  const bare = await data("repo.reflog", { repoPath: `${box.root}/bare.git` });
  assert.deepEqual(bare.entries, []);
  assert.equal(bare.reflogEnabled, false);
});

Deno.test("resets to where HEAD already is are told as resets that rewrote nothing", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n" });
  for (let i = 0; i < 2; i++) await box.git(repo, "reset", "-q", "--hard", "HEAD");
  const before = await hashTree(repo);
  const { entries } = await data("repo.reflog", { repoPath: repo });
  assert.deepEqual(entries.slice(0, 2).map((e: Entry) => [e.action, e.rewrote, e.canCompare]), [
    ["reset", false, false],
    ["reset", false, false],
  ]);
  assert.equal(await hashTree(repo), before, "a read makes no movement of its own");
});

const { reftable } = await gitCapabilities();

Deno.test({
  name:
    "with refs in tables an unborn branch has an empty reflog, and an orphaned HEAD an unreadable one",
  ignore: !reftable,
  async fn() {
    await using box = await fresh();
    const repo = await box.repo("tables", "--ref-format=reftable");
    const empty = await data("repo.reflog", { repoPath: repo });
    assert.deepEqual([empty.entries, empty.total, empty.warnings], [[], 0, undefined]);
    await box.commit(repo, "one");
    assert.equal((await data("repo.reflog", { repoPath: repo })).total, 1);
    await box.git(repo, "checkout", "-q", "--orphan", "other");
    const orphan = await data("repo.reflog", { repoPath: repo });
    assert.deepEqual([orphan.entries, orphan.total], [[], null]);
    assert.equal(orphan.warnings[0].code, "reflog_unreadable");
  },
});
