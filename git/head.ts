import type { Repository } from "./repository.ts";

/** Where HEAD stands, told without a work tree (bare repositories too). */
export interface Head {
  /** Short name, also while unborn; null when detached. */
  readonly branch: string | null;
  /** Full ref; null when detached. */
  readonly ref: string | null;
  /** Full id; null while unborn. */
  readonly oid: string | null;
  readonly detached: boolean;
  readonly unborn: boolean;
}

/** Reads HEAD through git, so that every ref format is right. */
export async function readHead(repo: Repository): Promise<Head> {
  const [ref, oid] = await Promise.all([
    repo.optionalText(["symbolic-ref", "-q", "HEAD"]),
    repo.optionalText(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]),
  ]);
  return {
    branch: ref === null ? null : ref.replace(/^refs\/heads\//, ""),
    ref,
    oid,
    detached: ref === null,
    unborn: ref !== null && oid === null,
  };
}

const MAX_HEAD = 16 * 1024;

/**
 * What HEAD says, without looking up what a branch points at: its full ref, or the full id when
 * detached. Reads the file where there is one, so the usual case spawns nothing.
 */
export async function readHeadRef(
  repo: Repository,
): Promise<{ readonly ref: string } | { readonly ref: null; readonly oid: string | null }> {
  try {
    const file = `${repo.facts.gitDir}/HEAD`;
    const info = Deno.lstatSync(file);
    if (info.isFile && info.size <= MAX_HEAD) {
      const text = Deno.readTextFileSync(file);
      const ref = /^ref:[ \t]*(refs\/\S+)\s*$/.exec(text)?.[1];
      // A reftable keeps a stub there, so that old programs see no branch.
      if (ref !== undefined && ref !== "refs/heads/.invalid") return { ref };
      const oid = /^([0-9a-f]{40}(?:[0-9a-f]{24})?)\s*$/.exec(text)?.[1];
      if (oid !== undefined) return { ref: null, oid };
    }
  } catch { /* git says what is wrong */ }
  const head = await readHead(repo);
  return head.ref === null ? { ref: null, oid: head.oid } : { ref: head.ref };
}
