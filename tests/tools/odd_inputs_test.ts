import assert from "node:assert/strict";
import { callRaw, data } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

/** Inputs that other tools got wrong and that belong to no single tool's tests (`git-inputs.md`). */

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

const status = (repoPath: string) => data("repo.status", { repoPath });

Deno.test("a renamed file that was edited again is one entry, whatever its name", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "old 🎉 name": "1\n2\n3\n4\n5\n" });
  await box.git(repo, "mv", "old 🎉 name", "new 🚀 name");
  await box.write(repo, { "new 🚀 name": "1\n2\n3\n4\n5\n6\n" });
  const { entries } = await status(repo);
  assert.deepEqual(entries, [
    { status: "RM", path: "new 🚀 name", origPath: "old 🎉 name", score: 100 },
  ]);
});

Deno.test("what a sparse checkout leaves out is not deleted", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "d1/a": "1\n", "d2/b": "1\n", "d2/c": "1\n" });
  await box.git(repo, "sparse-checkout", "set", "d1");
  assert.equal(await Deno.stat(`${repo}/d2/b`).catch(() => null), null, "control: left out");
  const { clean, entries } = await status(repo);
  assert.deepEqual([clean, entries], [true, []]);
  const brief = await data("repo.brief", { repoPath: repo });
  assert.deepEqual([brief.workingTree, brief.hiddenByFlag], [{ clean: true }, 2]);
  assert(brief.repository.includes("sparse"));
});

Deno.test("a folder of 3,000 untracked files is one entry", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n" });
  await box.write(
    repo,
    Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`u/${i}`, ""])),
  );
  const { entries, counts, total } = await status(repo);
  assert.deepEqual(entries, [{ status: "??", path: "u/" }]);
  assert.deepEqual([counts.untracked, total], [1, 1]);
});

Deno.test("an ignored file that was added counts, other ignored ones do not, and links to them are not walked", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { ".gitignore": "*.log\nignored/\n" });
  await box.write(repo, { "x.log": "1\n", "y.log": "1\n", "ignored/deep/file": "1\n" });
  await box.git(repo, "add", "-f", "x.log");
  await Deno.symlink("ignored", `${repo}/link`);
  const { entries } = await status(repo);
  assert.deepEqual(entries, [{ status: "A ", path: "x.log" }, { status: "??", path: "link" }]);
});

Deno.test("names that differ only by case are two entries", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const blob = (await box.tryGit(repo, ["hash-object", "-w", "--stdin"], { stdin: "1\n" })).stdout
    .trim();
  for (const name of ["File.txt", "file.txt"]) {
    await box.git(repo, "update-index", "--add", "--cacheinfo", `100644,${blob},${name}`);
  }
  const { entries } = await status(repo);
  assert.deepEqual(entries.map((e: { path: string }) => e.path), ["File.txt", "file.txt"]);
});

Deno.test("a submodule that was only initialised stays as it is, on disk too", async () => {
  await using box = await fresh();
  const inner = await box.repo("inner");
  await box.commit(inner, "one", { a: "1\n" });
  const outer = await box.repo("outer");
  await box.git(outer, "submodule", "add", "-q", inner, "sub");
  await box.commit(outer, "with a submodule");
  const clone = `${box.root}/clone`;
  await box.git(box.root, "clone", "-q", outer, clone);
  await box.git(clone, "submodule", "init");
  const before = await hashTree(clone);
  assert.equal((await status(clone)).clean, true);
  const { submodules } = await data("submodule.status", { repoPath: clone });
  assert.deepEqual([submodules[0].state, submodules[0].checkedOut], ["-", null]);
  await data("repo.brief", { repoPath: clone });
  assert.equal(await hashTree(clone), before);
});

Deno.test("line ends that git converts are no change, however a file's time stands", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.git(repo, "config", "core.autocrlf", "true");
  await box.commit(repo, "one", { a: "1\r\n2\r\n" });
  await Deno.utime(`${repo}/a`, 1_000_000_000, 1_000_000_000);
  assert.equal((await status(repo)).clean, true);
  assert.deepEqual((await data("diff.text", { repoPath: repo })).files, []);
});

Deno.test("calls beside a loop of commits, deletions of branches and gc are all answered, and disturb none of it", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  for (let i = 0; i < 5; i++) await box.commit(repo, `start ${i}`, { a: `${i}\n` });
  let going = true;
  const failures: string[] = [];
  const user = (async () => {
    for (let i = 0; going; i++) {
      await box.write(repo, { [`f${i % 3}`]: `${i} of the loop\n` });
      for (
        const args of [
          ["add", "-A"],
          ["commit", "-q", "-m", `loop ${i}`],
          ["branch", "-f", "passing"],
          ["branch", "-q", "-D", "passing"],
          ...(i % 5 === 4
            ? [["gc", "-q", "--prune=now"], ["reset", "-q", "--hard", "HEAD~1"]]
            : []),
        ]
      ) {
        const { code, stderr } = await box.tryGit(repo, args);
        if (code !== 0) failures.push(`${args.join(" ")}: ${stderr}`);
      }
    }
    return true;
  })();
  const calls: [string, Record<string, unknown>][] = [
    ["repo.status", {}],
    ["repo.brief", {}],
    ["repo.refs", {}],
    ["repo.history", {}],
    ["repo.reflog", {}],
    ["repo.branchStack", {}],
    ["commit.details", { commit: "HEAD" }],
    ["worktree.changes", {}],
    ["diff.text", { base: "HEAD~1" }],
    ["repo.scope", { path: "f1" }],
  ];
  try {
    for (let round = 0; round < 3; round++) {
      for (const [tool, args] of calls) await data(tool, { repoPath: repo, ...args });
    }
  } finally {
    going = false;
    await user;
  }
  assert.deepEqual(failures, []);
});

Deno.test("no file system daemon is started, and none is waited for", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n" });
  await box.git(repo, "config", "core.fsmonitor", "true");
  await box.git(repo, "config", "core.untrackedCache", "true");
  const before = await hashTree(`${repo}/.git`);
  for (let i = 0; i < 5; i++) assert.equal((await status(repo)).clean, true);
  assert.equal(await hashTree(`${repo}/.git`), before, "neither a socket nor a new index");
});

Deno.test("a merge of 1,000 parents and a tree 5,000 levels deep are bounded or refused, and the next call is answered", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const who = "A <a@b> 1700000000 +0000";
  const commits = Array.from(
    { length: 1_000 },
    (_, i) =>
      `commit refs/heads/p\nmark :${i + 1}\ncommitter ${who}\ndata 1\n${i % 10}\n${
        i === 0 ? "" : "deleteall\n"
      }\n`,
  );
  const merge = `commit refs/heads/many\ncommitter ${who}\ndata 4\nmany\nfrom :1\n${
    Array.from({ length: 999 }, (_, i) => `merge :${i + 2}\n`).join("")
  }\n`;
  const deep = `commit refs/heads/deep\ncommitter ${who}\ndata 4\ndeep\nM 100644 inline ${
    "d/".repeat(5_000)
  }f\ndata 2\n1\n\n`;
  const stdin = commits.join("") + merge + deep;
  const imported = await box.tryGit(repo, ["fast-import", "--quiet"], { stdin });
  assert.equal(imported.code, 0, imported.stderr);
  const { commit } = await data("commit.details", { repoPath: repo, commit: "many" });
  assert.equal(commit.parentCount, 1_000);
  assert(commit.parents.length < 100);
  const outcome = await callRaw("commit.details", { repoPath: repo, commit: "deep" });
  assert(outcome.kind === "result");
  assert(
    JSON.stringify(outcome.payload).length < 50_000,
    "whatever git makes of it, it is bounded",
  );
  assert.equal((await data("repo.history", { repoPath: repo, ref: "deep" })).commits.length, 1);
});

Deno.test("distances that a shallow clone cuts short are marked as lower bounds, others are not", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  for (const n of ["1", "2", "3"]) await box.commit(repo, n);
  for (const [name, depth] of [["shallow", ["--depth", "1"]], ["whole", []]] as const) {
    const clone = `${box.root}/${name}`;
    await box.git(box.root, "clone", "-q", ...depth, `file://${repo}`, clone);
    await box.commit(clone, "mine");
    const marked = depth.length > 0 ? true : undefined;
    const answer = await status(clone);
    assert.deepEqual([answer.ahead, answer.behind, answer.shallow], [1, 0, marked]);
    assert.equal((await data("repo.branchStack", { repoPath: clone })).shallow, marked);
    const { entries } = await data("fleet.radar", { repoPaths: [clone] });
    assert.equal(entries[0].shallow, marked);
    const brief = await data("repo.brief", { repoPath: clone });
    assert.equal(brief.repository?.includes("shallow"), marked);
  }
});
