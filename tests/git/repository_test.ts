import assert from "node:assert/strict";
import { CodedError } from "../../common/errors.ts";
import { alternates } from "../../git/confinement.ts";
import { discover } from "../../git/discovery.ts";
import { openRepository } from "../../git/repository.ts";
import { readWorkTree } from "../../git/work_tree.ts";
import { call, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

const outside = { code: -32011 };

/** Opens under roots; gives the reason of a refusal, null when it is served. */
async function refusedUnder(path: string, ...roots: string[]): Promise<string | null> {
  try {
    await openRepository(path, { roots });
    return null;
  } catch (error) {
    assert(error instanceof CodedError && error.code === outside.code, String(error));
    return String(error.data?.["details"]);
  }
}

Deno.test("a repository is opened at its top from any folder, linked worktree, or through a relative .git file", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "a/b/f": "1\n" });
  const below = await openRepository(`${repo}/a/b`);
  assert.equal(below.path, repo);
  assert.equal(below.facts.askedPath, `${repo}/a/b`);
  assert.deepEqual([below.facts.gitDir, below.facts.commonDir], [`${repo}/.git`, `${repo}/.git`]);
  await box.git(repo, "worktree", "add", "-q", "../linked");
  const linked = await openRepository(`${box.root}/linked`);
  assert.equal(linked.facts.gitDir, `${repo}/.git/worktrees/linked`);
  assert.equal(linked.facts.commonDir, `${repo}/.git`);
  const moved = await box.repo("moved");
  await Deno.rename(`${moved}/.git`, `${box.root}/store`);
  await Deno.writeTextFile(`${moved}/.git`, "gitdir: ../store\n");
  assert.equal((await openRepository(moved)).facts.gitDir, `${box.root}/store`);
});

Deno.test("paths with newlines, quotes and other scripts are taken whole", async () => {
  await using box = await fresh();
  const names = ["new\nline", "two\n\nlines", 'quo"te', " space ", "日本", "-dash", "a\ttab"];
  for (const name of names) {
    const repo = await box.repo(`${name}/repo`);
    const opened = await openRepository(repo);
    assert.deepEqual(
      [opened.path, opened.facts.gitDir, opened.facts.commonDir],
      [repo, `${repo}/.git`, `${repo}/.git`],
    );
    await box.write(repo, { f: "" });
    const status = await readWorkTree(opened, { limit: 1 });
    assert.deepEqual(status.entries, [{ status: "??", path: "f" }]);
    await box.git(repo, "init", "-q", "--bare", "../bare.git");
    const bare = await openRepository(`${repo.slice(0, -4)}bare.git`);
    assert.equal(bare.facts.gitDir, `${repo.slice(0, -4)}bare.git`);
    assert.equal(bare.facts.topLevel, null);
  }
});

Deno.test("what is no repository is told in git's words, and nothing is created", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await Deno.mkdir(`${box.root}/.ssh`);
  const before = await hashTree(box.root);
  for (
    const path of [`${box.root}/.ssh`, `${box.root}/none`, "/", `${repo}/.git`, `${repo}/.git/refs`]
  ) {
    await assert.rejects(openRepository(path), { kind: "not_a_repository" }, path);
  }
  assert.equal(await hashTree(box.root), before);
});

Deno.test("a bare repository inside a work tree is refused, from its folders too; plain git runs its programs", async () => {
  await using box = await fresh();
  const evil = await box.evil();
  const repo = await box.repo();
  const bare = `${repo}/sub/evilbare`;
  await box.git(repo, "init", "-q", "--bare", bare);
  await box.git(bare, "config", "core.bare", "false");
  await box.git(bare, "config", "core.worktree", "..");
  await box.git(bare, "config", "core.fsmonitor", evil.script);
  await box.write(bare, { "objects/keep": "", "refs/keep": "" });
  await box.commit(repo, "comes with a clone");
  const clone = `${box.root}/clone`;
  await box.git(box.root, "clone", "-q", repo, clone);
  const there = `${clone}/sub/evilbare`;
  await box.tryGit(there, ["status"]);
  assert.equal(await evil.ran(), true, "control: plain git runs its fsmonitor");
  await evil.reset();
  assert.equal(discover(there).kind, "embedded");
  for (const path of [there, `${there}/refs`, `${there}/objects`]) {
    await assert.rejects(openRepository(path), { kind: "embedded_bare" }, path);
  }
  const error = await refusal("repo.status", { repoPath: there });
  assert.equal(error.code, 10010);
  assert.match(error.data.hint, /outer repository/);
  assert.equal(await evil.ran(), false);
  assert.equal((await openRepository(clone)).path, clone, "the outer one is served");
});

Deno.test("one that keeps its objects elsewhere, or lies in a bare repository's folder, is judged the same way", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one");
  await box.write(repo, { "x/HEAD": "ref: refs/heads/main\n", "x/commondir": "../.git\n" });
  assert.equal(discover(`${repo}/x`).kind, "embedded");
  await assert.rejects(openRepository(`${repo}/x`), { kind: "embedded_bare" });
  await box.git(box.root, "init", "-q", "--bare", "outer.git");
  assert.equal(discover(`${box.root}/outer.git`).kind, "bare");
  assert.equal(discover(`${box.root}/outer.git/refs/heads`).kind, "bare");
  assert.equal(discover(`${repo}/.git/refs`).kind, "git-dir");
  assert.equal(discover(repo).kind, "work-tree");
  assert.equal(discover("/").kind, "none");
});

const root = Deno.build.os !== "windows" && Deno.uid() === 0;

Deno.test({
  name:
    "another user's repository is refused with git's own way out, which a person may take; HOME does not weaken it",
  ignore: !root,
  async fn() {
    await using box = await fresh();
    const repo = await box.repo("foreign");
    await box.commit(repo, "one", { f: "1\n" });
    await new Deno.Command("chown", { args: ["-R", "54321:54321", repo] }).output();
    const control = await box.tryGit(repo, ["status"]);
    assert.match(control.stderr, /dubious ownership/, "control");
    const error = await refusal("repo.status", { repoPath: repo });
    assert.equal(error.data.kind, "dubious_ownership");
    assert.match(error.data.hint, /safe\.directory/);
    assert.match(error.data.details, /safe\.directory/);
    const config = await Deno.readTextFile(`${box.home}/.gitconfig`);
    assert(!config.includes("safe"), "nothing was added for the user");
    await box.git(repo, "config", "--file", `${repo}/.git/config`, "safe.directory", "*");
    await assert.rejects(openRepository(repo), { kind: "dubious_ownership" });
    await box.git(box.root, "config", "--global", "safe.directory", repo);
    assert.equal((await call("repo.status", { repoPath: repo })).data.clean, true);
    await box.git(box.root, "config", "--global", "--unset", "safe.directory");
    await assert.rejects(openRepository(repo).then((r) => r.run(["status"])), {
      kind: "dubious_ownership",
    });
  },
});

Deno.test("a format that the installed git cannot read is told apart from no repository", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.git(repo, "config", "core.repositoryFormatVersion", "1");
  await box.git(repo, "config", "extensions.fromTheFuture", "true");
  await assert.rejects(openRepository(repo), { kind: "unsupported_format" });
});

Deno.test("work trees that the configuration puts elsewhere are refused under roots, the same for existing and absent ones", async () => {
  await using box = await fresh();
  const inside = `${box.root}/inside`;
  const repo = await box.repo("inside/repo");
  const secret = `${box.root}/secret`;
  await box.write(secret, { "password": "x\n" });
  await box.git(repo, "config", "core.worktree", secret);
  const control = await box.git(repo, "status", "--porcelain");
  assert.match(control, /password/, "control: plain git lists what lies there");
  assert.match(String(await refusedUnder(repo, inside)), /core\.worktree/);
  const refused = await refusal("repo.status", { repoPath: repo }, {
    env: { FLUXGIT_MCP_ALLOWED_ROOTS: inside },
  });
  assert.equal(refused.form, "rpc");
  assert.equal(refused.code, -32011);
  assert(!JSON.stringify(refused).includes("password"));
  assert.equal(await refusedUnder(repo, box.root), null);
  await box.git(repo, "config", "core.worktree", `${inside}/elsewhere`);
  await Deno.mkdir(`${inside}/elsewhere`);
  assert.equal(await refusedUnder(repo, inside), null, "elsewhere below the root is fine");
});

Deno.test("a root may be a folder of a repository", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "part/f": "1\n" });
  assert.equal(await refusedUnder(`${repo}/part`, `${repo}/part`), null);
  await box.git(box.root, "clone", "-q", "--bare", repo, "bare.git");
  assert.equal(await refusedUnder(`${box.root}/bare.git`, `${box.root}/bare.git`), null);
});

Deno.test("git directories outside the roots are refused unless they name the work tree themselves", async () => {
  await using box = await fresh();
  const inside = `${box.root}/inside`;
  const secret = await box.repo("secret");
  await box.commit(secret, "secret", { f: "secret\n" });
  await Deno.mkdir(`${inside}/forged`, { recursive: true });
  await Deno.writeTextFile(`${inside}/forged/.git`, `gitdir: ${secret}/.git\n`);
  const control = await box.git(`${inside}/forged`, "log", "--format=%s");
  assert.match(control, /secret/, "control: plain git reads it");
  assert.match(String(await refusedUnder(`${inside}/forged`, inside)), /does not name/);
  await Deno.mkdir(`${inside}/link`);
  await Deno.symlink(`${secret}/.git`, `${inside}/link/.git`);
  assert.match(String(await refusedUnder(`${inside}/link`, inside)), /does not name/);
  // A folder that poses as one of its worktrees, its own administration below the root.
  await box.write(inside, {
    "posing/.git": `gitdir: ${inside}/admin\n`,
    "admin/commondir": `${secret}/.git\n`,
    "admin/HEAD": "ref: refs/heads/main\n",
    "admin/gitdir": `${inside}/posing/.git\n`,
  });
  assert.match(await box.git(`${inside}/posing`, "log", "--format=%s"), /secret/, "control");
  assert.match(String(await refusedUnder(`${inside}/posing`, inside)), /does not name/);
  await box.git(secret, "worktree", "add", "-q", `${inside}/real`);
  assert.equal(await refusedUnder(`${inside}/real`, inside), null, "made by the repository itself");
  await Deno.mkdir(`${inside}/copied`);
  await Deno.copyFile(`${inside}/real/.git`, `${inside}/copied/.git`);
  assert.match(String(await refusedUnder(`${inside}/copied`, inside)), /does not name/);
});

Deno.test("a submodule is served under a root that is its work tree", async () => {
  await using box = await fresh();
  const lib = await box.repo("lib");
  await box.commit(lib, "l");
  const repo = await box.repo();
  await box.git(repo, "submodule", "--quiet", "add", lib, "sub");
  assert.equal(await refusedUnder(`${repo}/sub`, `${repo}/sub`), null);
});

Deno.test("links inside a git directory that lead outside the roots are refused", async () => {
  await using box = await fresh();
  const inside = `${box.root}/inside`;
  const secret = await box.repo("secret");
  await box.commit(secret, "secret", { f: "secret\n" });
  for (
    const part of ["objects", "objects/pack", "refs", "refs/heads", "index", "logs", "packed-refs"]
  ) {
    const repo = await box.repo(`inside/${part.replace("/", "-")}`);
    await box.commit(repo, "own");
    assert.equal(await refusedUnder(repo, inside), null, part);
    await box.git(secret, "pack-refs", "--all");
    await Deno.remove(`${repo}/.git/${part}`, { recursive: true }).catch(() => {});
    await Deno.symlink(`${secret}/.git/${part}`, `${repo}/.git/${part}`);
    assert.match(String(await refusedUnder(repo, inside)), /link to outside/, part);
  }
  const fan = await box.repo("inside/fan");
  await box.commit(fan, "own");
  await Deno.symlink(`${secret}/.git/objects/pack`, `${fan}/.git/objects/zz`);
  assert.match(String(await refusedUnder(fan, inside)), /link to outside/);
  const near = await box.repo("inside/near");
  await box.commit(near, "own");
  await Deno.rename(`${near}/.git/logs`, `${inside}/kept-logs`);
  await Deno.symlink(`${inside}/kept-logs`, `${near}/.git/logs`);
  assert.equal(await refusedUnder(near, inside), null, "links below the root are fine");
});

Deno.test("objects borrowed from outside the roots are refused, through quotes, others and links as well", async () => {
  await using box = await fresh();
  const inside = `${box.root}/inside`;
  const secret = await box.repo("secret");
  const oid = await box.commit(secret, "secret", { f: "secret\n" });
  const repo = await box.repo("inside/repo");
  await box.commit(repo, "own");
  const file = `${repo}/.git/objects/info/alternates`;
  const lines = {
    plain: `${secret}/.git/objects\n`,
    relative: "../../../../secret/.git/objects\n",
    commented: `# none\n\n${secret}/.git/objects\n`,
    quoted: `"${secret.replace("secret", "\\163ecret")}/.git/objects"\n`,
    late: `${inside}/none\n`.repeat(300) + `${secret}/.git/objects\n`,
  };
  for (const [how, text] of Object.entries(lines)) {
    await Deno.writeTextFile(file, text);
    assert.equal((await box.git(repo, "cat-file", "-t", oid)).trim(), "commit", `control: ${how}`);
    assert.match(String(await refusedUnder(repo, inside)), /borrows objects/, how);
    assert.equal(await refusedUnder(repo, box.root), null, how);
  }
  const between = await box.repo("inside/between");
  await Deno.writeTextFile(`${between}/.git/objects/info/alternates`, lines.plain);
  await Deno.writeTextFile(file, `${between}/.git/objects\n`);
  assert.equal((await box.git(repo, "cat-file", "-t", oid)).trim(), "commit", "control: two steps");
  assert.match(String(await refusedUnder(repo, inside)), /borrows objects/);
  assert.deepEqual(alternates(`${repo}/.git`), [
    `${between}/.git/objects`,
    `${secret}/.git/objects`,
  ]);
  const refused = await refusal("repo.history", { repoPath: repo, ref: oid }, {
    env: { FLUXGIT_MCP_ALLOWED_ROOTS: inside },
  });
  assert.equal(refused.code, -32011);
  await Deno.writeTextFile(`${between}/.git/objects/info/alternates`, "");
  assert.equal(await refusedUnder(repo, inside), null, "borrowing below the root is fine");
});

Deno.test("a submodule that borrows from outside the roots is not looked into", async () => {
  await using box = await fresh();
  const secret = await box.repo("secret");
  await box.commit(secret, "secret", { f: "1\n" });
  const lib = await box.repo("inside/lib");
  await box.commit(lib, "l");
  const repo = await box.repo("inside/repo");
  await box.git(repo, "submodule", "--quiet", "add", lib, "sub");
  await box.commit(repo, "pin");
  await Deno.remove(`${repo}/sub/.git`);
  await Deno.writeTextFile(`${repo}/sub/.git`, `gitdir: ${secret}/.git\n`);
  const env = { FLUXGIT_MCP_ALLOWED_ROOTS: `${box.root}/inside` };
  const { data } = await call("submodule.status", { repoPath: repo }, { env });
  assert.equal(data.submodules[0].checkedOut, null);
  assert.equal(data.warnings[0].code, "submodules_unreadable");
  const status = await call("repo.status", { repoPath: repo }, { env });
  assert.equal(status.data.warnings[0].code, "submodules_unreadable");
});

Deno.test("revisions are resolved to full ids; what reads as an option is refused before git runs", async () => {
  await using box = await fresh();
  const repo = await openRepository(await box.repo());
  const one = await box.commit(repo.path, "one", { f: "1\n" });
  await box.git(repo.path, "tag", "-a", "-m", "t", "v1");
  await box.write(`${repo.path}/.git`, { "refs/heads/--output=pwn": one + "\n" });
  assert.equal(await repo.resolve("ref", "v1"), one);
  assert.equal(await repo.resolve("ref", "refs/heads/--output=pwn"), one);
  assert.notEqual(await repo.resolve("ref", "v1", "object"), one);
  for (const bad of ["--output=pwn", "-n", "--all", "a\0b", "a\nb"]) {
    await assert.rejects(repo.resolve("ref", bad), { code: -32602 }, bad);
  }
  for (const absent of ["nowhere", "HEAD..HEAD", "f", ":(top)f", "HEAD:f", "", "HEAD^2", "^HEAD"]) {
    await assert.rejects(repo.resolve("ref", absent), /Local git fallback failed/, absent);
  }
});
