import { below } from "../locations.ts";
import { readSqlStore, type SqlTable } from "../sql_store.ts";
import type { Store } from "../store.ts";

/** A thread may have several folders, one a line. */
const TABLE: SqlTable = { table: "threads", folders: ["folder_paths"], time: "updated_at" };

export const zed: Store = {
  agent: "zed",
  source: "session",
  async read(context) {
    const { look, places } = context;
    const path = look.around.os === "windows"
      ? below(places.localAppData, "Zed/threads/threads.db")
      : look.around.os === "darwin"
      ? below(places.config, "Zed/threads/threads.db")
      : below(places.xdgData, "zed/threads/threads.db");
    if (path !== null) await readSqlStore(context, path, TABLE);
  },
};
