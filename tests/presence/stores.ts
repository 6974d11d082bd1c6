import { database, quote } from "./databases.ts";
import { type Lab, MARKER } from "./lab.ts";

/**
 * Puts a fresh session of every agent and editor into a home, all in one repository, with the marker
 * word wherever a store keeps text of people or models. Gives the agents' ids, sorted.
 */
export async function plantEverything(lab: Lab, repo: string): Promise<string[]> {
  const now = Date.now(), time = new Date(now).toISOString();
  const text = { title: MARKER, summary: MARKER, content: MARKER, [MARKER]: MARKER };
  await lab.lines(".claude/projects/p/1.jsonl", {
    ...text,
    cwd: repo,
    timestamp: time,
    message: {
      content: [
        { type: "text", text: MARKER },
        { type: "tool_use", name: "Bash", input: { command: MARKER, description: MARKER } },
      ],
    },
  }, { type: "summary", ...text });
  await lab.lines(".qwen/projects/p/chats/1.jsonl", {
    ...text,
    cwd: repo,
    timestamp: time,
    message: { parts: [{ text: MARKER }, { functionCall: { name: "x", args: text } }] },
  });
  await lab.lines(
    ".codex/sessions/2030/01/02/r.jsonl",
    { type: "session_meta", payload: { cwd: repo, ...text } },
    { timestamp: time, payload: { type: "function_call", name: "shell", arguments: MARKER } },
    {
      timestamp: time,
      payload: { type: "custom_tool_call", name: "apply_patch", input: `+${MARKER}\n` },
    },
  );
  await lab.write(".gemini/tmp/p/.project_root", repo);
  await lab.write(".gemini/tmp/p/chats/1.jsonl", MARKER);
  await lab.write(".copilot/session-state/s/workspace.yaml", `cwd: ${repo}\nsummary: ${MARKER}\n`);
  await lab.lines(".copilot/session-state/s/events.jsonl", { timestamp: time, data: text });
  await lab.write(".continue/sessions/1.json", { ...text, workspaceDirectory: `file://${repo}` });
  await lab.write(".cursor/chats/g/1/meta.json", { ...text, cwd: repo, updatedAtMs: now });
  const editor = "User/workspaceStorage/1";
  for (const program of ["Cursor", "Windsurf", "Code"]) {
    await lab.write(`.config/${program}/${editor}/workspace.json`, { ...text, folder: repo });
    await lab.write(`.config/${program}/${editor}/chatSessions/1.json`, text);
  }
  const data = `${lab.home}/.local/share`;
  await lab.write(`${data}/amp/threads/T-1.json`, {
    ...text,
    env: { initial: { trees: [{ ...text, uri: `file://${repo}` }] } },
  });
  const [said, path] = [quote(MARKER), quote(repo)];
  const sessions = `CREATE TABLE session (title, directory, time_updated);
    INSERT INTO session VALUES (${said}, ${path}, ${now});`;
  // Closed, in write-ahead mode: the case in which a careless reader leaves files behind.
  await database(`${data}/opencode/opencode.db`, `PRAGMA journal_mode=WAL; ${sessions}`);
  await database(`${data}/kilo/kilo.db`, sessions);
  await database(
    `${data}/goose/sessions/sessions.db`,
    `CREATE TABLE sessions (description, working_dir, updated_at);
     INSERT INTO sessions VALUES (${said}, ${path}, ${now});`,
  );
  await database(
    `${lab.home}/.cline/data/db/sessions.db`,
    `CREATE TABLE sessions (task, cwd, workspace_root, updated_at, status);
     INSERT INTO sessions VALUES (${said}, ${path}, NULL, ${now}, ${said});`,
  );
  await database(
    `${data}/zed/threads/threads.db`,
    `CREATE TABLE threads (summary, folder_paths, updated_at, data);
     INSERT INTO threads VALUES (${said}, ${path}, ${quote(time)}, ${said});`,
  );
  await lab.write(`${repo}/.aider.chat.history.md`, MARKER);
  await lab.write(`${repo}/.crush/crush.db`, MARKER);
  return [
    "aider",
    "amp",
    "claude-code",
    "cline",
    "codex",
    "continue",
    "copilot-cli",
    "crush",
    "cursor",
    "cursor-agent",
    "gemini-cli",
    "goose",
    "kilo",
    "opencode",
    "qwen-code",
    "vscode",
    "windsurf",
    "zed",
  ];
}
