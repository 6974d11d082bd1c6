import {
  type AllowedRoots,
  canonicalRepositoryPath,
  readAllowedRoots,
  ROOTS_VARIABLE,
} from "../common/allowed_roots.ts";
import { CodedError } from "../common/errors.ts";
import type { CallContext, Era, ToolOutcome, ToolTable } from "../protocol/types.ts";
import type { AnyTool, JsonSchema, ScratchSpace, ToolContext } from "./define.ts";
import { CATALOG, type CatalogRow } from "./generated/catalog.ts";

/** What the tools need from the program around them. */
export interface TableOptions {
  readonly env: (name: string) => string | undefined;
  readonly scratch: ScratchSpace;
  readonly now: () => number;
  readonly runDir: string | null;
  /** Families that are listed and callable; null means all (`registry/toolsets.ts`). */
  readonly families: ReadonlySet<string> | null;
}

/**
 * The tools as the protocol sees them: the list comes ready-made from the generated catalog, and a
 * tool's code is loaded when it is first called.
 */
export function createToolTable(options: TableOptions): ToolTable {
  const rows = CATALOG.filter((row) =>
    options.families === null || options.families.has(row.family)
  );
  const byName = new Map(rows.map((row) => [row.name, row]));
  const lists = new Map<string, string>();
  return {
    listJson(era) {
      const form = listForm(era);
      let text = lists.get(form);
      if (text === undefined) {
        lists.set(
          form,
          text = `[${rows.map((row) => rowText(row, form)).join(",")}]`,
        );
      }
      return text;
    },
    async call(name, args, context) {
      const row = byName.get(name);
      if (!row) return unknownTool(name, rows);
      try {
        return await callTool(row, args, context, options);
      } catch (error) {
        if (error instanceof CodedError) {
          return {
            kind: "rpcError",
            code: error.code,
            message: error.message,
            ...(error.data ? { data: error.data } : {}),
          };
        }
        throw error;
      }
    },
  };
}

type ListForm = "modern" | "titles" | "annotations" | "plain";

/** What an entry shows by revision: titles and output schemas from 2025-06-18, annotations from 2025-03-26. */
function listForm(era: Era): ListForm {
  if (era.kind === "modern") return "modern";
  if (era.version === "2024-11-05") return "plain";
  return era.version === "2025-03-26" ? "annotations" : "titles";
}

function rowText(row: CatalogRow, form: ListForm): string {
  const title = form === "modern" || form === "titles"
    ? `,"title":${JSON.stringify(row.title)},"outputSchema":${row.output}`
    : "";
  const hints = form === "plain" ? "" : `,"annotations":${row.annotations}`;
  return `{"name":"${row.name}","description":${
    JSON.stringify(row.description)
  },"inputSchema":${row.input}${title}${hints}}`;
}

function unknownTool(name: string, rows: readonly CatalogRow[]): ToolOutcome {
  const shown = name.length > 128 ? name.slice(0, 128) + "…" : name;
  return {
    kind: "rpcError",
    code: -32602,
    message: `Unknown tool '${shown}'`,
    data: {
      tool: shown,
      reason: "No tool of that name is offered here; names are case-sensitive.",
      readOnlyTools: rows.filter((row) => row.readOnly).map((row) => row.name),
      writeProposalTools: rows.filter((row) => !row.readOnly).map((row) => row.name),
    },
  };
}

async function callTool(
  row: CatalogRow,
  args: unknown,
  context: CallContext,
  options: TableOptions,
): Promise<ToolOutcome> {
  const [{ LOADERS }, { INPUT_SCHEMAS }, check] = await Promise.all([
    import("./generated/loaders.ts"),
    import("./generated/schemas.ts"),
    import("./arguments.ts"),
  ]);
  const schema = INPUT_SCHEMAS[row.name] as JsonSchema;
  check.checkArguments(schema, args);
  const roots = readAllowedRoots(options.env(ROOTS_VARIABLE));
  const prepared = await canonicalArguments(
    row,
    check.withDefaults(schema, args as Record<string, unknown>),
    roots,
  );
  const { default: tool } = await LOADERS[row.name]!();
  const toolContext: ToolContext = {
    signal: context.signal,
    agentId: context.agentId,
    clientVersion: context.clientVersion,
    roots: roots?.canonical ?? null,
    runDir: options.runDir,
    env: options.env,
    scratch: options.scratch,
    now: options.now,
    progress: context.progress,
  };
  return await runTool(tool, prepared, toolContext);
}

/** Replaces every repository path by its canonical form; fleet tools do so entry by entry themselves. */
async function canonicalArguments(
  row: CatalogRow,
  args: Record<string, unknown>,
  roots: AllowedRoots | null,
): Promise<Record<string, unknown>> {
  if (row.scope === "fleet") return args;
  const rewritten = { ...args };
  if (typeof args["repoPath"] === "string") {
    rewritten["repoPath"] = await canonicalRepositoryPath(args["repoPath"], roots);
  }
  if (Array.isArray(args["targets"])) {
    const targets: unknown[] = [];
    for (const [i, target] of (args["targets"] as { repoPath: string }[]).entries()) {
      const repoPath = await canonicalRepositoryPath(
        target.repoPath,
        roots,
        `arguments.targets[${i}].repoPath`,
      );
      targets.push({ ...target, repoPath });
    }
    rewritten["targets"] = targets;
  }
  return rewritten;
}

/** Runs a handler and puts its envelope around what it gives (`protocol.md` section 7). */
async function runTool(
  tool: AnyTool,
  args: Record<string, unknown>,
  context: ToolContext,
): Promise<ToolOutcome> {
  const readOnly = tool.annotations.readOnlyHint;
  try {
    const answer = await tool.run(args, context);
    const payload: Record<string, unknown> = {
      tool: tool.name,
      readOnly,
      source: answer.source ?? tool.sources[0],
    };
    if (tool.scope === "proposal" || tool.family === "operation") payload["tier"] = tool.tier;
    else if (tool.scope === "repository") payload["repoPath"] = args["repoPath"];
    Object.assign(payload, answer.members);
    if (answer.data !== undefined) payload["data"] = answer.data;
    return { kind: "result", payload, isError: Object.hasOwn(payload, "error") };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    // Outside the roots is a refusal of the request itself, wherever it is found out.
    if (error.code === -32011 || error.code === -32010) throw error;
    const members = error.members ??
      (tool.family === "operation" ? { tier: tool.tier } : { source: tool.sources[0] });
    return {
      kind: "result",
      isError: true,
      payload: {
        error: {
          code: error.code,
          message: error.message,
          ...(error.data ? { data: error.data } : {}),
        },
        tool: tool.name,
        readOnly,
        ...members,
      },
    };
  }
}
