import { readHead } from "../../../git/head.ts";
import { readOperation } from "../../../git/in_progress.ts";
import type { Repository } from "../../../git/repository.ts";
import type {
  CommitAction,
  ExecutionResult,
  Inspection,
  Note,
  Operation,
  OperationContext,
} from "../types.ts";
import { Arming } from "./shared/arming.ts";
import {
  changedBelow,
  type ChangedPath,
  firstUnnameable,
  literalPathspecs,
  NamedPaths,
  namesOf,
} from "./shared/changed.ts";
import { commitDiff } from "./shared/commit_diff.ts";
import { commitWith } from "./shared/commit_message.ts";
import { emptyEffect, parentsOf } from "./shared/effect.ts";
import { headFacts, lockBlockers, shortRef } from "./shared/facts.ts";
import { COMMIT_HOOKS, hookFacts, identityFacts, signingFacts } from "./shared/hooks.ts";
import { approvedGit, failedWith, moveRefs, staleFailure } from "./shared/run.ts";
import { stagedTree } from "./shared/staged_tree.ts";
import { indexFacts, sameDigests, workTreeFacts } from "./shared/work_tree_facts.ts";

/** What goes into the commit: named paths as they are on disk, every change, or what is staged. */
type Takes = "named" | "everything" | "staged";

/**
 * commit: exactly the named paths as they are on disk, or everything, or what is staged
 * (`operations.md` E8). Hooks and signing run as the user's own git would run them; never an amend.
 */
export const operation: Operation<CommitAction> = {
  type: "commit",

  async inspect(action, { repo, diffBytes }): Promise<Inspection> {
    if (repo.facts.topLevel === null) return bare();
    const takes = takesOf(action);
    const [head, digests, hooks, found, unfinished, identity] = await Promise.all([
      headFacts(repo),
      factsOf(repo, action, takes),
      hookFacts(repo, COMMIT_HOOKS),
      changedBelow(repo, []),
      readOperation(repo),
      identityFacts(repo),
    ]);
    const signing = signingFacts(repo);
    const named = new NamedPaths(action.paths ?? []);
    const chosen = found.changed.filter((one) => {
      const { entry, kind } = one;
      if (takes === "staged") return kind === "tracked" && entry.status[0] !== " ";
      return isCommittable(one) && (takes === "everything" || named.covers(entry.path));
    });
    const concludes = unfinished && unfinished.kind !== "bisect" ? unfinished.kind : null;
    const blockers = [
      ...lockBlockers(repo),
      ...identity.blockers,
      ...problems(action, takes, found.changed, chosen, concludes),
    ];
    if (!found.complete) {
      blockers.push({
        code: "too_many",
        message: "too many changed files for one commit; ignore what needs none",
      });
    }
    const oid = head["head.oid"] ?? null, ref = head["head.ref"] ?? null;
    const arming = new Arming();
    const effect = await commitDiff(repo, oid, chosen, takes !== "staged", diffBytes);
    for (const { entry } of chosen) arming.see(entry.path, entry.modes?.new, entry.modes?.old);
    for (const file of effect.files) {
      if (file.note === "a symbolic link") arming.see(file.path, "120000");
    }
    return {
      facts: {
        ...head,
        ...digests,
        ...hooks.facts,
        ...signing.facts,
        ...identity.facts,
        concludes,
      },
      effect: {
        ...emptyEffect(
          `commit ${chosen.length} ${chosen.length === 1 ? "file" : "files"} on ${
            ref === null ? "a detached HEAD" : shortRef(ref)
          }`,
        ),
        ...effect,
        refs: [{ ref: ref ?? "HEAD", before: oid, after: "new" }],
        details: {
          message: action.message.slice(0, 8_000),
          messageLength: action.message.length,
          author: identity.author,
          takes: TAKES[takes],
          ...(concludes ? { concludes } : {}),
        },
      },
      risk: "low",
      destructive: false,
      words: null,
      blockers,
      warnings: [
        ...hooks.warnings,
        ...signing.warnings,
        ...detachedWarning(ref),
        ...arming.notes(),
      ],
      paths: chosen.map(({ entry }) => entry.path),
    };
  },

  async execute(action, inspection, context): Promise<ExecutionResult> {
    const { repo } = context;
    const { "head.oid": before, "hook.pre-commit": hook } = inspection.facts;
    const takes = takesOf(action);
    if (!sameDigests(inspection.facts, await factsOf(repo, action, takes))) {
      return staleFailure("what is to be committed changed");
    }
    let shown: string | null = null;
    try {
      const pathspecs = takes === "named" ? await announce(action, context) : null;
      if (takes === "everything") await approvedGit(context, ["add", "--all", "--", ":/"]);
      // Without such a hook nothing can change what goes into the commit.
      if (hook) shown = await stagedTree(context, pathspecs);
      await commitWith(context, action.message, pathspecs);
    } catch (error) {
      return failedWith(error, "no commit was made");
    }
    const commit = (await readHead(repo)).oid!;
    const parent = (await parentsOf(repo, commit))[0] ?? null;
    if (parent !== (before ?? null)) return await takeBack(commit, parent, inspection, context);
    const tree = await repo.text(["rev-parse", "--verify", `${commit}^{tree}`]);
    const changed = shown !== null && shown !== tree;
    return {
      status: "completed",
      message: `made the commit ${commit.slice(0, 12)}${
        changed ? "; a hook changed what went into it" : ""
      }`,
      members: { commitSha: commit, treeSha: tree, ...(changed ? { changedByHooks: true } : {}) },
    };
  },
};

const TAKES: Readonly<Record<Takes, string>> = {
  named: "the named paths as they are on disk, and nothing else that is staged",
  everything: "every change, untracked files included",
  staged: "what is staged",
};

function takesOf(action: CommitAction): Takes {
  if ((action.paths ?? []).length > 0) return "named";
  return action.paths === null && action.stageAll ? "everything" : "staged";
}

/** Only what goes into the commit: an edit elsewhere must not make the card stale. */
async function factsOf(repo: Repository, action: CommitAction, takes: Takes) {
  if (takes === "staged") return await indexFacts(repo);
  return await workTreeFacts(repo, takes === "named" ? action.paths! : []);
}

/** `--only` takes named paths alone, but knows no untracked ones: those are announced to the index first. */
async function announce(action: CommitAction, context: OperationContext): Promise<string> {
  const { changed } = await changedBelow(context.repo, action.paths!);
  const pathspecs = (some: readonly ChangedPath[]) =>
    literalPathspecs(
      // Git compares every path with every one of these: folders as they were named say the same.
      some.length > 1_000 ? action.paths! : some.map(({ entry }) => entry.path),
    );
  const fresh = changed.filter(({ kind }) => kind === "untracked");
  if (fresh.length > 0) {
    await approvedGit(context, [
      "add",
      "--intent-to-add",
      "--pathspec-from-file=-",
      "--pathspec-file-nul",
    ], { stdin: pathspecs(fresh) });
  }
  return pathspecs(changed.filter(isCommittable));
}

/** What only changed inside a submodule is committed there, not here. */
function isCommittable({ entry }: ChangedPath): boolean {
  return !entry.submodule || entry.submodule.newCommits || entry.status[0] !== " ";
}

/** Somebody moved HEAD between the last look and the commit: ours is taken off, theirs stays. */
async function takeBack(
  commit: string,
  parent: string | null,
  { facts }: Inspection,
  context: OperationContext,
): Promise<ExecutionResult> {
  const what = "HEAD moved before the commit was made";
  const ref = facts["head.ref"] ?? "HEAD";
  try {
    await moveRefs(context, [{ ref, from: commit, to: parent }], "commit: taken back");
  } catch (error) {
    return failedWith(error, `${what}, and the commit could not be taken off`, { leaveAsIs: true });
  }
  return {
    status: "failed",
    message: `stale: ${what}; the commit was taken off again, its changes are staged`,
    members: {},
    leaveAsIs: true,
  };
}

function detachedWarning(ref: string | null): Note[] {
  return ref !== null ? [] : [{
    code: "detached",
    message: "HEAD is detached: the commit will be on no branch",
  }];
}

function problems(
  action: CommitAction,
  takes: Takes,
  changed: readonly ChangedPath[],
  chosen: readonly ChangedPath[],
  unfinished: string | null,
): Note[] {
  const notes: Note[] = [];
  const note = (code: string, message: string, paths: readonly string[]) => {
    if (paths.length > 0) notes.push({ code, message, paths: paths.slice(0, 50) });
  };
  if (action.message.includes("\0")) {
    notes.push({ code: "bad_message", message: "git takes no message with a NUL character" });
  }
  if (unfinished === "rebase" || unfinished === "am") {
    notes.push({
      code: "operation_in_progress",
      message: `a ${unfinished} is in progress: continue or abort it first`,
    });
  } else if (unfinished !== null && takes === "named") {
    notes.push({
      code: "operation_in_progress",
      message: `while a ${unfinished} is in progress only the whole index can be committed`,
    });
  }
  note(
    "conflicted",
    "there are unresolved conflicts",
    namesOf(changed.filter(({ kind }) => kind === "unmerged")),
  );
  if (takes === "named") {
    note(
      "nothing_to_commit",
      "some of the paths have no change to commit",
      new NamedPaths(action.paths!).without(chosen),
    );
    if (firstUnnameable(chosen) !== null) {
      notes.push({
        code: "path_not_utf8",
        message: "a file there has a name that is not UTF-8; use stageAll",
      });
    }
  }
  if (takes !== "named" && chosen.length === 0 && unfinished === null) {
    notes.push({ code: "nothing_to_commit", message: "there is nothing to commit" });
  }
  note(
    "nested_repository",
    "a repository of its own would be committed as a bare link",
    namesOf(chosen.filter(({ entry }) => entry.status === "??" && entry.path.endsWith("/"))),
  );
  return notes;
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
