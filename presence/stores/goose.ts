import { parseObject, textMember } from "../json.ts";
import { FIRST_LINE_BYTES } from "../limits.ts";
import { below } from "../locations.ts";
import { readSqlStore, type SqlTable } from "../sql_store.ts";
import type { Store } from "../store.ts";

const TABLE: SqlTable = { table: "sessions", folders: ["working_dir"], time: "updated_at" };

/** Since its 1.10 a database; before that one log a session, whose first line names the folder. */
export const goose: Store = {
  agent: "goose",
  source: "session",
  async read(context) {
    const { files, look, note, override, places } = context;
    const folders = [
      below(places.xdgData, "goose/sessions"),
      below(override("GOOSE_PATH_ROOT"), "data/sessions"),
    ].filter((folder) => folder !== null);
    for (const folder of new Set(folders)) {
      for (
        const { path, mtimeMs } of await files.fresh(folder, 0, (name) => name.endsWith(".jsonl"))
      ) {
        const [first = ""] = files.headLines(path, FIRST_LINE_BYTES);
        const root = look.roots.find(textMember(parseObject(first), "working_dir") ?? "");
        if (root !== null) note({ root, lastActivityMs: mtimeMs, session: path });
        await look.breathe();
      }
    }
    const roaming = below(places.appData, "Block/goose/data/sessions");
    for (const folder of new Set([...folders, ...(roaming === null ? [] : [roaming])])) {
      await readSqlStore(context, `${folder}/sessions.db`, TABLE);
    }
  },
};
