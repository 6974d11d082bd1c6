import { readHead } from "../../../../git/head.ts";
import { readOperation } from "../../../../git/in_progress.ts";
import { scanIndex } from "../../../../git/index_scan.ts";
import type { Repository } from "../../../../git/repository.ts";
import type { Note } from "../../types.ts";

/** Facts that a card's digest is made of: each one is what an effect depends on, read now. */
export type Facts = Record<string, string | null>;

/** HEAD: the branch it names and the commit. */
export async function headFacts(repo: Repository): Promise<Facts> {
  const head = await readHead(repo);
  return { "head.ref": head.ref, "head.oid": head.oid };
}

/** The commit that a revision of the proposal names; null when it names none. */
export async function commitOf(repo: Repository, revision: string): Promise<string | null> {
  return await repo.optionalText([
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${revision}^{commit}`,
  ]);
}

/** The commit that a full ref name holds; null when there is none. */
export async function commitAt(repo: Repository, ref: string | null): Promise<string | null> {
  return ref === null
    ? null
    : await repo.optionalText(["rev-parse", "--verify", "--quiet", `${ref}^{commit}`]);
}

/** The full name of the local branch that a revision names, null when it names no branch. */
export async function branchRefOf(repo: Repository, revision: string): Promise<string | null> {
  if (revision === "HEAD" || revision === "@") return (await readHead(repo)).ref;
  const name = revision.startsWith("refs/heads/") ? revision : `refs/heads/${revision}`;
  const found = await repo.run(["show-ref", "--verify", "--quiet", name], { okCodes: "any" });
  return found.code === 0 ? name : null;
}

/** A ref as people call it. */
export function shortRef(ref: string): string {
  return ref.replace(/^refs\/(?:heads|remotes|tags)\//, "");
}

/** A blocker while another operation is unfinished: its state files would be lost or mixed up. */
export async function unfinishedBlockers(repo: Repository): Promise<Note[]> {
  const operation = await readOperation(repo);
  if (!operation || operation.kind === "bisect") return [];
  return [{
    code: "operation_in_progress",
    message: `a ${operation.kind} is in progress in this work tree: finish or abort it first`,
  }];
}

/** A blocker while another git process holds the index of this work tree. */
export function lockBlockers(repo: Repository): Note[] {
  try {
    Deno.lstatSync(`${repo.facts.gitDir}/index.lock`);
  } catch {
    return [];
  }
  return [{
    code: "index_locked",
    message:
      "another git process is at work here (index.lock exists): wait for it, or remove the file when none is",
  }];
}

/** What stands against any change of index and files: a bare repository, a lock, something unfinished. */
export async function workTreeBlockers(repo: Repository, what: string): Promise<Note[]> {
  if (repo.facts.topLevel === null) {
    return [{ code: "bare_repository", message: `a bare repository has ${what}` }];
  }
  return [...lockBlockers(repo), ...await unfinishedBlockers(repo)];
}

/** Said when flags in the index keep changes from being seen: a sparse checkout sets them on purpose. */
export async function hiddenFlagWarnings(repo: Repository): Promise<Note[]> {
  const { hidden, assumeUnchanged } = await scanIndex(repo);
  const sparse = repo.facts.config.bool("core.sparsecheckout", false);
  const count = sparse ? assumeUnchanged : hidden;
  return count === 0 ? [] : [{
    code: "hidden_by_flag",
    message:
      `${count} files are marked assume-unchanged or skip-worktree: changes in them are not shown here`,
  }];
}
