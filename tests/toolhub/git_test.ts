import assert from "node:assert/strict";
import { useVariables } from "../../git/program.ts";
import { DiffCounter } from "../../toolhub/git/diff_count.ts";
import { branchOf } from "../../toolhub/tools/git_status.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";
import { Lab } from "./lab.ts";

/** A lab whose workspace is a repository, and plain git for it. */
async function repository() {
  const lab = await Lab.create();
  const box = await Sandbox.create();
  useSandbox(box);
  await box.git(lab.workspace, "init", "-q", "-b", "main");
  return {
    lab,
    box,
    async [Symbol.asyncDispose]() {
      useVariables(() => undefined);
      await box[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    },
  };
}

Deno.test("status tells branch and entries as git does, and writes nothing", async () => {
  await using place = await repository();
  const { lab, box } = place;
  await using tools = await lab.hub();
  assert.equal((await tools.call("git.status")).branch, "main");
  await box.commit(lab.workspace, "one", { "a.txt": "1\n", "b.txt": "1\n", "old name": "xyz\n" });
  lab.write("a.txt", "2\n");
  lab.write("c d.txt", "new");
  lab.write("ü", "new");
  await box.git(lab.workspace, "mv", "old name", "new name");
  const before = await hashTree(lab.workspace);
  const status = await tools.call("git.status");
  assert.equal(await hashTree(lab.workspace), before);
  assert.deepEqual(status.entries, [
    { code: " M", path: "a.txt" },
    { code: "R ", path: '"old name" -> "new name"' },
    { code: "??", path: '"c d.txt"' },
    { code: "??", path: "ü" },
  ]);
  assert.equal(status.clean, false);
  assert.equal(status.path, ".");
  assert(status.raw.startsWith("## main\n M a.txt\n"));
  await box.git(lab.workspace, "checkout", "-q", "--detach");
  assert.equal((await tools.call("git.status")).branch, "HEAD (no branch)");
  assert.equal(branchOf("main...origin/main [ahead 1]"), "main");
  assert.equal(branchOf("No commits yet on topic"), "topic");
  const events = lab.audit();
  assert.equal(events[1].action, "read");
  assert.deepEqual(events[1].arguments, { branch: "main", entries: 4 });
});

Deno.test("diff tells unstaged or staged changes, of all or of one literal path", async () => {
  await using place = await repository();
  const { lab, box } = place;
  await using tools = await lab.hub();
  await box.commit(lab.workspace, "one", { "a.txt": "-- x\n1\n", "*.txt": "1\n", "bin": "a\0b" });
  lab.write("a.txt", "++ y\n1\n");
  lab.write("*.txt", "2\n");
  const all = await tools.call("git.diff");
  assert.deepEqual([all.additions, all.deletions, all.binary, all.staged, all.path], [
    2,
    2,
    false,
    false,
    null,
  ]);
  const one = await tools.call("git.diff", { path: "*.txt" });
  assert.deepEqual([one.additions, one.path], [1, "*.txt"]);
  assert(!one.raw.includes("a.txt b/a.txt"), "the star is literal");
  assert.equal((await tools.call("git.diff", { staged: true })).raw, "");
  await box.git(lab.workspace, "add", "a.txt");
  const staged = await tools.call("git.diff", { staged: true, path: "a.txt" });
  assert.deepEqual([staged.additions, staged.deletions], [1, 1]);
  lab.write("bin", "a\0c");
  const binary = await tools.call("git.diff", { path: "bin" });
  assert.deepEqual([binary.additions, binary.deletions, binary.binary], [null, null, true]);
  for (const path of [":(top)x", ":/", "--output=x", "none"]) {
    assert.equal((await tools.call("git.diff", { path })).raw, "");
  }
  lab.write("a.txt", "line\n".repeat(10_000));
  const long = await tools.call("git.diff", { path: "a.txt" });
  assert.match(long.raw, /\n\.\.\.\[\+\d+ chars truncated\]$/);
  assert.equal(long.additions, 10_000, "counts are of all, not of what is shown");
});

Deno.test("a diff is counted by place, also when lines look like headers, and in combined form", () => {
  const count = (text: string) => {
    const counter = new DiffCounter();
    for (const char of text) counter.add(new TextEncoder().encode(char));
    counter.end();
    return [counter.additions, counter.deletions, counter.binary];
  };
  assert.deepEqual(
    count("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a\n+++ b\n Binary files\n\\ No newline\n"),
    [1, 1, false],
  );
  assert.deepEqual(count("Binary files a/x and b/x differ\n"), [0, 0, true]);
  assert.deepEqual(
    count("@@@ -1,1 -1,1 +1,5 @@@\n++<<<<<<< ours\n +a\n++=======\n+ b\n++>>>>>>> theirs\n"),
    [5, 0, false],
  );
});

Deno.test("a workspace inside a bigger repository, a bare one, and none are refused", async () => {
  await using place = await repository();
  const { lab, box } = place;
  Deno.mkdirSync(`${lab.workspace}/inner`);
  await using inner = await lab.hub({
    env: { TOOLHUB_WORKSPACE_ROOT: `${lab.workspace}/inner`, TOOLHUB_STATE_ROOT: `${lab.root}/s2` },
  });
  for (const [tool, args] of [["git.status", {}], ["git.diff", {}], ["git.diff", { path: "x" }]]) {
    assert.match(await inner.error(tool as string, args), /escapes ToolHub workspace/);
  }
  const event = JSON.parse(Deno.readTextFileSync(`${lab.root}/s2/audit.jsonl`).split("\n")[0]!);
  assert.equal(event.error_type, "WorkspaceBoundaryViolation");
  await using none = await lab.hub({
    env: { TOOLHUB_WORKSPACE_ROOT: lab.outside, TOOLHUB_STATE_ROOT: `${lab.root}/s3` },
  });
  assert.match(await none.error("git.status"), /git exited 128/);
  const bare = `${lab.root}/bare`;
  await box.git(lab.root, "init", "-q", "--bare", bare);
  await using naked = await lab.hub({
    env: { TOOLHUB_WORKSPACE_ROOT: bare, TOOLHUB_STATE_ROOT: `${lab.root}/s4` },
  });
  assert.match(await naked.error("git.status"), /git exited/);
  await box.git(lab.workspace, "config", "core.worktree", lab.outside);
  await using moved = await lab.hub();
  assert.match(await moved.error("git.status"), /escapes ToolHub workspace|git exited/);
});

Deno.test("no program that the repository names is run", async () => {
  await using place = await repository();
  const { lab, box } = place;
  await using tools = await lab.hub();
  await box.commit(lab.workspace, "one", {
    "a.txt": "one\n",
    ".gitattributes": "*.txt diff=evil filter=evil\n",
  });
  const evil = await box.evil();
  const arm = async () => {
    for (
      const [key, value] of [
        ["core.fsmonitor", evil.script],
        ["diff.external", evil.script],
        ["diff.evil.textconv", evil.cat],
        ["filter.evil.clean", evil.cat],
        ["core.pager", evil.script],
      ]
    ) await box.git(lab.workspace, "config", key!, value!);
    Deno.writeTextFileSync(
      `${lab.workspace}/.git/hooks/post-index-change`,
      `#!/bin/sh\n'${evil.script}'\n`,
      { mode: 0o755 },
    );
    lab.write("a.txt", "two\n");
  };
  await arm();
  // The control: plain git runs them.
  await box.tryGit(lab.workspace, ["status"]);
  await box.tryGit(lab.workspace, ["diff"]);
  assert(await evil.ran());
  await evil.reset();
  lab.write("a.txt", "six\n");
  await tools.call("git.status");
  await tools.call("git.diff");
  await tools.call("git.diff", { staged: true });
  assert.equal(await evil.ran(), false);
});
