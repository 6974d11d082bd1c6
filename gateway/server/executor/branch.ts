import { readHead } from "../../../git/head.ts";
import type { Repository } from "../../../git/repository.ts";
import type { BranchAction, ExecutionResult, Inspection, Note, Operation } from "../types.ts";
import { changedBelow } from "./shared/changed.ts";
import { emptyEffect, NO_DIFF } from "./shared/effect.ts";
import { commitOf, type Facts, headFacts, workTreeBlockers } from "./shared/facts.ts";
import { hookFacts } from "./shared/hooks.ts";
import { carryBlockers } from "./shared/in_the_way.ts";
import { known, type Lab, type Predicted } from "./shared/predicted.ts";
import { newBranchBlockers } from "./shared/ref_names.ts";
import { approvedGit, failedWith, moveRefs, wordsOf } from "./shared/run.ts";
import { indexFacts } from "./shared/work_tree_facts.ts";

/** branch: makes a branch and, if asked, switches to it (`operations.md` E10). Never overwrites one. */
export const operation: Operation<BranchAction> = {
  type: "branch",

  async inspect(action, context): Promise<Inspection> {
    const { repo } = context;
    const ref = `refs/heads/${action.name}`;
    const [head, start, names, hooks, standing] = await Promise.all([
      headFacts(repo),
      commitOf(repo, action.startPoint),
      newBranchBlockers(repo, action.name),
      hookFacts(
        repo,
        action.checkout
          ? ["reference-transaction", "post-checkout", "post-index-change"]
          : ["reference-transaction"],
      ),
      action.checkout
        ? workTreeBlockers(repo, "nothing to switch; set checkout to false")
        : Promise.resolve([]),
    ]);
    const blockers: Note[] = [...standing, ...names];
    if (start === null) {
      blockers.push({ code: "unknown_ref", message: "startPoint names no commit here" });
    }
    const moving = action.checkout && start !== null && start !== head["head.oid"] &&
        repo.facts.topLevel !== null
      ? await switching(context, head["head.oid"] ?? null, start)
      : null;
    const diff = moving?.diff ?? NO_DIFF;
    return {
      facts: { ...head, start, ...moving?.facts, ...hooks.facts },
      effect: {
        ...emptyEffect(
          `create the branch ${action.name}${action.checkout ? " and switch to it" : ""}`,
        ),
        ...diff,
        refs: [{ ref, before: null, after: start }],
        details: { startPoint: action.startPoint, checkout: action.checkout },
      },
      risk: "low",
      destructive: false,
      words: null,
      blockers: [...blockers, ...moving?.blockers ?? []],
      warnings: [...hooks.warnings, ...moving?.arming ?? []],
      paths: diff.files.map((file) => file.path),
    };
  },

  async execute(action, inspection, context): Promise<ExecutionResult> {
    const ref = `refs/heads/${action.name}`;
    const start = inspection.facts["start"]!;
    const result = (note = ""): ExecutionResult => ({
      status: "completed",
      message: `created the branch ${action.name}${
        action.checkout ? " and switched to it" : ""
      }${note}`,
      members: { branch: action.name, checkedOut: action.checkout },
    });
    try {
      // "must not exist" is git's own check, made in the same transaction that creates it.
      await moveRefs(
        context,
        [{ ref, from: null, to: start }],
        `branch: Created from ${action.startPoint}`,
      );
    } catch (error) {
      return failedWith(error, "the branch was not created", { leaveAsIs: true });
    }
    if (!action.checkout) return result();
    try {
      await approvedGit(context, [
        "switch",
        "--quiet",
        "--no-guess",
        "--no-recurse-submodules",
        "--no-overwrite-ignore",
        action.name,
      ]);
      return result();
    } catch (error) {
      // A failing post-checkout hook fails the command, but it cannot prevent what was done by then.
      if ((await readHead(context.repo)).ref === ref) {
        return result(`; afterwards git said: ${wordsOf(error)}`);
      }
      await moveRefs(context, [{ ref, from: start, to: null }], "branch: not kept").catch(() => {});
      return failedWith(error, "git would not switch to the new branch, so it was not kept");
    }
  },
};

/** What changes in the work tree when the branch starts elsewhere than at HEAD. */
async function switching(
  lab: Lab,
  from: string | null,
  to: string,
): Promise<Predicted & { facts: Facts }> {
  const { repo } = lab;
  const { changed } = await changedBelow(repo, []);
  const base = from ?? await emptyTree(repo);
  const [predicted, facts] = await Promise.all([
    known(lab, base, to, (tree, env) => carryBlockers(repo, base, tree, changed, env)),
    indexFacts(repo),
  ]);
  return { ...predicted, facts };
}

/** Id of the tree without entries, which git knows whether it is stored or not. */
async function emptyTree(repo: Repository): Promise<string> {
  return await repo.text(["hash-object", "-t", "tree", "--stdin"], {
    profile: "store",
    stdin: "",
  });
}
