import assert from "node:assert/strict";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { gitCapabilities } from "../../git/capabilities.ts";
import { MOVE_LIMITS, readMoves, readMovesThroughGit } from "../../git/fleet_moves.ts";
import { openRepository } from "../../git/repository.ts";
import { call, data, type Payload, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

async function digest(repoPaths: string[], more: Record<string, unknown> = {}): Promise<Payload> {
  return await data("fleet.digest", { sinceMs: 0, repoPaths, ...more });
}

/** Appends a line to a reflog. */
async function logLine(
  repo: string,
  ref: string,
  seconds: number,
  message: string,
  oids: [string, string] = ["1".repeat(40), "2".repeat(40)],
) {
  const path = `${repo}/.git/logs/${ref}`;
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(path, `${oids.join(" ")} A B <a@b> ${seconds} +0000\t${message}\n`, {
    append: true,
  });
}

Deno.test("fleet.digest tells movements newest first, a commit once under its branch, with kind and identity", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const first = await box.commit(repo, "one", { a: "1\n" });
  const second = await box.commit(repo, "two", { a: "2\n" });
  box.tick();
  await box.git(repo, "checkout", "-q", "-b", "side");
  const answer = await digest([repo]);
  assert.deepEqual(
    answer.events.map((e: Payload) => [e.refName, e.kind, e.oldOid, e.newOid]),
    [
      ["refs/heads/side", "branch", null, second],
      ["HEAD", "checkout", second, second],
      ["refs/heads/main", "commit", first, second],
      ["refs/heads/main", "commit", null, first],
    ],
  );
  const event = answer.events[2];
  assert.equal(event.message, "commit: two");
  assert.equal(event.identity, "Test Author <author@example.org>");
  assert.equal(
    String(event.atMs / 1000),
    (await box.git(repo, "log", "-1", "--format=%ct")).trim(),
  );
  assert.deepEqual(answer.repos, [{
    repoPath: repo,
    error: null,
    truncated: false,
    eventCount: 4,
  }]);
  assert.deepEqual([answer.repoSource, answer.requestedRepoCount, answer.truncated], [
    "arguments",
    1,
    false,
  ]);
});

Deno.test("sinceMs leaves older movements out, to the second", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "old");
  await box.commit(repo, "new");
  const at = Number((await box.git(repo, "log", "-1", "--format=%ct")).trim()) * 1000;
  const messages = async (sinceMs: number) =>
    (await digest([repo], { sinceMs })).events.map((e: Payload) => e.message);
  assert.deepEqual(await messages(at), ["commit: new"]);
  assert.deepEqual(await messages(at - 1), ["commit: new"]);
  assert.deepEqual(await messages(at + 1), []);
});

Deno.test("rewrote is true only where commits were left behind: amend, reset back, rebase; false for commits, pulls and merges", async () => {
  await using box = await fresh();
  const origin = await box.repo("origin");
  await box.commit(origin, "base", { a: "1\n" });
  await box.git(box.root, "clone", "-q", origin, "work");
  const repo = `${box.root}/work`;
  for (const n of [2, 3, 4]) await box.commit(origin, `up ${n}`, { a: `${n}\n` });
  box.tick();
  await box.git(repo, "pull", "-q", "--ff-only");
  await box.commit(repo, "mine", { b: "1\n" });
  box.tick();
  await box.git(repo, "commit", "-q", "--amend", "-m", "mine, better");
  box.tick();
  await box.git(repo, "reset", "-q", "--hard", "HEAD~3");
  await box.git(repo, "checkout", "-q", "-b", "topic");
  await box.commit(repo, "topic 1", { c: "1\n" });
  await box.commit(repo, "topic 2", { c: "2\n" });
  box.tick();
  await box.git(repo, "rebase", "-q", "origin/main");
  const answer = await digest([repo]);
  const of = (ref: string, kind: string) =>
    answer.events.filter((e: Payload) => e.refName === ref && e.kind === kind)
      .map((e: Payload) => e.rewrote);
  assert.deepEqual(of("refs/heads/main", "pull"), [false]);
  assert.deepEqual(of("refs/heads/main", "commit"), [false]);
  assert.deepEqual(of("refs/heads/main", "amend"), [true]);
  assert.deepEqual(of("refs/heads/main", "reset"), [true]);
  assert.deepEqual(of("refs/heads/topic", "rebase"), [true]);
  assert.deepEqual(of("refs/heads/topic", "commit"), [false, false]);
  assert.deepEqual(of("HEAD", "checkout"), [false]);
});

Deno.test("rewrote is null where it cannot be known: pruned commits, and the edge of a shallow clone", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const head = await box.commit(repo, "one", { a: "1\n" });
  await logLine(repo, "refs/heads/main", 1_790_009_000, "reset: moving to x", [
    "3".repeat(40),
    head,
  ]);
  const [event] = (await digest([repo])).events;
  assert.deepEqual([event.kind, event.rewrote], ["reset", null]);

  const first = await box.commit(repo, "two", { a: "2\n" });
  await box.commit(repo, "three", { a: "3\n" });
  const tip = await box.commit(repo, "four", { a: "4\n" });
  const shallow = `${box.root}/shallow`;
  await box.git(box.root, "clone", "-q", "--depth", "1", `file://${repo}`, shallow);
  // The old commit is here (fetched by itself), but what joins it to the tip is cut off.
  await box.git(repo, "config", "uploadpack.allowAnySHA1InWant", "true");
  await box.git(shallow, "fetch", "-q", "--depth", "1", "origin", first);
  await logLine(shallow, "refs/heads/main", 1_790_009_000, "pull: Fast-forward", [first, tip]);
  const cut = (await digest([shallow])).events.find((e: Payload) => e.kind === "pull");
  assert.equal(cut.rewrote, null);
});

Deno.test("a line with an old or broken time does not end the search", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one");
  await logLine(repo, "refs/heads/skewed", 1_790_005_000, "commit: before the skew");
  await logLine(repo, "refs/heads/skewed", 1_000, "commit: by a wrong clock");
  await Deno.writeTextFile(`${repo}/.git/logs/refs/heads/skewed`, "not a line of a reflog\n", {
    append: true,
  });
  await logLine(repo, "refs/heads/skewed", 1_790_005_100, "commit: after it");
  const answer = await digest([repo], { sinceMs: 1_790_005_000_000 });
  assert.deepEqual(answer.events.map((e: Payload) => e.message), [
    "commit: after it",
    "commit: before the skew",
  ]);
});

Deno.test("of a long log the last mebibyte is read, and what may be missing is said", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one");
  const line = (i: number) =>
    `${"1".repeat(40)} ${"2".repeat(40)} A B <a@b> ${1_790_000_000 + i} +0000\tcommit: ${i}\n`;
  let text = "";
  for (let i = 0; text.length <= MOVE_LIMITS.fileBytes + 1_000; i++) text += line(i);
  await Deno.writeTextFile(`${repo}/.git/logs/refs/heads/long`, text);
  const answer = await digest([repo]);
  assert.equal(answer.truncated, true);
  assert.deepEqual(answer.repos[0].truncated, true);
  assert.equal(answer.repos[0].eventCount, MOVE_LIMITS.kept);
  const note = answer.warnings.find((w: Payload) => w.path === repo);
  assert.deepEqual([note.code, note.count], ["reflog_unreadable", 1]);
  // With a later time nothing before the part that was read can matter.
  const last = Number(/ (\d+) \+0000\tcommit: \d+\n$/.exec(text)![1]);
  const recent = await digest([repo], { sinceMs: (last - 5) * 1000 });
  assert.equal(recent.eventCount, 6);
  assert.deepEqual([recent.truncated, recent.warnings], [false, undefined]);
});

Deno.test("more branches than are read are counted", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one");
  const folder = `${repo}/.git/logs/refs/heads`;
  const line = `${"1".repeat(40)} ${"2".repeat(40)} A B <a@b> 1790000000 +0000\tcommit: x\n`;
  for (let i = 0; i < MOVE_LIMITS.files + 5; i++) {
    Deno.writeTextFileSync(`${folder}/b${String(i).padStart(5, "0")}`, line);
  }
  const answer = await digest([repo]);
  assert.equal(answer.repos[0].truncated, true);
  assert.deepEqual(answer.warnings.map((w: Payload) => [w.code, w.count]), [[
    "reflog_unreadable",
    // One branch of the repository itself.
    6,
  ]]);
});

Deno.test("maxEvents and maxTokens cut the oldest events and say so; an error outlives the cut", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  for (let i = 0; i < 30; i++) {
    await logLine(repo, "refs/heads/m", 1_790_000_000 + i, `commit: ${i}`);
  }
  const some = await digest([repo], { maxEvents: 3 });
  assert.deepEqual(some.events.map((e: Payload) => e.message), [
    "commit: 29",
    "commit: 28",
    "commit: 27",
  ]);
  assert.deepEqual([some.eventCount, some.truncated, some.repos[0].eventCount], [3, true, 30]);
  const payload = await call("fleet.digest", {
    sinceMs: 0,
    repoPaths: [repo, "relative"],
    maxTokens: 1_500,
  });
  assert.ok(encode(JSON.stringify(payload)).length <= 1_500);
  const { events, repos, cut, truncated } = payload.data;
  assert.ok(events.length > 0 && events.length < 30);
  assert.equal(events[0].message, "commit: 29");
  assert.equal(truncated, true);
  assert.ok(cut.some((c: Payload) => c.list === "events" && c.of === 30));
  if (repos.length > 0) assert.match(repos[0].error, /absolute/);
});

Deno.test("a bad path is one bad entry with no count, and the same repository named twice is read once", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one");
  await Deno.symlink(repo, `${box.root}/alias`);
  const answer = await digest(["x", `${box.root}/none`, repo, `${box.root}/alias`, box.home]);
  assert.equal(answer.requestedRepoCount, 4);
  assert.deepEqual(answer.repos.map((r: Payload) => [r.error === null, r.eventCount]), [
    [false, null],
    [false, null],
    [true, 1],
    [false, null],
  ]);
  assert.match(answer.repos[3].error, /not a git repository/);
});

Deno.test("outside the allowed roots is a bad entry", async () => {
  await using box = await fresh();
  const inside = await box.repo("in"), outside = await box.repo("out");
  await box.commit(inside, "one");
  await box.commit(outside, "secret");
  const answer = await data("fleet.digest", { sinceMs: 0, repoPaths: [inside, outside] }, {
    env: { FLUXGIT_MCP_ALLOWED_ROOTS: inside },
  });
  assert.deepEqual(answer.repos.map((r: Payload) => r.errorCode), [undefined, -32011]);
  assert.ok(!JSON.stringify(answer).includes("secret"));
});

Deno.test("linked worktrees tell the shared branches and their own HEAD", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one");
  const linked = `${box.root}/linked`;
  await box.git(repo, "worktree", "add", "-q", "--detach", linked);
  await box.commit(linked, "on no branch");
  const answer = await digest([linked]);
  assert.deepEqual(
    answer.events.map((e: Payload) => [e.refName, e.message]).slice(0, 1),
    [["HEAD", "commit: on no branch"]],
  );
  assert.ok(answer.events.some((e: Payload) => e.refName === "refs/heads/main"));
  assert.ok(!JSON.stringify((await digest([repo])).events).includes("on no branch"));
});

Deno.test("a repository without reflogs says so; an empty one has nothing to say", async () => {
  await using box = await fresh();
  const off = await box.repo("off");
  await box.git(off, "config", "core.logAllRefUpdates", "false");
  await box.commit(off, "one");
  const empty = await box.repo("empty");
  const answer = await digest([off, empty]);
  assert.deepEqual(answer.events, []);
  assert.deepEqual(answer.warnings.map((w: Payload) => [w.code, w.path]), [[
    "reflog_disabled",
    off,
  ]]);
});

Deno.test("links in the place of logs are not followed out of the repository", async () => {
  await using box = await fresh();
  const victim = await box.repo("victim");
  await box.commit(victim, "one");
  await box.commit(victim, "private words");
  const repo = await box.repo("repo");
  await box.commit(repo, "one");
  await Deno.symlink(`${victim}/.git/logs/HEAD`, `${repo}/.git/logs/refs/heads/link`);
  await box.git(box.root, "clone", "-q", victim, "whole");
  const whole = `${box.root}/whole`;
  await Deno.remove(`${whole}/.git/logs`, { recursive: true });
  await Deno.symlink(`${victim}/.git/logs`, `${whole}/.git/logs`);
  assert.match(
    await box.git(whole, "reflog"),
    /private words/,
    "control: plain git follows the link",
  );
  const answer = await digest([repo, whole]);
  assert.ok(!JSON.stringify(answer).includes("private words"));
  assert.equal(answer.repos[1].truncated, true);
});

Deno.test("a pipe in the place of a log does not hold the call", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one");
  const pipe = `${repo}/.git/logs/refs/heads/pipe`;
  assert.ok((await new Deno.Command("mkfifo", { args: [pipe] }).output()).success);
  const answer = await digest([repo]);
  assert.equal(answer.repos[0].eventCount, 1);
});

Deno.test("reading through git, as for reftable, tells the same movements as the files", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n" });
  await box.commit(repo, "two", { a: "2\n" });
  box.tick();
  await box.git(repo, "commit", "-q", "--amend", "-m", "two, better");
  box.tick();
  await box.git(repo, "checkout", "-q", "-b", "feat/a");
  await box.commit(repo, "three", { a: "3\n" });
  const opened = await openRepository(repo);
  const files = await readMoves(opened, 0);
  const git = await readMovesThroughGit(opened, 0);
  const key = (m: Payload) => [m.refName, m.seconds, m.newOid, m.identity, m.message];
  const order = (list: unknown[]) => list.map((x) => JSON.stringify(x)).sort();
  assert.deepEqual(order(git.moves.map(key)), order(files.moves.map(key)));
  // The id before a move is that of the move before it; unknown for the oldest of a log.
  const amend = (list: readonly Payload[]) => list.find((m) => m.message.startsWith("commit (am"));
  assert.equal(amend(git.moves).oldOid, amend(files.moves).oldOid);
  const since = files.moves[1]!.seconds;
  assert.deepEqual(
    order((await readMovesThroughGit(opened, since)).moves.map(key)),
    order((await readMoves(opened, since)).moves.map(key)),
  );
});

const { reftable } = await gitCapabilities();

Deno.test({
  name: "a reftable repository has its movements and its state told (needs git 2.45)",
  ignore: !reftable,
  async fn() {
    await using box = await fresh();
    const repo = await box.repo("reftable", "--ref-format=reftable");
    await box.commit(repo, "one", { a: "1\n" });
    await box.git(repo, "commit", "-q", "--amend", "-m", "better");
    const answer = await digest([repo]);
    assert.deepEqual(answer.events.map((e: Payload) => [e.refName, e.kind, e.rewrote]), [
      ["refs/heads/main", "amend", true],
      ["refs/heads/main", "commit", false],
    ]);
    const [entry] = (await data("fleet.radar", { repoPaths: [repo] })).entries;
    assert.deepEqual([entry.branch, entry.clean], ["main", true]);
  },
});

Deno.test("a repository in a format that this git cannot read is an error entry, not a quiet one", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one");
  await box.git(repo, "config", "core.repositoryFormatVersion", "1");
  await box.git(repo, "config", "extensions.somethingNew", "true");
  const answer = await digest([repo]);
  assert.equal(answer.repos[0].errorKind, "unsupported_format");
  assert.equal(answer.repos[0].eventCount, null);
});

Deno.test("without repoPaths the registered repositories are read, by the rules of the registry", async () => {
  await using box = await fresh();
  const runDir = `${box.root}/run`;
  const a = await box.repo("a"), b = await box.repo("b"), c = await box.repo("c");
  for (const repo of [a, b, c]) await box.commit(repo, repo.slice(-1));
  await box.write(`${runDir}/repos`, {
    "b.path": `${b}\n`,
    "a.path": a,
    "again.path": `  ${a}  `,
    "gone.path": `${box.root}/gone`,
    "relative.path": "a",
    "big.path": a.padEnd(40_000),
    "note.txt": c,
    "c.PATH": c,
  });
  await Deno.symlink(`${runDir}/repos/note.txt`, `${runDir}/repos/link.path`);
  const answer = await data("fleet.digest", { sinceMs: 0 }, { runDir });
  assert.deepEqual(answer.repos.map((r: Payload) => r.repoPath), [a, b]);
  assert.equal(answer.repoSource, "fluxgit-registry");
  assert.equal(answer.excludedOutsideAllowedRoots, 0);
  assert.deepEqual(answer.warnings.map((w: Payload) => [w.code, w.count]), [[
    "store_unreadable",
    4,
  ]]);
  const limited = await data("fleet.digest", { sinceMs: 0 }, {
    runDir,
    env: { FLUXGIT_MCP_ALLOWED_ROOTS: b },
  });
  assert.deepEqual(limited.repos.map((r: Payload) => r.repoPath), [b]);
  assert.equal(limited.excludedOutsideAllowedRoots, 1);
});

Deno.test("nothing registered and nothing named is refused as a tool result", async () => {
  await using box = await fresh();
  for (const runDir of [null, `${box.root}/none`]) {
    const error = await refusal("fleet.digest", { sinceMs: 0 }, { runDir });
    assert.deepEqual([error.form, error.code], ["result", -32602]);
    assert.match(error.data.details, /repoPaths/);
  }
});

Deno.test("the digest writes nothing and runs no program of the repository", async () => {
  await using box = await fresh();
  const evil = await box.evil();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n" });
  await box.git(repo, "commit", "-q", "--amend", "-m", "better");
  await box.git(repo, "config", "core.fsmonitor", evil.script);
  await box.git(repo, "status");
  assert.equal(await evil.ran(), true, "control: plain git runs it");
  await evil.reset();
  const before = await hashTree(repo);
  await digest([repo]);
  assert.equal(await evil.ran(), false);
  assert.equal(await hashTree(repo), before);
});

Deno.test("hostile bytes in a log stay text: control characters, broken UTF-8, endless messages", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await logLine(repo, "refs/heads/x", 1_790_000_000, "commit: \u001b[31m" + "é".repeat(5_000));
  const file = `${repo}/.git/logs/refs/heads/x`;
  const bytes = new Uint8Array([
    ...new TextEncoder().encode(`${"1".repeat(40)} ${"2".repeat(40)} \u0000`),
    0xff,
    ...new TextEncoder().encode(` <a@b> 1790000001 +0000\tcommit: `),
    0xe9,
    0x0a,
  ]);
  await Deno.writeFile(file, bytes, { append: true });
  const [second, first] = (await digest([repo])).events;
  assert.equal(first.message.length, 200);
  assert.ok(first.message.endsWith("…"));
  assert.equal(second.message, "commit: \ufffd");
});
