import { isAbsolutePath } from "../../../common/allowed_roots.ts";
import { listWorktrees } from "../../../git/worktrees.ts";
import type { ExecutionResult, Inspection, Note, Operation, WorktreeAction } from "../types.ts";
import { defaultWorktreePath } from "../worktree_place.ts";
import { emptyEffect } from "./shared/effect.ts";
import { headFacts, hookFacts } from "./shared/facts.ts";
import { approvedGit, failedWith, moveRefs } from "./shared/run.ts";

const MAX_WORKTREES = 1_000;

/** worktree: a second work tree for a branch, beside the repository unless a place is named (`operations.md` E10). */
export const operation: Operation<WorktreeAction> = {
  type: "worktree",

  async inspect(action, { repo }): Promise<Inspection> {
    const ref = `refs/heads/${action.branch}`;
    const list = await listWorktrees(repo, MAX_WORKTREES);
    const main = list.worktrees[0]?.path ?? repo.path;
    const path = action.path ?? defaultWorktreePath(main, action.branch);
    const [head, branch, hooks] = await Promise.all([
      headFacts(repo),
      repo.optionalText(["rev-parse", "--verify", "--quiet", ref]),
      hookFacts(repo, ["post-checkout", "reference-transaction"]),
    ]);
    const start = branch ?? head["head.oid"] ?? null;
    const blockers: Note[] = [];
    const holder = list.worktrees.find((worktree) => worktree.branch === action.branch);
    if (holder) {
      blockers.push({
        code: "checked_out",
        message: "this branch is checked out in another work tree",
        paths: [holder.path],
      });
    }
    if (start === null) {
      blockers.push({ code: "unborn", message: "there is no commit yet to check out" });
    }
    blockers.push(...placeProblems(path, list.worktrees.map((worktree) => worktree.path)));
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

  async execute(action, inspection, { repo }): Promise<ExecutionResult> {
    const ref = `refs/heads/${action.branch}`;
    const path = inspection.facts["path"]!;
    const fresh = inspection.facts[ref] === null;
    const start = String(inspection.effect.details["startsAt"]);
    try {
      if (fresh) {
        await moveRefs(repo, [{ ref, from: null, to: start }], `branch: Created from ${start}`);
      }
      await approvedGit(repo, ["worktree", "add", "--", path, action.branch]);
    } catch (error) {
      if (fresh) {
        await moveRefs(repo, [{ ref, from: start, to: null }], "branch: not kept").catch(() => {});
      }
      return failedWith(error, "the work tree was not added");
    }
    return {
      status: "completed",
      message: `added a work tree for ${action.branch}`,
      members: { worktreePath: path, branch: action.branch },
    };
  },
};

/** The place must be free, its parent a real folder, and outside every work tree and git directory. */
function placeProblems(path: string, worktrees: readonly string[]): Note[] {
  const bad = (code: string, message: string): Note[] => [{ code, message, paths: [path] }];
  if (!isAbsolutePath(path, Deno.build.os === "windows")) {
    return bad("bad_path", "the place must be an absolute path");
  }
  if (path.split(/[\\/]/).some((part) => part === ".." || part.toLowerCase() === ".git")) {
    return bad("bad_path", "the place may not hold .. or .git");
  }
  const exists = (at: string) => {
    try {
      return Deno.lstatSync(at);
    } catch {
      return null;
    }
  };
  if (exists(path)) return bad("place_taken", "something is there already");
  const parent = path.replace(/[\\/][^\\/]*$/, "") || "/";
  const info = exists(parent);
  if (!info?.isDirectory) {
    return bad("no_parent", "the folder above it does not exist or is a link");
  }
  const real = Deno.realPathSync(parent);
  const inside = worktrees.find((tree) => real === tree || real.startsWith(tree + "/"));
  return inside === undefined
    ? []
    : bad("inside_worktree", "the place lies inside another work tree");
}

function parentStamp(path: string): string | null {
  try {
    const parent = Deno.realPathSync(path.replace(/[\\/][^\\/]*$/, "") || "/");
    const info = Deno.lstatSync(parent);
    return `${parent} ${info.dev}:${info.ino}`;
  } catch {
    return null;
  }
}
