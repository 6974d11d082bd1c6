import { below } from "../locations.ts";
import { readSqlStore, type SqlTable } from "../sql_store.ts";
import type { Store } from "../store.ts";

const TABLE: SqlTable = {
  table: "sessions",
  folders: ["cwd", "workspace_root"],
  time: "updated_at",
  ended: "ended_at",
  pid: "pid",
};

export const cline: Store = {
  agent: "cline",
  source: "session",
  namesProcesses: true,
  async read(context) {
    const { override, places } = context;
    const paths = [
      below(places.home, ".cline/data/db/sessions.db"),
      below(override("CLINE_DB_DATA_DIR"), "sessions.db"),
      below(override("CLINE_DATA_DIR"), "db/sessions.db"),
      below(override("CLINE_DIR"), "data/db/sessions.db"),
    ];
    for (const path of new Set(paths)) {
      if (path !== null) await readSqlStore(context, path, TABLE);
    }
  },
};
