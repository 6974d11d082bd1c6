import assert from "node:assert/strict";
import { brief, Lab, MARKER } from "./lab.ts";

/** Stores whose times and folders are looked at, and where they lie on each system. */

async function sha256(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(hash).toHex();
}

Deno.test("Gemini: a marked folder, one of the registry, one named by the project's hash", async () => {
  await using lab = await Lab.create();
  const tmp = ".gemini/tmp";
  await lab.write(`${tmp}/a/.project_root`, `${lab.a}\n`);
  await lab.write(`${tmp}/a/chats/c.jsonl`, MARKER);
  await lab.write(`${tmp}/b-1/chats/c.jsonl`, MARKER);
  await lab.write(".gemini/projects.json", { projects: { [lab.b]: "b-1" } });
  await lab.write(`${tmp}/${await sha256(lab.c)}/x.json`, "[]");
  await lab.write(`${tmp}/else/.project_root`, lab.elsewhere);
  await lab.write(`${tmp}/else/chats/c.jsonl`, MARKER);
  assert.deepEqual(brief(lab, await lab.findings()), [
    "gemini-cli A working",
    "gemini-cli B working",
    "gemini-cli C working",
  ]);
});

Deno.test("Gemini: stale chats are no sign, and GEMINI_CLI_HOME moves the place", async () => {
  await using lab = await Lab.create();
  await lab.write(".gemini/tmp/a/.project_root", lab.a);
  await lab.age(await lab.write(".gemini/tmp/a/chats/c.jsonl", MARKER));
  assert.deepEqual(await lab.findings(), []);
  await lab.write(`${lab.root}/g/.gemini/tmp/b/.project_root`, lab.b);
  await lab.write(`${lab.root}/g/.gemini/tmp/b/chats/c.jsonl`, "");
  await lab.write(".cache/.gemini/tmp/c/.project_root", lab.c);
  await lab.write(".cache/.gemini/tmp/c/chats/c.jsonl", "");
  const found = await lab.findings({ env: { GEMINI_CLI_HOME: `${lab.root}/g` } });
  assert.deepEqual(brief(lab, found), ["gemini-cli B working", "gemini-cli C working"]);
});

Deno.test("opencode's old store: one JSON file a session; a broken one is nobody's", async () => {
  await using lab = await Lab.create();
  const store = ".local/share/opencode/storage/session/p";
  await lab.write(`${store}/1.json`, {
    title: MARKER,
    directory: lab.a,
    time: { created: 1, updated: lab.now - 3_000 },
  });
  await lab.write(`${store}/2.json`, `{"directory": "${lab.b}", "time": {"upd`);
  await lab.write(`${store}/3.json`, `{"directory": "${lab.c}"} trailing`);
  assert.equal((await lab.one()).lastActivityMs, lab.now - 3_000);
});

Deno.test("Continue: local folders only, and not the list of sessions", async () => {
  await using lab = await Lab.create();
  const store = ".continue/sessions";
  await lab.write(`${store}/1.json`, {
    history: [{ content: `"workspaceDirectory": "${lab.c}" ${MARKER}` }],
    workspaceDirectory: `file://${lab.a}`,
  });
  await lab.write(`${store}/2.json`, { workspaceDirectory: `vscode-remote://host${lab.b}` });
  await lab.write(`${store}/sessions.json`, [{ workspaceDirectory: lab.c }]);
  assert.deepEqual(brief(lab, await lab.findings()), ["continue A working"]);
  await lab.write(`${lab.root}/moved/sessions/1.json`, { workspaceDirectory: lab.b });
  const moved = await lab.findings({ env: { CONTINUE_GLOBAL_DIR: `${lab.root}/moved` } });
  assert.deepEqual(brief(lab, moved), ["continue B working"]);
});

Deno.test("Amp: the first tree that is ours, in files of threads only", async () => {
  await using lab = await Lab.create();
  const tree = (path: string) => ({ uri: `file://${path}` });
  await lab.write(".local/share/amp/threads/T-9.json", {
    messages: [MARKER],
    env: { initial: { trees: [tree(lab.elsewhere), tree(lab.b), tree(lab.c)] } },
  });
  await lab.write(".local/share/amp/threads/Y-9.json", {
    env: { initial: { trees: [tree(lab.c)] } },
  });
  assert.deepEqual(brief(lab, await lab.findings()), ["amp B working"]);
});

Deno.test("Cursor's command line: the folder of a chat's description", async () => {
  await using lab = await Lab.create();
  await lab.write(".cursor/chats/g/1/meta.json", {
    title: MARKER,
    cwd: lab.c,
    updatedAtMs: lab.now + 2_000,
  });
  await lab.write(".cursor/chats/g/2/meta.json", { cwd: lab.elsewhere });
  const found = await lab.one();
  assert.deepEqual(
    [found.agent, found.root, found.lastActivityMs],
    ["cursor-agent", lab.c, lab.now + 2_000],
  );
});

const EDITORS = [
  ["linux", ".config", {}],
  ["darwin", "Library/Application Support", {}],
  ["windows", "Roaming", { APPDATA: "Roaming" }],
  ["linux", "xdg", { XDG_CONFIG_HOME: "xdg" }],
] as const;

for (const [os, config, variables] of EDITORS) {
  Deno.test(`editors on ${os} (${config}): a chat, an open folder, remote and encoded ones`, async () => {
    await using lab = await Lab.create();
    const place = (program: string, id: number) =>
      `${config}/${program}/User/workspaceStorage/${id}`;
    await lab.write(`${place("Code", 1)}/workspace.json`, {
      workspace: `file://${lab.a}/a.code-workspace`,
    });
    await lab.write(`${place("Code", 1)}/chatSessions/1.json`, MARKER);
    await lab.write(`${place("Code - Insiders", 2)}/workspace.json`, { folder: `file://${lab.b}` });
    await lab.age(await lab.write(`${place("Code - Insiders", 2)}/chatSessions/1.jsonl`, MARKER));
    await lab.write(`${place("Windsurf", 3)}/workspace.json`, {
      folder: `vscode-remote://wsl${lab.c}`,
    });
    const named = `${lab.c}/two words`;
    await Deno.mkdir(named);
    await lab.write(`${place("Cursor", 4)}/workspace.json`, {
      folder: `file://${lab.c}/two%20words`,
    });
    const env = Object.fromEntries(
      Object.entries(variables).map(([name, path]) => [name, `${lab.home}/${path}`]),
    );
    const found = await lab.findings({ os, env });
    const shown = found.map(({ agent, root, sources }) => [agent, root, ...sources]);
    assert.deepEqual(shown.sort(), [
      ["cursor", lab.c, "ide"],
      ["vscode", lab.a, "session"],
      ["vscode", lab.b, "ide"],
    ]);
  });
}

Deno.test("an editor whose folder nobody touched for a while is not told", async () => {
  await using lab = await Lab.create();
  const place = ".config/VSCodium/User/workspaceStorage/1";
  await lab.age(await lab.write(`${place}/workspace.json`, { folder: `file://${lab.a}` }));
  await lab.age(`${lab.home}/${place}`);
  assert.deepEqual(await lab.findings(), []);
});

Deno.test("aider and Crush leave traces in the work tree itself", async () => {
  await using lab = await Lab.create();
  await lab.write(`${lab.a}/.aider.chat.history.md`, MARKER);
  await lab.age(await lab.write(`${lab.a}/.crush/crush.db`, ""));
  await lab.write(`${lab.a}/.crush/crush.db-wal`, "");
  await lab.age(await lab.write(`${lab.b}/.crush/crush.db`, ""));
  const found = await lab.findings();
  assert.deepEqual(brief(lab, found), ["aider A working", "crush A working"]);
  assert.deepEqual(found.map(({ sources }) => sources), [["repo-trace"], ["repo-trace"]]);
});

const HOMES = [
  ["linux", {}, "home"],
  ["darwin", {}, "home"],
  ["windows", { USERPROFILE: "profile" }, "profile"],
  ["windows", { HOMEDRIVE: "", HOMEPATH: "x" }, null],
] as const;

for (const [os, variables, place] of HOMES) {
  Deno.test(`the home on ${os} with ${Object.keys(variables).join(" and ") || "HOME"}: ${place}`, async () => {
    await using lab = await Lab.create();
    const home = place === null ? lab.home : `${lab.root}/${place}`;
    const line = { cwd: lab.a, timestamp: lab.time() };
    await lab.lines(`${home}/.claude/projects/x/1.jsonl`, line);
    // The rule for this one is the same on every system.
    await lab.write(`${home}/.local/share/amp/threads/T-1.json`, {
      env: { initial: { trees: [{ uri: lab.b }] } },
    });
    const env = Object.fromEntries(
      Object.entries(variables).map(([name, path]) => [name, path && `${lab.root}/${path}`]),
    );
    const found = await lab.findings({ os, env, noHome: os === "windows" });
    assert.deepEqual(
      brief(lab, found),
      place === null ? [] : ["amp B working", "claude-code A working"],
    );
  });
}

Deno.test("without a home, and with an empty one, only the work trees and records are looked at", async () => {
  await using lab = await Lab.create();
  await lab.write(`${lab.a}/.aider.chat.history.md`, "");
  const found = await lab.findings({ noHome: true, env: { HOME: "" } });
  assert.deepEqual(brief(lab, found), ["aider A working"]);
});

Deno.test("XDG_DATA_HOME moves the stores that follow it, on every system", async () => {
  await using lab = await Lab.create();
  const data = `${lab.root}/xdg data`;
  await lab.write(`${data}/opencode/storage/session/1.json`, { directory: lab.a });
  await lab.lines(`${data}/goose/sessions/1.jsonl`, { working_dir: lab.b });
  for (const os of ["linux", "darwin", "windows"] as const) {
    const found = await lab.findings({ os, env: { XDG_DATA_HOME: data } });
    assert.deepEqual(brief(lab, found), ["goose B working", "opencode A working"], os);
  }
  assert.deepEqual(await lab.findings({ env: { XDG_DATA_HOME: "relative" } }), []);
});
