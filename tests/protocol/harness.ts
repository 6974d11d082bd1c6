/** A client in the same process: what it sends is read at once, what comes out is kept as lines. */

import { type ServeHandle, type ServeOptions, serveProtocol } from "../../protocol/server.ts";
import type { FinishedCall } from "../../protocol/types.ts";
import { FIXTURE_TOOLS, fixtureTable, IDENTITY } from "./fixture_tools.ts";

/** Any message, loosely typed: tests look at single members. */
// deno-lint-ignore no-explicit-any
export type Message = any;

/** The `_meta` of a modern request. */
export const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "modern client", version: "9.8" },
};

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Serves one in-process client; every text that came out is in {@link lines}. */
export class TestClient {
  readonly lines: string[] = [];
  readonly finished: FinishedCall[] = [];
  readonly logged: string[] = [];
  readonly handle: ServeHandle;
  /** Settles the exit code. */
  readonly done: Promise<0 | 1>;
  #chunks: (Uint8Array | null)[] = [];
  #reader: ((chunk: Uint8Array | null) => void) | null = null;
  #taken = 0;
  #arrived: () => void = () => {};

  constructor(options: Partial<ServeOptions> = {}) {
    this.handle = serveProtocol({
      read: () => this.#read(),
      write: (bytes) => {
        this.keep(bytes);
        return Promise.resolve();
      },
      identity: IDENTITY,
      tools: fixtureTable(FIXTURE_TOOLS),
      observers: [{ finished: (call) => this.finished.push(call) }],
      log: (line) => this.logged.push(line),
      ...options,
    });
    this.done = this.handle.done;
  }

  /** What a channel does with a line: checks its form and keeps it. */
  keep(bytes: Uint8Array): void {
    const text = decoder.decode(bytes);
    if (!text.endsWith("\n") || text.indexOf("\n") !== text.length - 1) {
      throw new Error("not exactly one line");
    }
    this.lines.push(text.slice(0, -1));
    this.#arrived();
  }

  /** Sends one message as a line; strings and bytes go out as they are. */
  send(message: unknown): void {
    if (message instanceof Uint8Array) this.#push(message);
    else {this.#push(
        encoder.encode(typeof message === "string" ? message : JSON.stringify(message) + "\n"),
      );}
  }

  /** Sends a request without metadata. */
  request(id: unknown, method: string, params?: Record<string, unknown>): void {
    this.send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
  }

  /** Sends a request of the modern era. */
  modern(id: unknown, method: string, params: Record<string, unknown> = {}): void {
    this.request(id, method, { ...params, _meta: { ...META, ...(params._meta as object) } });
  }

  /** The next message that came out. */
  async next(): Promise<Message> {
    return JSON.parse(await this.nextLine());
  }

  async nextLine(): Promise<string> {
    while (this.#taken >= this.lines.length) {
      await new Promise<void>((resolve) => this.#arrived = resolve);
    }
    return this.lines[this.#taken++] ?? "";
  }

  /** Lets go of the lines that were taken, so that a long test stays small. */
  forget(): void {
    this.lines.splice(0, this.#taken);
    this.#taken = 0;
  }

  /** Closes the input and gives the exit code. */
  end(): Promise<0 | 1> {
    this.#push(null);
    return this.done;
  }

  #push(chunk: Uint8Array | null): void {
    const reader = this.#reader;
    this.#reader = null;
    if (reader !== null) reader(chunk);
    else this.#chunks.push(chunk);
  }

  #read(): Promise<Uint8Array | null> {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) return Promise.resolve(chunk);
    return new Promise((resolve) => this.#reader = resolve);
  }
}

/** Sends one message to a fresh connection and gives everything that came out until its end. */
export async function ask(...messages: unknown[]): Promise<Message[]> {
  const client = new TestClient();
  for (const message of messages) client.send(message);
  await client.end();
  return client.lines.map((line) => JSON.parse(line));
}
