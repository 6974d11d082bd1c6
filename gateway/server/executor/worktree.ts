import { isAbsolutePath } from "../../../common/allowed_roots.ts";
import type { Repository } from "../../../git/repository.ts";
import { listWorktrees, type Worktree } from "../../../git/worktrees.ts";
import { isDotGit } from "../admission/names.ts";
import type { ExecutionResult, Inspection, Note, Operation, WorktreeAction } from "../types.ts";
import { defaultWorktreePath } from "../worktree_place.ts";
import { emptyEffect } from "./shared/effect.ts";
import { commitAt, headFacts } from "./shared/facts.ts";
import { hookFacts } from "./shared/hooks.ts";
import { newBranchBlockers } from "./shared/ref_names.ts";
import { approvedGit, failedWith, moveRefs, wordsOf } from "./shared/run.ts";

const MAX_WORKTREES = 1_000;

/** worktree: a second work tree for a branch, beside the repository unless a place is named (`operations.md` E10). */
export const operation: Operation<WorktreeAction> = {
  type: "worktree",

  async inspect(action, { repo }): Promise<Inspection> {
    const ref = `refs/heads/${action.branch}`;
    const { worktrees } = await listWorktrees(repo, MAX_WORKTREES);
    const main = worktrees[0]?.path ?? repo.path;
    const path = action.path?.replace(/(?<=[^\\/:])[\\/]+$/, "") ??
      defaultWorktreePath(main, action.branch);
    const [head, branch, hooks] = await Promise.all([
      headFacts(repo),
      commitAt(repo, ref),
      hookFacts(repo, ["post-checkout", "reference-transaction", "post-index-change"]),
    ]);
    const start = branch ?? head["head.oid"] ?? null;
    const blockers: Note[] = [];
    // A branch that is being rebased or bisected is in use although HEAD is detached there.
    const holder = worktrees.find((tree) =>
      tree.branch === action.branch || tree.operation?.branch === action.branch
    );
    if (holder) {
      blockers.push({
        code: "checked_out",
        message: "this branch is checked out in another work tree",
        paths: [holder.path],
      });
    } else if (branch === null) blockers.push(...await newBranchBlockers(repo, action.branch));
    if (start === null) {
      blockers.push({ code: "unborn", message: "there is no commit yet to check out" });
    }
    blockers.push(...placeProblems(path, placesOf(repo, worktrees)));
    return {
      facts: { ...head, [ref]: branch, path, parent: parentStamp(path), ...hooks.facts },
      effect: {
        ...emptyEffect(
          `add a work tree for ${
            branch === null ? "the new branch" : "the branch"
          } ${action.branch}`,
        ),
        refs: branch === null ? [{ ref, before: null, after: start }] : [],
        details: { worktreePath: path, newBranch: branch === null, startsAt: start },
      },
      risk: "low",
      destructive: false,
      words: null,
      blockers,
      warnings: hooks.warnings,
      paths: [],
    };
  },

  async execute(action, inspection, context): Promise<ExecutionResult> {
    const ref = `refs/heads/${action.branch}`;
    // By way of the real folder above it, the one whose identity is on the card.
    const path = `${inspection.facts["parent"]!.split("\0")[0]!}/${
      lastPart(inspection.facts["path"]!)
    }`;
    const fresh = inspection.facts[ref] === null;
    const start = String(inspection.effect.details["startsAt"]);
    const result = (note = ""): ExecutionResult => ({
      status: "completed",
      message: `added a work tree for ${action.branch}${note}`,
      members: { worktreePath: path, branch: action.branch },
    });
    try {
      if (fresh) {
        await moveRefs(context, [{ ref, from: null, to: start }], `branch: Created from ${start}`);
      }
    } catch (error) {
      return failedWith(error, "the branch was not created", { leaveAsIs: true });
    }
    try {
      await approvedGit(context, ["worktree", "add", "--quiet", "--", path, action.branch]);
      return result();
    } catch (error) {
      const made = (await listWorktrees(context.repo, MAX_WORKTREES)).worktrees
        .find((tree) => sameSlashes(tree.path) === sameSlashes(path));
      // A failing post-checkout hook fails the command, but the work tree is whole by then.
      if (made?.branch === action.branch && !made.prunable && isWhole(path)) {
        return result(`; afterwards git said: ${wordsOf(error)}`);
      }
      if (made) {
        await approvedGit(context, ["worktree", "remove", "--force", "--", path]).catch(() => {});
      }
      if (fresh) {
        await moveRefs(context, [{ ref, from: start, to: null }], "branch: not kept").catch(
          () => {},
        );
      }
      return failedWith(error, "the work tree was not added");
    }
  },
};

/** Git prints paths with `/` everywhere. */
function sameSlashes(path: string, windows = Deno.build.os === "windows"): string {
  return windows ? path.replaceAll("\\", "/") : path;
}

/** Git writes the index last: with it and without its lock the checkout has ended. */
function isWhole(path: string): boolean {
  try {
    const gitDir = Deno.readTextFileSync(`${path}/.git`).trim().replace(/^gitdir: /, "");
    return exists(`${gitDir}/index`) !== null && exists(`${gitDir}/index.lock`) === null;
  } catch {
    return false;
  }
}

/** Folders in which no work tree may be put: those of the others, and git's own. */
function placesOf(repo: Repository, worktrees: readonly Worktree[]): string[] {
  return [
    ...worktrees.map((tree) => tree.path),
    repo.facts.commonDir,
    repo.facts.gitDir,
    repo.path,
  ];
}

/**
 * The place must be free, the folder above it a real one, and outside every work tree and git directory.
 * Exported for tests with another platform.
 */
export function placeProblems(
  path: string,
  taken: readonly string[],
  windows = Deno.build.os === "windows",
): Note[] {
  const bad = (code: string, message: string): Note[] => [{ code, message, paths: [path] }];
  const separator = windows ? /[\\/]+/ : /\/+/;
  if (!isAbsolutePath(path, windows)) return bad("bad_path", "the place must be an absolute path");
  const parts = path.split(separator);
  if (parts.some((part) => part === ".." || part === "." || isDotGit(part))) {
    return bad("bad_path", "the place may not hold .., . or a git directory");
  }
  if (parts.at(-1) === "" || parts.at(-1)!.startsWith("-")) {
    return bad("bad_path", "the place must end in a folder's name that does not begin with -");
  }
  if (exists(path) !== null) return bad("place_taken", "something is there already");
  const parent = parentOf(path, windows);
  if (!exists(parent)?.isDirectory) {
    return bad("no_parent", "the folder above it does not exist or is a link");
  }
  const real = Deno.realPathSync(parent);
  const inside = taken.some((place) =>
    real === place || real.startsWith(place + (windows ? "\\" : "/"))
  );
  return inside
    ? bad("inside_repository", "the place lies inside another work tree or a git directory")
    : [];
}

function parentStamp(path: string): string | null {
  try {
    const parent = Deno.realPathSync(parentOf(path));
    const info = Deno.lstatSync(parent);
    return `${parent}\0${info.dev}:${info.ino}`;
  } catch {
    return null;
  }
}

function parentOf(path: string, windows = Deno.build.os === "windows"): string {
  return path.replace(windows ? /[\\/]+[^\\/]*$/ : /\/+[^/]*$/, "") || "/";
}

function lastPart(path: string, windows = Deno.build.os === "windows"): string {
  return path.replace(windows ? /^.*[\\/]/s : /^.*\//s, "");
}

function exists(path: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(path);
  } catch {
    return null;
  }
}
