import { integerMember, textMember } from "../json.ts";
import { readMembers } from "../json_members.ts";
import { JSON_FILE_BYTES } from "../limits.ts";
import { below } from "../locations.ts";
import { readSqlStore, type SqlTable } from "../sql_store.ts";
import type { Store, StoreContext } from "../store.ts";

const TABLE: SqlTable = {
  table: "session",
  folders: ["directory"],
  time: "time_updated",
  archived: "time_archived",
};

/** Since its 1.2 a database; before that one JSON file a session. */
export const opencode: Store = {
  agent: "opencode",
  source: "session",
  async read(context) {
    const { files, override, places } = context;
    const data = below(places.xdgData, "opencode");
    if (data !== null) await readJsonSessions(context, `${data}/storage/session`);
    const names = data === null ? [] : files.list(data)
      .filter(({ name }) => name.startsWith("opencode") && name.endsWith(".db"))
      .map(({ name }) => `${data}/${name}`);
    const extra = override("OPENCODE_DB");
    for (const path of new Set([...names, ...(extra === null ? [] : [extra])])) {
      await readSqlStore(context, path, TABLE);
    }
  },
};

async function readJsonSessions(context: StoreContext, folder: string): Promise<void> {
  const { files, look, note } = context;
  const sessions = await files.fresh(folder, 2, (name) => name.endsWith(".json"));
  for (const { path, mtimeMs } of sessions) {
    const text = files.text(path, JSON_FILE_BYTES) ?? "";
    const session = await readMembers(text, ["directory", "time"], () => look.breathe());
    const root = look.roots.find(textMember(session, "directory") ?? "");
    if (root !== null) {
      const said = look.plausible(integerMember(session, "time", "updated"));
      note({ root, lastActivityMs: said ?? mtimeMs, session: path });
    }
    await look.breathe();
  }
}
