/** A small table of tools for tests of the protocol room, which knows no real tool. */

import type {
  CallContext,
  ContentBlock,
  Era,
  ServerIdentity,
  ToolOutcome,
  ToolTable,
} from "../../protocol/types.ts";

/** One fixture tool: what `tools/list` tells of it, and what a call comes to. */
export interface FixtureTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: Record<string, unknown>;
  readonly outputSchema?: Record<string, unknown>;
  run(args: Record<string, unknown>, context: CallContext): Promise<ToolOutcome> | ToolOutcome;
}

export const IDENTITY: ServerIdentity = {
  name: "fixture-server",
  title: "Fixture server",
  version: "1.2.3",
  description: "Serves tools that exist only in tests.",
  websiteUrl: "https://example.invalid/fixture",
  instructions: "Call fixture.echo first.",
};

/** Makes a table that lists and calls exactly these tools. */
export function fixtureTable(tools: readonly FixtureTool[]): ToolTable {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    listJson: (era: Era) => JSON.stringify(tools.map((tool) => listed(tool, era))),
    async call(name, args, context) {
      const tool = byName.get(name);
      if (tool === undefined) {
        return {
          kind: "rpcError",
          code: -32602,
          message: `Unknown tool '${name}'`,
          data: { tool: name },
        };
      }
      return await tool.run((args ?? {}) as Record<string, unknown>, context);
    },
  };
}

function listed({ run: _, ...tool }: FixtureTool, era: Era) {
  const { name, description, outputSchema } = tool;
  const inputSchema = tool.inputSchema ?? { type: "object", additionalProperties: false };
  if (era.kind === "legacy") return { name, description, inputSchema };
  const more = outputSchema === undefined ? {} : { outputSchema };
  return {
    name,
    title: name,
    description,
    inputSchema,
    ...more,
    annotations: { readOnlyHint: true },
  };
}

export function payload(value: Record<string, unknown>, isError = false): ToolOutcome {
  return { kind: "result", payload: value, isError };
}

export function blocks(content: readonly ContentBlock[], isError = false): ToolOutcome {
  return { kind: "result", payload: {}, content, isError };
}

/** Settles after `ms`, or at once when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    resolve();
  };
  const timer = setTimeout(end, ms);
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  return promise;
}

/** Settles when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** The tools of the fixture server. */
export const FIXTURE_TOOLS: readonly FixtureTool[] = [
  {
    name: "fixture.echo",
    description: "Gives its arguments back.",
    inputSchema: { type: "object" },
    outputSchema: { type: "object", properties: { echo: {} }, required: ["echo"] },
    run: (args, { agentId, clientVersion }) => payload({ echo: args, agentId, clientVersion }),
  },
  {
    name: "fixture.fails",
    description: "Answers with an error that the model can read.",
    run: () => payload({ error: { code: 10010, message: "told to fail" } }, true),
  },
  {
    name: "fixture.throws",
    description: "Breaks the promise never to throw.",
    run: () => {
      throw new Error("thrown on purpose");
    },
  },
  {
    name: "fixture.waits",
    description: "Ends only when it is cancelled.",
    run: async (_args, { signal }) => {
      await aborted(signal);
      return payload({ aborted: true });
    },
  },
  {
    name: "fixture.steps",
    description: "Reports progress in three steps.",
    inputSchema: { type: "object", properties: { ms: { type: "integer" } } },
    run: async (args, context) => {
      for (let step = 1; step <= 3; step++) {
        context.progress(step, 3, `step ${step}`);
        await pause(Number(args.ms ?? 30), context.signal);
      }
      return payload({ steps: 3 });
    },
  },
  {
    name: "fixture.fills",
    description: "Answers with as many characters as asked for.",
    inputSchema: { type: "object", properties: { chars: { type: "integer" } } },
    run: (args) => payload({ text: "x".repeat(Number(args.chars ?? 0)) }),
  },
];
