import type { ReadVariable } from "../common/platform.ts";
import type { ProcessReader } from "./process_table.ts";

/** What the scan needs of the world around it; tests give another one. */
export interface Surroundings {
  /** Decides where stores lie; paths themselves are those of the real system. */
  readonly os: typeof Deno.build.os;
  readonly env: ReadVariable;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly runDir: string | null;
  readonly ownPid: number;
  readonly parentPid: number;
  readonly processes: ProcessReader;
  /**
   * Copies a database that nobody has open into a private folder, so that nothing appears beside it;
   * null where that is not possible. The caller calls `done` when it has read it.
   */
  readonly copyDatabase?:
    | ((path: string) => Promise<{ readonly path: string; readonly done: () => void }>)
    | null;
}
