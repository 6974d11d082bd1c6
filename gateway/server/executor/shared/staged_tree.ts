import type { OperationContext } from "../../types.ts";
import { approvedGit } from "./run.ts";
import { scratchIn } from "./scratch.ts";

/**
 * The tree that a commit would have if no hook changed anything: the index as it is, or the last commit
 * with the named paths as they are on disk, in an index of its own.
 *
 * @param pathspecs NUL-separated; null means the whole index
 */
export async function stagedTree(
  context: OperationContext,
  pathspecs: string | null,
): Promise<string> {
  if (pathspecs === null) return (await approvedGit(context, ["write-tree"])).trim();
  const scratch = scratchIn(context.runDir);
  const folder = await scratch.makeFolder();
  try {
    const env = { GIT_INDEX_FILE: `${folder}/index` };
    const config = [["core.hooksPath", "/dev/null"]] as const;
    const born =
      (await context.repo.optionalText(["rev-parse", "--verify", "-q", "HEAD"])) !== null;
    await approvedGit(context, born ? ["read-tree", "HEAD"] : ["read-tree", "--empty"], {
      env,
      config,
    });
    await approvedGit(context, [
      "add",
      "--all",
      "--pathspec-from-file=-",
      "--pathspec-file-nul",
    ], { env, config, stdin: pathspecs });
    return (await approvedGit(context, ["write-tree"], { env, config })).trim();
  } finally {
    await scratch.removeFolder(folder);
  }
}
