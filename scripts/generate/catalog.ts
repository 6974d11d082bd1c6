import { z } from "zod";
import { KNOWN_KEYWORDS } from "../../registry/arguments.ts";
import type { AnyTool, JsonSchema } from "../../registry/define.ts";
import { say } from "../lib/terminal.ts";
import { TOOL_ORDER } from "./order.ts";

export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

export interface LoadedTool {
  readonly tool: AnyTool;
  /** Path of its file, relative to the root of the project. */
  readonly file: string;
}

/** Loads every tool file below `tools/` (those that export a tool as default), in list order. */
export async function loadTools(root: URL): Promise<LoadedTool[]> {
  const found: LoadedTool[] = [];
  for (const file of await toolFiles(root, "tools")) {
    const module = await import(new URL(file, root).href).catch((error) => {
      if (!Deno.args.includes("--lenient")) throw error;
      say(
        `left out: ${file}: ${error instanceof Error ? error.message.split("\n")[0] : error}`,
      );
      return {};
    }) as { default?: AnyTool };
    if (module.default?.name) found.push({ tool: module.default, file });
  }
  const place = ({ tool }: LoadedTool) => TOOL_ORDER.indexOf(tool.name);
  for (const loaded of found) {
    if (place(loaded) === -1) {
      throw new Error(
        `${loaded.file}: ${loaded.tool.name} has no place in scripts/generate/order.ts`,
      );
    }
  }
  return found.sort((a, b) => place(a) - place(b));
}

async function toolFiles(root: URL, folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const entry of Deno.readDir(new URL(folder + "/", root))) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) files.push(...await toolFiles(root, path));
    else if (/^tools\/\w+\/.*\.ts$/.test(path)) files.push(path);
  }
  return files.sort();
}

/** Ceilings by name for top-level strings without their own (`tool-schemas.md` 2.3): enforced, not advertised. */
const CEILINGS: Record<string, number> = {
  patchContent: 4_194_304,
  message: 65_536,
  repoPath: 32_768,
  runDir: 32_768,
  path: 32_768,
  reason: 4_096,
};

/** The lowest default ceilings; a limit of a tool's own lies below and is advertised. */
const DEFAULT_LENGTH = 4_096;
const DEFAULT_ITEMS = 10_000;

/** The schema that arguments are checked against. */
export function enforcedSchema(tool: AnyTool): JsonSchema {
  const own = tool.input(z);
  const shape = tool.scope === "repository"
    ? { repoPath: z.string().min(1).max(32_768), repoId: z.string().max(4_096).optional(), ...own }
    : own;
  const schema = strip(z.toJSONSchema(z.strictObject(shape), { io: "input" })) as JsonSchema;
  const required = new Set((schema["required"] ?? []) as string[]);
  for (
    const [name, member] of Object.entries(
      (schema["properties"] ?? {}) as Record<string, JsonSchema>,
    )
  ) {
    if (member["type"] !== "string" || member["enum"]) continue;
    if (required.has(name)) member["minLength"] ??= 1;
    member["maxLength"] ??= CEILINGS[name] ?? 4_096;
  }
  return { ...schema, ...tool.rules };
}

/** What `tools/list` shows: the same without default ceilings, which cost tokens and tell an agent nothing. */
export function advertisedSchema(enforced: JsonSchema): JsonSchema {
  const quiet = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(quiet);
    if (typeof value !== "object" || value === null) return value;
    const out: JsonSchema = {};
    for (const [key, inner] of Object.entries(value)) {
      if (key === "minLength") continue;
      if (key === "maxLength" && Number(inner) >= DEFAULT_LENGTH) continue;
      if (key === "maxItems" && Number(inner) >= DEFAULT_ITEMS) continue;
      if (key === "minItems" && inner === 1) continue;
      out[key] = quiet(inner);
    }
    return out;
  };
  return quiet(enforced) as JsonSchema;
}

/** The output schema: envelope (`tool-schemas.md` 5.1) around the tool's `data`. */
export function outputSchema(tool: AnyTool): JsonSchema {
  const data = compact(open(strip(z.toJSONSchema(tool.output(z), { io: "output" })))) as JsonSchema;
  const source = tool.sources.length === 1
    ? { const: tool.sources[0] }
    : { enum: [...tool.sources] };
  const operation = tool.family === "operation";
  const properties: JsonSchema = {
    tool: { const: tool.name },
    readOnly: { const: tool.annotations.readOnlyHint },
    source,
    tier: { const: tool.tier },
    ...(tool.scope === "repository" && !operation ? { repoPath: { type: "string" } } : {}),
    data,
    error: { type: "object", required: ["code", "message"] },
  };
  let variants: JsonSchema[];
  if (!operation) {
    variants = [{
      required: tool.scope === "fleet" ? ["source", "data"] : ["source", "repoPath", "data"],
    }, { required: ["error"] }];
  } else {
    Object.assign(properties, lifecycle(tool));
    variants = lifecycleVariants(tool);
  }
  return { type: "object", properties, required: ["tool", "readOnly"], anyOf: variants };
}

function lifecycle(tool: AnyTool): JsonSchema {
  const id = { type: "string", pattern: "^[A-Za-z0-9_-]{1,128}$" };
  const status = { type: "string", pattern: "^[a-z][a-z0-9_-]{0,63}$" };
  if (tool.name === "operation.cancel") return { previewId: id, status };
  if (tool.name === "operation.status") {
    return { previewId: id, status, terminal: { type: "boolean" }, ok: { type: "boolean" } };
  }
  const next = {
    type: "object",
    properties: { tool: { const: "operation.status" } },
    required: ["tool", "message", "data"],
  };
  // Other agents at work in the repository, when detection finds any; it changes nothing else.
  const otherAgents = { type: "object" };
  return { previewId: id, status, accepted: { const: true }, nextAction: next, otherAgents };
}

function lifecycleVariants(tool: AnyTool): JsonSchema[] {
  const failed = { required: ["tier", "error"] };
  if (tool.name === "operation.status") {
    return [{ required: ["source", "tier", "previewId", "data"] }, failed];
  }
  if (tool.name === "operation.cancel") {
    return [{
      properties: { status: { const: "cancelled" } },
      required: ["source", "tier", "previewId", "status", "data"],
    }, failed];
  }
  return [
    {
      properties: { status: { const: "completed" } },
      required: ["source", "tier", "previewId", "status", "data"],
    },
    { required: ["source", "tier", "previewId", "status", "accepted", "nextAction"] },
    failed,
  ];
}

/** Removes what zod adds and nobody needs: the dialect, and the bounds of safe integers. */
function strip(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strip);
  if (typeof value !== "object" || value === null) return value;
  const out: JsonSchema = {};
  for (const [key, inner] of Object.entries(value)) {
    if (key === "$schema" || key === "~standard") continue;
    if (
      (key === "minimum" || key === "maximum") &&
      Math.abs(Number(inner)) === Number.MAX_SAFE_INTEGER
    ) continue;
    out[key] = strip(inner);
  }
  return out;
}

/** Outputs are open objects: members may be added, so nothing says `additionalProperties: false`. */
function open(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(open);
  if (typeof value !== "object" || value === null) return value;
  const out: JsonSchema = {};
  for (const [key, inner] of Object.entries(value)) {
    if (key === "additionalProperties") continue;
    out[key] = open(inner);
  }
  return out;
}

/**
 * Says the same in fewer tokens: a type beside a constant, alternatives for null, and alternatives of
 * which one takes everything are spelled out by zod.
 */
function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compact);
  if (typeof value !== "object" || value === null) return value;
  const out: JsonSchema = {};
  for (const [key, inner] of Object.entries(value)) out[key] = compact(inner);
  if ("const" in out || Array.isArray(out["enum"])) delete out["type"];
  const choices = out["anyOf"];
  if (!Array.isArray(choices)) return out;
  const isBare = (choice: JsonSchema, size: number) => Object.keys(choice).length === size;
  if (choices.some((choice) => isBare(choice, 0))) {
    delete out["anyOf"];
    return out;
  }
  const [one, two] = choices as JsonSchema[];
  const orNull = choices.length === 2 && two?.["type"] === "null" && isBare(two, 1);
  // Further keywords of a schema look only at values of their own type: null passes them.
  if (orNull && Array.isArray(one?.["enum"]) && isBare(one, 1)) {
    delete out["anyOf"];
    return { ...out, enum: [...one["enum"], null] };
  }
  if (!orNull || typeof one?.["type"] !== "string") return out;
  delete out["anyOf"];
  return { ...out, ...one, type: [one["type"], "null"] };
}

function refuseUnknownKeywords(tool: string, schema: unknown, inProperties = false): void {
  if (Array.isArray(schema)) return schema.forEach((part) => refuseUnknownKeywords(tool, part));
  if (typeof schema !== "object" || schema === null) return;
  for (const [key, inner] of Object.entries(schema)) {
    if (!inProperties && !KNOWN_KEYWORDS.has(key)) {
      throw new Error(`${tool}: the keyword ${key} is not checked at run time`);
    }
    if (key !== "enum" && key !== "const" && key !== "default" && key !== "required") {
      refuseUnknownKeywords(tool, inner, !inProperties && key === "properties");
    }
  }
}

const HEADER = "// Generated by `deno task generate`; do not edit.\n";

/** The three generated modules of the registry. */
export async function generateCatalog(root: URL): Promise<GeneratedFile[]> {
  const tools = await loadTools(root);
  const rows: string[] = [], loaders: string[] = [], schemas: string[] = [];
  for (const { tool, file } of tools) {
    const enforced = enforcedSchema(tool);
    refuseUnknownKeywords(tool.name, enforced);
    rows.push(`  {
    name: ${JSON.stringify(tool.name)},
    family: ${JSON.stringify(tool.family)},
    scope: ${JSON.stringify(tool.scope)},
    readOnly: ${tool.annotations.readOnlyHint},
    risk: ${JSON.stringify(tool.risk)},
    title: ${JSON.stringify(tool.title)},
    description: ${JSON.stringify(tool.description)},
    input: ${JSON.stringify(JSON.stringify(advertisedSchema(enforced)))},
    output: ${JSON.stringify(JSON.stringify(outputSchema(tool)))},
    annotations: ${JSON.stringify(JSON.stringify(tool.annotations))},
  },`);
    loaders.push(`  ${JSON.stringify(tool.name)}: () => import("../../${file}"),`);
    schemas.push(`  ${JSON.stringify(tool.name)}: ${JSON.stringify(enforced)},`);
  }
  return [
    {
      path: "registry/generated/catalog.ts",
      text: `${HEADER}
/** One tool as \`tools/list\` shows it; schemas and annotations are JSON texts, served as they are. */
export interface CatalogRow {
  readonly name: string;
  readonly family: string;
  readonly scope: "repository" | "fleet" | "proposal";
  readonly readOnly: boolean;
  readonly risk: "none" | "low" | "medium" | "high";
  readonly title: string;
  readonly description: string;
  readonly input: string;
  readonly output: string;
  readonly annotations: string;
}

export const CATALOG: readonly CatalogRow[] = [
${rows.join("\n")}
];
`,
    },
    {
      path: "registry/generated/loaders.ts",
      text: `${HEADER}import type { AnyTool } from "../define.ts";

export const LOADERS: Readonly<Record<string, () => Promise<{ default: AnyTool }>>> = {
${loaders.join("\n")}
};
`,
    },
    {
      path: "registry/generated/schemas.ts",
      text: `${HEADER}
export const INPUT_SCHEMAS: Readonly<Record<string, Record<string, unknown>>> = {
${schemas.join("\n")}
};
`,
    },
  ];
}
