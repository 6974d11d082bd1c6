import type { Store } from "../store.ts";

/** Crush keeps a database in the work tree, which is never opened. */
export const crush: Store = {
  agent: "crush",
  source: "repo-trace",
  async read({ files, look, note }) {
    for (const root of look.roots.all) {
      if (!files.stat(`${root}/.crush`)?.isDirectory) continue;
      const times = ["crush.db", "crush.db-wal"].map((name) =>
        files.mtime(`${root}/.crush/${name}`)
      );
      const at = Math.max(...times.map((time) => time ?? -Infinity));
      if (look.isFresh(at)) note({ root, lastActivityMs: at });
      await look.breathe();
    }
  },
};
