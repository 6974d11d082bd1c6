import type { Repository } from "../../../../git/repository.ts";
import type { Action, Note } from "../../types.ts";
import type { Facts } from "./facts.ts";

/**
 * Filters and merge drivers: programs that the configuration names and attributes choose, and that
 * git runs on the content of files when it commits, checks out or merges. Like hooks they belong to
 * what is approved: another program makes the card stale, and the repository's own are shown.
 */
const CONTENT_PROGRAM = /^(?:filter\..*\.(?:clean|smudge|process)|merge\..*\.driver)$/s;

/** Most of them that a card names; all of them count. */
const NAMED = 10;

/** The programs that an approved action may run on content, as facts and as a warning. */
export function contentPrograms(
  repo: Repository,
  action: Action,
): { readonly facts: Facts; readonly warnings: readonly Note[] } {
  if (!touchesContent(action)) return { facts: {}, warnings: [] };
  const facts: Facts = {};
  const own = new Map<string, string>();
  for (const { scope, key, value } of repo.facts.config.entries) {
    if (!CONTENT_PROGRAM.test(key)) continue;
    facts[`program.${key}`] = value;
    if (scope === "local" || scope === "worktree") own.set(key, value ?? "");
    else own.delete(key);
  }
  if (own.size === 0) return { facts, warnings: [] };
  const named = [...own].slice(0, NAMED).map(([key, value]) =>
    `${key.slice(0, 100)} = ${value.slice(0, 200)}`
  );
  const more = own.size > named.length ? ` and ${own.size - named.length} more` : "";
  return {
    facts,
    warnings: [{
      code: "repository_programs",
      message:
        `programs that the repository's own configuration names may run on files that its attributes choose: ${
          named.join("; ")
        }${more}`,
    }],
  };
}

function touchesContent(action: Action): boolean {
  switch (action.operationType) {
    case "push":
    case "branchDelete":
      return false;
    case "branch":
      return action.checkout;
    case "reset":
      return action.mode !== "soft";
    default:
      return true;
  }
}
