import { isAbsolutePath } from "../../common/allowed_roots.ts";
import { member, parseObject, shortText, textMember } from "../json.ts";
import { CODEX_HEAD_BYTES, MAX_FILES, MAX_NAME_CHARS } from "../limits.ts";
import { below } from "../locations.ts";
import type { Store, StoreContext } from "../store.ts";
import { rfc3339 } from "../times.ts";

export const codex: Store = {
  agent: "codex",
  source: "session",
  async read(context) {
    const base = context.override("CODEX_HOME") ?? below(context.places.home, ".codex");
    if (base === null) return;
    const { files, look } = context;
    // Year, month, day.
    const logs = await files.fresh(`${base}/sessions`, 3, (name) => name.endsWith(".jsonl"));
    for (const { path } of logs) {
      readRollout(context, path);
      await look.breathe();
    }
  },
};

const AT_WORK = new Set([
  "task_started",
  "function_call",
  "custom_tool_call",
  "exec_command_begin",
]);
const CALLS = new Set(["function_call", "custom_tool_call"]);
const PATCH_LINE = /^\*\*\* (?:Update|Add|Delete) File: (.+)$/;

function readRollout({ files, look, note }: StoreContext, path: string): void {
  const cwd = sessionFolder(files.headLines(path, CODEX_HEAD_BYTES));
  const root = cwd === null ? null : look.roots.find(cwd);
  if (cwd === null || root === null) return;
  let at: number | null = null;
  let idle: boolean | null = null;
  let lastTool: string | null = null;
  const touched: string[] = [];
  for (const line of files.tailLines(path)) {
    const event = line === "" ? null : parseObject(line);
    if (event === null) continue;
    const time = rfc3339(member(event, "timestamp"));
    if (time !== null) at = Math.max(at ?? time, time);
    const type = textMember(event, "payload", "type");
    if (type === null) continue;
    if (type === "task_complete") idle ??= true;
    else if (AT_WORK.has(type)) idle ??= false;
    if (!CALLS.has(type)) continue;
    lastTool ??= shortText(member(event, "payload", "name"), MAX_NAME_CHARS);
    const text = textMember(event, "payload", "input") ?? textMember(event, "payload", "arguments");
    for (const named of patchedFiles(text ?? "")) {
      const full = isAbsolutePath(named, Deno.build.os === "windows") ? named : `${cwd}/${named}`;
      const file = look.roots.relative(root, full);
      if (file !== null && !touched.includes(file) && touched.length < MAX_FILES) {
        touched.push(file);
      }
    }
  }
  note({
    root,
    lastActivityMs: look.plausible(at),
    idle: idle ?? false,
    lastTool,
    files: touched,
    session: path,
  });
}

function sessionFolder(lines: readonly string[]): string | null {
  for (const line of lines) {
    if (!line.includes("session_meta")) continue;
    const entry = parseObject(line);
    if (member(entry, "type") === "session_meta") return textMember(entry, "payload", "cwd");
  }
  return null;
}

function patchedFiles(text: string): string[] {
  const files: string[] = [];
  for (const line of text.split("\n")) {
    const name = PATCH_LINE.exec(line.replace(/\r$/, ""))?.[1];
    if (name !== undefined && files.length < 4 * MAX_FILES) files.push(name);
  }
  return files;
}
