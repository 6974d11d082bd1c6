import { MAX_NAME_CHARS, MAX_UNKNOWN_CLIENTS } from "./limits.ts";

/** Self-declared names of MCP clients, as ids of agents (`presence.md` 2.9). */

/** In this order: the longer name stands before the shorter one that it begins with. */
const PREFIXES: readonly (readonly [prefix: string, agent: string])[] = [
  ["claude-code", "claude-code"],
  ["codex", "codex"],
  ["cursor-agent", "cursor-agent"],
  ["cursor", "cursor"],
  ["gemini-cli", "gemini-cli"],
  ["gemini", "gemini-cli"],
  ["opencode", "opencode"],
  ["windsurf", "windsurf"],
  ["vscode", "vscode"],
  ["visual-studio-code", "vscode"],
  ["aider", "aider"],
  ["goose", "goose"],
  ["qwen-code", "qwen-code"],
  ["crush", "crush"],
  ["kilocode", "kilo"],
  ["kilo", "kilo"],
  ["cline", "cline"],
  ["zed", "zed"],
  ["continue", "continue"],
];

/** The id that stands for a client without a usable name. */
export const ANY_CLIENT = "mcp-client";

/** Letters, digits, `.`, `_`, `:` and single `-`; null when nothing is left. */
export function cleanClientName(name: unknown): string | null {
  if (typeof name !== "string") return null;
  let clean = "";
  for (const char of name.slice(0, 4_096).trim()) {
    const kept = /[A-Za-z0-9._:]/.test(char) ? char : "-";
    if (kept === "-" && clean.endsWith("-")) continue;
    if (clean.length === MAX_NAME_CHARS) break;
    clean += kept;
  }
  clean = clean.replace(/^-+|-+$/g, "");
  return clean === "" ? null : clean;
}

/** Names that stand for themselves; a flood of made-up ones must not fill memory. */
export class ClientNames {
  readonly #unknown = new Set<string>();

  /** The agent id of a client; `mcp-client` for no usable name. */
  agentOf(name: unknown): string {
    const clean = cleanClientName(name);
    if (clean === null) return ANY_CLIENT;
    const known = knownAgent(clean);
    if (known !== null) return known;
    if (!this.#unknown.has(clean)) {
      if (this.#unknown.size >= MAX_UNKNOWN_CLIENTS) return ANY_CLIENT;
      this.#unknown.add(clean);
    }
    return clean;
  }
}

function knownAgent(clean: string): string | null {
  const lower = clean.toLowerCase();
  const found = PREFIXES.find(([prefix]) =>
    lower === prefix || (lower.startsWith(prefix) && /[-_.:]/.test(lower[prefix.length]!))
  );
  return found?.[1] ?? null;
}
