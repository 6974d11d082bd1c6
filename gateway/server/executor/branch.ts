import type { BranchAction, ExecutionResult, Inspection, Note, Operation } from "../types.ts";
import { diffEffect, emptyEffect } from "./shared/effect.ts";
import {
  commitOf,
  headFacts,
  hookFacts,
  unfinishedBlockers,
  workTreeFacts,
} from "./shared/facts.ts";
import { approvedGit, failedWith, moveRefs } from "./shared/run.ts";

/** branch: makes a branch and, if asked, switches to it (`operations.md` E10). Never overwrites one. */
export const operation: Operation<BranchAction> = {
  type: "branch",

  async inspect(action, { repo }): Promise<Inspection> {
    const ref = `refs/heads/${action.name}`;
    const [head, start, existing, valid] = await Promise.all([
      headFacts(repo),
      commitOf(repo, action.startPoint),
      repo.optionalText(["rev-parse", "--verify", "--quiet", ref]),
      repo.run(["check-ref-format", "--branch", action.name], { okCodes: "any" }),
    ]);
    const hooks = await hookFacts(
      repo,
      action.checkout ? ["reference-transaction", "post-checkout"] : ["reference-transaction"],
    );
    const blockers: Note[] = action.checkout ? await unfinishedBlockers(repo) : [];
    if (valid.code !== 0) {
      blockers.push({ code: "bad_name", message: "git does not accept this branch name" });
    }
    if (existing !== null) {
      blockers.push({ code: "exists", message: "a branch of this name exists already" });
    }
    if (start === null) {
      blockers.push({ code: "unknown_ref", message: "startPoint names no commit here" });
    }
    const oid = head["head.oid"] ?? null;
    const moves = action.checkout && start !== null && oid !== null && start !== oid;
    if (action.checkout && repo.facts.topLevel === null) {
      blockers.push({
        code: "bare_repository",
        message: "a bare repository has nothing to switch; set checkout to false",
      });
    }
    // Files change only when the branch starts elsewhere; then what is in the work tree matters.
    const tree = moves ? await workTreeFacts(repo) : {};
    const files = moves
      ? await diffEffect(repo, { sides: { kind: "trees", from: oid, to: start }, paths: ["--"] })
      : {};
    return {
      facts: { ...head, start, [ref]: existing, ...tree, ...hooks.facts },
      effect: {
        ...emptyEffect(
          `create the branch ${action.name}${action.checkout ? " and switch to it" : ""}`,
        ),
        ...files,
        refs: [{ ref, before: null, after: start }],
        details: { startPoint: action.startPoint, checkout: action.checkout },
      },
      risk: "low",
      destructive: false,
      words: null,
      blockers,
      warnings: hooks.warnings,
      paths: moves ? null : [],
    };
  },

  async execute(action, inspection, { repo }): Promise<ExecutionResult> {
    const ref = `refs/heads/${action.name}`;
    const start = inspection.facts["start"]!;
    try {
      // "must not exist" is git's own check, made in the same transaction that creates it.
      await moveRefs(
        repo,
        [{ ref, from: null, to: start }],
        `branch: Created from ${action.startPoint}`,
      );
    } catch (error) {
      return failedWith(error, "the branch was not created");
    }
    if (action.checkout) {
      try {
        await approvedGit(repo, [
          "switch",
          "--quiet",
          "--no-guess",
          "--no-recurse-submodules",
          action.name,
        ]);
      } catch (error) {
        await moveRefs(repo, [{ ref, from: start, to: null }], "branch: not kept").catch(() => {});
        return failedWith(error, "git would not switch to the new branch, so it was not kept");
      }
    }
    return {
      status: "completed",
      message: `created the branch ${action.name}${action.checkout ? " and switched to it" : ""}`,
      members: { branch: action.name, checkedOut: action.checkout },
    };
  },
};
