import type { Reason } from "./types.ts";

/** One process as the system tells it. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  /** Short name, as the kernel has it; a path on some systems. */
  readonly name: string;
  /** Arguments joined by single blanks; may be cut. Never leaves this room. */
  readonly command: string;
  /** Unix milliseconds, to the second; null when unknown. */
  readonly startedMs: number | null;
}

export type ProcessTable = ReadonlyMap<number, ProcessRow>;

/** Why there is no table, or no working directories. */
export interface NoProcesses {
  readonly reason: Reason;
  readonly message: string;
}

/** Asks the system about processes. Neither call throws. */
export interface ProcessReader {
  table(): Promise<{ readonly table: ProcessTable } | NoProcesses>;
  /** Working directories of these processes; those that cannot be told are left out. */
  directories(
    pids: readonly number[],
  ): Promise<{ readonly directories: ReadonlyMap<number, string> } | NoProcesses>;
}

/** A process and those above it, at most `max` parents. Stops where the table does, and at a loop. */
export function lineage(table: ProcessTable, pid: number, max: number): ProcessRow[] {
  const line: ProcessRow[] = [];
  const seen = new Set<number>();
  for (let row = table.get(pid); row && !seen.has(row.pid) && line.length <= max;) {
    line.push(row);
    seen.add(row.pid);
    row = table.get(row.parent);
  }
  return line;
}
