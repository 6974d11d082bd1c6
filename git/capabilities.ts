import { runGit } from "./command.ts";
import { GitError } from "./errors.ts";
import { gitProgram } from "./program.ts";
import { decodeText } from "../common/bytes.ts";

/** What the installed git can do, read once from `git version` (`git-inputs.md` row 89). */
export interface GitCapabilities {
  /** As git prints it, without the words before. */
  readonly version: string;
  readonly major: number;
  readonly minor: number;
  /** `merge-tree --write-tree`, from 2.38. */
  readonly mergeTreeWriteTree: boolean;
  /** `worktree list -z`, from 2.36. */
  readonly worktreeListZ: boolean;
  /** `status --show-stash` in porcelain v2, from 2.35. */
  readonly statusShowStash: boolean;
  /** Reads the reftable format, from 2.45. */
  readonly reftable: boolean;
}

/** Below this the overrides that keep repository programs quiet cannot be given. */
export const OLDEST_GIT = [2, 31] as const;

let known: { program: string; promise: Promise<GitCapabilities> } | undefined;

/** The feature table of the chosen git. Throws {@link GitError} `git_missing` or `git_too_old`. */
export function gitCapabilities(): Promise<GitCapabilities> {
  const program = gitProgram().path;
  if (known?.program === program) return known.promise;
  const promise = runGit({ path: ".", overrides: [] }, ["version"])
    .then((out) => parseCapabilities(decodeText(out.stdout)));
  // A failure is not remembered: git may be installed while the server runs.
  promise.catch(() => known = undefined);
  known = { program, promise };
  return promise;
}

/** Parses the line of `git version`. Exported for tests. */
export function parseCapabilities(line: string): GitCapabilities {
  const version = line.trim().replace(/^git version /, "");
  const match = /^(\d+)\.(\d+)/.exec(version);
  if (!match) {
    throw new GitError(
      "git_too_old",
      ["version"],
      `the version ${JSON.stringify(version.slice(0, 80))} cannot be read`,
    );
  }
  const major = Number(match[1]), minor = Number(match[2]);
  const from = (a: number, b: number) => major > a || (major === a && minor >= b);
  if (!from(...OLDEST_GIT)) {
    throw new GitError(
      "git_too_old",
      ["version"],
      `git ${version.slice(0, 80)} is older than ${OLDEST_GIT.join(".")}`,
    );
  }
  return {
    version,
    major,
    minor,
    mergeTreeWriteTree: from(2, 38),
    worktreeListZ: from(2, 36),
    statusShowStash: from(2, 35),
    reftable: from(2, 45),
  };
}
