import { readSessionLogs } from "../session_log.ts";
import { below } from "../locations.ts";
import type { Store } from "../store.ts";

export const qwenCode: Store = {
  agent: "qwen-code",
  source: "session",
  async read(context) {
    const base = context.override("QWEN_HOME") ?? below(context.places.home, ".qwen");
    if (base !== null) await readSessionLogs(context, `${base}/projects`, 2);
  },
};
