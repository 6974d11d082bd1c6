import assert from "node:assert/strict";
import { classifyProcess, isMcpHelper } from "../../presence/classify.ts";
import { cleanClientName, ClientNames } from "../../presence/client_names.ts";
import { flatYaml, scalar } from "../../presence/flat_yaml.ts";
import { readMembers } from "../../presence/json_members.ts";
import { parseAge, parseLink, parseTable, systemProcesses } from "../../presence/processes.ts";
import { parseWindowsTable } from "../../presence/processes_windows.ts";
import { overlaps, proposalBranches, proposalPaths } from "../../presence/proposal.ts";
import { fileUriPath, folderPath, Roots } from "../../presence/roots.ts";
import { rfc3339, sqlTime } from "../../presence/times.ts";
import { Lab } from "./lab.ts";

/** Rules of the contract, one table each. */

const PROGRAMS: readonly [name: string, command: string, agent: string | null][] = [
  ["claude", "claude -c", "claude-code"],
  ["Claude.exe", "", "claude-code"],
  ["node", "node /opt/lib/node_modules/@anthropic-ai/claude-code/cli.js", "claude-code"],
  ["codex", "/Applications/Tool.app/Contents/MacOS/codex exec", "codex"],
  ["codex.exe", "D:\\Apps\\codex\\codex.exe proto", "codex"],
  ["node", "node /srv/bin/gemini -m x", "gemini-cli"],
  ["python3", "python3 /opt/venv/bin/aider --no-git", "aider"],
  ["agent", "/opt/cursor-agent/versions/7/agent chat", "cursor-agent"],
  ["agent.exe", "D:\\Apps\\cursor-agent\\versions\\7\\agent.exe", "cursor-agent"],
  ["node", "node /opt/lib/node_modules/@kilocode/cli/main.js", "kilo"],
  ["kilocode", "kilocode", "kilo"],
  ["node", "node /opt/lib/node_modules/@continuedev/cli/cn.js", "continue"],
  ["node", "node /opt/lib/node_modules/cline/main.js", "cline"],
  ["node", "/usr/bin/node /usr/bin/qwen", "qwen-code"],
  ["opencode", "opencode", "opencode"],
  ["amp", "amp -x", "amp"],
  ["goose", "goose session", "goose"],
  ["copilot", "copilot", "copilot-cli"],
  ["crush", "crush", "crush"],
  ["agent", "agent", null],
  ["gpg-agent", "/usr/bin/gpg-agent --daemon", null],
  ["cn", "cn", null],
  ["bash", "-bash", null],
  ["nano", "nano claude.md", null],
  ["less", "less codex.log", null],
  ["wordpad.exe", "D:\\w\\wordpad.exe gemini.txt", null],
  ["CursorHelper", "/opt/Cursor/CursorHelper", null],
];

Deno.test("processes are told by their names and command lines", () => {
  for (const [name, command, agent] of PROGRAMS) {
    assert.equal(classifyProcess(name, command), agent, `${name}: ${command}`);
  }
});

Deno.test("MCP servers of a host are told from work", () => {
  const helpers = [
    "/opt/fluxgit-mcp-sidecar",
    "node /opt/n/node_modules/.bin/mcp-server-time",
    "npx --yes @modelcontextprotocol/server-memory",
    "npm exec @acme/docs-mcp",
    "uvx mcp-server-weather --city Rome",
    "python3 -m notes_mcp.main",
    "deno run -A /srv/mcp/main.ts",
    "D:\\Apps\\fluxgit-mcp-sidecar.exe",
  ];
  const others = [
    "cargo build -p fluxgit-mcp-sidecar",
    "node app.js",
    "git log --grep mcp",
    "npm run build",
    "make mcp",
    "-bash",
  ];
  for (const command of helpers) assert(isMcpHelper("x", command), command);
  for (const command of others) assert(!isMcpHelper("x", command), command);
});

Deno.test("client names stand for agents when they begin like one", () => {
  const names = new ClientNames();
  const table: [string | null, string][] = [
    ["codex-mcp-client", "codex"],
    ["CODEX", "codex"],
    ["cursor-vscode", "cursor"],
    ["cursor-agent", "cursor-agent"],
    ["Visual Studio Code", "vscode"],
    ["gemini-cli-mcp-client", "gemini-cli"],
    ["codexlike", "codexlike"],
    ["Team Bot #2", "Team-Bot-2"],
    ["claude-ai", "claude-ai"],
    ["amp", "amp"],
    ["copilot-cli", "copilot-cli"],
    [null, "mcp-client"],
    ["  ", "mcp-client"],
    ["-- --", "mcp-client"],
  ];
  for (const [name, agent] of table) assert.equal(names.agentOf(name), agent, String(name));
  assert.equal(cleanClientName("x".repeat(500))?.length, 64);
  for (let i = 0; i < 100; i++) names.agentOf(`bot${i}`);
  assert.equal(names.agentOf("one-too-many"), "mcp-client");
  assert.equal(names.agentOf("Team Bot #2"), "Team-Bot-2");
});

Deno.test("file URIs are decoded on bytes; remote folders are nobody's", () => {
  assert.equal(fileUriPath("file:///d%3A/src/app"), "d:/src/app");
  assert.equal(fileUriPath("file:///home/u/two%20words"), "/home/u/two words");
  assert.equal(fileUriPath("file:///y%bü"), "/y%bü");
  assert.equal(fileUriPath("file:///%C3%BCber"), "/über");
  assert.equal(fileUriPath("file:///%FF"), null);
  assert.equal(folderPath("vscode-remote://ssh/x"), null);
  assert.equal(folderPath("/plain/path"), "/plain/path");
});

Deno.test("times: numbers by their size, SQL's text as UTC, nothing guessed", () => {
  const now = 1_800_000_000_000;
  for (
    const value of [
      1_800_000_000_000,
      1_800_000_000,
      "1800000000",
      "2027-01-15 08:00:00",
      "2027-01-15T08:00:00",
      "2027-01-15T08:00:00Z",
      "2027-01-15T10:00:00+02:00",
      1_800_000_000_000n,
    ]
  ) assert.equal(sqlTime(value, now), now, String(value));
  for (
    const value of [null, "soon", "", 0, -5, NaN, "2027-01", "2027-13-01 00:00:00", now + 60_001]
  ) {
    assert.equal(sqlTime(value, now), null, String(value));
  }
  assert.equal(rfc3339("2027-01-15 08:00:00"), null);
  assert.equal(rfc3339("2027-01-15T08:00:00.123456Z"), now + 123);
  assert.equal(rfc3339(now), null);
});

Deno.test("flat YAML: plain and quoted values, and nothing that would take a whole parser", () => {
  assert.equal(scalar("'it''s'"), "it's");
  assert.equal(scalar('"a\\\\b"'), "a\\b");
  assert.equal(scalar('"a\\nb"'), null);
  assert.equal(scalar("|"), null);
  assert.equal(scalar("[a, b]"), null);
  assert.equal(scalar('"open'), null);
  const map = flatYaml("a: 1\n  a: 2\n# a: 3\n- a: 4\na: {x: 1}\nb: x # y\r\n");
  assert.deepEqual([...map], [["a", "1"], ["b", "x"]]);
});

Deno.test("members of a JSON text are taken without reading the rest, and only from whole objects", async () => {
  const read = (text: string) => readMembers(text, ["a", "b"], () => Promise.resolve());
  assert.deepEqual(await read('{"x": {"a": 1, "s": "}\\""}, "a": "y", "b": [1, {"c": 2}]}'), {
    a: "y",
    b: [1, { c: 2 }],
  });
  assert.deepEqual(await read(' { "a" : 1 , "a" : 2 } \n'), { a: 2 });
  assert.deepEqual(await read("{}"), {});
  assert.deepEqual(await read('{"\\u0061": 5}'), { a: 5 });
  for (
    const text of [
      "",
      "[]",
      '{"a": 1',
      '{"a": 1} x',
      '{"a" 1}',
      '{"a": oops}',
      '{"a": "x}',
      '{"a": 1]',
    ]
  ) assert.equal(await read(text), null, text);
  const deep = await read(`{"x": ${"[".repeat(100_000)}${"]".repeat(100_000)}, "b": 1}`);
  assert.deepEqual(deep, { b: 1 });
});

Deno.test("paths lie in the innermost root, by whole names, through links, absolute ones only", async () => {
  await using lab = await Lab.create();
  await Deno.mkdir(`${lab.a}/mods/n/x`, { recursive: true });
  await Deno.mkdir(`${lab.root}/Ab`);
  await Deno.symlink(lab.a, `${lab.root}/link`);
  const roots = new Roots([lab.a, `${lab.a}/mods/n`, "relative", `${lab.root}/none`]);
  assert.equal(roots.find(`${lab.a}/mods/n/x`), `${lab.a}/mods/n`);
  assert.equal(roots.find(`${lab.a}/mods`), lab.a);
  assert.equal(roots.find(`${lab.root}/Ab`), null);
  assert.equal(roots.find(`${lab.root}/link/not/there`), lab.a);
  assert.equal(roots.find("src"), null);
  assert.equal(roots.find(`${lab.a}/src/../../B`), null);
  assert.equal(roots.find(`${lab.a}\0`), null);
  assert.equal(roots.relative(lab.a, lab.a), null);
  assert.equal(roots.relative(lab.a, `${lab.a}/a\nb`), null);
  assert.equal(roots.relative(lab.a, `${lab.root}/link/x/y.ts`), "x/y.ts");
});

Deno.test("what a proposal touches is read from its arguments, its steps and its patch", () => {
  const repo = "/r/app";
  assert.deepEqual(
    proposalPaths({ paths: ["./lib/one.ts", "/r/app/assets/", "lib/one.ts"] }, repo),
    ["lib/one.ts", "assets"],
  );
  const patchContent =
    "diff --git a/lib/old.ts b/lib/new.ts\r\n--- a/lib/old.ts\n+++ b/lib/new.ts\n" +
    "--- /dev/null\n+content b/x\n";
  assert.deepEqual(proposalPaths({ patchContent }, repo), ["lib/new.ts", "lib/old.ts"]);
  const steps = [{ type: "rebase", ontoRef: "main" }, { type: "discard", paths: ["web"] }];
  assert.deepEqual(proposalPaths({ steps }, repo), ["web"]);
  assert.deepEqual(proposalPaths({ parentPath: "/deps/", relativePath: "x" }, repo), ["deps/x"]);
  assert.deepEqual(proposalPaths({ relativePath: "x" }, repo), ["x"]);
  assert.equal(proposalPaths({ sourceRef: "a", targetRef: "b" }, repo), null);
  assert.deepEqual(proposalPaths({ paths: [repo] }, repo), ["."]);
  const many = Array.from({ length: 3_000 }, (_, i) => `f${i}`);
  assert.equal(proposalPaths({ paths: many }, repo)?.length, 1_000);
  assert.deepEqual(overlaps(["lib/one.ts", "docs/a.md"], ["lib", "LICENSE"]), ["lib/one.ts"]);
  assert.deepEqual(overlaps(["src/lib.rs"], ["srcs/lib.rs"]), []);
  assert.deepEqual(overlaps(["a", "b"], ["."]), ["a", "b"]);
  assert.deepEqual(
    proposalBranches({
      repoPath: repo,
      sourceRef: "refs/heads/a",
      targetRef: "HEAD",
      targets: [{ repoPath: repo, branches: ["c"] }, { repoPath: "/other", branches: ["d"] }],
      steps: [{ currentRef: "e", ontoRef: "a" }],
    }, "now"),
    ["a", "now", "c", "e"],
  );
});

Deno.test("the outputs of ps, ls and PowerShell are understood", () => {
  assert.equal(parseAge("05"), null);
  assert.equal(parseAge("01:02"), 62);
  assert.equal(parseAge("1-02:03:04"), 93_784);
  const now = 1_000_000_000;
  const table = parseTable(
    "    1     0 2-00:00:00 /sbin/init\n   77     1    00:05 claude  --resume x\n  78 1 00:01\nnonsense\n",
    "    1 systemd\n   77 two words\n",
    now,
  );
  assert.deepEqual(table.get(77), {
    pid: 77,
    parent: 1,
    name: "two words",
    command: "claude  --resume x",
    startedMs: now - 5_000,
  });
  assert.equal(table.get(1)?.name, "systemd");
  assert.equal(table.size, 3);
  const line =
    'lrwxrwxrwx 1 u u 0 Nov 30 12:28 "/proc/42/cwd" -> "/srv/a -> b\\n\\"q\\" \\303\\274"';
  assert.deepEqual(parseLink(line), { pid: 42, directory: '/srv/a -> b\n"q" ü' });
  assert.equal(parseLink("ls: cannot access '/proc/4/cwd'"), null);
  const windows = parseWindowsTable(
    '\uFEFF[{"p":4,"u":0,"n":"System","c":null,"s":null},{"p":9,"u":4,"n":"claude.exe","c":"claude","s":1700000000000},{"p":"x"}]',
  );
  assert.deepEqual(windows.get(9), {
    pid: 9,
    parent: 4,
    name: "claude.exe",
    command: "claude",
    startedMs: 1_700_000_000_000,
  });
  assert.equal(windows.size, 2);
  assert.equal(parseWindowsTable("no json").size, 0);
});

Deno.test("each system is asked in its own way, and what it cannot tell is said", async () => {
  const asked: string[] = [];
  const run = (outputs: Record<string, string>) => (program: string, args: readonly string[]) => {
    asked.push([program, ...args].join(" "));
    const output = outputs[program];
    return Promise.resolve(
      output === undefined
        ? { reason: "not_installed" as const, message: `${program} is not installed` }
        : { output, cut: false },
    );
  };
  const mac = systemProcesses("darwin", run({ ps: "7 1 00:01 codex", lsof: "p7\nfcwd\nn/x\n" }));
  assert.deepEqual([
    ...(await mac.directories([7]) as { directories: Map<number, string> }).directories,
  ], [
    [7, "/x"],
  ]);
  assert.deepEqual(asked, ["lsof -w -n -P -a -d cwd -p 7 -Fpn"]);
  asked.length = 0;
  // An `ls` of another kind says nothing useful: `lsof` is asked.
  const linux = systemProcesses("linux", run({ ls: "usage: ls", lsof: "p7\nfcwd\nn/x\n" }));
  assert.deepEqual([
    ...(await linux.directories([7]) as { directories: Map<number, string> }).directories,
  ], [
    [7, "/x"],
  ]);
  assert.deepEqual(asked.map((line) => line.split(" ")[0]), ["ls", "lsof"]);
  const none = systemProcesses("linux", run({}));
  assert.equal((await none.table() as { reason: string }).reason, "not_installed");
  assert.equal((await none.directories([1]) as { reason: string }).reason, "not_installed");
  asked.length = 0;
  const windows = systemProcesses("windows", run({ powershell: '[{"p":4,"u":0,"n":"x"}]' }));
  assert("table" in await windows.table());
  assert.equal((await windows.directories([4]) as { reason: string }).reason, "not_supported");
  assert.match(asked[0]!, /^powershell .*Win32_Process/);
});
