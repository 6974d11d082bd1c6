/** Names of refs, and a ref as listings give it. */

/** A branch, remote-tracking branch or tag. Members that have nothing to say are left out. */
export interface Ref {
  /** Without `refs/heads/`, `refs/remotes/` or `refs/tags/`. */
  readonly name: string;
  readonly ref: string;
  /** Base64 of the full name when it is not UTF-8. */
  readonly refBytes?: string;
  /** Full id; null for a broken ref. */
  readonly oid: string | null;
  /** What an annotated tag stands for; null when the objects are not here. */
  peeled?: string | null;
  /** Full name of the ref that a symbolic ref names. */
  readonly symref?: string;
  /** Full name of the configured upstream. */
  readonly upstream?: string;
  upstreamGone?: true;
  /** Path of the work tree that has it checked out. */
  readonly worktree?: string;
  readonly broken?: true;
}

export type RefKind = "branch" | "remote" | "tag";

/** Where branches, remote-tracking branches and tags are, in byte order. */
export const REF_NAMESPACES = ["refs/heads/", "refs/remotes/", "refs/tags/"] as const;
const KINDS: readonly RefKind[] = ["branch", "remote", "tag"];

/** What kind of ref a full name is. */
export function refKind(ref: string): RefKind {
  return KINDS[REF_NAMESPACES.findIndex((space) => ref.startsWith(space))] ?? "branch";
}

/** A full name without the namespace that says its kind. */
export function shortRef(ref: string): string {
  const space = REF_NAMESPACES.find((prefix) => ref.startsWith(prefix));
  return space ? ref.slice(space.length) : ref;
}
