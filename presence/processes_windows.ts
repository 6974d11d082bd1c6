import { integerMember, member, textMember } from "./json.ts";
import type { ProcessReader, ProcessRow } from "./process_table.ts";
import type { RunProgram } from "./processes_run.ts";

/** Prints pid, parent, start in Unix milliseconds, name and command line of every process as JSON. */
const SCRIPT = "[Console]::OutputEncoding=[Text.Encoding]::UTF8;" +
  "@(Get-CimInstance Win32_Process|ForEach-Object{@{p=$_.ProcessId;u=$_.ParentProcessId;n=$_.Name;" +
  "c=$_.CommandLine;s=if($_.CreationDate){[DateTimeOffset]::new($_.CreationDate).ToUnixTimeMilliseconds()}}})" +
  "|ConvertTo-Json -Compress";

/**
 * Windows tells about processes through PowerShell, where running it is permitted. No program that
 * comes with the system tells where a process works, so agents are not found by their processes there.
 */
export function windowsProcesses(run: RunProgram): ProcessReader {
  return {
    async table() {
      const out = await run("powershell", ["-NoProfile", "-NonInteractive", "-Command", SCRIPT]);
      if ("reason" in out) return out;
      const table = parseWindowsTable(out.output);
      return table.size > 0
        ? { table }
        : { reason: "failed", message: "PowerShell gave no list of processes" };
    },
    directories() {
      return Promise.resolve({
        reason: "not_supported" as const,
        message: "Windows does not tell where another process works",
      });
    },
  };
}

/** Exported for tests. */
export function parseWindowsTable(output: string): Map<number, ProcessRow> {
  const rows = new Map<number, ProcessRow>();
  let all: unknown;
  try {
    all = JSON.parse(output.replace(/^\uFEFF/, ""));
  } catch {
    return rows;
  }
  for (const one of Array.isArray(all) ? all : [all]) {
    const pid = integerMember(one, "p"), parent = integerMember(one, "u");
    if (pid === null || parent === null) continue;
    const startedMs = member(one, "s");
    rows.set(pid, {
      pid,
      parent,
      name: textMember(one, "n") ?? "",
      command: textMember(one, "c") ?? "",
      startedMs: typeof startedMs === "number" && startedMs > 0 ? startedMs : null,
    });
  }
  return rows;
}
