import { classifyProcess, isMcpHelper } from "./classify.ts";
import { MAX_ANCESTORS, YOUNG_CHILD_MS } from "./limits.ts";
import { lineage, type ProcessTable } from "./process_table.ts";
import type { Roots } from "./roots.ts";
import type { Note } from "./types.ts";

/** Processes that are an agent or run below one, with the agent nearest above each. */
export function membersOf(table: ProcessTable): Map<number, { agent: string; owner: number }> {
  const agents = new Map<number, string>();
  for (const { pid, name, command } of table.values()) {
    const agent = classifyProcess(name, command);
    if (agent !== null) agents.set(pid, agent);
  }
  const members = new Map<number, { agent: string; owner: number }>();
  if (agents.size === 0) return members;
  for (const pid of table.keys()) {
    const owner = lineage(table, pid, MAX_ANCESTORS).find((row) => agents.has(row.pid));
    if (owner) members.set(pid, { agent: agents.get(owner.pid)!, owner: owner.pid });
  }
  return members;
}

/**
 * What processes say (`presence.md` 2.4): an agent is where it, or anything below it, works. A child
 * that was started a moment ago means work. Of several agents of one kind in a root, one that is not
 * among `own` (the processes above this one) is named, so that a second session is not taken for the
 * caller's; else the one with the lowest pid.
 */
export function attribute(
  table: ProcessTable,
  members: ReadonlyMap<number, { agent: string; owner: number }>,
  directories: ReadonlyMap<number, string>,
  roots: Roots,
  now: number,
  own: ReadonlySet<number>,
): Note[] {
  const notes: Note[] = [];
  for (const [pid, { agent, owner }] of members) {
    const directory = directories.get(pid);
    const root = directory === undefined ? null : roots.find(directory);
    if (root === null) continue;
    const child = table.get(pid)!;
    const busy = pid !== owner && child.startedMs !== null &&
      now - child.startedMs <= YOUNG_CHILD_MS && !isMcpHelper(child.name, child.command);
    notes.push({ agent, root, source: "process", pid: owner, busy, session: String(owner) });
  }
  return notes.sort((a, b) => Number(own.has(a.pid!)) - Number(own.has(b.pid!)) || a.pid! - b.pid!);
}
