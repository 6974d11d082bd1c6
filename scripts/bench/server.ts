/** The sidecar as a process with as little client around it as possible. */

import { ROOT } from "../lib/deno.ts";

/** A way to start a program. */
export interface Start {
  readonly command: string;
  readonly args: readonly string[];
}

/** The sidecar from source, with the permissions that hosts give it. */
export const FROM_SOURCE: Start = {
  command: Deno.execPath(),
  args: [
    // What V8 keeps for young objects would else grow by tens of megabytes over thousands of calls.
    ...["run", "-q", "--v8-flags=--max-semi-space-size=2"],
    ...["--config", `${ROOT}/deno.json`, "-P=strict", "--no-remote", "--no-prompt"],
    "--unstable-worker-options",
    // Else every piece of the program is looked up before the first line runs.
    "--unstable-lazy-dynamic-imports",
    `${ROOT}/main.ts`,
  ],
};

const HANDSHAKE = [
  {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "bench", version: "1" },
    },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
];

// deno-lint-ignore no-explicit-any
type Json = any;

/** A running sidecar. Requests go out one at a time. */
export class Server {
  readonly child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #rest = "";
  #next = 1;

  /** @param env variables to add or replace */
  constructor(start: Start, runDir: string, env: Readonly<Record<string, string>> = {}) {
    this.child = new Deno.Command(start.command, {
      args: [...start.args],
      env: { ...env, FLUXGIT_RUN_DIR: runDir },
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#writer = this.child.stdin.getWriter();
    this.#reader = this.child.stdout.getReader();
  }

  /** Sends the handshake and a first request at once, as hosts that lose no time do. */
  async open(method = "tools/list", params?: unknown): Promise<Json> {
    const request = { jsonrpc: "2.0", id: this.#next++, method, params };
    await this.#write([...HANDSHAKE, request]);
    await this.#answer(0);
    return await this.#answer(request.id);
  }

  /** One request and its result. Throws for a JSON-RPC error. */
  async request(method: string, params?: unknown): Promise<Json> {
    const id = this.#next++;
    await this.#write([{ jsonrpc: "2.0", id, method, params }]);
    return await this.#answer(id);
  }

  /** One call; gives the text of its payload. Throws for an error of any kind. */
  async call(name: string, args: Record<string, unknown>): Promise<string> {
    const result = await this.request("tools/call", { name, arguments: args });
    const text = result.content[0].text as string;
    if (result.isError === true) throw new Error(`${name}: ${text}`);
    return text;
  }

  /** Ends the process. */
  async close(): Promise<void> {
    await this.#writer.close();
    for (;;) if ((await this.#reader.read()).done) break;
    await this.child.status;
  }

  async #write(messages: readonly unknown[]): Promise<void> {
    const lines = messages.map((message) => JSON.stringify(message) + "\n").join("");
    await this.#writer.write(new TextEncoder().encode(lines));
  }

  async #answer(id: number): Promise<Json> {
    for (;;) {
      const end = this.#rest.indexOf("\n");
      if (end >= 0) {
        const message = JSON.parse(this.#rest.slice(0, end));
        this.#rest = this.#rest.slice(end + 1);
        if (message.id !== id) continue;
        if (message.error) throw new Error(JSON.stringify(message.error));
        return message.result;
      }
      const { value, done } = await this.#reader.read();
      if (done) throw new Error("the sidecar ended before it answered");
      this.#rest += this.#decoder.decode(value, { stream: true });
    }
  }
}

/** Resident memory of a process in bytes; null where `ps` does not tell. */
export async function residentBytes(pid: number): Promise<number | null> {
  try {
    const out = await new Deno.Command("ps", { args: ["-o", "rss=", "-p", `${pid}`] }).output();
    const kilobytes = Number(new TextDecoder().decode(out.stdout).trim());
    return kilobytes > 0 ? kilobytes * 1024 : null;
  } catch {
    return null;
  }
}
