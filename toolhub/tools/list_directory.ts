import type { ToolRun } from "../hub.ts";
import { listDirectory } from "../workspace/list.ts";

/** `filesystem.list_directory` */
export const run: ToolRun<{ path: string }> = async ({ path }, hub) => ({
  ...await listDirectory(hub.workspace, path, hub.hooks),
});
