/** Which agent a process is, by its name and command line (`presence.md` 2.4). */

/** Longest command line that is looked at. */
const MAX_COMMAND_CHARS = 8_192;

interface Row {
  readonly id: string;
  readonly names: readonly string[];
  readonly contains: readonly string[];
}

const row = (id: string, names: string, ...contains: string[]): Row => ({
  id,
  names: names === "" ? [] : names.split(" "),
  contains,
});

/** The first match wins. */
const AGENTS: readonly Row[] = [
  row("claude-code", "claude", "@anthropic-ai/claude-code"),
  row("codex", "codex", "@openai/codex"),
  row("opencode", "opencode", "opencode-ai"),
  row("gemini-cli", "gemini", "@google/gemini-cli"),
  row("aider", "aider", "aider-chat", "/aider "),
  // Its executable is named `agent`, which alone says nothing.
  row("cursor-agent", "cursor-agent", "/cursor-agent/versions/"),
  row("kilo", "kilo kilocode", "@kilocode/cli"),
  // Its command is `cn`, which alone says nothing.
  row("continue", "", "@continuedev/cli"),
  row("cline", "cline", "/node_modules/cline/"),
  row("amp", "amp", "@sourcegraph/amp"),
  row("goose", "goose"),
  row("copilot-cli", "copilot", "@github/copilot"),
  row("qwen-code", "qwen", "@qwen-code/qwen-code"),
  row("crush", "crush"),
];

/** What no process of an agent is without: tells most of a machine's processes at one look. */
const ANY_AGENT =
  /claude|codex|opencode|gemini|aider|cursor-agent|kilo|continuedev|cline|amp|goose|copilot|qwen|crush/i;

/** Id of the agent that a process is; null for any other program. */
export function classifyProcess(name: string, command: string): string | null {
  if (!ANY_AGENT.test(name) && !ANY_AGENT.test(command.slice(0, MAX_COMMAND_CHARS))) return null;
  const short = normalName(name);
  const line = normalCommand(command);
  const space = line.indexOf(" ");
  const first = space === -1 ? line : line.slice(0, space);
  const is = (program: string) =>
    short === program || first.endsWith(`/${program}`) || line.includes(`/bin/${program} `) ||
    line.endsWith(`/bin/${program}`);
  return AGENTS.find(({ names, contains }) =>
    names.some(is) || contains.some((part) => line.includes(part))
  )?.id ?? null;
}

const LAUNCHERS = new Set(
  "node npx npm pnpm bunx bun deno uvx uv pipx python python3 docker sh".split(" "),
);
const LAUNCHER_WORDS = new Set(["run", "exec", "x", "dlx", "tool", "-c"]);

/** A server that an agent's host starts and leaves running; it is no sign of work. */
export function isMcpHelper(name: string, command: string): boolean {
  const [first = "", ...rest] = normalCommand(command).split(" ");
  const program = normalName(first);
  const candidates = [normalName(name), program];
  if (LAUNCHERS.has(program)) {
    candidates.push(
      ...rest.filter((word) => !word.startsWith("-") && !LAUNCHER_WORDS.has(word)).slice(0, 2),
    );
  }
  return candidates.some((text) =>
    text.includes("modelcontextprotocol") || text.split(/[^a-z0-9]+/).includes("mcp")
  );
}

function normalName(name: string): string {
  const plain = lower(name.replaceAll("\\", "/"));
  return plain.slice(plain.lastIndexOf("/") + 1).replace(/\.exe$/, "");
}

function normalCommand(command: string): string {
  return lower(command.slice(0, MAX_COMMAND_CHARS).replaceAll("\\", "/"))
    .split(" ").map((word) => word.replace(/\.exe$/, "")).join(" ");
}

/** ASCII letters only, as the programs' names are. */
function lower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
