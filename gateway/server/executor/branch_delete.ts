import { openRepository, type Repository } from "../../../git/repository.ts";
import { listWorktrees, type Worktree } from "../../../git/worktrees.ts";
import { readIdentity } from "../digest.ts";
import type {
  BranchDeleteAction,
  ExecutionResult,
  Inspection,
  Note,
  Operation,
  OperationContext,
} from "../types.ts";
import { emptyEffect } from "./shared/effect.ts";
import type { Facts } from "./shared/facts.ts";
import { hookFacts } from "./shared/hooks.ts";
import { moveRefs, wordsOf } from "./shared/run.ts";

/** Why a branch is kept. */
type Skip =
  | "unknown"
  | "unmerged"
  | "checked_out"
  | "unreadable_repository"
  | "not_a_branch";

/** What one branch looks like and whether it may go (`operations.md` E11). */
interface BranchLook {
  readonly repoPath: string;
  readonly branch: string;
  readonly tipOid: string | null;
  /** null: it will be deleted. */
  readonly skip: Skip | null;
  /** What holds its commits: `HEAD` or the upstream. */
  readonly mergedInto: string | null;
  readonly upstream: string | null;
  readonly subject: string | null;
}

/**
 * branchDelete: local branches whose commits are all in HEAD or their upstream, checked out nowhere.
 * Each tip is in a restore point of its repository, from which the branch comes back; remote branches
 * are never touched.
 */
export const operation: Operation<BranchDeleteAction> = {
  type: "branchDelete",

  async inspect(action, context): Promise<Inspection> {
    const facts: Facts = {};
    const looks: BranchLook[] = [];
    const warnings: Note[] = [];
    for (const target of action.targets) {
      const found = await lookAtTarget(target, context);
      looks.push(...found.looks);
      warnings.push(...found.warnings);
      for (const [name, value] of Object.entries(found.facts)) {
        facts[`${target.repoPath}\0${name}`] = value;
      }
      for (const { branch, tipOid, skip } of found.looks) {
        facts[`${target.repoPath}\0branch ${branch}`] = `${tipOid ?? ""} ${skip ?? ""}`;
      }
    }
    const going = looks.filter((look) => look.skip === null);
    const names = new Set(going.map((look) => look.repoPath));
    const several = action.targets.length > 1;
    return {
      facts,
      effect: {
        ...emptyEffect(
          `delete ${going.length} of ${looks.length} branches in ${names.size} ${
            names.size === 1 ? "repository" : "repositories"
          }`,
        ),
        refs: going.map(({ repoPath, branch, tipOid }) => ({
          ref: several ? `${repoPath} refs/heads/${branch}` : `refs/heads/${branch}`,
          before: tipOid,
          after: null,
        })),
        details: { branches: looks },
      },
      risk: "medium",
      destructive: false,
      words: null,
      blockers: going.length > 0 ? [] : [{
        code: "nothing_to_delete",
        message: "none of these branches can be deleted safely",
      }],
      warnings,
      paths: [],
    };
  },

  async execute(action, inspection, context): Promise<ExecutionResult> {
    const looks = inspection.effect.details["branches"] as readonly BranchLook[];
    const counts = { deleted: 0, failed: 0, skipped: 0 };
    const repositories: { repoPath: string; branches: Record<string, unknown>[] }[] = [];
    let firstFailure: string | null = null;
    for (const { repoPath } of action.targets) {
      const branches: Record<string, unknown>[] = [];
      for (const look of looks.filter((one) => one.repoPath === repoPath)) {
        const outcome = look.skip !== null
          ? { status: "skipped" as const, reason: look.skip }
          : await deleteOne(look, context);
        counts[outcome.status]++;
        if (outcome.status === "failed") firstFailure ??= outcome.reason;
        branches.push({
          branch: look.branch,
          ...(look.tipOid === null ? {} : { tipOid: look.tipOid }),
          ...outcome,
        });
      }
      repositories.push({ repoPath, branches });
    }
    const message =
      `deleted ${counts.deleted}, failed ${counts.failed}, left ${counts.skipped} branches`;
    return {
      status: counts.deleted > 0 ? "completed" : "failed",
      message: firstFailure === null ? message : `${message}: ${firstFailure}`,
      members: {
        branchDelete: { ...counts, repositories },
        ...(firstFailure === null ? {} : { error: firstFailure }),
      },
      // Each branch is one ref that git deleted or did not: where none went nothing was written.
      ...(counts.deleted > 0 ? {} : { leaveAsIs: true as const }),
    };
  },
};

type Outcome =
  | { readonly status: "deleted"; readonly restoreOid: string }
  | { readonly status: "skipped" | "failed"; readonly reason: string };

/** The core holds the lock of every target and has made a restore point there, which keeps the tip. */
async function deleteOne(look: BranchLook, context: OperationContext): Promise<Outcome> {
  try {
    const repo = await openTarget(look.repoPath, context);
    const ref = `refs/heads/${look.branch}`;
    const { worktrees } = await listWorktrees(repo, MAX_WORKTREES);
    if (isCheckedOut(worktrees, look.branch)) {
      return { status: "skipped", reason: "checked_out" };
    }
    await moveRefs(
      { ...context, repo },
      [{ ref, from: look.tipOid, to: null }],
      "branch: deleted",
    );
    return { status: "deleted", restoreOid: look.tipOid! };
  } catch (error) {
    return { status: "failed", reason: wordsOf(error) };
  }
}

interface TargetLook {
  readonly looks: readonly BranchLook[];
  readonly facts: Facts;
  readonly warnings: readonly Note[];
}

const MAX_WORKTREES = 1_000;

async function lookAtTarget(
  { repoPath, branches }: BranchDeleteAction["targets"][number],
  context: OperationContext,
): Promise<TargetLook> {
  const unseen = {
    repoPath,
    tipOid: null,
    mergedInto: null,
    upstream: null,
    subject: null,
  };
  let repo: Repository;
  try {
    repo = await openTarget(repoPath, context);
  } catch (error) {
    if (context.signal?.aborted) throw error;
    return {
      looks: branches.map((branch) => ({ ...unseen, branch, skip: "unreadable_repository" })),
      facts: { identity: null },
      warnings: [],
    };
  }
  const [{ worktrees }, hooks] = await Promise.all([
    listWorktrees(repo, MAX_WORKTREES),
    hookFacts(repo, ["reference-transaction"]),
  ]);
  const looks: BranchLook[] = [];
  for (const branch of branches) looks.push(await lookAt(repo, repoPath, branch, worktrees));
  return {
    looks,
    facts: { identity: readIdentity(repo).files, ...hooks.facts },
    warnings: hooks.warnings,
  };
}

async function lookAt(
  repo: Repository,
  repoPath: string,
  branch: string,
  worktrees: readonly Worktree[],
): Promise<BranchLook> {
  const ref = `refs/heads/${branch}`;
  const text = await repo.text([
    "for-each-ref",
    "--count=200",
    "--format=%(refname)%00%(objectname)%00%(objecttype)%00%(symref)%00%(upstream)%00%(subject)",
    ref,
  ]);
  // The pattern also finds what lies below a folder of this name.
  const line = text.split("\n").find((one) => one.startsWith(`${ref}\0`)) ?? "";
  const [, oid, type, symref, upstream, subject] = line.split("\0");
  const base = {
    repoPath,
    branch,
    tipOid: oid ?? null,
    mergedInto: null,
    upstream: upstream || null,
    subject: subject?.slice(0, 200) ?? null,
  };
  if (!oid) return { ...base, skip: "unknown" };
  // Another name for a ref, or a ref to something else: deleting it is not deleting a branch.
  if (type !== "commit" || symref) return { ...base, skip: "not_a_branch" };
  if (isCheckedOut(worktrees, branch)) return { ...base, skip: "checked_out" };
  for (const holder of ["HEAD", upstream ?? ""]) {
    // An upstream can be the branch itself under another remote's name, but never the ref itself.
    if (holder === "" || holder === ref) continue;
    const inside = await repo.run(["merge-base", "--is-ancestor", oid, holder], { okCodes: "any" });
    if (inside.code === 0) return { ...base, mergedInto: holder, skip: null };
  }
  return { ...base, skip: "unmerged" };
}

/** A branch that is being rebased or bisected is in use although HEAD is detached there. */
function isCheckedOut(worktrees: readonly Worktree[], branch: string): boolean {
  return worktrees.some((tree) => tree.branch === branch || tree.operation?.branch === branch);
}

async function openTarget(path: string, context: OperationContext): Promise<Repository> {
  return path === context.repo.path
    ? context.repo
    : await openRepository(path, { signal: context.signal });
}
