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
