import type { GitConfig } from "./config.ts";

/** Facts that stay true while the configuration files keep their identity. Paths are absolute. */
export interface RepositoryFacts {
  /** The canonical path that was asked for. */
  readonly askedPath: string;
  /** Top of the work tree; null in a bare repository. */
  readonly topLevel: string | null;
  readonly gitDir: string;
  /** Equal to `gitDir` but in a linked worktree. */
  readonly commonDir: string;
  readonly bare: boolean;
  readonly objectFormat: "sha1" | "sha256";
  readonly config: GitConfig;
  /** Configuration keys of the repository's own scope that name programs; none is run on a read. */
  readonly programs: readonly string[];
}
