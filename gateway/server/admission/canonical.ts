import { openRepository, type Repository } from "../../../git/repository.ts";
import { messageOf } from "../execution.ts";
import { mainWorktree } from "../policy_names.ts";
import { invalid } from "../refusal.ts";
import type { Action } from "../types.ts";
import { defaultWorktreePath } from "../worktree_place.ts";

/**
 * Opens the repository that a path of a proposal lies in. Throws a 422 `Refusal`.
 *
 * @param at place in the body, for the message
 */
export async function openNamed(path: string, at: string): Promise<Repository> {
  let canonical: string;
  try {
    canonical = await Deno.realPath(path);
  } catch {
    throw invalid(`${at} cannot be resolved on this machine`);
  }
  try {
    return await openRepository(canonical);
  } catch (error) {
    throw invalid(`${at} is not a repository that git opens: ${messageOf(error)}`);
  }
}

/**
 * One spelling for every place that an action names, so that policy, locks, digest and card speak of
 * the same: targets of a branch deletion as their repositories' tops, the place of a work tree with
 * its links resolved and the default one filled in. Throws a 422 `Refusal`.
 */
export async function canonicalAction(action: Action, repo: Repository): Promise<Action> {
  if (action.operationType === "worktree") {
    const given = action.path ?? defaultWorktreePath(await mainWorktree(repo), action.branch);
    return { ...action, path: await resolvePlace(given) };
  }
  if (action.operationType !== "branchDelete") return action;
  const targets: { repoPath: string; branches: readonly string[] }[] = [];
  for (const [i, target] of action.targets.entries()) {
    const { path } = await openNamed(target.repoPath, `body.targets[${i}].repoPath`);
    if (targets.some((other) => other.repoPath === path)) {
      throw invalid("body.targets names a repository twice");
    }
    targets.push({ branches: target.branches, repoPath: path });
  }
  return { ...action, targets };
}

/** The path with its existing part resolved: what is not there yet cannot be a link. */
async function resolvePlace(path: string): Promise<string> {
  const parts = path.split("/").filter((part) => part !== "");
  if (Deno.build.os === "windows" || parts.includes("..")) return path;
  for (let n = parts.length; n > 0; n--) {
    try {
      const real = await Deno.realPath("/" + parts.slice(0, n).join("/"));
      return [real === "/" ? "" : real, ...parts.slice(n)].join("/");
    } catch { /* not there yet: look further up */ }
  }
  return "/" + parts.join("/");
}
