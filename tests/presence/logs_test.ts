import assert from "node:assert/strict";
import { Lab, MARKER, processList } from "./lab.ts";

/** Stores that are logs of one JSON object a line: Claude Code, Qwen Code, Codex, Copilot, Goose. */

const OLD = "2001-01-01T00:00:00Z";

Deno.test("Claude Code: branch, last tool and files of the newest session in a repository", async () => {
  await using lab = await Lab.create();
  await lab.lines(".claude/projects/-a/1.jsonl", {
    cwd: lab.a,
    gitBranch: "dev",
    timestamp: lab.time(),
    message: { content: MARKER },
  }, {
    cwd: lab.a,
    gitBranch: "topic/1",
    timestamp: lab.time(),
    message: {
      content: [
        {
          type: "tool_use",
          name: "Edit",
          input: { file_path: `${lab.a}/src/one.ts`, old: MARKER },
        },
        { type: "tool_use", name: "Write", input: { file_path: `${lab.elsewhere}/x.ts` } },
        { type: "tool_use", name: "Bash", input: { command: MARKER } },
      ],
    },
  });
  assert.deepEqual(await lab.one(), {
    agent: "claude-code",
    root: lab.a,
    state: "working",
    sources: ["session"],
    pid: null,
    lastActivityMs: lab.now,
    branch: "topic/1",
    lastTool: "Bash",
    files: ["src/one.ts"],
    mcpClient: null,
    sessions: 1,
  });
});

Deno.test("Claude Code: an old time in a fresh file is recent, and open with its process there", async () => {
  await using lab = await Lab.create();
  await lab.lines(".claude/projects/-a/1.jsonl", { cwd: lab.a, timestamp: OLD });
  assert.equal((await lab.one()).state, "recent");
  const processes = processList(lab.now, [10, 1, "claude", "claude", 900, lab.a]);
  const open = await lab.one({ processes });
  assert.deepEqual([open.state, open.pid, open.sources], ["open", 10, ["process", "session"]]);
});

Deno.test("Claude Code: the newest folder decides, whatever older lines name", async () => {
  await using lab = await Lab.create();
  await lab.lines(
    ".claude/projects/-a/1.jsonl",
    { cwd: lab.a, timestamp: lab.time() },
    { cwd: lab.elsewhere, timestamp: lab.time() },
    { type: "summary", summary: MARKER },
  );
  assert.deepEqual(await lab.findings(), []);
});

Deno.test("Claude Code: only the end of a long log is read, from its first whole line on", async () => {
  await using lab = await Lab.create();
  const filler = JSON.stringify({ cwd: lab.b, text: MARKER.repeat(4_000) });
  await lab.lines(
    ".claude/projects/-a/1.jsonl",
    ...Array(8).fill(filler),
    { cwd: lab.a, timestamp: lab.time() },
  );
  assert.equal((await lab.one()).root, lab.a);
});

Deno.test("Claude Code: without a time the agent is told with an unknown one", async () => {
  await using lab = await Lab.create();
  await lab.lines(".claude/projects/-a/1.jsonl", { cwd: lab.a });
  const found = await lab.one();
  assert.deepEqual([found.lastActivityMs, found.state], [null, "recent"]);
});

Deno.test("Claude Code: a file that is gone is named, also through a linked folder", async () => {
  await using lab = await Lab.create();
  await Deno.symlink(lab.a, `${lab.root}/link`);
  await lab.lines(".claude/projects/-a/1.jsonl", {
    cwd: `${lab.root}/link`,
    timestamp: lab.time(),
    message: {
      content: [{
        type: "tool_use",
        name: "Edit",
        input: { file_path: `${lab.root}/link/gone/x.ts` },
      }],
    },
  });
  const found = await lab.one();
  assert.deepEqual([found.root, found.files], [lab.a, ["gone/x.ts"]]);
});

Deno.test("Claude Code: logs below a project's folder and stale ones are left alone", async () => {
  await using lab = await Lab.create();
  const line = { cwd: lab.a, timestamp: lab.time() };
  await lab.lines(".claude/projects/-a/sub/2.jsonl", line);
  await lab.age(await lab.lines(".claude/projects/-a/3.jsonl", line));
  await lab.lines(".claude/projects/-a/4.json", line);
  assert.deepEqual(await lab.findings(), []);
});

Deno.test("Claude Code: CLAUDE_CONFIG_DIR replaces the place; empty counts as unset", async () => {
  await using lab = await Lab.create();
  const line = { cwd: lab.a, timestamp: lab.time() };
  await lab.lines(`${lab.root}/claude/projects/x/1.jsonl`, line);
  assert.deepEqual(await lab.findings(), []);
  assert.equal((await lab.one({ env: { CLAUDE_CONFIG_DIR: `${lab.root}/claude` } })).root, lab.a);
  await lab.lines(".claude/projects/x/1.jsonl", { ...line, cwd: lab.b });
  assert.equal((await lab.one({ env: { CLAUDE_CONFIG_DIR: "" } })).root, lab.b);
  assert.equal((await lab.one({ env: { CLAUDE_CONFIG_DIR: "relative" } })).root, lab.b);
});

Deno.test("Claude Code: two sessions in one repository are one finding that says so", async () => {
  await using lab = await Lab.create();
  const call = (file: string) => ({
    content: [{ type: "tool_use", name: "Edit", input: { file_path: `${lab.a}/${file}` } }],
  });
  const older = await lab.lines(".claude/projects/-a/1.jsonl", {
    cwd: lab.a,
    gitBranch: "old",
    timestamp: lab.time(60_000),
    message: call("old.ts"),
  });
  await lab.age(older, 60_000);
  await lab.lines(".claude/projects/-a/2.jsonl", {
    cwd: `${lab.a}/src`,
    gitBranch: "new",
    timestamp: lab.time(1_000),
    message: call("new.ts"),
  });
  await lab.lines(".claude/projects/-b/3.jsonl", { cwd: lab.b, timestamp: lab.time(500_000) });
  const [first, second, ...more] = await lab.findings();
  assert.deepEqual(more, []);
  assert.deepEqual(
    [first!.root, first!.branch, first!.files, first!.sessions],
    [lab.a, "new", ["new.ts", "old.ts"], 2],
  );
  assert.deepEqual([second!.root, second!.state, second!.sessions], [lab.b, "recent", 1]);
});

Deno.test("Qwen Code: calls in message parts", async () => {
  await using lab = await Lab.create();
  await lab.lines(".qwen/projects/-a/chats/1.jsonl", {
    cwd: lab.a,
    gitBranch: "q",
    timestamp: lab.time(),
    message: {
      parts: [
        { text: MARKER },
        { functionCall: { name: "edit", args: { file_path: `${lab.a}/src/two.ts`, new: MARKER } } },
      ],
    },
  });
  const found = await lab.one();
  assert.deepEqual(
    [found.agent, found.branch, found.lastTool, found.files],
    ["qwen-code", "q", "edit", ["src/two.ts"]],
  );
  assert.deepEqual(await lab.findings({ env: { QWEN_HOME: `${lab.root}/none` } }), []);
});

const patch = "*** Begin Patch\n*** Update File: src/one.ts\n+x\n*** Add File: notes/two.md\n+y\n";

function codexEvents(lab: Lab, cwd: string) {
  return [
    { type: "session_meta", timestamp: lab.time(9_000), payload: { cwd, instructions: MARKER } },
    { timestamp: lab.time(8_000), payload: { type: "message", content: MARKER } },
    {
      timestamp: lab.time(7_000),
      payload: { type: "custom_tool_call", name: "apply_patch", input: patch },
    },
  ];
}

Deno.test("Codex: a turn that is over is no work; the files of its patches are named", async () => {
  await using lab = await Lab.create();
  await lab.lines(".codex/sessions/2030/04/05/r.jsonl", ...codexEvents(lab, lab.a), {
    timestamp: lab.time(6_000),
    payload: { type: "task_complete", last_agent_message: MARKER },
  });
  const found = await lab.one();
  assert.deepEqual(
    [found.agent, found.state, found.lastTool, found.files, found.branch, found.lastActivityMs],
    ["codex", "recent", "apply_patch", ["src/one.ts", "notes/two.md"], null, lab.now - 6_000],
  );
});

Deno.test("Codex: a turn that goes on is work, and an idle session beside it does not hide that", async () => {
  await using lab = await Lab.create();
  await lab.lines(".codex/sessions/2030/04/05/r.jsonl", ...codexEvents(lab, lab.a));
  assert.equal((await lab.one()).state, "working");
  await lab.lines(".codex/sessions/2030/04/05/s.jsonl", ...codexEvents(lab, lab.a), {
    timestamp: lab.time(),
    payload: { type: "task_complete" },
  });
  assert.equal((await lab.one()).state, "working");
});

Deno.test("Codex: a long first line is read; without one, or elsewhere, there is nothing", async () => {
  await using lab = await Lab.create();
  await lab.lines(".codex/sessions/2030/04/05/r.jsonl", {
    type: "session_meta",
    payload: { cwd: lab.a, instructions: MARKER.repeat(18_000) },
  }, { timestamp: lab.time(), payload: { type: "task_started" } });
  await lab.lines(".codex/sessions/2030/04/05/s.jsonl", { type: "other", payload: { cwd: lab.b } });
  await lab.lines(".codex/sessions/2030/04/05/t.jsonl", ...codexEvents(lab, lab.elsewhere));
  assert.equal((await lab.one()).root, lab.a);
  assert.deepEqual(await lab.findings({ env: { CODEX_HOME: `${lab.root}/none` } }), []);
});

Deno.test("Copilot: a block scalar is not taken for a folder, and the turn is over", async () => {
  await using lab = await Lab.create();
  await lab.write(
    ".copilot/session-state/s1/workspace.yaml",
    `id: 1
cwd: "${lab.a}/src"
git_root: '${lab.a}'
branch: topic/2 # note
summary: |
  ${MARKER}
  cwd: ${lab.b}
updated_at: ${lab.time(5_000)}
`,
  );
  await lab.lines(
    ".copilot/session-state/s1/events.jsonl",
    { type: "user.message", timestamp: lab.time(4_000), data: { content: MARKER } },
    { type: "tool.execution_start", data: { toolName: "view", arguments: MARKER } },
    { type: "assistant.turn_end" },
  );
  await lab.write(".copilot/session-state/s2/workspace.yaml", `cwd: ${lab.elsewhere}\n`);
  const found = await lab.one();
  assert.deepEqual(
    [found.agent, found.state, found.branch, found.lastTool, found.lastActivityMs],
    ["copilot-cli", "recent", "topic/2", "view", lab.now - 4_000],
  );
  assert.deepEqual(await lab.findings({ env: { COPILOT_HOME: `${lab.root}/none` } }), []);
});

Deno.test("Goose before its database: the first line names the folder", async () => {
  await using lab = await Lab.create();
  await lab.lines(
    ".local/share/goose/sessions/1.jsonl",
    { working_dir: lab.a, description: MARKER },
    { role: "user", content: MARKER },
  );
  assert.equal((await lab.one()).agent, "goose");
  await lab.lines(`${lab.root}/goose/data/sessions/1.jsonl`, { working_dir: lab.b });
  const both = await lab.findings({ env: { GOOSE_PATH_ROOT: `${lab.root}/goose` } });
  assert.deepEqual(both.map(({ root }) => root).sort(), [lab.a, lab.b]);
});
