import { MAX_FILES, WORKING_MS } from "./limits.ts";
import type { Finding, Note, Source, State } from "./types.ts";

interface Gathering {
  agent: string;
  root: string;
  sources: Source[];
  pid: number | null;
  lastActivityMs: number | null;
  branch: string | null;
  lastTool: string | null;
  files: string[];
  mcpClient: Finding["mcpClient"];
  mcpAtMs: number | null;
  working: boolean;
  sessions: Map<Source, Set<string>>;
}

/**
 * Puts the evidence together: one finding an agent and root, sorted as answers show it
 * (`presence.md` 2.10, 2.11). The order of the notes decides who fills branch and tool first.
 *
 * An idle turn only silences its own activity: another session of the same agent that is at work
 * makes it `working` all the same.
 */
export function mergeNotes(notes: Iterable<Note>, now: number): Finding[] {
  const all = new Map<string, Gathering>();
  for (const note of notes) {
    const key = `${note.agent}\0${note.root}`;
    let one = all.get(key);
    if (!one) all.set(key, one = empty(note));
    add(one, note, now);
  }
  return [...all.values()].map(finish).sort(byInterest);
}

function empty({ agent, root }: Note): Gathering {
  return {
    agent,
    root,
    sources: [],
    pid: null,
    lastActivityMs: null,
    branch: null,
    lastTool: null,
    files: [],
    mcpClient: null,
    mcpAtMs: null,
    working: false,
    sessions: new Map(),
  };
}

function add(one: Gathering, note: Note, now: number): void {
  if (!one.sources.includes(note.source)) one.sources.push(note.source);
  const at = note.lastActivityMs ?? null;
  const active = at !== null && now - at <= WORKING_MS && note.idle !== true;
  if (note.busy === true || active) one.working = true;
  if (note.client && (one.mcpAtMs === null || (at !== null && at > one.mcpAtMs))) {
    one.mcpClient = note.client;
    one.mcpAtMs = at;
  }
  if (at !== null) one.lastActivityMs = Math.max(one.lastActivityMs ?? at, at);
  one.branch ??= note.branch ?? null;
  one.lastTool ??= note.lastTool ?? null;
  one.pid ??= note.pid ?? null;
  for (const file of note.files ?? []) {
    if (one.files.length >= MAX_FILES) break;
    if (!one.files.includes(file)) one.files.push(file);
  }
  // Logs outlive their session: only one that is being written stands for a session of its own.
  if (note.session !== undefined && (note.source !== "session" || active)) {
    const seen = one.sessions.get(note.source) ?? new Set();
    one.sessions.set(note.source, seen.add(note.session));
  }
}

function finish(one: Gathering): Finding {
  const { working, sessions, mcpAtMs: _at, ...rest } = one;
  const state: State = working ? "working" : one.pid !== null ? "open" : "recent";
  const counts = [...sessions.values()].map((seen) => seen.size);
  return { ...rest, state, sessions: Math.max(1, ...counts) };
}

const ORDER: Record<State, number> = { working: 0, open: 1, recent: 2 };

function byInterest(a: Finding, b: Finding): number {
  return ORDER[a.state] - ORDER[b.state] ||
    (b.lastActivityMs ?? -Infinity) - (a.lastActivityMs ?? -Infinity) ||
    compare(a.root, b.root) || compare(a.agent, b.agent);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
