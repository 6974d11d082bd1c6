import type { ToolRun } from "../hub.ts";

/** `toolhub.audit_recent` */
export const run: ToolRun<{ limit: number | bigint }> = ({ limit }, hub) => {
  const count = Math.max(1, Math.min(100, Number(limit)));
  const events = hub.audit.recent(count);
  return { count: events.length, events };
};
