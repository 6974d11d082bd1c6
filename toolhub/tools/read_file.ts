import type { ToolRun } from "../hub.ts";
import { readFile } from "../workspace/read.ts";

/** `filesystem.read_file` */
export const run: ToolRun<{ path: string }> = async ({ path }, hub) => ({
  ...await readFile(hub.workspace, path, { ...hub.hooks, hardLinks: hub.hardLinks }),
});
