/**
 * What a proposal costs beside the two HTTP calls that it is made of: the whole tool, from its
 * arguments to its payload, against plain requests with the same bodies to the same gateway. The
 * gateway is a process of its own that answers at once, so that only our side is measured.
 */

import { createToolTable } from "../../registry/table.ts";
import { interleave, timed } from "./measure.ts";

/** One measured number; `budget` is its upper limit. */
export interface BenchResult {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly budget?: number;
}

const GATEWAY = `
  const answer = (status, body) =>
    new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    if (request.url.endsWith("/health")) {
      return answer(200, { service: "fluxgit-gateway", apiVersion: 1, attended: false });
    }
    if (request.method === "POST") {
      const { previewId } = await request.json();
      return answer(202, { previewId, status: "pending" });
    }
    return answer(200, { previewId: request.url.split("/").at(-1), status: "pending" });
  });
  console.log(server.addr.port);`;

const MERGE = { sourceRef: "feature", targetRef: "main", reason: "a benchmark asks for it" };

/** All cases of the bridge. Takes some seconds. */
export async function benchBridge(rounds = 200): Promise<BenchResult[]> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "bridge-bench-" }));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-config", "--allow-net=127.0.0.1", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  try {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(GATEWAY));
    await writer.close();
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    const address = `127.0.0.1:${Number(new TextDecoder().decode(value))}`;
    await Deno.writeTextFile(
      `${folder}/gateway.json`,
      JSON.stringify({ version: 1, address, pid: child.pid, startedAt: "2026-01-01T00:00:00Z" }),
      { mode: 0o600 },
    );
    const results = await measure(address, folder, rounds);
    await reader.cancel();
    return results;
  } finally {
    child.kill("SIGKILL");
    await child.status;
    await Deno.remove(folder, { recursive: true });
  }
}

async function measure(address: string, folder: string, rounds: number): Promise<BenchResult[]> {
  const patch = "+some line of a patch\n".repeat(50_000);
  const ways = {
    calls: () => timed(() => twoCalls(address, "merge", MERGE)),
    tool: () => timed(() => propose(folder, address, "merge", MERGE)),
    found: () => timed(() => propose(folder, null, "merge", MERGE)),
    hint: () => timed(() => propose(folder, address, "merge", MERGE, true)),
    patchCalls: () => timed(() => twoCalls(address, "patch", { patchContent: patch, reason: "x" })),
    patchTool: () =>
      timed(() => propose(folder, address, "patch", { patchContent: patch, reason: "x" })),
  };
  // Code is loaded and compiled on the first calls, as in any server's life.
  await interleave(ways, 20);
  const ms = await interleave(ways, rounds);
  return [
    { name: "the two HTTP calls of a proposal", unit: "ms", value: ms.calls },
    { name: "preview to answer", unit: "ms", value: ms.tool },
    {
      name: "preview to answer, above the two calls",
      unit: "ms",
      value: ms.tool - ms.calls,
      budget: 5,
    },
    { name: "the same with a gateway found by its file", unit: "ms", value: ms.found - ms.calls },
    {
      name: "what looking for other agents adds to it, with all permissions",
      unit: "ms",
      value: ms.hint - ms.tool,
    },
    { name: "the same for a patch of 1 MB", unit: "ms", value: ms.patchTool - ms.patchCalls },
  ];
}

/** The least that a proposal can be: one POST and one GET, with connections that are not kept. */
async function twoCalls(
  address: string,
  type: string,
  members: Record<string, unknown>,
): Promise<void> {
  const previewId = crypto.randomUUID();
  const close = { connection: "close" };
  const posted = await fetch(`http://${address}/v1/mcp/operation/preview/${type}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...close },
    body: JSON.stringify({ previewId, operationType: type, repoPath: "/", ...members }),
  });
  await posted.json();
  const read = await fetch(`http://${address}/v1/mcp/operation/status/${previewId}`, {
    headers: close,
  });
  await read.json();
}

/** The tool as the server calls it; without an address the gateway is found by its file. */
async function propose(
  runDir: string,
  address: string | null,
  type: string,
  members: Record<string, unknown>,
  lookAround = false,
): Promise<void> {
  const env: Record<string, string> = {
    ...(address === null ? {} : { FLUXGIT_GATEWAY_ADDR: address }),
    ...(lookAround ? {} : { FLUXGIT_MCP_AGENT_DETECTION_DISABLED: "1" }),
  };
  const table = createToolTable({
    env: (name) => env[name],
    scratch: {
      makeFolder: () => Promise.reject(new Error("unused")),
      removeFolder: async () => {},
    },
    now: Date.now,
    runDir,
    families: null,
  });
  const outcome = await table.call(`operation.preview.${type}`, { repoPath: runDir, ...members }, {
    era: { kind: "modern" },
    agentId: "bench",
    clientVersion: null,
    signal: new AbortController().signal,
    progress() {},
  });
  if (outcome.kind !== "result" || outcome.isError) throw new Error(JSON.stringify(outcome));
}

if (import.meta.main) {
  for (const { name, unit, value, budget } of await benchBridge()) {
    const limit = budget === undefined ? "" : ` (budget ${budget})`;
    Deno.stdout.writeSync(
      new TextEncoder().encode(`${name}: ${value.toFixed(2)} ${unit}${limit}\n`),
    );
  }
}
