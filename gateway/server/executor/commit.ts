import { readOperation } from "../../../git/in_progress.ts";
import type { Repository } from "../../../git/repository.ts";
import type {
  CommitAction,
  Effect,
  ExecutionResult,
  Inspection,
  Note,
  Operation,
} from "../types.ts";
import {
  changedBelow,
  type ChangedPath,
  firstUnnameable,
  isAtOrBelow,
  literalPathspecs,
} from "./shared/changed.ts";
import { armingWarnings } from "./shared/arming.ts";
import { CARD_LIMITS, diffEffect, emptyEffect } from "./shared/effect.ts";
import { headFacts, hookFacts, signingFacts, workTreeFacts } from "./shared/facts.ts";
import { newFileEffects } from "./shared/new_files.ts";
import { approvedGit, failedWith } from "./shared/run.ts";

const HOOKS = [
  "pre-commit",
  "prepare-commit-msg",
  "commit-msg",
  "post-commit",
  "reference-transaction",
  "post-index-change",
] as const;

/**
 * commit: exactly the named paths as they are on disk, or everything, or what is staged
 * (`operations.md` E8). Hooks and signing run as the user's own git would run them; never an amend.
 */
export const operation: Operation<CommitAction> = {
  type: "commit",

  async inspect(action, { repo }): Promise<Inspection> {
    if (repo.facts.topLevel === null) return bare();
    const paths = action.paths ?? [];
    const whole = action.paths === null && action.stageAll;
    const [head, tree, hooks, found, unfinished] = await Promise.all([
      headFacts(repo),
      workTreeFacts(repo),
      hookFacts(repo, HOOKS),
      changedBelow(repo, paths),
      readOperation(repo),
    ]);
    const signing = signingFacts(repo);
    const named = paths.length > 0;
    const chosen = named || whole
      ? found.changed
      : found.changed.filter(({ entry, kind }) => kind === "tracked" && entry.status[0] !== " ");
    const blockers = problems(action, found.changed, chosen, unfinished?.kind ?? null);
    if (!found.complete) {
      blockers.push({
        code: "too_many",
        message: "too many files for one commit; name fewer paths",
      });
    }
    const effect = await commitEffect(repo, head["head.oid"] ?? null, chosen, named || whole);
    const ref = head["head.ref"] ?? "HEAD";
    return {
      facts: {
        ...head,
        ...tree,
        ...hooks.facts,
        ...signing.facts,
        operation: unfinished?.kind ?? null,
      },
      effect: {
        ...emptyEffect(
          `commit ${chosen.length} ${chosen.length === 1 ? "file" : "files"} on ${
            ref.replace(/^refs\/heads\//, "")
          }`,
        ),
        ...effect,
        refs: [{ ref, before: head["head.oid"] ?? null, after: "new" }],
        details: {
          message: action.message.slice(0, 8_000),
          takes: named
            ? "the named paths as they are on disk"
            : whole
            ? "every change, untracked files included"
            : "what is staged",
          ...(unfinished ? { concludes: unfinished.kind } : {}),
        },
      },
      risk: "low",
      destructive: false,
      words: null,
      blockers,
      warnings: [
        ...hooks.warnings,
        ...signing.warnings,
        ...armingWarnings(chosen.map(({ entry }) => entry.path)),
      ],
      paths: chosen.map(({ entry }) => entry.path),
    };
  },

  async execute(action, inspection, { repo }): Promise<ExecutionResult> {
    const before = inspection.facts["head.oid"] ?? null;
    const named = (action.paths ?? []).length > 0;
    try {
      if (named) await commitNamed(repo, action);
      else {
        if (action.paths === null && action.stageAll) {
          await approvedGit(repo, ["add", "--all", "--", ":/"]);
        }
        await approvedGit(repo, ["commit", "--quiet", "--file=-"], action.message);
      }
    } catch (error) {
      return failedWith(error, "no commit was made");
    }
    const commit = await repo.text(["rev-parse", "--verify", "HEAD^{commit}"]);
    const parent = await repo.optionalText(["rev-parse", "--verify", "--quiet", "HEAD^1"]);
    if (parent !== before) {
      return {
        status: "failed",
        message:
          `HEAD moved while the commit was made: ${commit} has another parent than the card said`,
        members: { commitSha: commit },
      };
    }
    const tree = await repo.text(["rev-parse", "HEAD^{tree}"]);
    return {
      status: "completed",
      message: `made the commit ${commit.slice(0, 12)}`,
      members: { commitSha: commit, treeSha: tree },
    };
  },
};

/** `--only` takes the named paths alone, but knows no untracked ones: those are announced to the index first. */
async function commitNamed(repo: Repository, action: CommitAction): Promise<void> {
  const { changed } = await changedBelow(repo, action.paths!);
  const fresh = changed.filter(({ kind }) => kind === "untracked").map(({ entry }) => entry.path);
  const all = changed.map(({ entry }) => entry.path);
  if (fresh.length > 0) {
    await approvedGit(repo, [
      "add",
      "--intent-to-add",
      "--pathspec-from-file=-",
      "--pathspec-file-nul",
    ], literalPathspecs(fresh));
  }
  // The message cannot come from standard input as well: it goes as an argument, which git takes as it is.
  await approvedGit(repo, [
    "commit",
    "--quiet",
    "--only",
    `--message=${action.message}`,
    "--pathspec-from-file=-",
    "--pathspec-file-nul",
  ], literalPathspecs(all));
}

function problems(
  action: CommitAction,
  changed: readonly ChangedPath[],
  chosen: readonly ChangedPath[],
  unfinished: string | null,
): Note[] {
  const notes: Note[] = [];
  if (unfinished === "rebase" || unfinished === "am") {
    notes.push({
      code: "operation_in_progress",
      message: `a ${unfinished} is in progress: continue or abort it first`,
    });
  }
  if (unfinished !== null && unfinished !== "bisect" && (action.paths ?? []).length > 0) {
    notes.push({
      code: "operation_in_progress",
      message: `while a ${unfinished} is in progress only the whole index can be committed`,
    });
  }
  const conflicted = changed.filter(({ kind }) => kind === "unmerged").map(({ entry }) =>
    entry.path
  );
  if (conflicted.length > 0) {
    notes.push({
      code: "conflicted",
      message: "there are unresolved conflicts",
      paths: conflicted.slice(0, 50),
    });
  }
  const idle = (action.paths ?? []).filter((path) =>
    !changed.some(({ entry }) => isAtOrBelow(entry.path, path))
  );
  if (idle.length > 0) {
    notes.push({
      code: "nothing_to_commit",
      message: "some of the paths have no change to commit",
      paths: idle.slice(0, 50),
    });
  }
  if (chosen.length === 0 && unfinished === null) {
    notes.push({ code: "nothing_to_commit", message: "there is nothing to commit" });
  }
  const nested = chosen.filter(({ entry }) => entry.status === "??" && entry.path.endsWith("/"))
    .map(({ entry }) => entry.path);
  if (nested.length > 0) {
    notes.push({
      code: "nested_repository",
      message: "a repository of its own would be committed as a bare link",
      paths: nested.slice(0, 50),
    });
  }
  if (firstUnnameable(chosen) !== null && (action.paths ?? []).length > 0) {
    notes.push({
      code: "path_not_utf8",
      message: "a file there has a name that is not UTF-8; use stageAll",
    });
  }
  return notes;
}

async function commitEffect(
  repo: Repository,
  head: string | null,
  chosen: readonly ChangedPath[],
  fromDisk: boolean,
): Promise<Pick<Effect, "files" | "filesTotal" | "diff" | "diffTruncated">> {
  const tracked = chosen.filter(({ kind }) => kind !== "untracked").map(({ entry }) => entry.path);
  const fresh = chosen.filter(({ kind, entry }) =>
    kind === "untracked" && !entry.path.endsWith("/")
  ).map(({ entry }) => entry.path);
  const shown = tracked.slice(0, 1_000);
  const diff = tracked.length === 0 || head === null && fromDisk
    ? { files: [], diff: "", diffTruncated: false }
    : await diffEffect(repo, {
      sides: fromDisk ? { kind: "worktree", from: head } : { kind: "index", from: head },
      paths: ["--", ...(fromDisk ? shown : [])],
    });
  const text = diff.diff ?? "";
  const added = fromDisk
    ? await newFileEffects(repo.facts.topLevel!, fresh, CARD_LIMITS.diffBytes - text.length)
    : { files: [], diff: "", truncated: false };
  return {
    files: [...diff.files, ...added.files].slice(0, CARD_LIMITS.files),
    filesTotal: chosen.length,
    diff: text + added.diff,
    diffTruncated: diff.diffTruncated || added.truncated || tracked.length > shown.length,
  };
}

function bare(): Inspection {
  return {
    facts: { "head.oid": null },
    effect: emptyEffect("commit nothing"),
    risk: "low",
    destructive: false,
    words: null,
    blockers: [{ code: "bare_repository", message: "a bare repository has nothing to commit" }],
    warnings: [],
    paths: [],
  };
}
