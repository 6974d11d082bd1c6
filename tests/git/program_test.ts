import assert from "node:assert/strict";
import { gitCapabilities, parseCapabilities } from "../../git/capabilities.ts";
import { absoluteEntries, approvedEnvironment, childEnvironment } from "../../git/environment.ts";
import { GitError } from "../../git/errors.ts";
import { chooseProgram, useVariables } from "../../git/program.ts";
import { Sandbox } from "../fixtures/sandbox.ts";

const reader = (variables: Record<string, string>) => (name: string) =>
  Object.hasOwn(variables, name) ? variables[name] : undefined;

async function executable(path: string, mode = 0o755): Promise<string> {
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(path, "#!/bin/sh\necho git version 2.44.0\n");
  await Deno.chmod(path, mode);
  return path;
}

/** The reason for which a choice was refused. */
function reason(
  variables: Record<string, string>,
  windows = false,
  fixed: readonly string[] = [],
): string {
  try {
    const { path } = chooseProgram(reader(variables), windows, fixed);
    throw new Error(`${path} was chosen`);
  } catch (error) {
    assert(error instanceof GitError, String(error));
    assert.equal(error.kind, "git_missing");
    return String(error.data?.["details"]);
  }
}

Deno.test("FLUXGIT_MCP_GIT_PATH must name an executable file by an absolute path, and nothing else is tried", async () => {
  await using box = await Sandbox.create();
  const good = await executable(`${box.root}/bin/git`);
  const named = (path: string) => ({ FLUXGIT_MCP_GIT_PATH: path, PATH: `${box.root}/bin` });
  assert.equal(chooseProgram(reader(named(good)), false).path, good);
  assert.match(reason(named("git")), /"git" is not an absolute path/);
  assert.match(reason(named("./git")), /not an absolute path/);
  assert.match(reason(named(`${box.root}/none`)), /does not exist/);
  assert.match(reason(named(box.root)), /not a regular file/);
  const plain = await executable(`${box.root}/plain`, 0o644);
  assert.match(reason(named(plain)), /not executable/);
  assert.match(reason(named("git.exe"), true), /not an absolute path/);
  await Deno.symlink(`${box.root}/none`, `${box.root}/dangling`);
  assert.match(reason(named(`${box.root}/dangling`)), /does not exist/);
});

Deno.test("a git behind a link is accepted and run by the link's name", async () => {
  await using box = await Sandbox.create();
  await executable(`${box.root}/cellar/2.44/bin/git`);
  await Deno.mkdir(`${box.root}/bin`);
  const link = `${box.root}/bin/git`;
  await Deno.symlink("../cellar/2.44/bin/git", link);
  assert.equal(chooseProgram(reader({ FLUXGIT_MCP_GIT_PATH: link }), false).path, link);
  assert.equal(chooseProgram(reader({ PATH: `${box.root}/bin` }), false, []).path, link);
});

Deno.test("fixed places come before PATH; in PATH empty and relative entries are passed over", async () => {
  await using box = await Sandbox.create();
  const fixed = await executable(`${box.root}/fixed/git`);
  const inPath = await executable(`${box.root}/bin/git`);
  const PATH = `:.:relative/bin:${box.root}/none:${box.root}/bin/:`;
  assert.equal(chooseProgram(reader({ PATH }), false, [fixed]).path, fixed);
  const chosen = chooseProgram(reader({ PATH }), false, [`${box.root}/none/git`]);
  assert.equal(chosen.path, inPath);
  assert.equal(chosen.env["PATH"], `${box.root}/none:${box.root}/bin/`);
  assert.match(reason({ PATH: ":." }), /no git was found/);
  assert.match(reason({}), /no git was found/);
});

Deno.test("a folder of PATH that others can write to is not trusted, unless it is sticky", async () => {
  await using box = await Sandbox.create();
  await executable(`${box.root}/open/git`);
  await Deno.chmod(`${box.root}/open`, 0o777);
  assert.match(reason({ PATH: `${box.root}/open` }), /others can write/);
  await Deno.chmod(`${box.root}/open`, 0o1777);
  assert.equal(
    chooseProgram(reader({ PATH: `${box.root}/open` }), false, []).path,
    `${box.root}/open/git`,
  );
});

/** Runs code with another current directory, which a test must not change for its own process. */
async function elsewhere(
  cwd: string,
  code: string,
  env: Record<string, string> = {},
): Promise<string> {
  const root = new URL("../../", import.meta.url);
  const out = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-lock",
      "--config",
      new URL("deno.json", root).pathname,
      "--ext=ts",
      "-",
    ],
    cwd,
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = out.stdin.getWriter();
  await writer.write(new TextEncoder().encode(code.replaceAll("ROOT/", root.href)));
  await writer.close();
  const { stdout, stderr, success } = await out.output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

Deno.test("a git in the current directory is never chosen, where a shell would run it", async () => {
  await using box = await Sandbox.create();
  const repo = `${box.root}/repo`;
  await executable(`${repo}/git`);
  await executable(`${repo}/tools/git`);
  const shell = await new Deno.Command("/bin/sh", {
    args: ["-c", "git --version"],
    cwd: repo,
    clearEnv: true,
    env: { PATH: "." },
  }).output();
  assert.match(new TextDecoder().decode(shell.stdout), /2\.44\.0/, "control");
  const code = `
    import { chooseProgram } from "ROOT/git/program.ts";
    const tell = (variables, fixed) => {
      try { return chooseProgram((n) => variables[n], false, fixed).path; }
      catch (error) { return error.data.details; }
    };
    console.log(JSON.stringify([
      tell({ PATH: "${repo}:${repo}/tools:.:" }, []),
      tell({ FLUXGIT_MCP_GIT_PATH: "${repo}/tools/git" }, []),
      tell({ PATH: "${repo}", HOME: "${repo}" }, []),
    ]));`;
  const [path, named, home] = JSON.parse(await elsewhere(repo, code));
  assert.match(path, /lies in the current directory/);
  assert.match(named, /lies in the current directory/);
  assert.equal(home, `${repo}/git`, "started from the home directory, it is the user's own");
});

Deno.test("the door works from a current directory that no longer exists", async () => {
  await using box = await Sandbox.create();
  const repo = await box.repo();
  const code = `
    Deno.chdir("${box.root}/gone"); Deno.removeSync("${box.root}/gone");
    const { openRepository } = await import("ROOT/git/repository.ts");
    console.log((await openRepository("${repo}")).path);`;
  await Deno.mkdir(`${box.root}/gone`);
  assert.equal(await elsewhere(box.root, code), repo);
});

Deno.test("a git that is too old, or says something else, is refused with the version needed", async () => {
  await using box = await Sandbox.create();
  const path = `${box.root}/git`;
  const ask = async (version: string) => {
    await Deno.writeTextFile(path, `#!/bin/sh\necho '${version}'\n`, { mode: 0o755 });
    useVariables(reader({ FLUXGIT_MCP_GIT_PATH: path }));
    return await gitCapabilities();
  };
  for (const version of ["git version 2.30.9", "git version 1.8.3.1", "hub version x", ""]) {
    await assert.rejects(ask(version), { kind: "git_too_old" }, version);
  }
  const known = await ask("git version 2.39.5 (Apple Git-154)");
  assert.equal(known.version, "2.39.5 (Apple Git-154)");
  assert.deepEqual(
    [known.mergeTreeWriteTree, known.worktreeListZ, known.reftable],
    [true, true, false],
  );
  const windows = parseCapabilities("git version 3.0.0.windows.1\n");
  assert.deepEqual([windows.major, windows.reftable], [3, true]);
  assert.equal(parseCapabilities("git version 2.31.0").worktreeListZ, false);
});

Deno.test("an absent git can be installed while the program runs", async () => {
  await using box = await Sandbox.create();
  const path = `${box.root}/bin/git`;
  useVariables(reader({ FLUXGIT_MCP_GIT_PATH: path }));
  await assert.rejects(async () => await gitCapabilities(), { kind: "git_missing" });
  await executable(path);
  assert.equal((await gitCapabilities()).version, "2.44.0");
});

Deno.test("children see an allow-list of variables, with prompts, locks, fetches and translation off", () => {
  const hostile = {
    PATH: "/usr/bin:.::bin:/bin",
    HOME: "/home/someone",
    GIT_DIR: "/x",
    GIT_EXEC_PATH: "/x",
    GIT_CONFIG_PARAMETERS: "'core.fsmonitor=/x'",
    GIT_TRACE: "1",
    LD_PRELOAD: "/x",
    LANGUAGE: "de",
    LC_ALL: "de_DE.UTF-8",
    NODE_OPTIONS: "-r x",
    SSH_ASKPASS: "/x",
    PAGER: "/x",
  };
  assert.deepEqual(childEnvironment(reader(hostile), false), {
    PATH: "/usr/bin:/bin",
    HOME: "/home/someone",
    LC_ALL: "C",
    LANG: "C",
    LANGUAGE: "",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_PAGER: "cat",
  });
  const approved = approvedEnvironment(reader({ ...hostile, SSH_AUTH_SOCK: "/s" }), false);
  assert.equal(approved["SSH_AUTH_SOCK"], "/s");
  for (const name of ["GIT_DIR", "GIT_CONFIG_PARAMETERS", "GIT_EXEC_PATH", "LD_PRELOAD"]) {
    assert.equal(approved[name], undefined);
  }
  assert.equal(approved["GIT_TERMINAL_PROMPT"], "0");
  assert.deepEqual(absoluteEntries("C:\\Git\\bin;.;;\\\\host\\share;bin;D:/x", true), [
    "C:\\Git\\bin",
    "\\\\host\\share",
    "D:/x",
  ]);
});

Deno.test("GIT_ variables of the server change no answer and leave no file, where they lead plain git astray", async () => {
  await using box = await Sandbox.create();
  const repo = await box.repo("asked");
  const head = await box.commit(repo, "asked");
  const other = await box.repo("other");
  await box.commit(other, "other");
  const evil = await box.evil();
  const env = {
    HOME: box.home,
    GIT_DIR: `${other}/.git`,
    GIT_WORK_TREE: other,
    GIT_INDEX_FILE: `${box.root}/index`,
    GIT_OBJECT_DIRECTORY: `${other}/.git/objects`,
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.fsmonitor",
    GIT_CONFIG_VALUE_0: evil.script,
    GIT_EXTERNAL_DIFF: evil.script,
    GIT_TRACE: `${box.root}/trace`,
    GIT_TRACE2_EVENT: `${box.root}/trace2`,
    GIT_NAMESPACE: "x",
    GIT_EXEC_PATH: `${box.root}/none`,
    GIT_PAGER: evil.script,
    GIT_CEILING_DIRECTORIES: repo,
    LANGUAGE: "de",
  };
  const code = `
    import { openRepository } from "ROOT/git/repository.ts";
    import { readWorkTree } from "ROOT/git/work_tree.ts";
    const repo = await openRepository("${repo}");
    const status = await readWorkTree(repo, { limit: 10 });
    console.log(JSON.stringify([repo.path, repo.facts.gitDir, status.head, status.entries]));`;
  const answer = JSON.parse(await elsewhere(box.root, code, env));
  assert.deepEqual(answer, [repo, `${repo}/.git`, head, []]);
  for (const name of ["trace", "trace2", "index"]) {
    await assert.rejects(Deno.stat(`${box.root}/${name}`), name);
  }
  assert.equal(await evil.ran(), false);
  const { GIT_EXEC_PATH: _gone, ...rest } = env;
  await box.tryGit(repo, ["status"], { env: rest });
  assert.equal(await evil.ran(), true, "control: plain git obeys them");
  await Deno.stat(`${box.root}/trace`);
});
