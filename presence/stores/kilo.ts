import { below } from "../locations.ts";
import { readSqlStore, type SqlTable } from "../sql_store.ts";
import type { Store } from "../store.ts";

const TABLE: SqlTable = {
  table: "session",
  folders: ["directory"],
  time: "time_updated",
  archived: "time_archived",
};

export const kilo: Store = {
  agent: "kilo",
  source: "session",
  async read(context) {
    const data = below(context.places.xdgData, "kilo");
    if (data === null) return;
    for (const { name } of context.files.list(data)) {
      if (!name.startsWith("kilo") || !name.endsWith(".db")) continue;
      await readSqlStore(context, `${data}/${name}`, TABLE);
    }
  },
};
