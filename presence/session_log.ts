import { asObject, listMember, member, parseObject, shortText, textMember } from "./json.ts";
import type { Json } from "./json.ts";
import { MAX_BRANCH_CHARS, MAX_FILES, MAX_NAME_CHARS } from "./limits.ts";
import type { StoreContext } from "./store.ts";
import { rfc3339 } from "./times.ts";

/** Keys of a tool's input that hold a path; nothing else of it is ever looked at. */
const PATH_KEYS = ["file_path", "notebook_path", "absolute_path"];

/**
 * Reads the logs that Claude Code and Qwen Code write: one JSON object a line, the newest last
 * (`presence.md` 2.5). Only places, times, branch, tool names and file names are taken.
 */
export async function readSessionLogs(
  context: StoreContext,
  folder: string,
  depth: number,
): Promise<void> {
  const { files, look } = context;
  for (const { path } of await files.fresh(folder, depth, (name) => name.endsWith(".jsonl"))) {
    readLog(context, path);
    await look.breathe();
  }
}

function readLog({ files, look, note }: StoreContext, path: string): void {
  const log: { root: string | null; at: number | null; branch: string | null } = {
    root: null,
    at: null,
    branch: null,
  };
  let lastTool: string | null = null;
  const touched: string[] = [];
  for (const line of files.tailLines(path)) {
    const entry = line === "" ? null : parseObject(line);
    if (entry === null) continue;
    if (log.root === null) {
      // Newer lines without a folder belong to no place yet; the newest folder decides.
      const cwd = textMember(entry, "cwd");
      if (cwd === null) continue;
      log.root = look.roots.find(cwd);
      if (log.root === null) return;
    }
    const at = rfc3339(member(entry, "timestamp"));
    if (at !== null) log.at = Math.max(log.at ?? at, at);
    log.branch ??= shortText(member(entry, "gitBranch"), MAX_BRANCH_CHARS);
    for (const call of toolCalls(entry).reverse()) {
      lastTool ??= shortText(call.name, MAX_NAME_CHARS);
      for (const key of PATH_KEYS) {
        const named = textMember(call.input, key);
        const file = named === null ? null : look.roots.relative(log.root, named);
        if (file !== null && !touched.includes(file) && touched.length < MAX_FILES) {
          touched.push(file);
        }
      }
    }
    if (touched.length === MAX_FILES && lastTool !== null && log.branch !== null) break;
  }
  if (log.root === null) return;
  note({
    root: log.root,
    lastActivityMs: look.plausible(log.at),
    branch: log.branch,
    lastTool,
    files: touched,
    session: path,
  });
}

interface ToolCall {
  readonly name: string;
  readonly input: Json | null;
}

/** Calls of one line in the order they were made: content blocks, then parts. */
function toolCalls(entry: Json): ToolCall[] {
  const calls: ToolCall[] = [];
  const add = (name: unknown, input: unknown) => {
    if (typeof name === "string") calls.push({ name, input: asObject(input) });
  };
  for (const part of listMember(entry, "message", "parts")) {
    const call = member(part, "functionCall");
    if (call !== undefined) add(member(call, "name"), member(call, "args"));
  }
  for (const block of listMember(entry, "message", "content")) {
    if (member(block, "type") === "tool_use") add(member(block, "name"), member(block, "input"));
  }
  return calls;
}
