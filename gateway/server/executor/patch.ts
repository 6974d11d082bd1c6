import { decodeText } from "../../../common/bytes.ts";
import type { Repository } from "../../../git/repository.ts";
import { messageOf } from "../execution.ts";
import type {
  ExecutionResult,
  FileEffect,
  Inspection,
  Note,
  Operation,
  PatchAction,
} from "../types.ts";
import { armingWarnings, armsSomething } from "./shared/arming.ts";
import { CARD_LIMITS, emptyEffect } from "./shared/effect.ts";
import { headFacts, hookFacts, workTreeFacts } from "./shared/facts.ts";
import { patchPathProblems, readPatch } from "./shared/patch_paths.ts";
import { approvedGit, failedWith } from "./shared/run.ts";

/**
 * patch: applies a patch to the files, and to the index when the person's switch says so
 * (`operations.md` E7). Git checks it as a whole before anything is touched, and refuses paths outside
 * and through links; own code checks the names as well.
 */
export const operation: Operation<PatchAction> = {
  type: "patch",

  async inspect(action, { repo, overrides }): Promise<Inspection> {
    const toIndex = overrides.applyToIndex ?? action.applyToIndex;
    const [head, tree, hooks] = await Promise.all([
      headFacts(repo),
      repo.facts.topLevel === null ? {} : workTreeFacts(repo),
      hookFacts(repo, toIndex ? ["post-index-change"] : []),
    ]);
    const blockers: Note[] = [];
    if (repo.facts.topLevel === null) {
      blockers.push({
        code: "bare_repository",
        message: "a bare repository has no files to patch",
      });
    }
    let files: readonly FileEffect[] = [],
      summary: readonly string[] = [],
      places: readonly string[] = [];
    try {
      ({ files, summary } = await readPatch(repo, action.patchContent));
      blockers.push(...patchPathProblems(action.patchContent, files));
      if (files.length === 0) {
        blockers.push({ code: "empty_patch", message: "the patch changes nothing" });
      }
      if (blockers.length === 0) {
        const check = await checkPatch(repo, action.patchContent, toIndex);
        places = check.places;
        if (check.problem !== null) {
          blockers.push({
            code: "does_not_apply",
            message: `git would not apply it: ${check.problem}`,
          });
        }
      }
    } catch (error) {
      blockers.push({
        code: "unreadable_patch",
        message: `git cannot read this patch: ${messageOf(error)}`,
      });
    }
    const paths = files.map((file) => file.path);
    const strong = armsSomething(paths) ||
      summary.some((line) => /mode 120000|mode 160000|=> 100755|mode 100755/.test(line));
    return {
      facts: { ...head, ...tree, ...hooks.facts },
      effect: {
        ...emptyEffect(
          `apply a patch to ${files.length} ${files.length === 1 ? "file" : "files"}${
            toIndex ? " and the index" : ""
          }`,
        ),
        files: files.slice(0, CARD_LIMITS.files),
        filesTotal: files.length,
        diff: action.patchContent.slice(0, CARD_LIMITS.diffBytes),
        diffTruncated: action.patchContent.length > CARD_LIMITS.diffBytes,
        details: { applyToIndex: toIndex, changesOfKind: summary.slice(0, 200), places },
      },
      risk: "medium",
      destructive: strong,
      words: strong ? "apply patch" : null,
      blockers,
      warnings: [...hooks.warnings, ...armingWarnings(paths)],
      paths,
    };
  },

  async execute(action, inspection, { repo, overrides }): Promise<ExecutionResult> {
    const toIndex = overrides.applyToIndex ?? action.applyToIndex;
    try {
      await approvedGit(
        repo,
        ["apply", ...FLAGS, ...(toIndex ? ["--index"] : []), "-"],
        action.patchContent,
      );
    } catch (error) {
      return failedWith(error, "the patch was not applied");
    }
    const applied = (inspection.paths ?? []).slice(0, 10_000);
    return {
      status: "completed",
      message: `applied the patch to ${applied.length} ${applied.length === 1 ? "file" : "files"}`,
      members: { appliedFiles: applied, stagedToIndex: toIndex },
    };
  },
};

/** Settings of `apply.*` must not change what was shown. Never `--unsafe-paths`. */
const FLAGS = ["--whitespace=nowarn"];

/** Whether it applies, and where hunks really land ("Hunk #1 succeeded at 12 (offset 3 lines)"). */
async function checkPatch(
  repo: Repository,
  patch: string,
  toIndex: boolean,
): Promise<{ problem: string | null; places: string[] }> {
  const out = await repo.run([
    "apply",
    ...FLAGS,
    "--check",
    "--verbose",
    ...(toIndex ? ["--index"] : []),
    "-",
  ], {
    profile: "approved",
    stdin: patch,
    okCodes: "any",
  });
  const lines = (out.stderr + decodeText(out.stdout)).split("\n").map((line) => line.trim()).filter(
    Boolean,
  );
  const places = lines.filter((line) => /^Hunk #\d+ succeeded/.test(line)).slice(0, 500);
  if (out.code === 0) return { problem: null, places };
  return {
    problem: lines.filter((line) => line.startsWith("error:")).join("; ").slice(0, 1_000) ||
      "it does not apply",
    places,
  };
}
