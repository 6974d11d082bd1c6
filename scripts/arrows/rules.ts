/** The plan of the rooms as rules over the import graph. Each rule gives sentences, one a fault. */

import type { Edge, Graph } from "./graph.ts";

/** Rooms and what each may import besides itself. An entry that ends in `.ts` is that file alone. */
export const ARROWS: Readonly<Record<string, readonly string[]>> = {
  main: ["cli", "protocol", "registry", "common"],
  // `serve` is the one command that puts protocol and tools together.
  "cli/serve.ts": ["protocol", "registry", "audit", "presence", "common", "cli"],
  cli: ["audit", "gateway/server", "restore", "common"],
  protocol: ["common"],
  "registry/define.ts": ["common"],
  "registry/generated/loaders.ts": ["tools", "registry/define.ts"],
  // The registry fills the table that the protocol defines: types only, see `checkRooms`.
  registry: ["common", "protocol/types.ts"],
  tools: [
    "registry/define.ts",
    "git",
    "restore",
    "presence",
    "semantic",
    "gateway/bridge",
    "common",
  ],
  git: ["common"],
  restore: ["git", "common"],
  presence: ["git", "common"],
  audit: ["common"],
  semantic: ["common"],
  "gateway/bridge": ["common"],
  // Runs in the browser: what it shares with the gateway are the routes.
  "gateway/page": [],
  "gateway/server": ["git", "audit", "presence", "restore", "common"],
  toolhub: ["protocol", "registry", "git", "audit", "common"],
  common: [],
};

/** Rooms outside the product: they may import every room, and nobody imports them. */
const WORKSHOPS = new Set(["scripts", "tests"]);

/** The room of a file, or null when it stands in none. */
export function roomOf(file: string): string | null {
  if (file === "main.ts") return "main";
  const [first = "", second = ""] = file.split("/");
  if (WORKSHOPS.has(first)) return first;
  // The bridge is a file, or a folder of the same name.
  if (first === "gateway") return `gateway/${second.replace(/\.ts$/, "")}`;
  return first;
}

/** Files that break an arrow of the plan. */
export function checkRooms(graph: Graph): string[] {
  const faults: string[] = [];
  for (const [file, edges] of graph) {
    const room = roomOf(file);
    if (room === null || (!WORKSHOPS.has(room) && !Object.hasOwn(ARROWS, room))) {
      faults.push(`${file} stands in no room of the plan (scripts/arrows/rules.ts)`);
      continue;
    }
    for (const edge of edges) {
      if (isOutside(edge.to)) continue;
      const target = roomOf(edge.to);
      if (room === "tests") continue;
      if (room === "scripts" && target !== "tests") continue;
      const allowed = ARROWS[file] ?? ARROWS[room] ?? [];
      const ownRoom = target === room && !Object.hasOwn(ARROWS, file);
      if (!ownRoom && !allowed.includes(edge.to) && !allowed.includes(target ?? "")) {
        faults.push(`${file}:${edge.line} imports ${edge.to}: ${room} may not import ${target}`);
      } else if (room === "registry" && target === "protocol" && edge.kind !== "type") {
        faults.push(`${file}:${edge.line} imports ${edge.to}: only its types, with import type`);
      }
    }
  }
  return faults;
}

/** The generated lazy imports close every circle through the tools; they do not count. */
const LAZY_IMPORTS = "registry/generated/loaders.ts";

/** Import loops, `import type` and dynamic imports included; each is told once, as a path. */
export function checkLoops(graph: Graph): string[] {
  const faults: string[] = [];
  const state = new Map<string, "open" | "done">();
  const trail: string[] = [];
  const visit = (file: string): void => {
    state.set(file, "open");
    trail.push(file);
    const next = file === LAZY_IMPORTS ? [] : graph.get(file) ?? [];
    for (const to of new Set(next.map((edge) => edge.to))) {
      if (!graph.has(to)) continue;
      if (state.get(to) === "open") {
        faults.push(`import loop: ${[...trail.slice(trail.indexOf(to)), to].join(" -> ")}`);
      } else if (!state.has(to)) visit(to);
    }
    trail.pop();
    state.set(file, "done");
  };
  for (const file of graph.keys()) if (!state.has(file)) visit(file);
  return faults;
}

/** Where the program starts: all that these reach statically is loaded before the first answer. */
export const START_FILES = ["main.ts", "cli/serve.ts"];
/** The same of the second program. */
export const TOOLHUB_START_FILES = ["toolhub/main.ts", "toolhub/serve.ts"];

/** Imports of `node:` and npm on the start path: each costs milliseconds before the first answer. */
export function checkStart(graph: Graph, starts: readonly string[] = START_FILES): string[] {
  const faults: string[] = [];
  const reached = new Map<string, string>();
  const queue = starts.filter((file) => graph.has(file));
  for (const file of starts) {
    if (!graph.has(file)) faults.push(`${file} is not there: the start path cannot be checked`);
  }
  for (const file of queue) reached.set(file, file);
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    for (const edge of graph.get(file) ?? []) {
      if (edge.kind !== "static") continue;
      const way = `${reached.get(file)} -> ${edge.to}`;
      if (isOutside(edge.to)) {
        faults.push(`start path loads ${edge.to} (line ${edge.line}): ${way}`);
      } else if (!reached.has(edge.to)) {
        reached.set(edge.to, way);
        queue.push(edge.to);
      }
    }
  }
  return faults;
}

const MAY_SPAWN = /^(?:git\/command\.ts$|toolhub\/shell\/run\.ts$|presence\/|scripts\/|tests\/)/;
const SPAWNS = /\bDeno\s*\.\s*(?:Command|run)\b|\bchild_process\b/;

/** Files that start processes although only the door to git (and presence) may. */
export function checkSpawns(sources: ReadonlyMap<string, string>): string[] {
  const faults: string[] = [];
  for (const [file, text] of sources) {
    if (MAY_SPAWN.test(file)) continue;
    text.split("\n").forEach((line, i) => {
      if (/^\s*(?:\/\/|\/?\*)/.test(line)) return;
      if (SPAWNS.test(line)) faults.push(`${file}:${i + 1} starts a process; use git/command.ts`);
    });
  }
  return faults;
}

function isOutside(to: Edge["to"]): boolean {
  return /^[a-z]+:/.test(to);
}
