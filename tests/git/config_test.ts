import assert from "node:assert/strict";
import {
  type ConfigEntry,
  driverOverrides,
  GitConfig,
  parseConfigList,
  repositoryPrograms,
  splitKey,
} from "../../git/config.ts";
import { useVariables } from "../../git/program.ts";
import { openRepository } from "../../git/repository.ts";
import { readWorkTree } from "../../git/work_tree.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

const entry = (scope: string, key: string, value: string | null = ""): ConfigEntry => ({
  scope,
  origin: "file:x",
  key,
  value,
});

/** Status of a repository whose file `f` was touched without a change of size. */
async function touchedStatus(path: string) {
  await Deno.utime(`${path}/f`, 1, 1);
  return await readWorkTree(await openRepository(path), { limit: 10 });
}

async function append(file: string, text: string | Uint8Array): Promise<void> {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  await Deno.writeFile(file, bytes, { append: true });
}

/** Opens with files taken for settled, however fresh they are, so that what was read is kept. */
const kept = (path: string) => openRepository(path, { now: () => Date.now() + 60_000 });

Deno.test("the list is read with values that hold newlines, empty ones and none", () => {
  const bytes = new TextEncoder().encode(
    "global\0file:/h/.gitconfig\0core.editor\nvi\0local\0file:.git/config\0a.B c.d\none\ntwo\0" +
      "local\0file:.git/config\0core.bare\0local\0file:.git/config\0x.y\n\0",
  );
  assert.deepEqual(parseConfigList(bytes).map((e) => [e.scope, e.key, e.value]), [
    ["global", "core.editor", "vi"],
    ["local", "a.B c.d", "one\ntwo"],
    ["local", "core.bare", null],
    ["local", "x.y", ""],
  ]);
  assert.deepEqual(splitKey("filter.a.b=c.clean"), {
    section: "filter",
    subsection: "a.b=c",
    variable: "clean",
  });
  assert.deepEqual(splitKey("core.bare"), { section: "core", subsection: null, variable: "bare" });
});

Deno.test("booleans are read as git reads them, the last value counting", () => {
  const config = new GitConfig([
    entry("local", "a.x", "false"),
    entry("local", "a.x", "YES"),
    entry("local", "a.y", null),
    entry("local", "a.z", ""),
    entry("local", "a.n", "0"),
    entry("local", "a.w", "perhaps"),
  ]);
  assert.deepEqual(["a.x", "a.y", "a.z", "a.n"].map((key) => config.bool(key, false)), [
    true,
    true,
    false,
    false,
  ]);
  assert.equal(config.bool("a.z", true), false);
  assert.equal(config.bool("a.w", true), true);
  assert.equal(config.bool("a.unset", true), true);
  assert.equal(config.get("a.unset"), undefined);
});

Deno.test("drivers of the repository are emptied, and set back to the user's own where there is one", () => {
  const overrides = new Map(driverOverrides([
    entry("system", "filter.lfs.clean", "git-lfs clean -- %f"),
    entry("global", "filter.lfs.process", "git-lfs filter-process"),
    entry("global", "filter.mine.clean", "mine"),
    entry("local", "filter.lfs.clean", "evil"),
    entry("local", "filter.lfs.required", "true"),
    entry("local", "filter.a.b=c.smudge", "evil"),
    entry("worktree", "filter.wt.process", "evil"),
    entry("local", "merge.m.driver", "evil"),
    entry("local", "hook.h.command", "evil"),
    entry("local", "core.editor", "evil"),
    entry("command", "filter.ours.clean", "set for this command"),
  ]));
  assert.deepEqual(Object.fromEntries(overrides), {
    "filter.lfs.clean": "git-lfs clean -- %f",
    "filter.lfs.required": "false",
    "filter.a.b=c.smudge": "",
    "filter.wt.process": "",
    "merge.m.driver": "git merge-file %A %O %B",
    "hook.h.command": "true",
  });
});

Deno.test("programs are listed by the keys that name them, harmless values left out", () => {
  const keys = (...entries: ConfigEntry[]) => repositoryPrograms(entries);
  assert.deepEqual(
    keys(
      entry("local", "core.fsmonitor", "/x"),
      entry("local", "core.hookspath", ""),
      entry("worktree", "diff.x.textconv", "cat"),
      entry("local", "alias.st", "!sh"),
      entry("local", "credential.https://h.helper", "!x"),
      entry("local", "gpg.ssh.program", "x"),
      entry("local", "hook.a.command", "x"),
      entry("local", "core.fsmonitor", "/y"),
    ),
    [
      "core.fsmonitor",
      "core.hookspath",
      "diff.x.textconv",
      "alias.st",
      "credential.https://h.helper",
      "gpg.ssh.program",
      "hook.a.command",
    ],
  );
  assert.deepEqual(
    keys(
      entry("local", "core.fsmonitor", "false"),
      entry("local", "alias.st", "status"),
      entry("local", "diff.external", ""),
      entry("local", "submodule.x.update", "rebase"),
      entry("global", "core.pager", "less"),
      entry("local", "user.name", "x"),
    ),
    [],
  );
});

Deno.test("filters with odd names, in worktree configuration or included files, are not run where plain git runs them", async () => {
  await using box = await fresh();
  const evil = await box.evil();
  const repo = await box.repo();
  await box.commit(repo, "one", { f: "1\n" });
  const config = `${repo}/.git/config`;
  const driver = (name: string) => `[filter "${name}"]\n\tclean = ${evil.cat}\n`;
  const ways: Record<string, () => Promise<unknown>> = {
    "plain": () => append(config, driver("plain")),
    "a=b": () => append(config, driver("a=b")),
    "dots.in.it": () => append(config, driver("dots.in.it")),
    "日本": () => append(config, driver("日本")),
    "UPPER": () => append(config, `[FILTER "UPPER"]\n\tCLEAN = ${evil.cat}\n`),
    "old": () => append(config, `[filter.old]\n\tclean = ${evil.cat}\n`),
    "process": () => append(config, `[filter "process"]\n\tprocess = ${evil.script}\n\trequired\n`),
    "included": async () => {
      await box.write(repo, { ".git/more": driver("included") });
      await append(config, "[include]\n\tpath = more\n");
    },
    "conditional": async () => {
      await box.write(repo, { ".git/branch": driver("conditional") });
      await append(config, '[includeIf "onbranch:main"]\n\tpath = branch\n');
    },
    "worktree": async () => {
      await append(config, "[extensions]\n\tworktreeConfig = true\n");
      await box.write(repo, { ".git/config.worktree": driver("worktree") });
    },
  };
  for (const [name, arm] of Object.entries(ways)) {
    await box.write(repo, { ".git/info/attributes": `f filter=${name}\n` });
    await arm();
    await Deno.utime(`${repo}/f`, 2, 2);
    await box.tryGit(repo, ["--no-optional-locks", "status"]);
    assert.equal(await evil.ran(), true, `control: ${name}`);
    await evil.reset();
    const before = await hashTree(`${repo}/.git`);
    const status = await touchedStatus(repo);
    assert.equal(await evil.ran(), false, name);
    assert.equal(await hashTree(`${repo}/.git`), before, name);
    assert.deepEqual(status.entries, [], `${name}: compared as it lies on disk`);
  }
});

Deno.test("a driver whose name is not UTF-8 cannot be switched off, so the repository is refused", async () => {
  await using box = await fresh();
  const evil = await box.evil();
  const repo = await box.repo();
  await box.commit(repo, "one", { f: "1\n" });
  const raw = (text: string) => Uint8Array.from(text, (c) => c.charCodeAt(0));
  await Deno.writeFile(`${repo}/.git/info/attributes`, raw("f filter=\xe9\n"));
  await append(`${repo}/.git/config`, raw(`[filter "\xe9"]\n\tclean = ${evil.cat}\n`));
  await Deno.utime(`${repo}/f`, 1, 1);
  await box.git(repo, "--no-optional-locks", "status");
  assert.equal(await evil.ran(), true, "control: plain git runs it");
  await evil.reset();
  await assert.rejects(openRepository(repo), { kind: "failed", message: /Local git/ });
  assert.equal(await evil.ran(), false);
});

Deno.test("the user's own git-lfs goes on working and the repository's is not run in its place", async () => {
  await using box = await fresh();
  const evil = await box.evil();
  const stub = `${box.root}/bin/git-lfs`;
  await box.write(box.root, {
    "bin/git-lfs": `#!/bin/sh\necho "$@" >> '${box.root}/lfs'\necho pointer\n`,
  });
  await Deno.chmod(stub, 0o755);
  await Deno.chmod(`${box.root}/bin`, 0o755);
  const path = `${box.root}/bin:${Deno.env.get("PATH")}`;
  useVariables((name) =>
    name === "HOME"
      ? box.home
      : name === "PATH"
      ? path
      : name === "FLUXGIT_MCP_GIT_PATH"
      ? Deno.env.get(name)
      : undefined
  );
  const repo = await box.repo();
  await box.commit(repo, "one", { f: "pointer\n" });
  await box.write(repo, { ".git/info/attributes": "f filter=lfs\n", f: "content\n" });
  await box.git(box.root, "config", "--global", "filter.lfs.clean", "git-lfs clean -- %f");
  await box.git(box.root, "config", "--global", "filter.lfs.required", "true");
  await box.git(repo, "config", "filter.lfs.clean", evil.cat);
  const control = { env: { PATH: path } };
  await box.tryGit(repo, ["--no-optional-locks", "status"], control);
  assert.equal(await evil.ran(), true, "control: plain git runs the repository's");
  await evil.reset();
  const status = await touchedStatus(repo);
  assert.equal(await evil.ran(), false);
  assert.match(await Deno.readTextFile(`${box.root}/lfs`), /clean -- f/);
  assert.deepEqual(status.entries, [], "cleaned by the user's filter, the file is unchanged");
});

Deno.test("a call sees the configuration as it is then, whichever file changed in between", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { f: "1\n" });
  const value = async (key = "test.x") => {
    const config = (await kept(repo)).facts.config;
    assert.equal((await kept(repo)).facts.config, config, "read once while nothing changes");
    return config.get(key);
  };
  const config = `${repo}/.git/config`;
  assert.equal(await value(), undefined);
  await append(config, "[test]\n\tx = 1\n");
  assert.equal(await value(), "1");
  await append(config, "[include]\n\tpath = more\n\tpath = ~/theirs\n");
  assert.equal(await value(), "1");
  await box.write(repo, { ".git/more": "[test]\n\tx = 3\n" });
  assert.equal(await value(), "3", "a file that was included before it existed");
  await box.write(box.home, { "theirs": "[test]\n\tx = 4\n" });
  assert.equal(await value(), "4");
  await Deno.remove(`${box.home}/theirs`);
  assert.equal(await value(), "3");
  await box.git(box.root, "config", "--global", "test.y", "5");
  assert.equal(await value("test.y"), "5");
  await box.write(box.home, { ".config/git/config": "[test]\n\tz = 6\n" });
  assert.equal(await value("test.z"), "6");
});

Deno.test("a change of the same size with the time set back is seen, within the same second too", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const config = `${repo}/.git/config`;
  await append(config, "[test]\n\tx = 0\n");
  const text = await Deno.readTextFile(config);
  for (let i = 1; i < 6; i++) {
    await Deno.writeTextFile(config, text.replace("x = 0", `x = ${i}`));
    await Deno.utime(config, 1_000_000, 1_000_000);
    assert.equal((await openRepository(repo)).facts.config.get("test.x"), String(i));
  }
});

Deno.test("a branch that a condition names counts from the moment it is checked out", async () => {
  await using box = await fresh();
  const evil = await box.evil();
  const repo = await box.repo();
  await box.commit(repo, "one", { f: "1\n" });
  await box.git(repo, "branch", "armed");
  await box.write(repo, {
    ".git/armed": `[filter "evil"]\n\tclean = ${evil.cat}\n`,
    ".git/info/attributes": "f filter=evil\n",
  });
  await append(`${repo}/.git/config`, '[includeIf "onbranch:armed"]\n\tpath = armed\n');
  assert.deepEqual((await kept(repo)).overrides, []);
  await box.git(repo, "checkout", "-q", "armed");
  await Deno.utime(`${repo}/f`, 1, 1);
  await box.git(repo, "--no-optional-locks", "status");
  assert.equal(await evil.ran(), true, "control");
  await evil.reset();
  await Deno.utime(`${repo}/f`, 2, 2);
  await readWorkTree(await kept(repo), { limit: 10 });
  assert.equal(await evil.ran(), false);
});

Deno.test("a repository that takes the place of another at the same path is opened anew", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await Deno.mkdir(`${repo}/folder`);
  assert.equal((await kept(`${repo}/folder`)).path, repo);
  await box.git(repo, "init", "-q", "folder");
  assert.equal((await kept(`${repo}/folder`)).path, `${repo}/folder`);
  await Deno.rename(`${repo}/folder/.git`, `${box.root}/away`);
  assert.equal((await kept(`${repo}/folder`)).path, repo);
  await Deno.remove(`${repo}/.git`, { recursive: true });
  await assert.rejects(kept(`${repo}/folder`), { kind: "not_a_repository" });
  await box.git(repo, "init", "-q", "--object-format=sha256");
  assert.equal((await kept(repo)).facts.objectFormat, "sha256");
});
