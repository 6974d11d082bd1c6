import { openRepository, type Repository } from "../../../git/repository.ts";
import { listWorktrees } from "../../../git/worktrees.ts";
import { messageOf } from "../execution.ts";
import type {
  BranchDeleteAction,
  ExecutionResult,
  Inspection,
  Note,
  Operation,
  OperationContext,
} from "../types.ts";
import { emptyEffect } from "./shared/effect.ts";
import { type Facts, hookFacts } from "./shared/facts.ts";
import { moveRefs } from "./shared/run.ts";

/** What one branch looks like and whether it may go (`operations.md` E11). */
interface BranchLook {
  readonly repoPath: string;
  readonly branch: string;
  readonly tipOid: string | null;
  /** null: it will be deleted. */
  readonly skip: "unknown" | "unmerged" | "checked_out" | "unreadable_repository" | null;
  readonly subject: string | null;
}

/**
 * branchDelete: local branches whose commits are all in HEAD or their upstream, checked out nowhere.
 * Each tip is recorded and comes back with the restore point; remote branches are never touched.
 */
export const operation: Operation<BranchDeleteAction> = {
  type: "branchDelete",

  async inspect(action, context): Promise<Inspection> {
    const looks = await lookAtAll(action, context);
    const facts: Facts = {};
    for (const look of looks) {
      facts[`${look.repoPath}\0${look.branch}`] = `${look.tipOid ?? ""} ${look.skip ?? ""}`;
    }
    const hooks = await hookFacts(context.repo, ["reference-transaction"]);
    const going = looks.filter((look) => look.skip === null);
    const blockers: Note[] = going.length === 0
      ? [{ code: "nothing_to_delete", message: "none of these branches can be deleted safely" }]
      : [];
    const names = new Set(going.map((look) => look.repoPath));
    return {
      facts: { ...facts, ...hooks.facts },
      effect: {
        ...emptyEffect(
          `delete ${going.length} of ${looks.length} branches in ${names.size} ${
            names.size === 1 ? "repository" : "repositories"
          }`,
        ),
        refs: going.map((look) => ({
          ref: `refs/heads/${look.branch}`,
          before: look.tipOid,
          after: null,
        })),
        details: { branches: looks },
      },
      risk: "medium",
      destructive: false,
      words: null,
      blockers,
      warnings: hooks.warnings,
      paths: [],
    };
  },

  async execute(action, inspection, context): Promise<ExecutionResult> {
    const looks = inspection.effect.details["branches"] as readonly BranchLook[];
    const counts = { deleted: 0, failed: 0, skipped: 0 };
    const repositories: { repoPath: string; branches: Record<string, unknown>[] }[] = [];
    for (const target of action.targets) {
      const branches: Record<string, unknown>[] = [];
      for (const look of looks.filter((one) => one.repoPath === target.repoPath)) {
        const outcome = look.skip !== null
          ? { status: "skipped", reason: look.skip }
          : await deleteOne(look, context);
        counts[outcome.status as keyof typeof counts]++;
        branches.push({
          branch: look.branch,
          ...(look.tipOid === null ? {} : { tipOid: look.tipOid }),
          ...outcome,
        });
      }
      repositories.push({ repoPath: target.repoPath, branches });
    }
    const members = { branchDelete: { ...counts, repositories } };
    const message =
      `deleted ${counts.deleted}, failed ${counts.failed}, left ${counts.skipped} branches`;
    return { status: counts.deleted > 0 ? "completed" : "failed", message, members };
  },
};

async function deleteOne(
  look: BranchLook,
  context: OperationContext,
): Promise<Record<string, unknown>> {
  try {
    const repo = await openTarget(look.repoPath, context);
    const ref = `refs/heads/${look.branch}`;
    if (await checkedOut(repo, look.branch)) return { status: "skipped", reason: "checked_out" };
    // The tip stays reachable by a hidden name, so that the branch can come back after gc too.
    await moveRefs(repo, [{
      ref: `refs/fluxgit/deleted/${look.tipOid}`,
      from: null,
      to: look.tipOid,
    }], "keep a deleted branch").catch(() => {});
    await moveRefs(repo, [{ ref, from: look.tipOid, to: null }], "branch: deleted");
    return { status: "deleted", restoreOid: look.tipOid };
  } catch (error) {
    return { status: "failed", reason: messageOf(error) };
  }
}

async function lookAtAll(
  action: BranchDeleteAction,
  context: OperationContext,
): Promise<BranchLook[]> {
  const looks: BranchLook[] = [];
  for (const target of action.targets) {
    let repo: Repository;
    try {
      repo = await openTarget(target.repoPath, context);
    } catch {
      looks.push(
        ...target.branches.map((branch) => ({
          repoPath: target.repoPath,
          branch,
          tipOid: null,
          skip: "unreadable_repository" as const,
          subject: null,
        })),
      );
      continue;
    }
    for (const branch of target.branches) looks.push(await lookAt(repo, target.repoPath, branch));
  }
  return looks;
}

async function lookAt(repo: Repository, repoPath: string, branch: string): Promise<BranchLook> {
  const ref = `refs/heads/${branch}`;
  const line = await repo.text([
    "for-each-ref",
    "--format=%(objectname)%00%(upstream)%00%(subject)",
    ref,
  ]);
  const [oid, upstream, subject] = line.split("\n")[0]!.split("\0");
  const base = { repoPath, branch, subject: subject?.slice(0, 200) ?? null };
  if (!oid) return { ...base, tipOid: null, skip: "unknown" };
  if (await checkedOut(repo, branch)) return { ...base, tipOid: oid, skip: "checked_out" };
  for (const holder of ["HEAD", upstream ?? ""]) {
    if (holder === "") continue;
    const inside = await repo.run(["merge-base", "--is-ancestor", oid, holder], { okCodes: "any" });
    if (inside.code === 0) return { ...base, tipOid: oid, skip: null };
  }
  return { ...base, tipOid: oid, skip: "unmerged" };
}

async function checkedOut(repo: Repository, branch: string): Promise<boolean> {
  const { worktrees } = await listWorktrees(repo, 1_000);
  // A branch that is being rebased or bisected is in use although HEAD is detached there.
  return worktrees.some((tree) => tree.branch === branch || tree.operation?.branch === branch);
}

async function openTarget(path: string, context: OperationContext): Promise<Repository> {
  return path === context.repo.path
    ? context.repo
    : await openRepository(path, { signal: context.signal });
}
