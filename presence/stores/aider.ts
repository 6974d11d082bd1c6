import type { Store } from "../store.ts";

/** Aider keeps its history in the work tree; only its time is looked at. */
export const aider: Store = {
  agent: "aider",
  source: "repo-trace",
  async read({ files, look, note }) {
    for (const root of look.roots.all) {
      const at = files.mtime(`${root}/.aider.chat.history.md`);
      if (look.isFresh(at)) note({ root, lastActivityMs: at });
      await look.breathe();
    }
  },
};
