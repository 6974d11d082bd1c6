import { CodedError } from "../common/errors.ts";
import type { JsonSchema } from "./define.ts";

/**
 * Checks arguments against a tool's input schema, in the order of `tool-schemas.md` 2.4. Only the
 * keywords that our schemas use are known; `deno task generate` refuses any other.
 */
export const KNOWN_KEYWORDS: ReadonlySet<string> = new Set([
  "allOf",
  "if",
  "then",
  "else",
  "not",
  "anyOf",
  "oneOf",
  "type",
  "enum",
  "const",
  "required",
  "additionalProperties",
  "properties",
  "minItems",
  "maxItems",
  "items",
  "uniqueItems",
  "minLength",
  "maxLength",
  "pattern",
  "minimum",
  "maximum",
  "default",
  "description",
  "title",
]);

/** Throws `CodedError` -32602 naming the first place that breaks the schema. */
export function checkArguments(schema: JsonSchema, args: unknown): void {
  const problem = findProblem(schema, args === undefined ? null : args, "arguments");
  if (problem) throw new CodedError(-32602, "Invalid params", { details: problem });
}

/** Fills in the declared defaults of top-level members; gives a new object. */
export function withDefaults(
  schema: JsonSchema,
  args: Record<string, unknown>,
): Record<string, unknown> {
  const filled = { ...args };
  for (
    const [name, member] of Object.entries(
      (schema["properties"] ?? {}) as Record<string, JsonSchema>,
    )
  ) {
    if (filled[name] === undefined && member["default"] !== undefined) {
      filled[name] = member["default"];
    }
  }
  return filled;
}

const patterns = new Map<string, RegExp>();

/** Text of the first violation, or null. Patterns run on strings that `maxLength` has bounded. */
export function findProblem(schema: JsonSchema, value: unknown, at: string): string | null {
  return combined(schema, value, at) ?? typed(schema, value, at) ?? members(schema, value, at) ??
    items(schema, value, at) ?? text(schema, value, at) ?? range(schema, value, at);
}

function combined(schema: JsonSchema, value: unknown, at: string): string | null {
  const list = (name: string) => (schema[name] ?? []) as JsonSchema[];
  for (const part of list("allOf")) {
    const problem = findProblem(part, value, at);
    if (problem) return problem;
  }
  if (schema["if"]) {
    const branch = findProblem(schema["if"] as JsonSchema, value, at) === null ? "then" : "else";
    const problem = schema[branch] ? findProblem(schema[branch] as JsonSchema, value, at) : null;
    if (problem) return problem;
  }
  if (schema["not"] && findProblem(schema["not"] as JsonSchema, value, at) === null) {
    const named = ((schema["not"] as JsonSchema)["required"] as string[] | undefined) ?? [];
    return named.length > 0
      ? `${at} must not have ${named.join(", ")} here`
      : `${at} is not allowed here`;
  }
  if (schema["anyOf"] && !list("anyOf").some((part) => findProblem(part, value, at) === null)) {
    const needs = list("anyOf").map((part) => ((part["required"] ?? []) as string[]).join(" and "))
      .filter(Boolean);
    return `${at} matches none of the alternatives` +
      (needs.length > 0 ? `: give ${needs.join(" or ")}` : "");
  }
  if (schema["oneOf"]) {
    const fits = list("oneOf").filter((part) => findProblem(part, value, at) === null).length;
    if (fits !== 1) return `${at} must match exactly one alternative, but matches ${fits}`;
  }
  return null;
}

function typed(schema: JsonSchema, value: unknown, at: string): string | null {
  const type = schema["type"] as string | undefined;
  if (type !== undefined && !isType(type, value)) {
    return `${at} must be ${article(type)}, not ${describe(value)}`;
  }
  const allowed = schema["enum"] as unknown[] | undefined;
  if (allowed && !allowed.includes(value)) return `${at} must be one of ${allowed.join(", ")}`;
  if ("const" in schema && schema["const"] !== value) {
    return `${at} must be ${JSON.stringify(schema["const"])}`;
  }
  return null;
}

function members(schema: JsonSchema, value: unknown, at: string): string | null {
  if (!isObject(value)) return null;
  for (const name of (schema["required"] ?? []) as string[]) {
    if (!Object.hasOwn(value, name)) return `${at}.${name} is required`;
  }
  const known = (schema["properties"] ?? {}) as Record<string, JsonSchema>;
  const names = Object.keys(value).sort();
  if (schema["additionalProperties"] === false) {
    const unknown = names.find((name) => !Object.hasOwn(known, name));
    if (unknown !== undefined) {
      return `${at}.${clip(unknown)} is not an argument of this tool; known: ${
        Object.keys(known).join(", ")
      }`;
    }
  }
  for (const name of names) {
    const problem = Object.hasOwn(known, name)
      ? findProblem(known[name]!, value[name], `${at}.${name}`)
      : null;
    if (problem) return problem;
  }
  return null;
}

function items(schema: JsonSchema, value: unknown, at: string): string | null {
  if (!Array.isArray(value)) return null;
  const min = schema["minItems"] as number | undefined,
    max = schema["maxItems"] as number | undefined;
  if (min !== undefined && value.length < min) return `${at} needs at least ${min} items`;
  if (max !== undefined && value.length > max) {
    return `${at} has ${value.length} items, at most ${max} are allowed`;
  }
  if (schema["items"]) {
    for (let i = 0; i < value.length; i++) {
      const problem = findProblem(schema["items"] as JsonSchema, value[i], `${at}[${i}]`);
      if (problem) return problem;
    }
  }
  if (schema["uniqueItems"] && new Set(value).size !== value.length) {
    return `${at} holds the same item twice`;
  }
  return null;
}

function text(schema: JsonSchema, value: unknown, at: string): string | null {
  if (typeof value !== "string") return null;
  const min = schema["minLength"] as number | undefined,
    max = schema["maxLength"] as number | undefined;
  // UTF-16 length bounds the count of scalar values from both sides; count exactly only in between.
  if (min !== undefined && value.length < min) return `${at} must not be empty`;
  if (max !== undefined && value.length > max && (value.length > 2 * max || scalars(value) > max)) {
    return `${at} has more than ${max} characters`;
  }
  const pattern = schema["pattern"] as string | undefined;
  if (pattern !== undefined) {
    let compiled = patterns.get(pattern);
    if (!compiled) patterns.set(pattern, compiled = new RegExp(pattern, "u"));
    if (!compiled.test(value)) {
      return pattern.includes("A-Za-z0-9_-")
        ? `${at} may hold only ASCII letters, digits, "_" and "-"`
        : `${at} must be a full lower-case object id (40 or 64 hexadecimal digits)`;
    }
  }
  return null;
}

function range(schema: JsonSchema, value: unknown, at: string): string | null {
  if (typeof value !== "number" && typeof value !== "bigint") return null;
  const min = schema["minimum"] as number | undefined,
    max = schema["maximum"] as number | undefined;
  if ((min !== undefined && value < min) || (max !== undefined && value > max)) {
    return `${at} is ${value}; allowed: ${min ?? "…"} to ${
      max ?? "…"
    } (values outside are refused, not clamped)`;
  }
  return null;
}

function scalars(value: string): number {
  let n = 0;
  for (const _ of value) n++;
  return n;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !(value instanceof Number);
}

function isType(type: string, value: unknown): boolean {
  switch (type) {
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isSafeInteger(value) || typeof value === "bigint";
    case "number":
      return typeof value === "number" || typeof value === "bigint" || value instanceof Number;
    case "null":
      return value === null;
    default:
      // deno-lint-ignore valid-typeof
      return typeof value === type;
  }
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value instanceof Number || typeof value === "number") return `the number ${value}`;
  return typeof value === "string"
    ? "a string"
    : typeof value === "object"
    ? "an object"
    : `${typeof value}`;
}

function article(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

function clip(name: string): string {
  return name.length > 60 ? name.slice(0, 60) + "…" : name;
}
