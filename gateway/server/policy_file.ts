import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { isAbsolutePath } from "../../common/allowed_roots.ts";
import { readPrivateFile } from "../../common/private_file.ts";
import { OPERATION_TYPES, type OperationType } from "./types.ts";

/**
 * The agent policy file (`operations.md` 11.3): JSON with comments that can only deny. A file that is
 * set but cannot be used refuses the start (P1), so every doubt about it is an error.
 */
export interface Policy {
  readonly rules: readonly Rule[];
}

export interface Rule {
  /** Exact id, or a prefix followed by `*`. */
  readonly agentId: string;
  readonly operations: Lists;
  readonly refs: Lists;
  /** Canonical prefixes; null allows every place. */
  readonly repositories: readonly string[] | null;
  readonly worktrees: readonly string[] | null;
}

export interface Lists {
  /** Null allows whatever is not denied. */
  readonly allow: readonly string[] | null;
  readonly deny: readonly string[];
}

const MAX_BYTES = 1_024 * 1_024;
const MAX_RULES = 1_000;
const MAX_ITEMS = 1_000;
/** `*` in one pattern: enough for people, and the matcher's work stays small. */
const MAX_STARS = 16;

/**
 * Reads and parses a policy file. Throws an `Error` for people: not there, a link, no regular file,
 * writable by everybody, too large, not UTF-8, or not a policy.
 */
export function readPolicyFile(path: string): Policy {
  if (path === "") throw new Error("the variable is set but names no file; unset it or name one");
  const bytes = readPrivateFile(path, MAX_BYTES);
  if (bytes === null) throw new Error("there is no such file");
  const { mode } = Deno.lstatSync(path);
  if (mode !== null && Deno.build.os !== "windows" && (mode & 0o002) !== 0) {
    throw new Error("everybody may write to it; take that away (chmod o-w)");
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("it is not valid UTF-8");
  }
  return parsePolicy(text);
}

/** Parses a policy text. Throws an `Error` that says what is wrong and where. */
export function parsePolicy(text: string, windows = Deno.build.os === "windows"): Policy {
  if (text.length > MAX_BYTES) throw new Error(`the file has more than ${MAX_BYTES} characters`);
  const top = members(readValue(text), "the file", ["version", "rules"]);
  if (top["version"] !== 1) {
    throw new Error(`version must be 1, not ${shown(top["version"])}`);
  }
  const rules = top["rules"];
  if (!Array.isArray(rules)) throw new Error("rules must be a list");
  if (rules.length > MAX_RULES) throw new Error(`rules has more than ${MAX_RULES} entries`);
  return { rules: rules.map((rule, i) => readRule(rule, `rules[${i}]`, windows)) };
}

function readValue(text: string): unknown {
  const errors: ParseError[] = [];
  let tree: Node | undefined;
  try {
    tree = parseTree(text, errors, { allowTrailingComma: true, disallowComments: false });
    if (!errors[0] && tree) return valueOf(tree, text);
  } catch (error) {
    if (error instanceof RangeError) throw new Error("it is nested too deeply");
    throw error;
  }
  if (!errors[0]) throw new Error("the file is empty");
  throw new Error(
    `line ${lineOf(text, errors[0].offset)}: ${printParseErrorCode(errors[0].error)}`,
  );
}

/** The value of a node. Two members of one name would make two readers see two policies. */
function valueOf(node: Node, text: string): unknown {
  if (node.type === "array") return (node.children ?? []).map((child) => valueOf(child, text));
  if (node.type !== "object") return node.value;
  const object: Record<string, unknown> = Object.create(null);
  for (const property of node.children ?? []) {
    const [key, value] = property.children ?? [];
    const name = String(key?.value);
    const at = `line ${lineOf(text, property.offset)}`;
    if (Object.hasOwn(object, name)) {
      throw new Error(`${at}: the member ${shown(name)} stands twice in one object`);
    }
    if (!value) throw new Error(`${at}: the member ${shown(name)} has no value`);
    object[name] = valueOf(value, text);
  }
  return object;
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split(/\r\n|\r|\n/).length;
}

function readRule(value: unknown, at: string, windows: boolean): Rule {
  const rule = members(value, at, ["agentId", "operations", "refs", "pathConstraints"]);
  const agentId = rule["agentId"];
  if (
    typeof agentId !== "string" ||
    !/^(?:[A-Za-z0-9._:-]{1,128}|[A-Za-z0-9._:-]{0,127}\*)$/.test(agentId)
  ) {
    throw new Error(`${at}.agentId must be an agent id, or a prefix followed by *`);
  }
  const paths = rule["pathConstraints"] === undefined
    ? {}
    : members(rule["pathConstraints"], `${at}.pathConstraints`, ["repositories", "worktrees"]);
  const operations = readLists(rule["operations"], `${at}.operations`);
  for (const name of [...(operations.allow ?? []), ...operations.deny]) {
    if (name !== "*" && !OPERATION_TYPES.includes(name as OperationType)) {
      throw new Error(
        `${at}.operations: ${shown(name)} is not an operation; known: *, ${
          OPERATION_TYPES.join(", ")
        }`,
      );
    }
  }
  const refs = readLists(rule["refs"], `${at}.refs`);
  for (const pattern of [...(refs.allow ?? []), ...refs.deny]) {
    if (pattern.split("*").length > MAX_STARS + 1) {
      throw new Error(`${at}.refs: ${shown(pattern)} has more than ${MAX_STARS} stars`);
    }
  }
  const prefixes = (name: string) =>
    readPrefixes(paths[name], `${at}.pathConstraints.${name}`, windows);
  return {
    agentId,
    operations,
    refs,
    repositories: prefixes("repositories"),
    worktrees: prefixes("worktrees"),
  };
}

/** Compared with canonical paths, so links in them are resolved; one that is not there yet stays as it is. */
function readPrefixes(value: unknown, at: string, windows: boolean): string[] | null {
  return texts(value, at)?.map((path, i) => {
    if (!isAbsolutePath(path, windows) || path.split(/[\\/]/).includes("..")) {
      throw new Error(`${at}[${i}] must be an absolute path without ..`);
    }
    try {
      return Deno.realPathSync(path);
    } catch {
      return path;
    }
  }) ?? null;
}

function readLists(value: unknown, at: string): Lists {
  if (value === undefined) return { allow: null, deny: [] };
  const lists = members(value, at, ["allow", "deny"]);
  return {
    allow: texts(lists["allow"], `${at}.allow`),
    deny: texts(lists["deny"], `${at}.deny`) ?? [],
  };
}

function members(value: unknown, at: string, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${at} must be an object`);
  }
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Error(`${at} has an unknown member ${shown(unknown)}; known: ${known.join(", ")}`);
  }
  return value as Record<string, unknown>;
}

function texts(value: unknown, at: string): string[] | null {
  if (value === undefined) return null;
  if (
    !Array.isArray(value) || value.length > MAX_ITEMS ||
    value.some((item) =>
      typeof item !== "string" || item === "" || item.length > 4_096 || item.includes("\0")
    )
  ) {
    throw new Error(`${at} must be a list of at most ${MAX_ITEMS} non-empty strings`);
  }
  return value as string[];
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 80);
}
