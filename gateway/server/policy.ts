import { parse, type ParseError, printParseErrorCode } from "jsonc-parser";
import { isAbsolutePath, isInside } from "../../common/allowed_roots.ts";
import { Refusal } from "./refusal.ts";
import { type Action, OPERATION_TYPES, type OperationType, type StepAction } from "./types.ts";

/**
 * The agent policy file (`operations.md` 11.3): JSON with comments that can only deny. A file that is
 * set but cannot be used refuses the start; a denied proposal makes no card.
 */
export interface Policy {
  readonly rules: readonly Rule[];
}

interface Rule {
  /** Exact id, or a prefix followed by `*`. */
  readonly agentId: string;
  readonly operations: Lists;
  readonly refs: Lists;
  readonly repositories: readonly string[] | null;
  readonly worktrees: readonly string[] | null;
}

interface Lists {
  readonly allow: readonly string[] | null;
  readonly deny: readonly string[];
}

const MAX_BYTES = 1_024 * 1_024;
const MAX_RULES = 1_000;

/** Parses a policy text. Throws an `Error` that says what is wrong and where. */
export function parsePolicy(text: string, windows = Deno.build.os === "windows"): Policy {
  if (text.length > MAX_BYTES) throw new Error(`the file has more than ${MAX_BYTES} characters`);
  const errors: ParseError[] = [];
  refuseDuplicateKeys(text);
  const value: unknown = parse(text, errors, { allowTrailingComma: true, disallowComments: false });
  if (errors[0]) {
    const line = text.slice(0, errors[0].offset).split("\n").length;
    throw new Error(`line ${line}: ${printParseErrorCode(errors[0].error)}`);
  }
  const top = members(value, "the file", ["version", "rules"]);
  if (top["version"] !== 1) {
    throw new Error(`version must be 1, not ${JSON.stringify(top["version"])}`);
  }
  const rules = top["rules"];
  if (!Array.isArray(rules)) throw new Error("rules must be a list");
  if (rules.length > MAX_RULES) throw new Error(`rules has more than ${MAX_RULES} entries`);
  return { rules: rules.map((rule, i) => readRule(rule, `rules[${i}]`, windows)) };
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
  const prefixes = (name: string) => {
    const list = texts(paths[name], `${at}.pathConstraints.${name}`);
    return list?.map((path, i) => {
      if (!isAbsolutePath(path, windows)) {
        throw new Error(`${at}.pathConstraints.${name}[${i}] must be an absolute path`);
      }
      try {
        return Deno.realPathSync(path);
      } catch {
        return path;
      }
    }) ?? null;
  };
  const operations = readLists(rule["operations"], `${at}.operations`);
  for (const name of [...(operations.allow ?? []), ...operations.deny]) {
    if (name !== "*" && !OPERATION_TYPES.includes(name as OperationType)) {
      throw new Error(`${at}.operations: ${JSON.stringify(name.slice(0, 60))} is not an operation`);
    }
  }
  const refs = readLists(rule["refs"], `${at}.refs`);
  return {
    agentId,
    operations,
    refs,
    repositories: prefixes("repositories"),
    worktrees: prefixes("worktrees"),
  };
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
    throw new Error(
      `${at} has an unknown member ${JSON.stringify(unknown.slice(0, 60))}; known: ${
        known.join(", ")
      }`,
    );
  }
  return value as Record<string, unknown>;
}

function texts(value: unknown, at: string): string[] | null {
  if (value === undefined) return null;
  if (
    !Array.isArray(value) || value.length > 1_000 ||
    value.some((item) => typeof item !== "string" || item === "" || item.length > 4_096)
  ) {
    throw new Error(`${at} must be a list of non-empty strings`);
  }
  return value as string[];
}

/** Two members of one name would make two readers see two policies. */
function refuseDuplicateKeys(text: string): void {
  const stack: (Set<string> | null)[] = [];
  let pending: string | null = null;
  const token = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|[{}[\],:]/g;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const piece = match[0];
    if (piece.startsWith("/")) continue;
    if (piece === "{") stack.push(new Set());
    else if (piece === "[") stack.push(null);
    else if (piece === "}" || piece === "]") stack.pop();
    else if (piece.startsWith('"')) {
      pending = piece;
      continue;
    } else if (piece === ":" && pending !== null) {
      const names = stack.at(-1);
      const name = decodeName(pending);
      if (names?.has(name)) {
        throw new Error(
          `the member ${JSON.stringify(name.slice(0, 60))} stands twice in one object`,
        );
      }
      names?.add(name);
    }
    pending = null;
  }
}

function decodeName(literal: string): string {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return literal;
  }
}

/** Every place where a proposal names things (P7). */
export interface Named {
  readonly operations: readonly OperationType[];
  readonly refs: readonly string[];
  /** Canonical repository paths. */
  readonly repositories: readonly string[];
  /** Absolute worktree path that will be used, when there is one. */
  readonly worktrees: readonly string[];
}

/** Throws a 403 {@link Refusal} when a rule for this agent denies what the proposal names. */
export function checkPolicy(policy: Policy | null, agentId: string, named: Named): void {
  for (const rule of policy?.rules ?? []) {
    const applies = rule.agentId.endsWith("*")
      ? agentId.startsWith(rule.agentId.slice(0, -1))
      : rule.agentId === agentId;
    if (!applies) continue;
    const denied = named.operations.find((type) =>
      !passes(rule.operations, (entry) => entry === "*" || entry === type)
    );
    if (denied) throw violation(`the operation ${denied}`);
    const ref = named.refs.find((name) =>
      !passes(rule.refs, (glob) => refForms(name).some((form) => matchesGlob(glob, form)))
    );
    if (ref !== undefined) throw violation("a ref that it names");
    if (
      rule.repositories && !named.repositories.every((path) => isInside(path, rule.repositories!))
    ) throw violation("this repository");
    if (rule.worktrees && !named.worktrees.every((path) => isInside(path, rule.worktrees!))) {
      throw violation("this worktree path");
    }
  }
}

function passes(lists: Lists, matches: (entry: string) => boolean): boolean {
  return !lists.deny.some(matches) && (lists.allow === null || lists.allow.some(matches));
}

function violation(what: string): Refusal {
  return new Refusal(
    403,
    "agent_policy_violation",
    `the agent policy of this machine denies ${what}`,
    "Do not try other spellings; ask the person to change the policy or to do it themselves.",
  );
}

/** A short name may mean a branch: rules written for full refs apply to it too. */
function refForms(name: string): string[] {
  return name.startsWith("refs/")
    ? [name, name.replace(/^refs\/(?:heads|tags|remotes)\//, "")]
    : [name, `refs/heads/${name}`];
}

/** `*` matches any run of characters but `/`, `**` any run at all; linear in the product of both lengths. */
export function matchesGlob(glob: string, text: string): boolean {
  let states = new Set([0]);
  const skipStars = (set: Set<number>) => {
    for (const at of set) {
      if (glob[at] === "*") set.add(glob[at + 1] === "*" ? at + 2 : at + 1);
    }
    return set;
  };
  skipStars(states);
  for (const char of text) {
    const next = new Set<number>();
    for (const at of states) {
      const deep = glob[at] === "*" && glob[at + 1] === "*";
      if (deep || (glob[at] === "*" && char !== "/")) next.add(at);
      else if (glob[at] === char) next.add(at + 1);
    }
    states = skipStars(next);
    if (states.size === 0) return false;
  }
  return states.has(glob.length);
}

/** What an action names; `repoPath` and paths are canonical. */
export function namedIn(action: Action, repoPath: string, worktreePath: string | null): Named {
  const operations: OperationType[] = [action.operationType];
  const refs: string[] = [];
  const repositories = new Set([repoPath]);
  const step = (one: StepAction) => {
    if (one.operationType === "merge") refs.push(one.sourceRef, one.targetRef);
    else if (one.operationType === "rebase") refs.push(one.currentRef, one.ontoRef);
    else if (one.operationType === "reset") refs.push(one.targetRef);
  };
  switch (action.operationType) {
    case "plan":
      for (const one of action.steps) {
        operations.push(one.operationType);
        step(one);
      }
      break;
    case "worktree":
      refs.push(action.branch);
      break;
    case "push":
      if (action.branch !== null) refs.push(action.branch);
      break;
    case "branch":
      refs.push(action.name, action.startPoint);
      break;
    case "branchDelete":
      for (const target of action.targets) {
        repositories.add(target.repoPath);
        refs.push(...target.branches);
      }
      break;
    case "commit":
    case "submodulePointer":
      break;
    default:
      step(action);
  }
  return {
    operations,
    refs,
    repositories: [...repositories],
    worktrees: worktreePath === null ? [] : [worktreePath],
  };
}
