/**
 * What looking for other agents costs: a session of each of the 18 agents and editors, a thousand old
 * logs beside them, and 500 processes below an agent at work in the repository, which is the most
 * that has to be asked about. Times are only reported; a proposal's wait is held to what is promised.
 */

import { DatabaseSync } from "node:sqlite";
import { systemProcesses } from "../../presence/processes.ts";
import type { ProcessReader } from "../../presence/process_table.ts";
import { Scanner } from "../../presence/scanner.ts";
import type { Surroundings } from "../../presence/surroundings.ts";
import { HINT_WAIT_MS } from "../../presence/limits.ts";
import { median, timed } from "./measure.ts";

/** One measured number; `budget` is its upper limit. */
export interface BenchResult {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly budget?: number;
}

const PROCESSES = 500;
const OLD_LOGS = 1_000;
const STORES = 18;

/** All cases of presence. Takes some seconds; needs `ps` and `ls` or `lsof`. */
export async function benchPresence(rounds = 15): Promise<BenchResult[]> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "presence-bench-" }));
  try {
    const repo = `${folder}/repo`;
    await Deno.mkdir(`${repo}/.git`, { recursive: true });
    plant(`${folder}/home`, repo);
    await using _agent = await busyAgent(folder, repo);
    return await measure(`${folder}/home`, repo, rounds);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function measure(home: string, repo: string, rounds: number): Promise<BenchResult[]> {
  const all = systemProcesses();
  const times = { whole: [] as number[], stores: [] as number[], processes: [] as number[] };
  const hints = { cold: [] as number[], warm: [] as number[] };
  const longest: number[] = [];
  let agents = 0;
  for (let round = 0; round < rounds; round++) {
    const scanner = new Scanner(around(home, all));
    const watch = holdUps();
    times.whole.push(
      await timed(async () => agents = (await scanner.whole(repo)).findings.length),
    );
    longest.push(watch());
    hints.warm.push(await timed(() => scanner.within(repo, HINT_WAIT_MS)));
    times.stores.push(await timed(() => new Scanner(around(home, NONE)).whole(repo)));
    const cold = new Scanner(around(home, all));
    hints.cold.push(await timed(() => cold.within(repo, HINT_WAIT_MS)));
    await cold.whole(repo);
    times.processes.push(
      await timed(async () => {
        const answer = await all.table();
        if ("table" in answer) await all.directories([...answer.table.keys()]);
      }),
    );
  }
  if (agents < STORES) throw new Error(`only ${agents} of ${STORES} agents were found`);
  const ms = (name: string, value: number) => ({ name, unit: "ms", value });
  return [
    ms(`presence: ${STORES} stores and ${PROCESSES} processes`, median(times.whole)),
    ms(`presence: ${STORES} stores, ${OLD_LOGS} old logs`, median(times.stores)),
    ms(`presence: ${PROCESSES} processes and their folders`, median(times.processes)),
    ms("presence: hint beside a proposal, ready", median(hints.warm)),
    ms("presence: hint beside a proposal, not ready", median(hints.cold)),
    ms("presence: longest hold-up of other calls", median(longest)),
  ];
}

/** Gives the longest time in which nobody else had a turn, when called. */
function holdUps(): () => number {
  let last = performance.now(), longest = 0;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  return () => {
    look();
    clearInterval(timer);
    return longest;
  };
}

const NONE: ProcessReader = {
  table: () => Promise.resolve({ table: new Map() }),
  directories: () => Promise.resolve({ directories: new Map() }),
};

function around(home: string, processes: ProcessReader): Surroundings {
  return {
    os: "linux",
    env: (name) => name === "HOME" ? home : undefined,
    now: Date.now,
    runDir: null,
    ownPid: Deno.pid,
    parentPid: Deno.ppid,
    processes,
  };
}

/** An agent in the repository with 500 children. */
async function busyAgent(folder: string, repo: string): Promise<AsyncDisposable> {
  const program = `${folder}/goose`;
  await Deno.copyFile(await Deno.realPath("/bin/sh"), program);
  await Deno.chmod(program, 0o755);
  const script = `all=; i=0; while [ $i -lt ${PROCESSES} ]; do sleep 600 & ` +
    'all="$all $!"; i=$((i+1)); done; echo ready; read line; kill $all';
  const child = new Deno.Command(program, {
    args: ["-c", script],
    cwd: repo,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  return {
    async [Symbol.asyncDispose]() {
      await child.stdin.close();
      await child.status;
      await reader.cancel();
    },
  };
}

/** A session of every agent and editor in one repository, and many old ones. */
function plant(home: string, repo: string): void {
  const now = Date.now(), time = new Date(now).toISOString();
  const write = (path: string, content: unknown) => {
    const full = path.startsWith("/") ? path : `${home}/${path}`;
    Deno.mkdirSync(full.slice(0, full.lastIndexOf("/")), { recursive: true });
    Deno.writeTextFileSync(full, typeof content === "string" ? content : JSON.stringify(content));
    return full;
  };
  const database = (path: string, table: string, columns: string, ...values: unknown[]) => {
    const full = write(path, "");
    const db = new DatabaseSync(full);
    db.exec(`PRAGMA journal_mode=WAL; CREATE TABLE ${table} (${columns})`);
    const insert = db.prepare(
      `INSERT INTO ${table} VALUES (${values.map(() => "?").join(", ")})`,
    );
    insert.run(...values as string[]);
    db.close();
  };
  const line = JSON.stringify({ cwd: repo, timestamp: time, gitBranch: "main" });
  const filler = JSON.stringify({ timestamp: time, message: { content: "x".repeat(900) } });
  write(".claude/projects/p/new.jsonl", `${`${filler}\n`.repeat(400)}${line}\n`);
  const old = new Date(now - 86_400_000);
  for (let i = 0; i < OLD_LOGS; i++) {
    Deno.utimeSync(write(`.claude/projects/p${i % 50}/${i}.jsonl`, line), old, old);
  }
  write(".qwen/projects/p/chats/1.jsonl", `${line}\n`);
  write(
    ".codex/sessions/2030/01/01/r.jsonl",
    `{"type":"session_meta","payload":{"cwd":${JSON.stringify(repo)}}}\n${filler}\n`,
  );
  write(".gemini/tmp/p/.project_root", repo);
  write(".gemini/tmp/p/chats/1.jsonl", "");
  write(".copilot/session-state/s/workspace.yaml", `cwd: ${repo}\n`);
  write(".continue/sessions/1.json", {
    history: "x".repeat(500_000),
    workspaceDirectory: `file://${repo}`,
  });
  write(".cursor/chats/g/1/meta.json", { cwd: repo, updatedAtMs: now });
  for (const program of ["Cursor", "Windsurf", "Code"]) {
    write(`.config/${program}/User/workspaceStorage/1/workspace.json`, { folder: repo });
  }
  write(".local/share/amp/threads/T-1.json", {
    messages: "x".repeat(500_000),
    env: { initial: { trees: [{ uri: repo }] } },
  });
  const data = ".local/share";
  const session = "directory, time_updated";
  database(`${data}/opencode/opencode.db`, "session", session, repo, now);
  database(`${data}/kilo/kilo.db`, "session", session, repo, now);
  database(`${data}/goose/sessions/sessions.db`, "sessions", "working_dir, updated_at", repo, now);
  database(
    ".cline/data/db/sessions.db",
    "sessions",
    "cwd, workspace_root, updated_at",
    repo,
    repo,
    now,
  );
  database(`${data}/zed/threads/threads.db`, "threads", "folder_paths, updated_at", repo, now);
  write(`${repo}/.aider.chat.history.md`, "");
  write(`${repo}/.crush/crush.db`, "");
}
