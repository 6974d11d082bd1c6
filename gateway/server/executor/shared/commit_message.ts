import { approvedGit, type ApprovedTarget } from "./run.ts";
import { scratchIn } from "./scratch.ts";

/**
 * Settings of a person's editor session that would change a message which nobody edits: templates, the
 * diff below it, and clean-up that takes lines beginning with `#` for comments.
 */
const AS_GIVEN = ["--quiet", "--cleanup=whitespace", "--no-verbose", "--no-template"];

/**
 * `git commit` with a message exactly as given (but for blank lines at its ends), hooks and signing
 * included; never an amend. The message goes through a private file: it can be longer than one word of
 * a command line, whose standard input holds the paths.
 *
 * @param pathspecs NUL-separated; only these are committed. Null commits what is staged
 */
export async function commitWith(
  target: ApprovedTarget & { readonly runDir: string },
  message: string,
  pathspecs: string | null,
  config: readonly (readonly [string, string])[] = [],
): Promise<void> {
  const scratch = scratchIn(target.runDir);
  const folder = await scratch.makeFolder();
  try {
    const file = `${folder}/message`;
    await Deno.writeTextFile(file, message, { createNew: true, mode: 0o600 });
    const only = ["--only", "--pathspec-from-file=-", "--pathspec-file-nul"];
    await approvedGit(
      target,
      ["commit", ...AS_GIVEN, `--file=${file}`, ...(pathspecs === null ? [] : only)],
      pathspecs === null ? { config } : { stdin: pathspecs, config },
    );
  } finally {
    await scratch.removeFolder(folder);
  }
}
