import { listMember, member } from "../json.ts";
import { readMembers } from "../json_members.ts";
import { JSON_FILE_BYTES } from "../limits.ts";
import { below } from "../locations.ts";
import type { Store } from "../store.ts";

export const amp: Store = {
  agent: "amp",
  source: "session",
  async read({ files, look, note, places }) {
    const folder = below(places.xdgData, "amp/threads");
    if (folder === null) return;
    const wanted = (name: string) => name.startsWith("T-") && name.endsWith(".json");
    for (const { path, mtimeMs } of await files.fresh(folder, 0, wanted)) {
      const text = files.text(path, JSON_FILE_BYTES) ?? "";
      const thread = await readMembers(text, ["env"], () => look.breathe());
      for (const tree of listMember(thread, "env", "initial", "trees").slice(0, 64)) {
        const root = look.roots.findFolder(member(tree, "uri"));
        if (root === null) continue;
        note({ root, lastActivityMs: mtimeMs, session: path });
        break;
      }
      await look.breathe();
    }
  },
};
