import assert from "node:assert/strict";
import { parseCommitHeader, readCommitHeaders } from "../../git/commit_headers.ts";
import { openRepository } from "../../git/repository.ts";
import { rewroteHistory } from "../../git/rewrites.ts";
import { Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

async function wanted(path: string, ...oids: string[]) {
  const repo = await openRepository(path);
  return { target: repo, commonDir: repo.facts.commonDir, oids };
}

const never = new AbortController().signal;

Deno.test("commits of many repositories are read together, each from its own, loose and packed", async () => {
  await using box = await fresh();
  const a = await box.repo("a"), b = await box.repo('b "quoted" : name'), c = await box.repo("c");
  const a1 = await box.commit(a, "one"), a2 = await box.commit(a, "two");
  const b1 = await box.commit(b, "other", { x: "1\n" });
  await box.git(b, "gc", "-q");
  const c1 = await box.commit(c, "third", { y: "1\n" });
  const headers = await readCommitHeaders([
    await wanted(a, a1, a2, a2),
    await wanted(b, b1),
    await wanted(c, c1, "1".repeat(40)),
  ]);
  assert.deepEqual([...headers.keys()].sort(), [a1, a2, b1, c1].sort());
  assert.deepEqual(headers.get(a2)!.parents, [a1]);
  for (const [repo, oid] of [[a, a2], [b, b1], [c, c1]] as const) {
    assert.equal(
      String(headers.get(oid)!.committedAt),
      (await box.git(repo, "log", "-1", "--format=%ct", oid)).trim(),
    );
  }
});

Deno.test("both object formats can be asked for at once", async () => {
  await using box = await fresh();
  const one = await box.repo("one"), two = await box.repo("two", "--object-format=sha256");
  const o1 = await box.commit(one, "x"), o2 = await box.commit(two, "x");
  const headers = await readCommitHeaders([await wanted(one, o1), await wanted(two, o2)]);
  assert.deepEqual([...headers.keys()].sort(), [o1, o2].sort());
});

Deno.test("a repository cannot speak for another's commit: content that is not what its id says is not believed", async () => {
  await using box = await fresh();
  const honest = await box.repo("honest"), liar = await box.repo("liar");
  const mine = await box.commit(liar, "mine", { a: "2\n" });
  const theirs = await box.commit(honest, "theirs", { a: "1\n" });
  // The liar holds another commit's content under the honest one's id.
  const place = (oid: string) => `${liar}/.git/objects/${oid.slice(0, 2)}/${oid.slice(2)}`;
  await Deno.mkdir(place(theirs).replace(/\/[^/]+$/, ""), { recursive: true });
  await Deno.copyFile(place(mine), place(theirs));
  assert.match(
    await box.git(liar, "cat-file", "commit", theirs),
    /mine/,
    "control: git gives out the wrong content",
  );
  const headers = await readCommitHeaders([await wanted(liar, mine), await wanted(honest, theirs)]);
  const told = headers.get(theirs);
  const real = (await box.git(honest, "log", "-1", "--format=%ct")).trim();
  assert.ok(told === undefined || String(told.committedAt) === real);
  assert.ok(headers.has(mine));
});

Deno.test("one damaged object does not cost the others their answer", async () => {
  await using box = await fresh();
  const bad = await box.repo("bad"), good = await box.repo("good");
  const broken = await box.commit(bad, "x", { a: "1\n" });
  const fine = await box.commit(good, "y", { a: "2\n" });
  const file = `${bad}/.git/objects/${broken.slice(0, 2)}/${broken.slice(2)}`;
  await Deno.chmod(file, 0o644);
  await Deno.writeTextFile(file, "not zlib");
  assert.notEqual((await box.tryGit(bad, ["cat-file", "commit", broken])).code, 0, "control");
  const headers = await readCommitHeaders([await wanted(bad, broken), await wanted(good, fine)]);
  assert.deepEqual([...headers.keys()], [fine]);
});

Deno.test("header lines are read, and never a line of the message", () => {
  const parse = (text: string) => parseCommitHeader(new TextEncoder().encode(text));
  const tree = `tree ${"1".repeat(40)}\n`;
  assert.deepEqual(
    parse(
      `${tree}parent ${"2".repeat(40)}\nparent ${
        "3".repeat(40)
      }\nauthor A <a> 1 +0000\ncommitter C <c> 7 +0000\n\nparent ${
        "4".repeat(40)
      }\ncommitter X <x> 9 +0000\n`,
    ),
    { parents: ["2".repeat(40), "3".repeat(40)], committedAt: 7 },
  );
  assert.equal(parse(`${tree}committer C <c> -5 -7349423\n\n`).committedAt, -5);
  assert.equal(parse(`${tree}committer C <c> 99999999999999999999 +0000\n\n`).committedAt, null);
  assert.equal(parse(`${tree}committer <c>\n\n`).committedAt, null);
  assert.equal(parse(`${tree}committer a > b <c> 8 +0000\n\n`).committedAt, 8);
  assert.deepEqual(parse(""), { parents: [], committedAt: null });
});

Deno.test("a move is told by parents where they decide, by git elsewhere, and remembered", async () => {
  await using box = await fresh();
  const path = await box.repo();
  const oids = [];
  for (let i = 0; i < 5; i++) oids.push(await box.commit(path, `c${i}`, { a: `${i}\n` }));
  await box.git(path, "checkout", "-q", "--orphan", "other");
  const orphan = await box.commit(path, "orphan", { z: "1\n" });
  const repo = await openRepository(path);
  const move = (oldOid: string | null, newOid: string | null, message = "reset: x") => ({
    repo,
    refName: "refs/heads/main",
    oldOid,
    newOid,
    message,
  });
  const [c0, c1, , c3, c4] = oids as [string, string, string, string, string];
  const moves = [
    move(c0, c1),
    move(c0, c4),
    move(c1, c0),
    move(c4, c1),
    move(c4, c4),
    move(null, c4),
    move(c4, null),
    move(c3, orphan),
    move("1".repeat(40), c4),
    { ...move(c4, c0, "checkout: moving from a to b"), refName: "HEAD" },
    { ...move(c4, c0, "rebase (start): checkout x"), refName: "HEAD" },
  ];
  const expected = [false, false, true, true, false, false, false, true, null, false, true];
  assert.deepEqual((await rewroteHistory(moves, never)).answers, expected);
  assert.deepEqual((await rewroteHistory(moves, never)).answers, expected);
});

Deno.test("without time left an unknown move stays unknown, never true", async () => {
  await using box = await fresh();
  const path = await box.repo();
  const a = await box.commit(path, "a", { f: "1\n" });
  await box.commit(path, "b", { f: "2\n" });
  const c = await box.commit(path, "c", { f: "3\n" });
  const repo = await openRepository(path);
  const controller = new AbortController();
  controller.abort();
  const { answers } = await rewroteHistory(
    [{ repo, refName: "refs/heads/x", oldOid: a, newOid: c, message: "pull" }],
    controller.signal,
  );
  assert.deepEqual(answers, [null]);
});
