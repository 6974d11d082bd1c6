import type { ExecutionResult, Inspection, Operation, PatchAction } from "../types.ts";
import { CARD_LIMITS, emptyEffect } from "./shared/effect.ts";
import { headFacts, workTreeBlockers } from "./shared/facts.ts";
import { hookFacts } from "./shared/hooks.ts";
import { APPLY_FLAGS, lookAtPatch } from "./shared/patch_read.ts";
import { approvedGit, failedWith, staleFailure } from "./shared/run.ts";
import { sameDigests, workTreeFacts } from "./shared/work_tree_facts.ts";

/**
 * patch: applies a patch to the files, and to the index when the person's switch says so
 * (`operations.md` E7). Git checks it as a whole before anything is touched, and refuses paths outside
 * and through links; own code checks the names as well.
 */
export const operation: Operation<PatchAction> = {
  type: "patch",

  async inspect(action, { repo, overrides, diffBytes }): Promise<Inspection> {
    const toIndex = overrides.applyToIndex ?? action.applyToIndex;
    const [look, standing] = await Promise.all([
      lookAtPatch(repo, action.patchContent, toIndex),
      workTreeBlockers(repo, "no files to patch"),
    ]);
    const { files, arming } = look;
    const paths = files.flatMap((file) => file.origPath ? [file.path, file.origPath] : [file.path]);
    const [head, digests, hooks] = await Promise.all([
      headFacts(repo),
      // An edit of another file must not make the card stale.
      paths.length > 0 ? workTreeFacts(repo, paths) : {},
      hookFacts(repo, toIndex ? ["post-index-change"] : []),
    ]);
    const most = diffBytes ?? CARD_LIMITS.diffBytes;
    const count = `${files.length} ${files.length === 1 ? "file" : "files"}`;
    return {
      facts: { ...head, ...digests, ...hooks.facts },
      effect: {
        ...emptyEffect(`apply a patch to ${count}${toIndex ? " and the index" : ""}`),
        files: files.slice(0, CARD_LIMITS.files),
        filesTotal: files.length,
        diff: action.patchContent.slice(0, most),
        diffTruncated: action.patchContent.length > most,
        details: { applyToIndex: toIndex, places: look.places },
      },
      risk: "medium",
      destructive: arming,
      words: arming ? "apply patch" : null,
      blockers: [...standing, ...look.blockers],
      warnings: [...hooks.warnings, ...look.warnings],
      paths,
    };
  },

  async execute(action, inspection, context): Promise<ExecutionResult> {
    const toIndex = context.overrides.applyToIndex ?? action.applyToIndex;
    const paths = inspection.paths ?? [];
    const same = async () =>
      sameDigests(inspection.facts, await workTreeFacts(context.repo, paths));
    if (!await same()) return staleFailure("the files changed");
    try {
      await approvedGit(
        context,
        ["apply", ...APPLY_FLAGS, ...(toIndex ? ["--index"] : []), "-"],
        { stdin: action.patchContent },
      );
    } catch (error) {
      // Git applies a patch as a whole or not at all; only a full disk leaves a part of it.
      return failedWith(
        error,
        "the patch was not applied",
        await same() ? { leaveAsIs: true } : {},
      );
    }
    const count = inspection.effect.filesTotal;
    return {
      status: "completed",
      message: `applied the patch to ${count} ${count === 1 ? "file" : "files"}`,
      members: {
        appliedFiles: paths.slice(0, 10_000),
        ...(paths.length > 10_000 ? { appliedFilesTruncated: true } : {}),
        stagedToIndex: toIndex,
      },
    };
  },
};
