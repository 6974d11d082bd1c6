import { isInside } from "../../common/allowed_roots.ts";
import type { Lists, Policy, Rule } from "./policy_file.ts";
import { Refusal } from "./refusal.ts";
import type { OperationType } from "./types.ts";

export { parsePolicy, type Policy, readPolicyFile } from "./policy_file.ts";

/** A ref that a proposal names, by every name that a rule could mean it by. */
export type RefForms = readonly string[];

/** Every place where a proposal names things (P7). */
export interface Named {
  readonly operations: readonly OperationType[];
  readonly refs: readonly RefForms[];
  /** Canonical paths of the repositories that are written to (main work tree or bare directory). */
  readonly repositories: readonly string[];
  /** Canonical paths of linked work trees that are worked in or made. */
  readonly worktrees: readonly string[];
}

/** The rules that hold for an agent; all of them hold at once. */
export function rulesFor(policy: Policy | null, agentId: string): Rule[] {
  return (policy?.rules ?? []).filter((rule) =>
    rule.agentId.endsWith("*")
      ? agentId.startsWith(rule.agentId.slice(0, -1))
      : rule.agentId === agentId
  );
}

/** Throws a 403 {@link Refusal} when one of the rules denies what the proposal names. */
export function checkRules(rules: readonly Rule[], named: Named): void {
  for (const rule of rules) {
    const denied = named.operations.find((type) =>
      !passes(rule.operations, (entry) => entry === "*" || entry === type)
    );
    if (denied) throw violation(`the operation ${denied}`);
    if (named.refs.some((forms) => !refPasses(rule.refs, forms))) {
      throw violation("a ref that it names");
    }
    const { repositories, worktrees } = rule;
    if (repositories && !named.repositories.every((path) => isInside(path, repositories))) {
      throw violation("this repository");
    }
    const places = worktrees ?? repositories;
    if (places && !named.worktrees.every((path) => isInside(path, places))) {
      throw violation("this work tree's place");
    }
  }
}

function passes(lists: Lists, matches: (entry: string) => boolean): boolean {
  return !lists.deny.some(matches) && (lists.allow === null || lists.allow.some(matches));
}

/** Denying looks past upper and lower case, which some file systems do not tell apart; allowing does not. */
function refPasses(lists: Lists, forms: RefForms): boolean {
  const denied = lists.deny.some((glob) =>
    forms.some((form) => matchesGlob(glob.toLowerCase(), form.toLowerCase()))
  );
  return !denied &&
    (lists.allow === null ||
      lists.allow.some((glob) => forms.some((form) => matchesGlob(glob, form))));
}

function violation(what: string): Refusal {
  return new Refusal(
    403,
    "agent_policy_violation",
    `the agent policy of this machine denies ${what}`,
    "Do not try other spellings; ask the person to change the policy or to do it themselves.",
  );
}

/**
 * `*` matches any run of characters but `/`, `**` any run at all; everything else is literal. Takes
 * at most the product of both lengths in steps, whatever the pattern.
 */
export function matchesGlob(glob: string, text: string): boolean {
  const pattern = [...glob];
  let states = skipStars(pattern, new Set([0]));
  for (const char of text) {
    const next = new Set<number>();
    for (const at of states) {
      if (pattern[at] === "*") {
        if (char !== "/" || pattern[at + 1] === "*") next.add(at);
      } else if (pattern[at] === char) next.add(at + 1);
    }
    states = skipStars(pattern, next);
    if (states.size === 0) return false;
  }
  return states.has(pattern.length);
}

/** Adds the positions behind stars that match nothing. A set that grows is walked to its end. */
function skipStars(pattern: readonly string[], states: Set<number>): Set<number> {
  for (const at of states) {
    if (pattern[at] === "*") states.add(pattern[at + 1] === "*" ? at + 2 : at + 1);
  }
  return states;
}
