import { readSessionLogs } from "../session_log.ts";
import { below } from "../locations.ts";
import type { Store } from "../store.ts";

export const claudeCode: Store = {
  agent: "claude-code",
  source: "session",
  async read(context) {
    const base = context.override("CLAUDE_CONFIG_DIR") ?? below(context.places.home, ".claude");
    // Logs of sub-agents lie deeper and are part of the session above them.
    if (base !== null) await readSessionLogs(context, `${base}/projects`, 1);
  },
};
