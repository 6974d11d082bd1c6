/**
 * Checks the plan of the rooms: import arrows, loops, the start path, who may start processes.
 * Part of `deno task ok`; alone: `deno run -A scripts/arrows.ts`.
 */

import { readGraph } from "./arrows/graph.ts";
import {
  checkLoops,
  checkRooms,
  checkSpawns,
  checkStart,
  TOOLHUB_START_FILES,
} from "./arrows/rules.ts";
import { ROOT, sourceFiles } from "./lib/deno.ts";
import { say } from "./lib/terminal.ts";

/** Every fault of a project below `root`, one sentence each. */
export async function findFaults(root: string): Promise<string[]> {
  const files = await sourceFiles(root);
  const graph = await readGraph(root, files);
  const sources = new Map<string, string>();
  for (const file of files) sources.set(file, await Deno.readTextFile(`${root}/${file}`));
  return [
    ...checkRooms(graph),
    ...checkLoops(graph),
    ...checkStart(graph),
    ...(graph.has(TOOLHUB_START_FILES[0]!) ? checkStart(graph, TOOLHUB_START_FILES) : []),
    ...checkSpawns(sources),
  ];
}

if (import.meta.main) {
  const faults = await findFaults(ROOT);
  for (const fault of faults) say(fault);
  if (faults.length > 0) Deno.exit(1);
}
