import { decodeText } from "../../../../common/bytes.ts";
import type { ExecutionResult, Inspection, MergeAction, OperationContext } from "../../types.ts";
import { commitWith } from "./commit_message.ts";
import { parentsOf } from "./effect.ts";
import { commitAt } from "./facts.ts";
import { approvedGit, failedWith, moveRefs } from "./run.ts";

/** What an inspected merge says it will do. */
interface Plan {
  readonly source: string;
  readonly target: string;
  /** Full name of the branch that moves. */
  readonly ref: string;
  readonly kind: "fast-forward" | "merge commit" | "squash";
  /** Tree that was shown; null when it could not be predicted. */
  readonly tree: string | null;
  readonly message: string;
  readonly sourceName: string;
}

/** Carries out a merge as its card showed it. */
export async function runMerge(
  action: MergeAction,
  inspection: Inspection,
  context: OperationContext,
): Promise<ExecutionResult> {
  const { facts, effect } = inspection;
  const plan: Plan = {
    source: facts["source"]!,
    target: facts["target"]!,
    ref: facts["targetRef"]!,
    kind: facts["kind"] as Plan["kind"],
    tree: facts["mergedTree"] ?? null,
    message: String(effect.details["message"] ?? ""),
    sourceName: action.sourceRef,
  };
  const here = facts["here"] === "true";
  try {
    if (here) await mergeHere(plan, context);
    else await mergeAside(plan, context);
  } catch (error) {
    return failedWith(
      error,
      "the merge was not carried out",
      // Beside the ref nothing is written there, and that one git moves or does not.
      here ? {} : { leaveAsIs: true },
    );
  }
  const { repo } = context;
  const commit = await commitAt(repo, plan.ref) ?? "";
  const wanted = plan.kind === "merge commit" ? [plan.target, plan.source] : [plan.target];
  const parents = await parentsOf(repo, commit);
  const asShown = plan.kind === "fast-forward"
    ? commit === plan.source
    : parents.length === wanted.length && parents.every((oid, i) => oid === wanted[i]);
  if (!asShown) return await takeBack(plan, commit, parents[0] ?? null, here, context);
  const tree = await repo.text(["rev-parse", "--verify", `${commit}^{tree}`]);
  const changed = plan.tree !== null && tree !== plan.tree;
  return {
    status: "completed",
    message: `${effect.summary}: now at ${commit.slice(0, 12)}${
      changed ? "; hooks or merge drivers changed the result from what was shown" : ""
    }`,
    members: {
      mergeCommit: commit,
      commitSha: commit,
      treeSha: tree,
      ...(changed ? { changedByPrograms: true } : {}),
      summary: effect.summary,
      conflicts: [],
      ...(here ? {} : {
        restorePoint: {
          operation: "merge",
          branchRef: plan.ref,
          beforeCommit: plan.target,
          afterCommit: commit,
          canUndo: true,
        },
      }),
    },
  };
}

/** Merges in the work tree. Everything that settings could turn the merge into is said outright. */
async function mergeHere(plan: Plan, context: OperationContext): Promise<void> {
  const { kind, source, message } = plan;
  const branch = plan.ref.replace(/^refs\/heads\//, "");
  const merge = async (...how: string[]) => {
    await approvedGit(context, [
      "merge",
      "--quiet",
      "--no-stat",
      "--no-log",
      "--no-autostash",
      "--strategy=ort",
      ...how,
      source,
    ], { config: [[`branch.${branch}.mergeOptions`, ""]] });
  };
  try {
    if (kind === "fast-forward") {
      await merge("--no-squash", "--ff-only");
    } else if (kind === "squash") {
      await merge("--ff", "--squash");
      await commitWith(context, message, null);
    } else {
      await merge(
        "--no-squash",
        "--no-ff",
        "--commit",
        "--no-edit",
        "--cleanup=whitespace",
        "-m",
        message,
      );
    }
  } catch (error) {
    // A conflict that nobody predicted, or a hook that said no: what git started is taken back at once.
    const back = kind === "squash" ? ["reset", "--quiet", "--merge"] : ["merge", "--abort"];
    await approvedGit(context, back).catch(() => {});
    throw error;
  }
}

/** Merges without a work tree: git's own engine makes the tree, the ref moves with its old value. */
async function mergeAside(plan: Plan, context: OperationContext): Promise<void> {
  const { repo } = context;
  const { source, target, ref } = plan;
  if (plan.kind === "fast-forward") {
    return await moveRefs(
      context,
      [{ ref, from: target, to: source }],
      `merge ${plan.sourceName}: Fast-forward`,
    );
  }
  let tree: string;
  if (await isAncestor(target, source, context)) {
    tree = await repo.text(["rev-parse", "--verify", `${source}^{tree}`]);
  } else {
    const out = await repo.run(
      ["merge-tree", "--write-tree", "--no-messages", target, source],
      { profile: "store" },
    );
    tree = decodeText(out.stdout).split("\n")[0]!.trim();
  }
  if (tree !== plan.tree) throw new Error("the merge gives another tree than the card showed");
  const parents = plan.kind === "squash" ? ["-p", target] : ["-p", target, "-p", source];
  const sign = repo.facts.config.bool("commit.gpgsign", false) ? ["-S"] : [];
  const commit = (await approvedGit(context, ["commit-tree", ...sign, ...parents, tree], {
    stdin: plan.message,
  })).trim();
  await moveRefs(
    context,
    [{ ref, from: target, to: commit }],
    `merge ${plan.sourceName}: Merge made by fluxgit-sidecar.`,
  );
}

async function isAncestor(
  older: string,
  newer: string,
  { repo }: OperationContext,
): Promise<boolean> {
  const out = await repo.run(["merge-base", "--is-ancestor", older, newer], { okCodes: [0, 1] });
  return out.code === 0;
}

/**
 * Somebody moved the branch between the last look and the merge: the new commit is taken off again,
 * refused by git if the branch has moved once more, and what the other one did stays.
 */
async function takeBack(
  plan: Plan,
  commit: string,
  parent: string | null,
  here: boolean,
  context: OperationContext,
): Promise<ExecutionResult> {
  const what = "the branch moved while it was merged";
  const failed = { status: "failed" as const, members: {} };
  if (!here || parent === null || parent === plan.target) {
    return { ...failed, message: `${what}: it is at ${commit.slice(0, 12)} now`, leaveAsIs: true };
  }
  try {
    await moveRefs(context, [{ ref: plan.ref, from: commit, to: parent }], "merge: taken back");
    await approvedGit(context, ["reset", "--quiet", "--no-recurse-submodules", "--merge"]);
    return { ...failed, message: `stale: ${what}; the merge was taken back`, leaveAsIs: true };
  } catch (error) {
    return failedWith(error, `${what}, and the merge could not be taken off alone`);
  }
}
