import { member } from "../json.ts";
import { readMembers } from "../json_members.ts";
import { JSON_FILE_BYTES } from "../limits.ts";
import { below } from "../locations.ts";
import type { Store } from "../store.ts";

export const continueDev: Store = {
  agent: "continue",
  source: "session",
  async read({ files, look, note, override, places }) {
    const base = override("CONTINUE_GLOBAL_DIR") ?? below(places.home, ".continue");
    if (base === null) return;
    const wanted = (name: string) => name.endsWith(".json") && name !== "sessions.json";
    for (const { path, mtimeMs } of await files.fresh(`${base}/sessions`, 0, wanted)) {
      const text = files.text(path, JSON_FILE_BYTES) ?? "";
      const session = await readMembers(text, ["workspaceDirectory"], () => look.breathe());
      const root = look.roots.findFolder(member(session, "workspaceDirectory"));
      if (root !== null) note({ root, lastActivityMs: mtimeMs, session: path });
      await look.breathe();
    }
  },
};
