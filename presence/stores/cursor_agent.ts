import { integerMember, member, parseObject } from "../json.ts";
import { SMALL_FILE_BYTES } from "../limits.ts";
import { below } from "../locations.ts";
import type { Store } from "../store.ts";

/** Cursor's command line. */
export const cursorAgent: Store = {
  agent: "cursor-agent",
  source: "session",
  async read({ files, look, note, places }) {
    const chats = below(places.home, ".cursor/chats");
    if (chats === null) return;
    for (const project of files.folders(chats)) {
      for (const chat of files.folders(`${chats}/${project}`)) {
        await look.breathe();
        const folder = `${chats}/${project}/${chat}`;
        const gate = await files.newest(folder);
        if (!look.isFresh(gate)) continue;
        const meta = parseObject(files.text(`${folder}/meta.json`, SMALL_FILE_BYTES) ?? "");
        const root = look.roots.findFolder(member(meta, "cwd"));
        if (root === null) continue;
        const said = look.plausible(integerMember(meta, "updatedAtMs"));
        note({ root, lastActivityMs: Math.max(said ?? gate, gate), session: folder });
      }
    }
  },
};
