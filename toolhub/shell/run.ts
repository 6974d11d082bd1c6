/**
 * The only place of ToolHub that starts programs (git has its own door): one approved program, no
 * shell, its environment given whole, and in the end nothing of it left running.
 */

import { WINDOWS } from "../platform.ts";
import { Capture } from "./capture.ts";
import { MARKER } from "./environment.ts";
import { track } from "./running.ts";

export interface Launch {
  /** Canonical path; also the program's own name. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface LaunchEnd {
  /** Null when it was stopped, or ended by a signal. */
  readonly code: number | null;
  readonly timedOut: boolean;
  /** The client gave up, or the server ends. */
  readonly cancelled: boolean;
  readonly stdout: { text: string; chars: number };
  readonly stderr: { text: string; chars: number };
}

/** Between the kind and the hard way to stop; for the end after it; for its pipes. */
const GRACE_MS = 500;
const KILL_MS = 2_000;
const PIPES_MS = 1_000;

/**
 * Starts a program and waits for its end. Must be called right after the last check.
 *
 * @throws what the system says when it cannot be started
 */
export async function launch(job: Launch): Promise<LaunchEnd> {
  const child = new Deno.Command(job.program, {
    args: [...job.args],
    cwd: job.cwd,
    clearEnv: true,
    env: { ...job.env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // A session of its own, so that the whole group can be stopped.
    detached: !WINDOWS,
  }).spawn();
  let stopped: "timeout" | "cancelled" | null = null;
  const asked = Promise.withResolvers<void>();
  const stop = (why: "timeout" | "cancelled") => {
    stopped ??= why;
    asked.resolve();
  };
  const timer = setTimeout(() => stop("timeout"), job.timeoutMs);
  const onAbort = () => stop("cancelled");
  job.signal.addEventListener("abort", onAbort, { once: true });
  const done = Promise.withResolvers<void>();
  track({ stop: onAbort, ended: done.promise });
  const stdout = new Capture(), stderr = new Capture();
  const pipes = [drain(child.stdout, stdout), drain(child.stderr, stderr)];
  try {
    if (job.signal.aborted) stop("cancelled");
    const first = await Promise.race([child.status, asked.promise]);
    // A program that ended by itself in the very moment it was to be stopped did end by itself.
    if (first) stopped = null;
    else {
      signalGroup(child, "SIGTERM");
      await within(child.status, GRACE_MS);
    }
    await stopTree(child, job.env[MARKER] ?? "");
    const status = first ?? await within(child.status, KILL_MS);
    if (!status) child.unref();
    if (!await within(Promise.all(pipes.map((pipe) => pipe.done)), PIPES_MS)) {
      for (const pipe of pipes) pipe.cancel();
      await Promise.allSettled(pipes.map((pipe) => pipe.done));
    }
    return {
      code: stopped !== null || !status || status.signal !== null ? null : status.code,
      timedOut: stopped === "timeout",
      cancelled: stopped === "cancelled",
      stdout: stdout.text(),
      stderr: stderr.text(),
    };
  } finally {
    clearTimeout(timer);
    job.signal.removeEventListener("abort", onAbort);
    done.resolve();
  }
}

/**
 * Stops everything the program started: its group, then whatever left the group, found by the
 * variable that all of them inherit. A process that cleared its environment and left the session
 * escapes; so does one that `ps` cannot show.
 */
async function stopTree(child: Deno.ChildProcess, marker: string): Promise<void> {
  if (WINDOWS) {
    await quietly("taskkill", ["/T", "/F", "/PID", String(child.pid)]);
    return;
  }
  signalGroup(child, "SIGKILL");
  // Some may be starting others while they are looked for.
  for (let round = 0; round < 5; round++) {
    const found = await marked(marker);
    if (found.length === 0) return;
    for (const pid of found) kill(pid, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function marked(marker: string): Promise<number[]> {
  if (!/^req_[0-9a-f]{32}$/.test(marker)) return [];
  // Options in the old form: the environment follows the command line.
  const list = await quietly("/bin/ps", ["axeww", "-o", "pid=,stat=,command="]) ||
    await quietly("/usr/bin/ps", ["axeww", "-o", "pid=,stat=,command="]);
  const pids: number[] = [];
  for (const line of list.split("\n")) {
    const [, pid, state] = /^\s*(\d+)\s+(\S+)/.exec(line) ?? [];
    const holds = line.includes(`${MARKER}=${marker}`);
    if (holds && pid !== undefined && !state?.startsWith("Z")) pids.push(Number(pid));
  }
  return pids.filter((pid) => pid !== Deno.pid);
}

async function quietly(program: string, args: string[]): Promise<string> {
  try {
    const out = await new Deno.Command(program, {
      args,
      cwd: WINDOWS ? "C:\\" : "/",
      clearEnv: true,
      env: { LC_ALL: "C" },
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).output();
    return new TextDecoder().decode(out.stdout);
  } catch {
    return "";
  }
}

function signalGroup(child: Deno.ChildProcess, signal: Deno.Signal): void {
  if (WINDOWS) return;
  kill(-child.pid, signal);
}

function kill(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch { /* it has already ended */ }
}

function drain(stream: ReadableStream<Uint8Array>, into: Capture) {
  const reader = stream.getReader();
  const done = (async () => {
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        into.add(value);
      }
    } catch { /* the pipe broke */ }
  })();
  return { done, cancel: () => void reader.cancel().catch(() => {}) };
}

async function within<T>(work: Promise<T>, ms: number): Promise<T | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) => timer = setTimeout(() => resolve(null), ms));
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
