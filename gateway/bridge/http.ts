/**
 * HTTP/1.1 to a gateway on this machine: one request on a connection of its own, in plain bytes. The
 * runtime's `fetch` is not used because it follows proxy variables, unpacks what the other side
 * compressed, refuses some ports and adds headers (`operations.md` section 2).
 */

import { encodeText } from "../../common/bytes.ts";
import { AnswerReader, type HttpAnswer, type HttpHead, UnreadableError } from "./http_answer.ts";

/** Times in milliseconds, sizes in bytes (`operations.md` section 2). */
export interface HttpLimits {
  readonly connectMs: number;
  /** The whole request, connecting included. */
  readonly wholeMs: number;
  /** The same for the semantic diff, which takes longer. */
  readonly semanticMs: number;
  /** Largest body that is read, declared or not. */
  readonly bodyBytes: number;
}

export const HTTP_LIMITS: HttpLimits = {
  connectMs: 2_000,
  wholeMs: 5_000,
  semanticMs: 10_000,
  bodyBytes: 2_796_202,
};

/** A connection as far as it is used here. */
export interface Connection {
  read(into: Uint8Array): Promise<number | null>;
  write(bytes: Uint8Array): Promise<number>;
  close(): void;
}

/** Network and clock, injected so that tests decide how long things take. */
export interface BridgeIo {
  connect(hostname: string, port: number): Promise<Connection>;
  /** Calls `fire` once after some milliseconds; gives the function that prevents it. */
  after(ms: number, fire: () => void): () => void;
  /** Milliseconds since any fixed moment; never goes back. */
  elapsed(): number;
  readonly limits: HttpLimits;
}

export const REAL_IO: BridgeIo = {
  connect: (hostname, port) => Deno.connect({ hostname, port }),
  after(ms, fire) {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  },
  elapsed: () => performance.now(),
  limits: HTTP_LIMITS,
};

/** There is no answer. What was `sent` may have been received and acted upon. */
export class NoAnswer extends Error {
  override name = "NoAnswer";
  /** @param message one clause without a capital letter: why */
  constructor(readonly sent: boolean, message: string) {
    super(message);
  }
}

export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** Made of safe characters only; it goes on the wire as it is. */
  readonly path: string;
  /** JSON text; POST only. */
  readonly body?: string;
  /** Further headers; names and values must be plain ASCII without line ends. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Bytes handed to the system at once, so that a stopped request has little left to send. */
const WRITE_BYTES = 65_536;

/**
 * Sends one request and reads its answer. Redirects are answers like any other; nothing is retried.
 *
 * @param address `a.b.c.d:port` or `[v6]:port`, as `parseGatewayAddress` gives it
 * @throws {NoAnswer} no answer line came within the limits; the signal's reason when it is aborted
 */
export async function exchange(
  address: string,
  request: HttpRequest,
  io: BridgeIo,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  signal.throwIfAborted();
  const started = io.elapsed();
  const connection = await open(address, io, signal);
  const end = new End(connection);
  const left = Math.max(0, io.limits.wholeMs - (io.elapsed() - started));
  const cancelTimer = io.after(left, () => end.now(timeoutText(io.limits.wholeMs)));
  const onAbort = () => end.now("the call was cancelled");
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    send(connection, requestBytes(address, request), end);
    return await readAnswer(connection, io.limits.bodyBytes, end, signal);
  } finally {
    cancelTimer();
    signal.removeEventListener("abort", onAbort);
    end.now("the answer is complete");
  }
}

/** Closes the connection once, and remembers why: reads under way then fail. */
class End {
  reason: string | null = null;
  constructor(readonly connection: Connection) {}

  now(reason: string): void {
    if (this.reason !== null) return;
    this.reason = reason;
    try {
      this.connection.close();
    } catch { /* the other side was quicker */ }
  }
}

async function readAnswer(
  connection: Connection,
  maxBytes: number,
  end: End,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const reader = new AnswerReader((into) => connection.read(into));
  const why = (error: unknown) => {
    if (signal.aborted) throw signal.reason;
    return end.reason ?? (error instanceof UnreadableError ? error.message : brokenText(error));
  };
  let head: HttpHead;
  try {
    head = await reader.head();
  } catch (error) {
    throw new NoAnswer(true, why(error));
  }
  try {
    return { status: head.status, body: { readable: true, value: await reader.json(maxBytes) } };
  } catch (error) {
    return { status: head.status, body: { readable: false, why: why(error) } };
  }
}

async function open(address: string, io: BridgeIo, signal: AbortSignal): Promise<Connection> {
  const at = address.lastIndexOf(":");
  const attempt = io.connect(
    address.slice(0, at).replace(/^\[|\]$/g, ""),
    Number(address.slice(at + 1)),
  );
  const gate = Promise.withResolvers<never>();
  const { connectMs } = io.limits;
  const cancelTimer = io.after(
    connectMs,
    () => gate.reject(new NoAnswer(false, timeoutText(connectMs))),
  );
  const onAbort = () => gate.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([attempt, gate.promise]);
  } catch (error) {
    // The attempt cannot be called off; a connection that comes too late is closed.
    attempt.then((late) => late.close(), () => {});
    if (error instanceof NoAnswer || signal.aborted) throw error;
    throw new NoAnswer(false, brokenText(error));
  } finally {
    cancelTimer();
    signal.removeEventListener("abort", onAbort);
  }
}

/** Sends without being waited for: an answer may come before the last byte is taken. */
async function send(connection: Connection, bytes: Uint8Array, end: End): Promise<void> {
  try {
    for (let at = 0; at < bytes.length && end.reason === null;) {
      at += await connection.write(bytes.subarray(at, at + WRITE_BYTES));
    }
  } catch { /* what came of it shows in the answer */ }
}

function requestBytes(address: string, request: HttpRequest): Uint8Array {
  const body = encodeText(request.body ?? "");
  const headers: Record<string, string> = {
    "Host": address,
    "Accept": "*/*",
    ...(request.method === "POST"
      ? { "Content-Type": "application/json", "Content-Length": String(body.length) }
      : {}),
    ...request.headers,
    "Connection": "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = encodeText(`${request.method} ${request.path} HTTP/1.1\r\n${lines}\r\n`);
  const all = new Uint8Array(head.length + body.length);
  all.set(head);
  all.set(body, head.length);
  return all;
}

function timeoutText(ms: number): string {
  return `nothing came of it within ${ms / 1_000} s`;
}

function brokenText(error: unknown): string {
  if (error instanceof Deno.errors.ConnectionRefused) return "nothing listens there";
  if (error instanceof Deno.errors.NotCapable) return "this program may not connect there";
  return "the connection broke";
}
