/**
 * Streamable HTTP before the protocol room, for the official conformance suite, which speaks only
 * HTTP. Each POST is a connection of its own; what belongs to HTTP (headers, status codes, streams)
 * is done here, everything in the messages by `protocol/`.
 */

import { serveProtocol } from "../../protocol/server.ts";
import { fixtureTable, IDENTITY } from "../protocol/fixture_tools.ts";
import { CONFORMANCE_TOOLS } from "./tools.ts";

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const encoder = new TextEncoder();

/** A message, as far as the bridge looks into it. */
interface Wire {
  id?: unknown;
  method?: string;
  params?: { _meta?: Record<string, unknown> };
  error?: { code: number };
}

/** Starts the bridge on a free port of 127.0.0.1. */
export function startBridge(): { url: string; close(): Promise<void> } {
  const server: Deno.HttpServer<Deno.NetAddr> = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => answer(request, server.addr.port),
  );
  return { url: `http://127.0.0.1:${server.addr.port}/mcp`, close: () => server.shutdown() };
}

async function answer(request: Request, port: number): Promise<Response> {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  const origin = request.headers.get("origin");
  if (!hosts.includes(request.headers.get("host") ?? "")) return refuse(403);
  if (origin !== null && !hosts.some((host) => origin === `http://${host}`)) return refuse(403);
  if (request.method !== "POST") return refuse(405);
  const body = await request.text();
  let sent: Wire = {};
  try {
    sent = JSON.parse(body) ?? {};
  } catch {
    // The protocol room says what is wrong with it.
  }
  const mismatch = headerMismatch(request.headers, sent);
  if (mismatch !== null) {
    const error = { code: -32020, message: "Header mismatch", data: { details: mismatch } };
    return Response.json({ jsonrpc: "2.0", id: sent.id, error }, { status: 400 });
  }
  return await forward(body, sent);
}

function refuse(status: number): Response {
  return Response.json({ jsonrpc: "2.0", error: { code: -32600, message: "Refused" } }, { status });
}

/** A header repeats the version of a modern body; null when they agree or the body is not modern. */
function headerMismatch(headers: Headers, { params }: Wire): string | null {
  const version = params?._meta?.[VERSION_KEY];
  if (typeof version !== "string" || headers.get("mcp-protocol-version") === null) return null;
  return headers.get("mcp-protocol-version") === version ? null : "MCP-Protocol-Version";
}

/** Serves one message; a first line that is no answer makes the response a stream. */
async function forward(body: string, sent: Wire): Promise<Response> {
  const lines: string[] = [];
  let arrived = Promise.withResolvers<void>();
  const input = [encoder.encode(body.replaceAll("\n", " ") + "\n")];
  const open = Promise.withResolvers<null>();
  const server = serveProtocol({
    read: () => Promise.resolve(input.shift() ?? null).then((chunk) => chunk ?? open.promise),
    write: (bytes) => {
      lines.push(new TextDecoder().decode(bytes).trimEnd());
      arrived.resolve();
      return Promise.resolve();
    },
    identity: IDENTITY,
    tools: fixtureTable(CONFORMANCE_TOOLS),
  });
  if (sent.method !== undefined && sent.id === undefined) {
    open.resolve(null);
    await server.done;
    return new Response(null, { status: 202 });
  }
  const next = async () => {
    if (lines.length === 0) {
      arrived = Promise.withResolvers();
      await Promise.race([arrived.promise, server.done]);
    }
    return lines.shift();
  };
  const first = await next();
  if (first === undefined) return new Response(null, { status: 202 });
  if (isLast(first)) {
    server.stop();
    return new Response(first, {
      status: statusOf(sent, JSON.parse(first)),
      headers: { "content-type": "application/json" },
    });
  }
  const stream = new ReadableStream<Uint8Array>({
    async start(controller) {
      for (let line: string | undefined = first; line !== undefined; line = await next()) {
        controller.enqueue(encoder.encode(`event: message\ndata: ${line}\n\n`));
        if (isLast(line)) break;
      }
      server.stop();
      controller.close();
    },
    cancel: () => server.stop(),
  });
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
}

/** Notifications have a method, answers have none. */
function isLast(line: string): boolean {
  return (JSON.parse(line) as Wire).method === undefined;
}

/** The modern revision maps some errors to HTTP; in the older ones an answer is a 200. */
function statusOf({ method, params }: Wire, { error }: Wire): number {
  const modern = method === "server/discover" || params?._meta?.[VERSION_KEY] !== undefined;
  if (!modern || error === undefined) return 200;
  if (error.code === -32601) return 404;
  return [-32602, -32600, -32021, -32022].includes(error.code) ? 400 : 200;
}
