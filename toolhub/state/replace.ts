/** Files written whole or not at all: a new file beside the old one, synced, then moved over it. */

import { syncFolder } from "../../common/private_file.ts";
import { WINDOWS } from "../platform.ts";

/** What is written, and how the last step is made. */
export interface Replacement {
  /** Canonical folder. */
  readonly folder: string;
  readonly target: string;
  /** Path of the file to make first, in the same folder. */
  readonly temporary: string;
  readonly bytes: Uint8Array;
  /** Exact mode, whatever the umask. */
  readonly mode: number;
  /** `new`: never replaces anything that is there (throws `AlreadyExists`). */
  readonly publish: "new" | "over";
  /**
   * Whether a folder that cannot be synced is a failure (`needed`, the rule). With `tried` the file
   * counts as replaced, which it is: a folder without read permission, for one, cannot be synced.
   */
  readonly durable?: "needed" | "tried";
  /** Looked at last before the file gets its name; what it throws stops the write. */
  readonly check?: (temporary: Deno.FileInfo) => void;
}

/**
 * Writes a file. A failure removes the temporary file and leaves the target as it was; only where the
 * folder could not be synced (`durable`) has it been replaced already.
 */
export function replaceFile(job: Replacement): void {
  const { temporary, target, bytes } = job;
  let made = false;
  try {
    const file = Deno.openSync(temporary, { write: true, createNew: true, mode: 0o600 });
    made = true;
    let info: Deno.FileInfo;
    try {
      for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
      if (!WINDOWS) Deno.chmodSync(temporary, job.mode);
      file.syncSync();
      info = file.statSync();
    } finally {
      file.close();
    }
    if (info.size !== bytes.length) throw new Error("the file was not written whole");
    job.check?.(info);
    if (job.publish === "over") {
      Deno.renameSync(temporary, target);
      made = false;
    } else {
      Deno.linkSync(temporary, target);
    }
  } finally {
    if (made) remove(temporary);
  }
  try {
    syncFolder(job.folder);
  } catch (error) {
    if (job.durable !== "tried") throw error;
  }
}

function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch { /* nothing more can be done about it */ }
}
