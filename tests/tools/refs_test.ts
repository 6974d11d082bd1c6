import assert from "node:assert/strict";
import { data, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

const TOOL = "repo.refs";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

interface RefShown {
  name: string;
  ref: string;
  oid: string | null;
  [member: string]: unknown;
}

const byRef = (refs: RefShown[]) => Object.fromEntries(refs.map((ref) => [ref.ref, ref]));

/** A clone with a tracking branch, a gone upstream, a local upstream, tags, a worktree and stashes. */
async function busy(box: Sandbox) {
  const origin = await box.repo("origin");
  const one = await box.commit(origin, "one", { "a": "1\n" });
  await box.git(origin, "branch", "gone");
  await box.git(box.root, "clone", "-q", "origin", "repo");
  const repo = `${box.root}/repo`;
  const two = await box.commit(repo, "two", { "a": "2\n" });
  await box.git(repo, "branch", "-q", "--track", "lost", "origin/gone");
  await box.git(origin, "branch", "-D", "gone");
  await box.git(repo, "fetch", "-q", "--prune");
  await box.git(repo, "branch", "-q", "--track", "after-main", "main");
  await box.git(repo, "branch", "-q", "aaa");
  await box.git(repo, "branch", "-q", "--set-upstream-to=aaa", "after-main");
  await box.git(repo, "branch", "-q", "feat/x");
  await box.git(repo, "tag", "light", one);
  await box.git(repo, "tag", "-a", "-m", "annotated", "v1", one);
  await box.git(repo, "tag", "-a", "-m", "of a tag", "v1-again", "v1");
  await box.git(repo, "worktree", "add", "-q", `${box.root}/linked`, "feat/x");
  return { repo, one, two };
}

Deno.test("repo.refs gives real names as strings and what each ref is beside them", async () => {
  await using box = await fresh();
  const { repo, one, two } = await busy(box);
  const refs = await data(TOOL, { repoPath: repo });
  assert.equal(refs.head, "main");
  assert.deepEqual([refs.detached, refs.unborn], [undefined, undefined]);
  assert.deepEqual(refs.branches, [
    "aaa",
    "after-main",
    "feat/x",
    "lost",
    "main",
    "origin/HEAD",
    "origin/main",
  ]);
  assert.deepEqual(refs.tags, ["light", "v1", "v1-again"]);
  assert.deepEqual(refs.remotes, ["origin"]);
  assert.deepEqual(refs.stashes, []);
  assert.equal(refs.total, 10);
  const shown = byRef(refs.refs);
  assert.deepEqual(shown["refs/heads/main"], {
    name: "main",
    ref: "refs/heads/main",
    oid: two,
    upstream: "refs/remotes/origin/main",
    worktree: repo,
  });
  assert.deepEqual(shown["refs/heads/lost"], {
    name: "lost",
    ref: "refs/heads/lost",
    oid: one,
    upstream: "refs/remotes/origin/gone",
    upstreamGone: true,
  });
  assert.deepEqual(shown["refs/heads/after-main"], {
    name: "after-main",
    ref: "refs/heads/after-main",
    oid: two,
    upstream: "refs/heads/aaa",
  });
  assert.equal(shown["refs/heads/feat/x"]!["worktree"], `${box.root}/linked`);
  assert.equal(shown["refs/remotes/origin/HEAD"]!["symref"], "refs/remotes/origin/main");
  assert.deepEqual(shown["refs/tags/light"], { name: "light", ref: "refs/tags/light", oid: one });
  assert.equal(shown["refs/tags/v1"]!["peeled"], one);
  assert.equal(shown["refs/tags/v1-again"]!["peeled"], one);
  assert.notEqual(shown["refs/tags/v1"]!.oid, one);
});

Deno.test("repo.refs works on an unborn branch, detached, during a rebase and in a bare repository, without pseudo entries", async () => {
  await using box = await fresh();
  const empty = await box.repo("empty");
  const unborn = await data(TOOL, { repoPath: empty });
  assert.deepEqual(
    [unborn.head, unborn.unborn, unborn.branches, unborn.refs, unborn.total],
    ["main", true, [], [], 0],
  );
  const { repo } = await busy(box);
  await box.git(repo, "checkout", "-q", "--detach");
  const detached = await data(TOOL, { repoPath: repo });
  assert.deepEqual([detached.head, detached.detached, detached.unborn], ["HEAD", true, undefined]);
  assert(detached.branches.every((name: string) => !name.includes("(")));
  await box.git(repo, "checkout", "-q", "-b", "topic", "aaa");
  await box.commit(repo, "topic", { "a": "3\n" });
  await box.git(repo, "checkout", "-q", "main");
  await box.commit(repo, "main", { "a": "4\n" });
  await box.git(repo, "checkout", "-q", "topic");
  await box.tryGit(repo, ["rebase", "main"]);
  const rebasing = await data(TOOL, { repoPath: repo });
  assert.equal(rebasing.head, "HEAD");
  assert(rebasing.branches.includes("topic"));
  assert(rebasing.branches.every((name: string) => !name.includes("(")));
  await box.git(box.root, "clone", "-q", "--bare", "repo", "bare.git");
  const bare = await data(TOOL, { repoPath: `${box.root}/bare.git` });
  assert.equal(bare.tags.length, 3);
  assert(bare.branches.includes("main"));
});

Deno.test("repo.refs lists packed refs and the peeled tag when refs/heads is empty", async () => {
  await using box = await fresh();
  const { repo, one } = await busy(box);
  const loose = await data(TOOL, { repoPath: repo });
  await box.git(repo, "pack-refs", "--all");
  assert.deepEqual([...Deno.readDirSync(`${repo}/.git/refs/heads`)].filter((e) => e.isFile), []);
  const packed = await data(TOOL, { repoPath: repo });
  assert.deepEqual(packed, loose);
  assert.equal(byRef(packed.refs)["refs/tags/v1"]!["peeled"], one);
});

Deno.test("repo.refs lists broken and dangling refs as broken and leaves the others unharmed", async () => {
  await using box = await fresh();
  const { repo, two } = await busy(box);
  await box.git(repo, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/not-there");
  await box.write(`${repo}/.git/refs/heads`, {
    "loop-a": "ref: refs/heads/loop-b\n",
    "loop-b": "ref: refs/heads/loop-a\n",
    "garbage": "not an id\n",
    "bad..name": `${two}\n`,
    "zero": `${"0".repeat(40)}\n`,
    "--output=pwn": `${two}\n`,
    "main.lock": "",
    "../other/behind-a-link": `${two}\n`,
  });
  await Deno.symlink("../other", `${repo}/.git/refs/heads/linked`);
  const refs = await data(TOOL, { repoPath: repo });
  const broken = refs.refs.filter((ref: RefShown) => ref["broken"]).map((ref: RefShown) => ref.ref);
  assert.deepEqual(broken, [
    "refs/heads/bad..name",
    "refs/heads/garbage",
    "refs/heads/loop-a",
    "refs/heads/loop-b",
    "refs/heads/zero",
    "refs/remotes/origin/HEAD",
  ]);
  const shown = byRef(refs.refs);
  assert.deepEqual(shown["refs/remotes/origin/HEAD"], {
    name: "origin/HEAD",
    ref: "refs/remotes/origin/HEAD",
    oid: null,
    symref: "refs/remotes/origin/not-there",
    broken: true,
  });
  assert.equal(shown["refs/heads/main"]!.oid, two);
  assert.equal(shown["refs/heads/--output=pwn"]!.oid, two);
  assert(refs.branches.includes("--output=pwn"));
  assert(!refs.branches.includes("origin/HEAD"));
  assert(refs.branches.includes("linked/behind-a-link"));
  assert.equal(refs.total, 17);
  assert.equal(refs.refs.length, 17);
});

Deno.test("repo.refs lists stashes with what they hold, and positions whatever the date settings", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "a": "1\n" });
  await box.git(repo, "config", "log.date", "iso");
  await box.write(repo, { "a": "2\n" });
  await box.git(repo, "stash", "push", "-q", "-m", "tracked only");
  await box.write(repo, { "a": "3\n", "new": "n\n" });
  await box.git(repo, "stash", "push", "-q", "-u");
  const refs = await data(TOOL, { repoPath: repo });
  const head = (await box.git(repo, "log", "-1", "--format=%h %s")).trim();
  assert.deepEqual(refs.stashes, [
    `stash@{0}: WIP on main: ${head}`,
    "stash@{1}: On main: tracked only",
  ]);
  assert.deepEqual(
    refs.stashEntries.map((
      { index, oid, hasUntracked }: { index: number; oid: string; hasUntracked: boolean },
    ) => [index, oid, hasUntracked]),
    [
      [0, (await box.git(repo, "rev-parse", "stash@{0}")).trim(), true],
      [1, (await box.git(repo, "rev-parse", "stash@{1}")).trim(), false],
    ],
  );
  const bounded = await data(TOOL, { repoPath: repo, limit: 1 });
  assert.equal(bounded.stashEntries.length, 1);
  assert.deepEqual(bounded.cut, [{ list: "stashEntries", kept: 1, of: 2 }]);
  await box.git(repo, "stash", "clear");
  assert.deepEqual((await data(TOOL, { repoPath: repo })).stashEntries, []);
  // In a linked worktree the stash is the same one.
  await box.write(repo, { "a": "4\n" });
  await box.git(repo, "stash", "push", "-q");
  await box.git(repo, "worktree", "add", "-q", "-b", "side", `${box.root}/linked`);
  assert.equal((await data(TOOL, { repoPath: `${box.root}/linked` })).stashEntries.length, 1);
});

Deno.test("repo.refs pages by name, each ref once, broken ones in their place", async () => {
  await using box = await fresh();
  const { repo } = await busy(box);
  await box.write(`${repo}/.git/refs/heads`, { "garbage": "x\n", "zzz": "x\n" });
  const whole = await data(TOOL, { repoPath: repo });
  for (const limit of [1, 3, 5]) {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await data(TOOL, { repoPath: repo, limit, ...(cursor ? { cursor } : {}) });
      assert(page.refs.length <= limit);
      assert.equal(page.truncated, page.nextCursor !== null);
      assert.equal(page.head, "main");
      assert.equal(page.unborn, undefined);
      seen.push(...page.refs.map((ref: RefShown) => ref.ref));
      cursor = page.nextCursor ?? undefined;
      // A ref that appears before the cursor shifts nothing.
      await box.git(repo, "update-ref", "refs/heads/0", "HEAD");
    } while (cursor);
    await box.git(repo, "update-ref", "-d", "refs/heads/0");
    assert.deepEqual(seen, whole.refs.map((ref: RefShown) => ref.ref), `limit ${limit}`);
  }
  const error = await refusal(TOOL, { repoPath: repo, cursor: btoa('["repo.status",0,"x"]') });
  assert.equal(error.code, -32602);
});

Deno.test("repo.refs keeps names that are not UTF-8 apart and continues after them", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const one = await box.commit(repo, "one");
  const line = (
    name: number[],
  ) => [...new TextEncoder().encode(`${one} refs/heads/x`), ...name, 0x0a];
  await Deno.writeFile(
    `${repo}/.git/packed-refs`,
    new Uint8Array([
      ...new TextEncoder().encode("# pack-refs with: peeled fully-peeled sorted \n"),
      ...line([0xe9]),
      ...line([0xea]),
    ]),
  );
  const first = await data(TOOL, { repoPath: repo, limit: 2 });
  assert.deepEqual(first.refs[1], {
    name: "x\uFFFD",
    ref: "refs/heads/x\uFFFD",
    refBytes: btoa("refs/heads/x\xe9"),
    oid: one,
  });
  const second = await data(TOOL, { repoPath: repo, limit: 2, cursor: first.nextCursor });
  assert.deepEqual(second.refs.map((ref: RefShown) => ref["refBytes"]), [btoa("refs/heads/x\xea")]);
});

Deno.test("repo.refs gives 64-digit ids, and names remotes but never their URLs", async () => {
  await using box = await fresh();
  const repo = await box.repo("r", "--object-format=sha256");
  const one = await box.commit(repo, "one");
  assert.equal(one.length, 64);
  await box.git(repo, "tag", "-a", "-m", "t", "v1");
  await box.git(repo, "remote", "add", "up", "https://user:secret@example.org/x.git");
  const refs = await data(TOOL, { repoPath: repo });
  assert.equal(byRef(refs.refs)["refs/tags/v1"]!["peeled"], one);
  assert.deepEqual(refs.remotes, ["up"]);
  assert(!JSON.stringify(refs).includes("secret"));
});

Deno.test("repo.refs stays bounded with 20,000 branches", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const one = await box.commit(repo, "one");
  const names = Array.from(
    { length: 20_000 },
    (_, i) => `refs/heads/b${String(i).padStart(5, "0")}`,
  );
  await Deno.writeTextFile(
    `${repo}/.git/packed-refs`,
    "# pack-refs with: peeled fully-peeled sorted \n" +
      names.map((name) => `${one} ${name}\n`).join(""),
  );
  const refs = await data(TOOL, { repoPath: repo });
  assert.equal(refs.refs.length, 100);
  assert.equal(refs.branches.length, 100);
  assert.equal(refs.total, 20_001);
  assert.equal(refs.unborn, undefined, "main sorts far behind the page");
  assert(JSON.stringify(refs).length < 30_000);
});

Deno.test("repo.refs writes nothing, fetches nothing, and says when the objects of tags are missing", async () => {
  await using box = await fresh();
  const { repo } = await busy(box);
  const evil = await box.evil();
  await box.git(repo, "config", "remote.origin.uploadpack", evil.script);
  await box.tryGit(repo, ["ls-remote", "origin"]);
  assert.equal(await evil.ran(), true, "control: plain git runs it");
  await evil.reset();
  const oid = (await box.git(repo, "rev-parse", "refs/tags/v1")).trim();
  await Deno.remove(`${repo}/.git/objects/${oid.slice(0, 2)}/${oid.slice(2)}`);
  await box.git(repo, "config", "remote.origin.promisor", "true");
  const before = await hashTree(repo);
  const refs = await data(TOOL, { repoPath: repo });
  assert.equal(await hashTree(repo), before);
  assert.equal(await evil.ran(), false);
  assert.equal(byRef(refs.refs)["refs/tags/v1"]!["peeled"], null);
  assert.equal(refs.warnings[0].code, "missing_objects");
  assert.equal(refs.branches.length, 7);
});
