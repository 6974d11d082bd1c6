import { canonicalBytes } from "../../audit/canonical.ts";
import { sha256 } from "../../audit/hash.ts";
import type { Action, Inspection, Overrides } from "./types.ts";

/** Which repository a card speaks of, by what cannot be swapped behind a path (`security.md` S-23). */
export interface RepositoryIdentity {
  readonly path: string;
  readonly gitDir: string;
  /** `device:inode` of the work tree (or git directory) and of the git directory. */
  readonly files: string;
}

/** Hashes of a proposal's content. */
export interface ContentHashes {
  /** Of action and reason: the same key with another one is a conflict. */
  readonly body: string;
  /** Of action and repository: equal for proposals that ask for the same thing, whoever asks and why. */
  readonly group: string;
}

export function contentHashes(action: Action, reason: string, repoPath: string): ContentHashes {
  // Once over what may be megabytes.
  const own = sha256(canonicalBytes(action));
  return {
    body: sha256(canonicalBytes({ action: own, reason })),
    group: sha256(canonicalBytes({ action: own, repoPath })),
  };
}

/**
 * The digest a person approves: over the canonical action, the repository's identity, what they
 * changed on the card, and every resolved fact the effect depends on.
 */
export function cardDigest(
  action: Action,
  identity: RepositoryIdentity,
  facts: Inspection["facts"],
  overrides: Overrides,
): string {
  return sha256(canonicalBytes({
    action,
    identity: { ...identity },
    facts: { ...facts },
    overrides: { ...overrides },
  }));
}

/** Reads the identity of an opened repository off the file system. Throws when it is gone. */
export function readIdentity(
  repo: { facts: { topLevel: string | null; gitDir: string }; path: string },
): RepositoryIdentity {
  const id = (path: string) => {
    const info = Deno.lstatSync(path);
    return `${info.dev}:${info.ino}:${info.isSymlink ? "link" : "dir"}`;
  };
  return {
    path: repo.path,
    gitDir: repo.facts.gitDir,
    files: `${id(repo.path)} ${id(repo.facts.gitDir)}`,
  };
}
