import type { NoProcesses, ProcessReader, ProcessRow } from "./process_table.ts";
import { type RunProgram, runProgram } from "./processes_run.ts";
import { windowsProcesses } from "./processes_windows.ts";

/** Processes that are kept; a machine with more is told as it is, cut. */
const MAX_PROCESSES = 50_000;
const MAX_COMMAND_CHARS = 8_192;
/** Working directories that are asked for in one call, and in all. */
const BATCH = 400;
const MAX_DIRECTORIES = 2_000;

/** How this system tells about processes (`presence.md` 5.2). */
export function systemProcesses(
  os: typeof Deno.build.os = Deno.build.os,
  run: RunProgram = runProgram,
  now: () => number = Date.now,
): ProcessReader {
  if (os === "windows") return windowsProcesses(run);
  return {
    async table() {
      // Names and arguments may both hold blanks, so each is asked for as the last column.
      const [main, names] = await Promise.all([
        run("ps", ["-axww", "-o", "pid=,ppid=,etime=,args="]),
        run("ps", ["-axww", "-o", "pid=,comm="]),
      ]);
      if ("reason" in main) return main;
      const rows = parseTable(main.output, "reason" in names ? "" : names.output, now());
      return rows.size > 0
        ? { table: rows }
        : { reason: "not_supported", message: "ps does not know the columns that are needed" };
    },
    async directories(pids) {
      const wanted = pids.slice(0, MAX_DIRECTORIES);
      const found = new Map<number, string>();
      let problem: NoProcesses | undefined;
      for (let i = 0; i < wanted.length; i += BATCH) {
        const part = wanted.slice(i, i + BATCH);
        problem = os === "linux"
          ? await viaProc(part, run, found)
          : await viaLsof(part, run, found);
        if (problem) break;
      }
      return problem && found.size === 0 ? problem : { directories: found };
    },
  };
}

/** `ls` shows where each link of /proc leads, which this program itself may not read. */
async function viaProc(
  pids: readonly number[],
  run: RunProgram,
  found: Map<number, string>,
): Promise<NoProcesses | undefined> {
  const links = pids.map((pid) => `/proc/${pid}/cwd`);
  const out = await run("ls", ["-ld", "--quoting-style=c", "--", ...links]);
  if (!("reason" in out)) {
    for (const line of out.output.split("\n")) {
      const link = parseLink(line);
      if (link) found.set(link.pid, link.directory);
    }
    if (found.size > 0) return undefined;
  }
  // Another kind of `ls`, or none.
  const second = await viaLsof(pids, run, found);
  return second && "reason" in out ? out : second;
}

async function viaLsof(
  pids: readonly number[],
  run: RunProgram,
  found: Map<number, string>,
): Promise<NoProcesses | undefined> {
  const out = await run("lsof", [
    "-w",
    "-n",
    "-P",
    "-a",
    "-d",
    "cwd",
    "-p",
    pids.join(","),
    "-Fpn",
  ]);
  if ("reason" in out) return out;
  let pid = 0;
  for (const line of out.output.split("\n")) {
    if (line.startsWith("p")) pid = Number(line.slice(1));
    else if (line.startsWith("n/") && Number.isSafeInteger(pid)) {
      // A line end in a name comes as two characters.
      found.set(pid, line.slice(1).replaceAll("\\n", "\n"));
    }
  }
  return undefined;
}

/** The table from the two outputs of `ps`; `names` may be empty. Exported for tests. */
export function parseTable(main: string, names: string, now: number): Map<number, ProcessRow> {
  const short = new Map<number, string>();
  for (const line of names.split("\n")) {
    const match = /^\s*(\d+)\s+(.+)$/.exec(line);
    if (match) short.set(Number(match[1]), match[2]!.trimEnd());
  }
  const rows = new Map<number, ProcessRow>();
  for (const line of main.split("\n")) {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)(?:\s(.*))?$/.exec(line);
    if (!match) continue;
    if (rows.size >= MAX_PROCESSES) break;
    const pid = Number(match[1]), command = (match[4] ?? "").slice(0, MAX_COMMAND_CHARS).trim();
    const age = parseAge(match[3]!);
    rows.set(pid, {
      pid,
      parent: Number(match[2]),
      name: short.get(pid) ?? command.split(" ", 1)[0]!,
      command,
      startedMs: age === null ? null : now - age * 1_000,
    });
  }
  return rows;
}

/** `[[dd-]hh:]mm:ss` in seconds. */
export function parseAge(text: string): number | null {
  const match = /^(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)$/.exec(text);
  if (!match) return null;
  const [days, hours, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0));
  return ((days! * 24 + hours!) * 60 + minutes!) * 60 + seconds!;
}

/** One line of `ls -ld --quoting-style=c` for a link below /proc. Exported for tests. */
export function parseLink(line: string): { pid: number; directory: string } | null {
  const match = /"\/proc\/(\d+)\/cwd" -> "((?:[^"\\]|\\.)*)"$/.exec(line);
  return match ? { pid: Number(match[1]), directory: unquote(match[2]!) } : null;
}

const ESCAPES: Record<string, number> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };

/** C escapes, octal ones being bytes of UTF-8. */
function unquote(text: string): string {
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== "\\") bytes.push(text.charCodeAt(i));
    else {
      const octal = /^[0-3][0-7]{2}/.exec(text.slice(i + 1, i + 4))?.[0];
      if (octal !== undefined) {
        bytes.push(parseInt(octal, 8));
        i += 3;
      } else {
        i++;
        bytes.push(ESCAPES[text[i] ?? ""] ?? text.charCodeAt(i));
      }
    }
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}
