import { ScratchFolders } from "../../../../common/writer/scratch_folders.ts";
import type { MergeScratch } from "../../../../git/merge_preview.ts";

const made = new Map<string, ScratchFolders>();

/** Throw-away folders of the gateway, below its run directory. */
export function scratchIn(runDir: string): MergeScratch {
  let folders = made.get(runDir);
  if (!folders) made.set(runDir, folders = new ScratchFolders(runDir, Deno.pid));
  const own = folders;
  return {
    makeFolder: () => Promise.resolve(own.make()),
    removeFolder(path) {
      try {
        own.remove(path);
      } catch { /* swept after a day */ }
      return Promise.resolve();
    },
  };
}
