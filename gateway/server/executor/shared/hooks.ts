import { GitError } from "../../../../git/errors.ts";
import type { Repository } from "../../../../git/repository.ts";
import type { Note } from "../../types.ts";
import type { Facts } from "./facts.ts";
import { hashFile } from "./work_tree_facts.ts";

/** What runs on approval besides git itself belongs to what is approved: hooks, signing, identity. */

export type Hook =
  | "pre-commit"
  | "prepare-commit-msg"
  | "commit-msg"
  | "post-commit"
  | "pre-merge-commit"
  | "post-merge"
  | "post-checkout"
  | "pre-rebase"
  | "post-rewrite"
  | "pre-push"
  | "reference-transaction"
  | "post-index-change";

/** Hooks of a new commit. */
export const COMMIT_HOOKS: readonly Hook[] = [
  "pre-commit",
  "prepare-commit-msg",
  "commit-msg",
  "post-commit",
  "reference-transaction",
  "post-index-change",
];

export interface Found {
  readonly facts: Facts;
  readonly warnings: readonly Note[];
}

/** The hooks of the given names that git would run here, by name and content, and a warning that says so. */
export async function hookFacts(repo: Repository, names: readonly Hook[]): Promise<Found> {
  if (names.length === 0) return { facts: {}, warnings: [] };
  const folder = await hookFolder(repo);
  const found: string[] = [];
  const facts: Facts = { "hooks.folder": folder };
  await Promise.all(names.map(async (name) => {
    const path = await executableAt(`${folder}/${name}`);
    facts[`hook.${name}`] = path === null ? null : await hashFile(path);
    if (path !== null) found.push(name);
  }));
  const configured = configuredHooks(repo, names, facts);
  const all = [...found.sort(), ...configured];
  return {
    facts,
    warnings: all.length === 0
      ? []
      : [{ code: "hooks_run", message: `hooks of this repository will run: ${all.join(", ")}` }],
  };
}

/** Where git looks for hooks, as git itself resolves `core.hooksPath`; absolute. */
async function hookFolder(repo: Repository): Promise<string> {
  // Only with the user's own configuration: a read points it to nowhere.
  return await repo.text(["rev-parse", "--path-format=absolute", "--git-path", "hooks"], {
    profile: "approved",
  });
}

/** The file that runs as a hook, where there is one; on Windows also with git's own ending. */
async function executableAt(path: string): Promise<string | null> {
  const windows = Deno.build.os === "windows";
  for (const candidate of windows ? [path, `${path}.exe`] : [path]) {
    const runs = await Deno.stat(candidate).then(
      (info) => info.isFile && (windows || ((info.mode ?? 0o111) & 0o111) !== 0),
      () => false,
    );
    if (runs) return candidate;
  }
  return null;
}

/** Newer git also runs hooks that the configuration names (`hook.<name>.command` and `.event`). */
function configuredHooks(repo: Repository, names: readonly Hook[], facts: Facts): string[] {
  const found: string[] = [];
  repo.facts.config.entries.filter(({ key }) => key.startsWith("hook.")).forEach((entry, i) => {
    facts[`config.${i}.${entry.key}`] = entry.value;
    if (entry.key.endsWith(".event") && names.some((name) => name === entry.value)) {
      found.push(`${entry.value} (${entry.key.slice(5, -6)}, where this git knows it)`);
    }
  });
  return found;
}

const SIGNING =
  /^(?:gpg\.(?:(?:openpgp|x509|ssh)\.)?program|gpg\.format|gpg\.ssh\.defaultkeycommand|user\.signingkey)$/;

/** Signing configuration that a new commit would use. */
export function signingFacts(repo: Repository): Found {
  const { config } = repo.facts;
  const on = config.bool("commit.gpgsign", false);
  const facts: Facts = { "signing.on": String(on) };
  let fromRepository = false;
  if (on) {
    for (const { scope, key, value } of config.entries) {
      if (!SIGNING.test(key)) continue;
      facts[`signing.${key}`] = value;
      if (key !== "user.signingkey" && key !== "gpg.format" && /^(?:local|worktree)$/.test(scope)) {
        fromRepository = true;
      }
    }
  }
  if (!on) return { facts, warnings: [] };
  const warnings: Note[] = [{
    code: "commit_signed",
    message: "the new commit will be signed with your key",
  }];
  if (fromRepository) {
    warnings.push({
      code: "repository_programs",
      message: "the program that signs is named by the repository's own configuration",
    });
  }
  return { facts, warnings };
}

/** Who a new commit will be by; a blocker when git does not know. Dates are left out. */
export async function identityFacts(
  repo: Repository,
): Promise<{ facts: Facts; author: string | null; blockers: Note[] }> {
  const ident = async (name: string) => {
    try {
      const text = await repo.text(["var", name]);
      return text.replace(/ \d+ [+-]\d{4}$/, "");
    } catch (error) {
      if (error instanceof GitError && error.kind === "failed") return null;
      throw error;
    }
  };
  const [author, committer] = await Promise.all([
    ident("GIT_AUTHOR_IDENT"),
    ident("GIT_COMMITTER_IDENT"),
  ]);
  const known = author !== null && committer !== null;
  return {
    facts: { author, committer },
    author,
    blockers: known ? [] : [{
      code: "no_identity",
      message: "git does not know whose commit it would be: set user.name and user.email",
    }],
  };
}
