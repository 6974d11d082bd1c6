/** The tools as the protocol sees them (`protocol/types.ts`). */

import type { Era, ToolOutcome, ToolTable } from "../protocol/types.ts";
import { type HubTool, TOOLS } from "./catalog.ts";
import type { Hub } from "./hub.ts";

const MAX_REASON = 2_000;

/** @param complain takes one line for people about what went wrong unexpectedly */
export function createHubTable(hub: Hub, complain: (line: string) => void): ToolTable {
  const byName = new Map(TOOLS.map((tool) => [tool.name, tool]));
  const lists = new Map<string, string>();
  const loaded = new Map<string, ReturnType<typeof loadCode>>();
  return {
    listJson(era) {
      const form = listForm(era);
      let list = lists.get(form);
      if (list === undefined) {
        lists.set(form, list = JSON.stringify(TOOLS.map((tool) => shownTool(tool, form))));
      }
      return list;
    },
    async call(name, given, context) {
      const tool = byName.get(name);
      if (tool === undefined) return unknownTool(name);
      let code = loaded.get(name);
      if (code === undefined) loaded.set(name, code = loadCode(tool));
      const { check, run, describeFailure } = await code;
      const args = given ?? {};
      const problem = check.findProblem(tool.input, args, "arguments");
      if (problem !== null) {
        return {
          kind: "rpcError",
          code: -32602,
          message: "Invalid params",
          data: { details: problem },
        };
      }
      try {
        const filled = check.withDefaults(tool.input, args as Record<string, unknown>);
        const payload = await run(filled, hub, { signal: context.signal });
        return { kind: "result", payload, isError: false };
      } catch (error) {
        const { message, type } = describeFailure(error);
        if (type === "OSError") {
          complain(`${name}: ${error instanceof Error ? error.name : "unknown failure"}`);
        }
        return toolError(name, message);
      }
    },
  };
}

/** What a call needs; nothing of it is loaded before the first one. */
async function loadCode(tool: HubTool) {
  const [check, { run }, { describeFailure }] = await Promise.all([
    import("../registry/arguments.ts"),
    tool.load(),
    import("./errors.ts"),
  ]);
  return { check, run, describeFailure };
}

/** A failed call: text only, no structured content (`isError`). */
export function toolError(name: string, reason: string): ToolOutcome {
  const text = `Error executing tool ${name}: ${reason.slice(0, MAX_REASON)}`;
  return { kind: "result", payload: {}, isError: true, content: [{ type: "text", text }] };
}

type ListForm = "full" | "annotations" | "plain";

/** Titles and output schemas from 2025-06-18 on, annotations from 2025-03-26 on. */
function listForm(era: Era): ListForm {
  if (era.kind === "modern" || era.version >= "2025-06-18") return "full";
  return era.version === "2025-03-26" ? "annotations" : "plain";
}

function shownTool(tool: HubTool, form: ListForm): Record<string, unknown> {
  const { name, title, description, input, output } = tool;
  const annotations = tool.readOnly
    ? { readOnlyHint: true, openWorldHint: false }
    : { readOnlyHint: false, destructiveHint: true, openWorldHint: false };
  // The Git tools and the log say themselves that they destroy nothing.
  const quiet = tool.readOnly && !name.startsWith("filesystem.") ? { destructiveHint: false } : {};
  return {
    name,
    ...(form === "full" && title !== null ? { title } : {}),
    description,
    inputSchema: input,
    ...(form === "full" ? { outputSchema: output } : {}),
    ...(form !== "plain" && title !== null ? { annotations: { ...annotations, ...quiet } } : {}),
  };
}

function unknownTool(name: string): ToolOutcome {
  const shown = name.length > 128 ? name.slice(0, 128) + "…" : name;
  return {
    kind: "rpcError",
    code: -32602,
    message: `Unknown tool '${shown}'`,
    data: {
      tool: shown,
      reason: "No tool of that name is offered here; names are case-sensitive.",
      tools: TOOLS.map((tool) => tool.name),
    },
  };
}
