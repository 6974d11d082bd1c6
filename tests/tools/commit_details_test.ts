import assert from "node:assert/strict";
import { data, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

async function rawCommit(box: Sandbox, repo: string, text: string | Uint8Array): Promise<string> {
  const out = await box.tryGit(repo, [
    "hash-object",
    "-t",
    "commit",
    "-w",
    "--stdin",
    "--literally",
  ], { stdin: text });
  assert.equal(out.code, 0, out.stderr);
  return out.stdout.trim();
}

const lines = (n: number, word = "line") =>
  Array.from({ length: n }, (_, i) => `${word} ${i}\n`).join("");

Deno.test("commit.details lists the files of a root commit, names with spaces whole, against nothing", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const root = await box.commit(repo, "first\n\nA longer story.\n\n", {
    "my file.txt": "1\n2\n",
    "café-日本.txt": "x\n",
    empty: "",
  });
  const { commit, comparedTo, files, counts, ...rest } = await data("commit.details", {
    repoPath: repo,
    commit: "HEAD",
  });
  assert.equal(commit.hash, root);
  assert.deepEqual(commit.parents, []);
  assert.equal(commit.message, "first\n\nA longer story.");
  assert.equal(comparedTo, null);
  assert.deepEqual(files, [
    { status: "A", path: "café-日本.txt", added: 1, deleted: 0 },
    { status: "A", path: "empty", added: 0, deleted: 0 },
    { status: "A", path: "my file.txt", added: 2, deleted: 0 },
  ]);
  assert.deepEqual(counts, { files: 3, added: 3, deleted: 0, binary: 0 });
  assert.deepEqual(rest, { limit: 200, total: 3, truncated: false, nextCursor: null });
});

Deno.test("renames, modes, types, binaries and deletions each show as what they are", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", {
    "a -> b.txt": lines(30),
    "src/{a => b}.ts": lines(30, "x"),
    script: "#!/bin/sh\n",
    link: "target\n",
    "bin 1": new Uint8Array([0, 1, 2, 3, ...new TextEncoder().encode(lines(50))]),
    gone: "1\n2\n",
  });
  await box.git(repo, "mv", "a -> b.txt", "c -> d.txt");
  await box.git(repo, "mv", "src/{a => b}.ts", "src/c.ts");
  await box.git(repo, "mv", "bin 1", "bin 2");
  await Deno.writeTextFile(`${repo}/src/c.ts`, "added\n", { append: true });
  await Deno.writeFile(`${repo}/bin 2`, new Uint8Array([0, 9, 9]), { append: true });
  await Deno.chmod(`${repo}/script`, 0o755);
  await Deno.remove(`${repo}/gone`);
  await Deno.remove(`${repo}/link`);
  await Deno.symlink("target", `${repo}/link`);
  await box.commit(repo, "two");
  const { files } = await data("commit.details", { repoPath: repo, commit: "HEAD" });
  // deno-lint-ignore no-explicit-any
  const scored = files.map(({ score, ...file }: any) => [file, score === undefined || score > 80]);
  assert.deepEqual(scored.map(([file]: unknown[]) => file), [
    { status: "R", path: "bin 2", origPath: "bin 1", added: null, deleted: null, binary: true },
    { status: "R", path: "c -> d.txt", origPath: "a -> b.txt", added: 0, deleted: 0 },
    { status: "D", path: "gone", added: 0, deleted: 2 },
    { status: "T", path: "link", modes: { old: "100644", new: "120000" }, added: 1, deleted: 1 },
    { status: "M", path: "script", modes: { old: "100644", new: "100755" }, added: 0, deleted: 0 },
    { status: "R", path: "src/c.ts", origPath: "src/{a => b}.ts", added: 1, deleted: 0 },
  ]);
  assert.ok(scored.every(([, high]: [unknown, boolean]) => high));
});

Deno.test("a merge is compared with its first parent, an octopus too", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "base", { base: "1\n" });
  for (const name of ["x", "y"]) {
    await box.git(repo, "checkout", "-q", "-b", name, "main");
    await box.commit(repo, name, { [name]: `${name}\n` });
  }
  await box.git(repo, "checkout", "-q", "main");
  const main = await box.commit(repo, "main", { main: "m\n" });
  await box.git(repo, "merge", "-q", "-m", "octopus", "x", "y");
  assert.equal(
    await box.git(repo, "diff-tree", "--name-only", "HEAD"),
    "",
    "control: git shows none",
  );
  const answer = await data("commit.details", { repoPath: repo, commit: "HEAD" });
  assert.equal(answer.commit.parents.length, 3);
  assert.equal(answer.comparedTo, main);
  assert.deepEqual(answer.files.map((f: { path: string }) => f.path), ["x", "y"]);
});

Deno.test("tags of tags are followed to the commit; what is no commit is refused", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const one = await box.commit(repo, "one", { a: "1\n" });
  await box.git(repo, "tag", "-a", "-m", "first", "t1");
  await box.git(repo, "tag", "-a", "-m", "second", "t2", "t1");
  assert.equal((await data("commit.details", { repoPath: repo, commit: "t2" })).commit.hash, one);
  await box.commit(repo, "two");
  for (const commit of ["HEAD:a", "HEAD~1..HEAD", "nothing", "^HEAD"]) {
    const error = await refusal("commit.details", { repoPath: repo, commit });
    assert.equal(error.code, 10010, commit);
  }
  for (const commit of ["--output=x", "-p", "HEAD\n--output=x"]) {
    const error = await refusal("commit.details", { repoPath: repo, commit });
    assert.equal(error.code, -32602, commit);
  }
});

Deno.test("an unborn branch has no commit to show", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const error = await refusal("commit.details", { repoPath: repo, commit: "HEAD" });
  assert.equal(error.code, 10010);
});

Deno.test("a file list continues where it ended, also when the branch moved on", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const names = Array.from({ length: 7 }, (_, i) => `f${i}`);
  await box.commit(repo, "many", Object.fromEntries(names.map((n) => [n, `${n}\n`])));
  const args = { repoPath: repo, commit: "HEAD", limit: 3 };
  const first = await data("commit.details", args);
  assert.equal(first.total, 7);
  assert.equal(first.truncated, true);
  assert.deepEqual(first.counts, { files: 7, added: 7, deleted: 0, binary: 0 });
  await box.commit(repo, "later");
  const second = await data("commit.details", { ...args, cursor: first.nextCursor });
  const third = await data("commit.details", { ...args, cursor: second.nextCursor });
  assert.equal(second.commit.hash, first.commit.hash);
  assert.deepEqual(
    [first, second, third].flatMap((page) => page.files.map((f: { path: string }) => f.path)),
    names,
  );
  assert.equal(third.nextCursor, null);
  const other = await refusal("commit.details", {
    ...args,
    commit: "main",
    cursor: first.nextCursor,
  });
  assert.equal(other.code, -32602);
});

Deno.test("names that are not UTF-8 come with their bytes", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1" });
  const blob = (await box.git(repo, "rev-parse", "HEAD:a")).trim();
  const entry = new Uint8Array([
    ...new TextEncoder().encode(`100644 blob ${blob}\tlatin`),
    0xe9,
    ...new TextEncoder().encode('"q\n.txt\0'),
  ]);
  const tree = (await box.tryGit(repo, ["mktree", "-z"], { stdin: entry })).stdout.trim();
  const commit = (await box.git(repo, "commit-tree", "-m", "odd", tree)).trim();
  const { files } = await data("commit.details", { repoPath: repo, commit });
  assert.deepEqual(files, [{
    status: "A",
    path: 'latin\uFFFD"q\n.txt',
    pathBytes: btoa('latin\xe9"q\n.txt'),
    added: 1,
    deleted: 0,
  }]);
});

Deno.test("Git LFS pointers are shown as what they stand for, without git-lfs", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const pointer = (digit: string, size: string) =>
    `version https://git-lfs.github.com/spec/v1\noid sha256:${digit.repeat(64)}\nsize ${size}\n`;
  await box.commit(repo, "one", {
    ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    "a.bin": pointer("a", "12345"),
    "no.bin":
      "version https://git-lfs.github.com/spec/v1\nnothing that follows is a pointer at all, but long enough\n",
  });
  const { files } = await data("commit.details", { repoPath: repo, commit: "HEAD" });
  assert.deepEqual(files[1], {
    status: "A",
    path: "a.bin",
    added: 3,
    deleted: 0,
    lfsPointer: { oid: "a".repeat(64), size: 12345 },
  });
  assert.equal(files[2].lfsPointer, undefined);
  await box.commit(repo, "two", { "a.bin": pointer("b", "99999999999999999999") });
  const changed = await data("commit.details", { repoPath: repo, commit: "HEAD" });
  assert.deepEqual(changed.files[0].lfsPointer, { oid: "b".repeat(64), size: null });
  await Deno.remove(`${repo}/a.bin`);
  await box.commit(repo, "three");
  const removed = await data("commit.details", { repoPath: repo, commit: "HEAD" });
  assert.equal(removed.files[0].status, "D");
  assert.equal(removed.files[0].lfsPointer.oid, "b".repeat(64));
});

Deno.test("a blobless clone gives names, null counts and what is missing, and fetches nothing", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: lines(9), b: "b\n", same: lines(20, "s") });
  await box.git(repo, "mv", "same", "moved");
  await box.commit(repo, "two", { a: lines(10), "new": "n\n" });
  await box.commit(repo, "three", { c: "c\n" });
  await box.git(repo, "config", "uploadpack.allowFilter", "true");
  const clone = `${box.root}/blobless`;
  await box.git(box.root, "clone", "-q", "--filter=blob:none", `file://${repo}`, clone);
  const evil = await box.evil();
  await box.git(clone, "config", "remote.origin.uploadpack", evil.script);
  await box.tryGit(clone, ["show", "--stat", "HEAD~1"]);
  assert.equal(await evil.ran(), true, "control: plain git fetches");
  await evil.reset();
  const before = await hashTree(clone);
  const answer = await data("commit.details", { repoPath: clone, commit: "HEAD~1" });
  assert.equal(await evil.ran(), false);
  assert.equal(await hashTree(clone), before);
  assert.deepEqual(answer.files, [
    { status: "M", path: "a", added: null, deleted: null },
    { status: "R", path: "moved", origPath: "same", score: 100, added: 0, deleted: 0 },
    { status: "A", path: "new", added: 1, deleted: 0 },
  ]);
  assert.deepEqual(answer.counts, { files: 3, added: null, deleted: null, binary: null });
  assert.equal(answer.warnings[0].code, "missing_objects");
  assert.equal(answer.warnings[0].count, 1);
  const treeless = `${box.root}/treeless`;
  await box.git(box.root, "clone", "-q", "--filter=tree:0", `file://${repo}`, treeless);
  const none = await data("commit.details", { repoPath: treeless, commit: "HEAD~1" });
  assert.equal(none.commit.message, "two");
  assert.deepEqual(none.files, []);
  assert.equal(none.total, null);
  assert.equal(none.warnings[0].code, "missing_objects");
});

Deno.test("the boundary of a shallow clone keeps its parents and claims no changed files", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const one = await box.commit(repo, "one", { a: "1\n" });
  await box.commit(repo, "two", { b: "2\n" });
  await box.git(box.root, "clone", "-q", "--depth=1", `file://${repo}`, `${box.root}/shallow`);
  const answer = await data("commit.details", { repoPath: `${box.root}/shallow`, commit: "HEAD" });
  assert.deepEqual(answer.commit.parents, [one]);
  assert.equal(answer.commit.shallowBoundary, true);
  assert.deepEqual(answer.files, []);
  assert.equal(answer.total, null);
  assert.equal(answer.counts.files, null);
  assert.equal(answer.warnings[0].code, "missing_objects");
});

Deno.test("a message of 50 MB is bounded and said to be cut; the encoding declared is given", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n" });
  const tree = (await box.git(repo, "rev-parse", "HEAD^{tree}")).trim();
  const head = `tree ${tree}\nauthor A <a@b> 5 +0000\ncommitter A <a@b> 5 +0000\n`;
  const size = 50_000_000;
  const big = await rawCommit(box, repo, `${head}\nsubject\n\n${"y".repeat(size)}\n`);
  const { commit } = await data("commit.details", { repoPath: repo, commit: big });
  assert.equal(commit.messageTruncated, true);
  assert.equal(commit.messageBytes, size + 10);
  assert.ok(commit.message.length <= 32_768);
  const latin = await rawCommit(
    box,
    repo,
    new Uint8Array([
      ...new TextEncoder().encode(`${head}encoding ISO-8859-1\n\ncaf`),
      0xe9,
      0x0a,
    ]),
  );
  const other = await data("commit.details", { repoPath: repo, commit: latin });
  assert.equal(other.commit.message, "café");
  assert.equal(other.commit.encoding, "ISO-8859-1");
});

Deno.test("broken dates and identities are given as they are recorded, the mailmap is applied and said", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { ".mailmap": "Real <real@x> <author@example.org>\n" });
  const mapped = await data("commit.details", { repoPath: repo, commit: "HEAD" });
  assert.equal(mapped.commit.authorName, "Real");
  assert.deepEqual(mapped.commit.recordedAuthor, {
    name: "Test Author",
    email: "author@example.org",
  });
  const tree = (await box.git(repo, "rev-parse", "HEAD^{tree}")).trim();
  const odd = await rawCommit(
    box,
    repo,
    `tree ${tree}\nauthor <a<b@c> 99999999999999999999 +051800\ncommitter C <c@d> -5 -7349423\n\nx\n`,
  );
  const { commit } = await data("commit.details", { repoPath: repo, commit: odd });
  assert.equal(commit.authorName, "");
  assert.equal(commit.authorEmail, "a<b@c");
  assert.equal(commit.authorTime, null);
  assert.equal(commit.authorTimeRaw, "99999999999999999999");
  assert.equal(commit.committerTime, null);
  assert.equal(commit.committerTimeRaw, "-5");
});

Deno.test("maxTokens cuts the files first, then the message, and the totals stay", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const names = Array.from({ length: 60 }, (_, i) => `folder/file-${i}.ts`);
  await box.commit(
    repo,
    "subject\n\n" + lines(300, "A sentence of the message"),
    Object.fromEntries(names.map((n) => [n, "1\n"])),
  );
  const args = { repoPath: repo, commit: "HEAD" };
  const whole = await data("commit.details", args);
  assert.equal(whole.files.length, 60);
  const some = await data("commit.details", { ...args, maxTokens: 5000 });
  assert.ok(some.files.length < 60);
  assert.equal(some.commit.message, whole.commit.message);
  assert.equal(some.total, 60);
  const next = await data("commit.details", { ...args, cursor: some.nextCursor });
  assert.equal(next.files.length, 60 - some.files.length);
  const few = await data("commit.details", { ...args, maxTokens: 600 });
  assert.deepEqual(few.files, []);
  assert.equal(few.commit.messageTruncated, true);
  assert.deepEqual(few.cut.map((c: { list: string }) => c.list), ["files", "message"]);
});

Deno.test("commit.details runs no program of the repository and writes nothing, where plain git runs it", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { ".gitattributes": "*.txt diff=evil\n", "a.txt": "1\n" });
  await box.commit(repo, "two", { "a.txt": "2\n" });
  const evil = await box.evil();
  await box.git(repo, "config", "diff.evil.textconv", evil.cat);
  await box.git(repo, "show", "HEAD");
  assert.equal(await evil.ran(), true, "control: plain git runs it");
  await evil.reset();
  await box.git(repo, "config", "diff.evil.command", evil.script);
  await box.git(repo, "config", "core.fsmonitor", evil.script);
  await box.git(repo, "config", "log.showSignature", "true");
  await box.git(repo, "config", "gpg.program", evil.script);
  const before = await hashTree(repo);
  const { files } = await data("commit.details", { repoPath: repo, commit: "HEAD" });
  assert.deepEqual(files, [{ status: "M", path: "a.txt", added: 1, deleted: 1 }]);
  assert.equal(await evil.ran(), false);
  assert.equal(await hashTree(repo), before);
});

Deno.test("ids of 64 digits, bare repositories and submodule pointers work, and settings change nothing", async () => {
  await using box = await fresh();
  const repo = await box.repo("sha256", "--object-format=sha256");
  await box.commit(repo, "one", { "d/a": "1\n" });
  const fake = "1".repeat(64);
  await box.git(repo, "update-index", "--add", "--cacheinfo", `160000,${fake},sub`);
  await box.git(repo, "commit", "-q", "-m", "pin");
  const pinned = await data("commit.details", { repoPath: repo, commit: "HEAD" });
  assert.deepEqual(pinned.files, [
    { status: "A", path: "sub", added: 1, deleted: 0, submodule: true },
  ]);
  await box.git(box.root, "clone", "-q", "--bare", repo, `${box.root}/bare.git`);
  for (
    const [key, value] of [
      ["diff.noprefix", "true"],
      ["diff.renames", "false"],
      ["diff.relative", "true"],
      ["diff.ignoreSubmodules", "all"],
      ["diff.orderFile", `${box.root}/nothing-here`],
      ["color.diff", "always"],
    ]
  ) await box.git(repo, "config", key!, value!);
  assert.deepEqual(
    await data("commit.details", { repoPath: `${repo}/d`, commit: "HEAD" }),
    pinned,
  );
  const bare = await data("commit.details", { repoPath: `${box.root}/bare.git`, commit: "HEAD" });
  assert.deepEqual(bare.files, pinned.files);
});

Deno.test("the committer is told where it is not the author, and its time where it differs", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n" });
  const told = async () => {
    const { commit } = await data("commit.details", { repoPath: repo, commit: "HEAD" });
    return [commit.committerName, commit.committerEmail, commit.committerTime];
  };
  assert.deepEqual(await told(), [undefined, undefined, undefined]);
  const amend = (name: string, date: string) =>
    box.tryGit(repo, ["commit", "-q", "--amend", "-m", "one"], {
      env: { GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: "c@x", GIT_COMMITTER_DATE: date },
    });
  const { commit } = await data("commit.details", { repoPath: repo, commit: "HEAD" });
  await amend("Other", `${commit.authorTime} +0000`);
  assert.deepEqual(await told(), ["Other", "c@x", undefined]);
  await amend("Other", "1790009999 +0000");
  assert.deepEqual(await told(), ["Other", "c@x", 1_790_009_999]);
});
