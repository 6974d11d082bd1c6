import type { BridgeContext } from "../../gateway/bridge.ts";
import type { BridgeIo, HttpLimits } from "../../gateway/bridge/http.ts";
import { REAL_IO } from "../../gateway/bridge/http.ts";

/** A request as it came over the socket. */
export interface Received {
  readonly method: string;
  readonly path: string;
  /** Everything before the body, as sent. */
  readonly head: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  // deno-lint-ignore no-explicit-any
  readonly json: any;
}

/** An answer that does with the connection what it likes. */
export class OnConnection {
  constructor(readonly run: (connection: Deno.Conn) => Promise<void>) {}
}

/** Whole answer as bytes, or something to do; null hangs. */
export type Reply = string | Uint8Array | null | OnConnection;
export type Handler = (received: Received) => Reply | Promise<Reply>;

const text = new TextDecoder();
const encoder = new TextEncoder();

/** A stranger's gateway on a real loopback socket, which answers whatever a test wants it to. */
export class MockGateway implements AsyncDisposable {
  readonly received: Received[] = [];
  connections = 0;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.Conn>();
  readonly #work = new Set<Promise<void>>();
  readonly #accepting: Promise<void>;

  constructor(handler: Handler) {
    this.#accepting = this.#accept(handler);
  }

  get address(): string {
    return `127.0.0.1:${(this.#listener.addr as Deno.NetAddr).port}`;
  }

  /** The requests with this method, or this beginning of the path. */
  of(what: string): Received[] {
    return this.received.filter((one) => one.method === what || one.path.startsWith(what));
  }

  async #accept(handler: Handler): Promise<void> {
    for (;;) {
      let connection: Deno.Conn;
      try {
        connection = await this.#listener.accept();
      } catch {
        return;
      }
      this.connections++;
      this.#open.add(connection);
      const work = this.#serve(connection, handler).catch(() => {}).finally(() =>
        this.#work.delete(work)
      );
      this.#work.add(work);
    }
  }

  async #serve(connection: Deno.Conn, handler: Handler): Promise<void> {
    const received = await readRequest(connection);
    this.received.push(received);
    const reply = await handler(received);
    if (reply instanceof OnConnection) await reply.run(connection);
    else if (reply !== null) {
      await writeAll(connection, typeof reply === "string" ? encoder.encode(reply) : reply);
    }
    if (reply !== null) this.#close(connection);
  }

  #close(connection: Deno.Conn): void {
    this.#open.delete(connection);
    try {
      connection.close();
    } catch { /* the other side was quicker */ }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#open) this.#close(connection);
    await this.#accepting;
    await Promise.all(this.#work);
  }
}

/** A gateway that takes every POST with one answer and tells every state with another. */
export function gatewayWith(
  post: Reply | Handler,
  get: Reply | Handler = answer(200, { status: "pending" }),
): MockGateway {
  return new MockGateway((received) => {
    const reply = received.method === "POST" ? post : get;
    return typeof reply === "function" ? reply(received) : reply;
  });
}

/** Sends the beginning, then a blank now and then, for ever. */
export function drip(beginning: string): OnConnection {
  return new OnConnection(async (connection) => {
    await writeAll(connection, encoder.encode(beginning));
    for (;;) {
      await writeAll(connection, Uint8Array.of(0x20));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
}

/** Hangs up without a word. */
export const HANG_UP: OnConnection = new OnConnection((connection) =>
  Promise.resolve(connection.close())
);

export async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

async function readRequest(connection: Deno.Conn): Promise<Received> {
  const buffer = new Uint8Array(65_536);
  let bytes = new Uint8Array(0);
  const more = async () => {
    const n = await connection.read(buffer);
    if (n === null) throw new Error("the client went away");
    const all = new Uint8Array(bytes.length + n);
    all.set(bytes);
    all.set(buffer.subarray(0, n), bytes.length);
    bytes = all;
  };
  let end = -1;
  while (end === -1) {
    await more();
    end = text.decode(bytes).indexOf("\r\n\r\n");
  }
  const head = text.decode(bytes.subarray(0, end));
  const [line = "", ...fields] = head.split("\r\n");
  const [method = "", path = ""] = line.split(" ");
  const headers = Object.fromEntries(
    fields.map((field) => {
      const at = field.indexOf(":");
      return [field.slice(0, at).toLowerCase(), field.slice(at + 1).trim()];
    }),
  );
  const size = Number(headers["content-length"] ?? 0);
  while (bytes.length < end + 4 + size) await more();
  const body = text.decode(bytes.subarray(end + 4, end + 4 + size));
  let json = null;
  try {
    json = JSON.parse(body);
  } catch { /* a request without one */ }
  return { method, path, head, headers, body, json };
}

/** A plain JSON answer. */
export function answer(status: number, body: unknown, more: readonly string[] = []): string {
  const json = typeof body === "string" ? body : JSON.stringify(body);
  return raw(status, json, [
    "Content-Type: application/json",
    `Content-Length: ${encoder.encode(json).length}`,
    "Connection: close",
    ...more,
  ]);
}

/** An answer with exactly these headers. */
export function raw(status: number, body: string, headers: readonly string[]): string {
  return `HTTP/1.1 ${status} X\r\n${headers.map((one) => one + "\r\n").join("")}\r\n${body}`;
}

/** Limits under which a test of a hanging gateway ends soon. */
export function quickIo(limits: Partial<HttpLimits> = {}): BridgeIo {
  return {
    ...REAL_IO,
    limits: { ...REAL_IO.limits, wholeMs: 200, semanticMs: 200, ...limits },
  };
}

/** A caller whose gateway is at an address. */
export function caller(
  address: string | null,
  more: Partial<BridgeContext> = {},
): BridgeContext & { readonly told: [number, number | undefined, string | undefined][] } {
  const told: [number, number | undefined, string | undefined][] = [];
  return {
    signal: new AbortController().signal,
    agentId: "test-agent",
    runDir: null,
    env: (name) => name === "FLUXGIT_MCP_HANDSHAKE_ADDR" && address !== null ? address : undefined,
    now: () => Date.UTC(2026, 8, 1, 10, 20, 30, 45),
    progress: (...args) => void told.push(args as typeof told[number]),
    told,
    ...more,
  };
}

/** A port of 127.0.0.1 where nothing listens (any more). */
export function closedAddress(): string {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return `127.0.0.1:${port}`;
}
