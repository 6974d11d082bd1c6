import { member, parseObject } from "../json.ts";
import { SMALL_FILE_BYTES } from "../limits.ts";
import { below } from "../locations.ts";
import type { Store, StoreContext } from "../store.ts";

/** Editors of one family with agents of their own: what folder is open, and whether a chat goes on. */
function editor(agent: string, ...programs: string[]): Store {
  return {
    agent,
    source: "ide",
    async read(context) {
      for (const program of programs) {
        const folder = below(context.places.config, `${program}/User/workspaceStorage`);
        if (folder === null) continue;
        for (const id of context.files.folders(folder)) {
          await readWorkspace(context, `${folder}/${id}`);
          await context.look.breathe();
        }
      }
    },
  };
}

const isChat = (name: string) => name.endsWith(".json") || name.endsWith(".jsonl");

/** Chats are never read: that they change is all. */
async function readWorkspace(
  { files, look, note }: StoreContext,
  folder: string,
): Promise<void> {
  const chat = await files.newest(`${folder}/chatSessions`, 0, isChat);
  const open = await files.newest(folder);
  const chatting = look.isFresh(chat);
  if (!chatting && !look.isFresh(open)) return;
  const workspace = parseObject(files.text(`${folder}/workspace.json`, SMALL_FILE_BYTES) ?? "");
  const root = look.roots.findFolder(member(workspace, "folder")) ??
    look.roots.findFolder(member(workspace, "workspace"));
  if (root === null) return;
  note({
    root,
    source: chatting ? "session" : "ide",
    lastActivityMs: chatting ? chat : open,
    ...(chatting ? { session: folder } : {}),
  });
}

export const cursor = editor("cursor", "Cursor");
export const windsurf = editor("windsurf", "Windsurf");
export const vscode = editor("vscode", "Code", "Code - Insiders", "VSCodium");
