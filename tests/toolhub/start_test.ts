import assert from "node:assert/strict";
import { approvalTtlSeconds, defaultBase, namespaceId } from "../../toolhub/config.ts";
import { bindingText } from "../../toolhub/state/binding.ts";
import { openFolders } from "../../toolhub/state/open.ts";
import { ROOT } from "../../scripts/lib/deno.ts";
import { Lab } from "./lab.ts";

const VERSION = (JSON.parse(
  await Deno.readTextFile(new URL("../../deno.json", import.meta.url)),
) as { version: string }).version;

for (const name of ["mcp-toolhub", "mcp-toolhub-admin"] as const) {
  Deno.test(`${name} tells version, help and wrong use without any setting`, async () => {
    await using lab = await Lab.create();
    const only = { HOME: lab.root, PATH: "/usr/bin:/bin", DENO_DIR: lab.env()["DENO_DIR"] ?? "" };
    const version = await lab.run(name, ["--version"], { only });
    assert.deepEqual(version, { code: 0, stdout: `${VERSION}\n`, stderr: "" });
    const help = await lab.run(name, ["--help"], { only });
    assert.equal(help.code, 0);
    assert.match(help.stdout, /^Usage: mcp-toolhub/);
    for (const args of [[], ["frobnicate"], ["approve"], ["serve", "more"]]) {
      const wrong = await lab.run(name, args, { only });
      assert.equal(wrong.code, 2, args.join(" "));
      assert.equal(wrong.stdout, "");
      assert.match(wrong.stderr, new RegExp(`^${name}: .*\nUsage:`));
    }
  });
}

Deno.test("the tasks start the programs and print nothing of their own", async () => {
  for (const task of ["toolhub", "toolhub-admin"]) {
    const out = await new Deno.Command(Deno.execPath(), {
      args: ["task", "-q", "--cwd", ROOT, task, "--version"],
    }).output();
    assert.equal(new TextDecoder().decode(out.stdout), `${VERSION}\n`);
    assert.equal(new TextDecoder().decode(out.stderr), "");
  }
});

Deno.test("each bad setting stops both programs with one line, exit code 2 and an empty standard output", async () => {
  await using lab = await Lab.create();
  const file = `${lab.root}/file`;
  await Deno.writeTextFile(file, "");
  await Deno.symlink("loop", `${lab.root}/loop`);
  await Deno.symlink(lab.workspace, `${lab.root}/into`);
  const cases: [env: Record<string, string>, key: RegExp][] = [
    [{ TOOLHUB_WORKSPACE_ROOT: " " }, /Invalid TOOLHUB_WORKSPACE_ROOT/],
    [{ TOOLHUB_WORKSPACE_ROOT: "workspace" }, /must be absolute/],
    [
      { TOOLHUB_WORKSPACE_ROOT: `${lab.root}/none` },
      /Invalid TOOLHUB_WORKSPACE_ROOT.*does not exist/,
    ],
    [
      { TOOLHUB_WORKSPACE_ROOT: `${lab.root}/loop` },
      /Invalid TOOLHUB_WORKSPACE_ROOT.*does not exist/,
    ],
    [{ TOOLHUB_WORKSPACE_ROOT: file }, /Invalid TOOLHUB_WORKSPACE_ROOT.*not a directory/],
    [{ TOOLHUB_STATE_ROOT: "" }, /Invalid TOOLHUB_STATE_ROOT/],
    [{ TOOLHUB_STATE_ROOT: "state" }, /must be absolute/],
    [{ TOOLHUB_STATE_ROOT: `${lab.root}/loop` }, /Invalid TOOLHUB_STATE_ROOT/],
    [{ TOOLHUB_STATE_ROOT: file }, /not a directory/],
    [{ TOOLHUB_STATE_ROOT: `${file}/below` }, /Invalid TOOLHUB_STATE_ROOT/],
    [{ TOOLHUB_STATE_ROOT: lab.workspace }, /TOOLHUB_STATE_ROOT must be outside/],
    [{ TOOLHUB_STATE_ROOT: `${lab.workspace}/.state` }, /TOOLHUB_STATE_ROOT must be outside/],
    [{ TOOLHUB_STATE_ROOT: `${lab.root}/into/new` }, /TOOLHUB_STATE_ROOT must be outside/],
    [{ TOOLHUB_STATE_ROOT: lab.root }, /TOOLHUB_STATE_ROOT must be outside/],
  ];
  for (const [env, key] of cases) {
    await assert.rejects(
      openFolders((name) => ({ ...lab.env(), ...env } as Record<string, string>)[name]),
      (error: Error) => key.test(error.message) && !error.message.includes("\n"),
      JSON.stringify(env),
    );
  }
  for (const name of ["mcp-toolhub", "mcp-toolhub-admin"] as const) {
    const command = name === "mcp-toolhub" ? ["serve"] : ["list"];
    const { TOOLHUB_WORKSPACE_ROOT: _, ...unset } = lab.env();
    const results = [await lab.run(name, command, { only: unset })];
    for (const at of [1, 4, 11]) results.push(await lab.run(name, command, { env: cases[at]![0] }));
    for (const { code, stdout, stderr } of results) {
      assert.equal(code, 2, stderr);
      assert.equal(stdout, "");
      assert.match(stderr, new RegExp(`^${name}: [^\n]+\n$`));
    }
    assert.match(results[0]!.stderr, /TOOLHUB_WORKSPACE_ROOT is required/);
  }
  assert.deepEqual([...Deno.readDirSync(lab.workspace)], []);
});

Deno.test("the state of a workspace without a setting has a name of its own, private and found again", async () => {
  await using lab = await Lab.create();
  const read = (env: Record<string, string>) => (name: string) => env[name];
  const env = { HOME: `${lab.root}/home`, TOOLHUB_WORKSPACE_ROOT: lab.workspace };
  await Deno.symlink(lab.workspace, `${lab.root}/link`);
  const first = await openFolders(read(env));
  const linked = await openFolders(read({ ...env, TOOLHUB_WORKSPACE_ROOT: `${lab.root}/link` }));
  assert.deepEqual(linked, first);
  assert.equal(first.workspace, lab.workspace);
  const id = first.state.slice(first.state.lastIndexOf("/") + 1);
  assert.match(id, /^[0-9a-f]{64}$/);
  const other = await openFolders(read({ ...env, TOOLHUB_WORKSPACE_ROOT: lab.outside }));
  assert.equal(other.state.slice(0, -64), first.state.slice(0, -64));
  assert.notEqual(other.state, first.state);
  for (const path of [first.state, first.state.slice(0, -65), `${first.state}/../..`]) {
    assert.equal(Deno.statSync(path).mode! & 0o777, 0o700);
  }
});

Deno.test("names of namespaces are the contract's, and fold case only on Windows", async () => {
  assert.equal(
    await namespaceId("/home/alice/projects/example", false),
    "47ae77816e3f3d6c3889d86502ba930d6d4f65b37896d2ba8fe28f1fe698a639",
  );
  assert.equal(
    await namespaceId("C:\\Work\\Space", true),
    await namespaceId("c:/work/space", true),
  );
  assert.notEqual(await namespaceId("/W", false), await namespaceId("/w", false));
  const read = (env: Record<string, string>) => (name: string) => env[name];
  assert.equal(defaultBase(read({ HOME: "/h" }), "linux"), "/h/.local/state/mcp-toolhub");
  assert.equal(
    defaultBase(read({ HOME: "/h", XDG_STATE_HOME: " /x " }), "linux"),
    "/x/mcp-toolhub",
  );
  assert.equal(
    defaultBase(read({ HOME: "/h", XDG_STATE_HOME: "rel" }), "darwin"),
    "/h/Library/Application Support/mcp-toolhub",
  );
  assert.equal(defaultBase(read({ LOCALAPPDATA: "C:\\L" }), "windows"), "C:\\L\\mcp-toolhub");
  assert.equal(defaultBase(read({}), "linux"), null);
});

Deno.test("the lifetime of requests is read leniently", () => {
  const ttl = (value: string | undefined) => approvalTtlSeconds(() => value);
  assert.deepEqual(
    [undefined, "", "abc", "1.5", "60", "0", "-3"].map(ttl),
    [300, 300, 300, 300, 60, 0, 0],
  );
});

Deno.test("a state folder is bound to its first workspace for ever", async () => {
  await using lab = await Lab.create();
  const open = (workspace: string) => {
    const env: Record<string, string> = { ...lab.env(), TOOLHUB_WORKSPACE_ROOT: workspace };
    return openFolders((name) => env[name]);
  };
  await open(lab.workspace);
  const path = `${lab.state}/workspace-binding.json`;
  assert.equal(Deno.readTextFileSync(path), bindingText(lab.workspace));
  assert.equal(bindingText("/ä"), '{"canonical_workspace":"/\\u00e4","schema_version":1}\n');
  assert.equal(Deno.statSync(path).mode! & 0o777, 0o600);
  await assert.rejects(open(lab.outside), /belongs to a different ToolHub workspace/);
  assert.equal(Deno.readTextFileSync(path), bindingText(lab.workspace));
  for (
    const text of ["[]", "not json", '{"schema_version":true,"canonical_workspace":"/"}', "{}"]
      .concat('{"schema_version":1,"canonical_workspace":" "}')
      .concat('{"schema_version":1,"canonical_workspace":"relative"}')
      .concat('{"schema_version":1,"canonical_workspace":"/does/not/exist"}')
  ) {
    Deno.writeTextFileSync(path, text);
    await assert.rejects(open(lab.workspace), /Invalid workspace binding/, text);
    assert.equal(Deno.readTextFileSync(path), text);
  }
  Deno.removeSync(path);
  Deno.symlinkSync(`${lab.outside}/secret.txt`, path);
  await assert.rejects(open(lab.workspace), /must not be a symlink/);
  Deno.removeSync(path);
  Deno.mkdirSync(path);
  await assert.rejects(open(lab.workspace), /not a regular file/);
});

Deno.test("a state folder that holds anything else is refused and left as it is", async () => {
  await using lab = await Lab.create();
  const open = () => openFolders((name) => lab.env()[name]);
  Deno.mkdirSync(lab.state, { mode: 0o755 });
  Deno.writeTextFileSync(`${lab.state}/notes.txt`, "mine");
  await assert.rejects(open(), /notes\.txt.*not ToolHub's/);
  assert.deepEqual([...Deno.readDirSync(lab.state)].map(({ name }) => name), ["notes.txt"]);
  assert.equal(Deno.statSync(lab.state).mode! & 0o777, 0o755);
  Deno.removeSync(`${lab.state}/notes.txt`);
  Deno.symlinkSync(`${lab.outside}/secret.txt`, `${lab.state}/approvals.json`);
  await assert.rejects(open(), /approvals\.json.*not a regular file/);
  Deno.removeSync(`${lab.state}/approvals.json`);
  await open();
  assert.equal(Deno.statSync(lab.state).mode! & 0o777, 0o700);
});

Deno.test("many first starts for one workspace all succeed; for two workspaces exactly one wins", async () => {
  await using lab = await Lab.create();
  const list = (workspace: string) =>
    lab.run("mcp-toolhub-admin", ["list"], { env: { TOOLHUB_WORKSPACE_ROOT: workspace } });
  const same = await Promise.all(Array.from({ length: 6 }, () => list(lab.workspace)));
  assert.deepEqual(same.map(({ code }) => code), [0, 0, 0, 0, 0, 0], same[0]!.stderr);
  await Deno.remove(lab.state, { recursive: true });
  const mixed = await Promise.all([list(lab.workspace), list(lab.outside), list(lab.workspace)]);
  const won = mixed[1]!.code === 0 ? [2, 0, 2] : [0, 2, 0];
  assert.deepEqual(mixed.map(({ code }) => code), won);
  assert.match(mixed.find(({ code }) => code === 2)!.stderr, /belongs to a different/);
  const names = [...Deno.readDirSync(lab.state)].map(({ name }) => name);
  assert.deepEqual(names.filter((name) => name.endsWith(".tmp")), []);
});
