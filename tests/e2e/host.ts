import assert from "node:assert/strict";
import { FROM_SOURCE } from "../../scripts/bench/server.ts";
import { ROOT } from "../../scripts/lib/deno.ts";
import { Sandbox } from "../fixtures/sandbox.ts";

/**
 * The sidecar as its own process, started the way a host starts it. By default from source; the
 * program named by `FLUXGIT_TEST_BINARY` when that is set.
 */

/** The compiled program under test, or null for a run from source. */
export const BINARY: string | null = Deno.env.get("FLUXGIT_TEST_BINARY") ?? null;

export { ROOT };

/** Generous: only a hang reaches it. */
export const DEADLINE_MS = 30_000;

/** What to execute: the compiled program, or Deno with the strict set and the source. */
export function serverCommand(extraFlags: readonly string[] = []): {
  command: string;
  args: string[];
} {
  if (BINARY !== null) return { command: BINARY, args: [] };
  const { command, args } = FROM_SOURCE;
  return { command, args: [...args.slice(0, -1), ...extraFlags, args.at(-1)!] };
}

/** Where Deno keeps compiled sources: shared, so that a run from source starts as it does for users. */
const DENO_DIR = BINARY === null ? await denoDir() : "";

async function denoDir(): Promise<string> {
  const out = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return (JSON.parse(new TextDecoder().decode(out.stdout)) as { denoDir: string }).denoDir;
}

/** The environment of a server in a sandbox: a HOME and a run directory of its own. */
export function serverEnv(box: Sandbox): Record<string, string> {
  return {
    PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
    HOME: box.home,
    GIT_CONFIG_NOSYSTEM: "1",
    FLUXGIT_RUN_DIR: `${box.root}/run`,
    ...(BINARY === null ? { DENO_DIR } : {}),
  };
}

// deno-lint-ignore no-explicit-any
type Json = any;

export interface HostOptions {
  readonly env: Record<string, string>;
  readonly cwd?: string;
  readonly flags?: readonly string[];
  /** Instead of the server itself. */
  readonly command?: { command: string; args: string[] };
}

/** A raw client over the process's pipes: it holds every byte of standard output to the contract. */
export class Host implements AsyncDisposable {
  readonly child: Deno.ChildProcess;
  /** Lines of standard output that are no JSON-RPC message. */
  readonly junk: string[] = [];
  readonly notifications: Json[] = [];
  stderr = "";
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #waiting = new Map<
    string | number,
    { resolve(message: Json): void; reject(error: Error): void }
  >();
  readonly #reading: Promise<void>;
  readonly #complaining: Promise<void>;
  #reader: ReadableStreamDefaultReader<Uint8Array>;
  #next = 1;
  #ended = false;

  constructor(options: HostOptions) {
    const { command, args } = options.command ?? serverCommand(options.flags);
    this.child = new Deno.Command(command, {
      args,
      cwd: options.cwd ?? "/",
      clearEnv: true,
      env: options.env,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#writer = this.child.stdin.getWriter();
    this.#reader = this.child.stdout.getReader();
    this.#reading = this.#read();
    this.#complaining = this.#complain();
  }

  /** Sends one message as a line. */
  async send(message: unknown): Promise<void> {
    await this.sendText(JSON.stringify(message) + "\n");
  }

  async sendText(text: string): Promise<void> {
    await this.#writer.write(new TextEncoder().encode(text));
  }

  /** Sends a request and gives the whole answer. */
  request(method: string, params?: unknown): Promise<Json> {
    const id = this.#next++;
    const answer = new Promise<Json>((resolve, reject) =>
      this.#waiting.set(id, { resolve, reject })
    );
    this.send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) })
      .catch(() => {});
    return within(answer, `the answer to ${method}`);
  }

  /** The handshake of the initialize eras. */
  async initialize(version = "2025-06-18"): Promise<Json> {
    const answer = await this.request("initialize", {
      protocolVersion: version,
      capabilities: {},
      clientInfo: { name: "e2e", version: "1" },
    });
    await this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return answer.result;
  }

  /** A call; fails the test on a JSON-RPC error. */
  async call(name: string, args: Record<string, unknown>): Promise<Json> {
    const answer = await this.request("tools/call", { name, arguments: args });
    assert(answer.result, `${name}: ${JSON.stringify(answer)}`);
    return answer.result;
  }

  /** Payload of a good call. */
  async payload(name: string, args: Record<string, unknown>): Promise<Json> {
    const result = await this.call(name, args);
    assert.equal(result.isError, false, `${name}: ${result.content?.[0]?.text}`);
    return JSON.parse(result.content[0].text);
  }

  /** Closes standard input, as a host does that ends. */
  async closeInput(): Promise<void> {
    await this.#writer.close().catch(() => {});
  }

  /** Stops reading standard output, as a host does that died. */
  async closeOutput(): Promise<void> {
    await this.#reader.cancel();
  }

  /** Waits until the process and its pipes have ended. */
  async ended(): Promise<Deno.CommandStatus> {
    const status = await within(this.child.status, "the end of the process");
    await within(Promise.all([this.#reading, this.#complaining]), "the end of its pipes");
    await this.#writer.close().catch(() => {});
    this.#ended = true;
    return status;
  }

  /** Milliseconds from an action to the end of the process. */
  async endsAfter(action: () => void | Promise<void>): Promise<number> {
    const start = performance.now();
    await action();
    await this.ended();
    return performance.now() - start;
  }

  async #read(): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for (;;) {
      const { value, done } = await this.#reader.read().catch(() => ({
        value: undefined,
        done: true,
      }));
      if (done) break;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#take(line);
    }
    if (rest !== "") this.junk.push(rest);
    for (const { reject } of this.#waiting.values()) reject(new Error("standard output has ended"));
    this.#waiting.clear();
  }

  #take(line: string): void {
    let message: Json;
    try {
      message = JSON.parse(line);
    } catch { /* told below */ }
    if (message?.jsonrpc !== "2.0") this.junk.push(line);
    else if ("id" in message) {
      this.#waiting.get(message.id)?.resolve(message);
      this.#waiting.delete(message.id);
    } else this.notifications.push(message);
  }

  async #complain(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.child.stderr) {
      this.stderr += decoder.decode(chunk, { stream: true });
    }
  }

  /** Ends the process, kindly first, and checks that standard output carried nothing but messages. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#ended) {
      await this.closeInput();
      const timer = setTimeout(() => this.child.kill("SIGKILL"), DEADLINE_MS);
      await this.ended().finally(() => clearTimeout(timer));
    }
    assert.deepEqual(this.junk, [], "standard output carries only JSON-RPC messages");
  }
}

/** The value, or a failure that says what did not come. */
export async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come`)), DEADLINE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Looks again and again until the condition holds; fails when it never does. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  while (!await holds()) {
    if (performance.now() > end) throw new Error(`${what}: did not come to pass`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Command lines of the processes that still run (zombies have none), this test's own left out. */
export async function runningCommands(): Promise<string[]> {
  const out = await new Deno.Command("ps", { args: ["-eo", "stat=,args="] }).output();
  return new TextDecoder().decode(out.stdout).split("\n").filter((line) =>
    line !== "" && !line.trimStart().startsWith("Z")
  );
}
