/** Requests, tools and a clock that tests of the server share. */

import { FIXTURE_TOOLS, fixtureTable, type FixtureTool, payload } from "./fixture_tools.ts";

/** A `tools/call` request. */
export const call = (id: unknown, name: string, args?: unknown, meta?: unknown) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: {
    name,
    ...(args === undefined ? {} : { arguments: args }),
    ...(meta === undefined ? {} : { _meta: meta }),
  },
});
/** The notification that cancels a request. */
export const cancel = (requestId: unknown) => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId, reason: "test" },
});
/** Lets everything that is ready run. */
export const turn = () => new Promise<void>((resolve) => setTimeout(resolve));
/** The `_meta` that names a handshake version. */
export const legacyMeta = (version: string) => ({
  "io.modelcontextprotocol/protocolVersion": version,
});

/** A table with these tools beside the fixtures'. */
export const withTools = (...tools: FixtureTool[]) => fixtureTable([...FIXTURE_TOOLS, ...tools]);
/** A fixture tool without further properties. */
export const tool = (name: string, run: FixtureTool["run"]): FixtureTool => ({
  name,
  description: name,
  run,
});

/** A tool whose calls end when the test says so, by the `key` of their arguments. */
export function gate() {
  const waiting = new Map<string, () => void>();
  const started: string[] = [];
  const signals = new Map<string, AbortSignal>();
  return {
    started,
    signals,
    open: (key: string) => waiting.get(key)?.(),
    tool: tool("gate", ({ key }, { signal }) => {
      started.push(String(key));
      signals.set(String(key), signal);
      return new Promise((resolve) => waiting.set(String(key), () => resolve(payload({ key }))));
    }),
  };
}

/** A clock that stands still until it is moved. */
export function fakeClock() {
  let time = 0;
  return {
    now: () => 1_700_000_000_000 + time,
    elapsed: () => time,
    advance: (ms: number) => time += ms,
  };
}
