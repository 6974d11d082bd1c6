import { readHead } from "../../../../git/head.ts";
import type { Repository } from "../../../../git/repository.ts";
import type { StepAction } from "../../types.ts";
import { commitAt, commitOf } from "./facts.ts";

/** Which refs the steps of a plan name, and where these stand. */

/** Commits by full ref name; null for a ref that does not exist. */
export type RefValues = ReadonlyMap<string, string | null>;

/** Every ref that any step names, HEAD and its branch, by full name. */
export async function namedRefs(
  repo: Repository,
  steps: readonly StepAction[],
): Promise<string[]> {
  const names = new Set(["HEAD"]);
  const { ref } = await readHead(repo);
  if (ref !== null) names.add(ref);
  for (const step of steps) {
    for (const [, base] of await revisionsOf(repo, step)) if (base !== null) names.add(base);
  }
  return [...names].sort();
}

/** HEAD also counts by the branch that it is on. */
const HEAD_ON = "HEAD on";

/** Refs that a step moves by what it is: the branch merged into, or the one that HEAD is on. */
export async function movedBy(repo: Repository, step: StepAction): Promise<ReadonlySet<string>> {
  const { ref } = await readHead(repo);
  const own = ["HEAD", "ORIG_HEAD", ...(ref === null ? [] : [ref])];
  switch (step.operationType) {
    case "rebase":
    case "reset":
      return new Set(own);
    case "merge": {
      const target = await baseRef(repo, step.targetRef);
      if (target === null) return new Set();
      return new Set(target === ref ? own : [target]);
    }
    default:
      return new Set();
  }
}

/** Where the refs stand now. */
export async function readRefs(repo: Repository, names: readonly string[]): Promise<RefValues> {
  const values = new Map<string, string | null>();
  for (const name of names) {
    if (name !== HEAD_ON) values.set(name, await commitAt(repo, name));
  }
  values.set(HEAD_ON, (await readHead(repo)).ref);
  return values;
}

/** Names of refs that are not where they are expected. */
export function differences(expected: RefValues, now: RefValues): string[] {
  return [...expected].filter(([name, oid]) => (now.get(name) ?? null) !== oid)
    .map(([name]) => name === HEAD_ON ? "HEAD" : name);
}

/** The revisions of a step by member, each with the full name of the ref that it begins with; null without one. */
export async function revisionsOf(
  repo: Repository,
  step: StepAction,
): Promise<Map<string, string | null>> {
  const found = new Map<string, string | null>();
  for (const [name, revision] of given(step)) found.set(name, await baseRef(repo, revision));
  return found;
}

/** What the revisions of a step name now. */
export async function resolveAll(
  repo: Repository,
  step: StepAction,
): Promise<Map<string, string | null>> {
  const found = new Map<string, string | null>();
  for (const [name, revision] of given(step)) found.set(name, await commitOf(repo, revision));
  return found;
}

function given(step: StepAction): [name: string, revision: string][] {
  switch (step.operationType) {
    case "merge":
      return [["sourceRef", step.sourceRef], ["targetRef", step.targetRef]];
    case "rebase":
      return [["currentRef", step.currentRef], ["ontoRef", step.ontoRef]];
    case "reset":
      return [["targetRef", step.targetRef]];
    default:
      return [];
  }
}

/** `main~2` begins with `refs/heads/main`; an id begins with none. */
async function baseRef(repo: Repository, revision: string): Promise<string | null> {
  const base = revision.replace(/(?:[~^:]|@\{).*$/s, "");
  if (base === "" || base === "@") return "HEAD";
  const full = await repo.optionalText([
    "rev-parse",
    "--symbolic-full-name",
    "--verify",
    "--quiet",
    "--end-of-options",
    base,
  ]);
  return full === null || full === "" ? null : full;
}
