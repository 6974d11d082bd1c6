import { flatYaml } from "../flat_yaml.ts";
import { member, parseObject, shortText, textMember } from "../json.ts";
import { MAX_BRANCH_CHARS, MAX_NAME_CHARS, SMALL_FILE_BYTES } from "../limits.ts";
import { below } from "../locations.ts";
import type { Store, StoreContext } from "../store.ts";
import { rfc3339 } from "../times.ts";

export const copilotCli: Store = {
  agent: "copilot-cli",
  source: "session",
  async read(context) {
    const base = context.override("COPILOT_HOME") ?? below(context.places.home, ".copilot");
    if (base === null) return;
    const folder = `${base}/session-state`;
    for (const id of context.files.folders(folder)) {
      readSession(context, `${folder}/${id}`);
      await context.look.breathe();
    }
  },
};

function readSession({ files, look, note }: StoreContext, folder: string): void {
  const events = `${folder}/events.jsonl`;
  const gate = Math.max(
    files.mtime(`${folder}/workspace.yaml`) ?? -Infinity,
    files.mtime(events) ?? -Infinity,
  );
  if (!look.isFresh(gate)) return;
  const text = files.text(`${folder}/workspace.yaml`, SMALL_FILE_BYTES);
  if (text === null) return;
  const yaml = flatYaml(text);
  const root = look.roots.findFolder(yaml.get("cwd")) ??
    look.roots.findFolder(yaml.get("git_root"));
  if (root === null) return;
  let at = rfc3339(yaml.get("updated_at"));
  let idle: boolean | null = null;
  let lastTool: string | null = null;
  for (const line of files.tailLines(events)) {
    const event = line === "" ? null : parseObject(line);
    if (event === null) continue;
    const time = rfc3339(member(event, "timestamp"));
    if (time !== null) at = Math.max(at ?? time, time);
    const type = textMember(event, "type");
    if (type === null) continue;
    if (type === "assistant.turn_end") idle ??= true;
    else if (/^(?:assistant|tool)\./.test(type)) idle ??= false;
    if (type === "tool.execution_start") {
      lastTool ??= shortText(member(event, "data", "toolName"), MAX_NAME_CHARS);
    }
  }
  note({
    root,
    lastActivityMs: look.plausible(at) ?? gate,
    idle: idle ?? false,
    branch: shortText(yaml.get("branch"), MAX_BRANCH_CHARS),
    lastTool,
    session: folder,
  });
}
