import { readHead } from "../../../git/head.ts";
import { gitCapabilities } from "../../../git/capabilities.ts";
import { GitError } from "../../../git/errors.ts";
import type { ExecutionResult, Inspection, Note, Operation, PushAction } from "../types.ts";
import { commitEffects, countCommits, emptyEffect } from "./shared/effect.ts";
import { commitAt } from "./shared/facts.ts";
import { hookFacts } from "./shared/hooks.ts";
import { redact } from "./shared/redact.ts";
import {
  programsOf,
  pushUrls,
  quietSsh,
  remoteBlockers,
  trackingRef,
  withoutCredentials,
} from "./shared/remote.ts";
import { approvedGit, failedWith, wordsOf } from "./shared/run.ts";

/**
 * push: one branch to the same name on a configured remote (`operations.md` E9). Force only with a
 * lease that names the id on the card, so that a fetch in the background cannot widen it
 * (`security.md` P-03). A URL, an option or a helper in the place of the remote is refused (S-19).
 */
export const operation: Operation<PushAction> = {
  type: "push",

  async inspect(action, { repo }): Promise<Inspection> {
    const { remote, forceWithLease: force } = action;
    const head = await readHead(repo);
    const branch = action.branch ?? head.branch;
    const ref = branch === null ? null : `refs/heads/${branch}`;
    const urls = pushUrls(repo, remote);
    const tracking = branch === null ? null : trackingRef(repo, remote, branch);
    const [oid, seen, hooks] = await Promise.all([
      commitAt(repo, ref),
      commitAt(repo, tracking),
      hookFacts(repo, ["pre-push", "reference-transaction"]),
    ]);
    const programs = programsOf(repo);
    const blockers: Note[] = remoteBlockers(repo, remote, urls);
    const warnings: Note[] = [
      ...hooks.warnings,
      ...programs.warnings,
      {
        code: "not_undoable",
        message: "what is pushed cannot be taken back by a restore point",
      },
    ];
    if (branch === null) {
      blockers.push({ code: "detached", message: "HEAD is detached: name a branch to push" });
    } else if (oid === null) {
      blockers.push({ code: "unknown_ref", message: "there is no such local branch" });
    }
    const base: Inspection = {
      facts: {
        branch: ref,
        oid,
        remote,
        url: urls.join("\n") || null,
        tracking,
        seen,
        ...hooks.facts,
        ...programs.facts,
      },
      effect: emptyEffect(
        `push ${branch ?? "?"} to ${remote}${force ? " with force (lease)" : ""}`,
      ),
      risk: force ? "high" : "medium",
      destructive: force,
      words: force && branch !== null ? `force push ${branch}` : null,
      blockers,
      warnings,
      paths: [],
    };
    if (oid === null || ref === null) return base;
    // What the remote has, by all that was ever fetched from it, is not new to it.
    const onRemote = seen === null ? ["--not", `--remotes=${remote}`] : [];
    const pushed = await commitEffects(
      repo,
      oid,
      seen === null ? [] : [seen],
      "pushed",
      [],
      onRemote,
    );
    const overwritten = force && seen !== null
      ? await commitEffects(repo, seen, [oid], "overwritten")
      : { commits: [], total: 0 };
    const behind = seen === null ? 0 : await countCommits(repo, [seen, `^${oid}`]);
    if (!force && behind > 0) {
      blockers.push({
        code: "not_fast_forward",
        message:
          `the remote branch has ${behind} commits that the local one lacks; merge or rebase first`,
      });
    }
    if (seen === oid) {
      warnings.push({
        code: "up_to_date",
        message: "as of the last fetch the remote branch is at this commit already",
      });
    }
    if (overwritten.total > 0) {
      warnings.push({
        code: "commits_overwritten",
        message: `${overwritten.total} commits of the remote branch are overwritten`,
      });
    }
    return {
      ...base,
      effect: {
        ...base.effect,
        refs: [{ ref: `${remote} ${ref}`, before: seen, after: oid }],
        commits: [...overwritten.commits, ...pushed.commits],
        commitsTotal: pushed.total + overwritten.total,
        details: {
          remote,
          url: urls.map(withoutCredentials).join(" and "),
          branch: ref,
          lease: force ? (seen ?? "the remote branch must not exist") : null,
          overwrittenCommits: overwritten.total,
          setUpstream: action.setUpstream,
          remoteStateSource: "as of the last fetch; the remote itself is asked only when pushing",
        },
      },
    };
  },

  async execute(action, inspection, context): Promise<ExecutionResult> {
    const { branch, oid, seen, url, tracking } = inspection.facts as Record<string, string | null>;
    const lease = action.forceWithLease
      ? [`--force-with-lease=${branch}:${seen ?? ""}`, ...await ifIncludes()]
      : ["--no-force-with-lease"];
    try {
      await approvedGit(context, [
        "push",
        "--porcelain",
        "--no-follow-tags",
        "--no-recurse-submodules",
        "--no-mirror",
        "--no-force",
        ...lease,
        "--",
        action.remote,
        // The id of the card goes to the remote, not whatever the branch names by then.
        `${oid}:${branch}`,
      ], { env: quietSsh(context.repo) });
    } catch (error) {
      // What a remote took stays there, and what git noted of it is true: nothing to bring back here.
      return failedWith(error, failureWords(error, url ?? ""), { leaveAsIs: true });
    }
    const members = { pushedRef: branch, remote: action.remote, pushedOid: oid };
    const message = `pushed ${oid!.slice(0, 12)} to ${action.remote}`;
    if (!action.setUpstream) return { status: "completed", message, members };
    try {
      if (!tracking) throw new Error("the remote is not fetched in a way that follows this branch");
      await approvedGit(context, [
        "branch",
        "--quiet",
        `--set-upstream-to=${tracking}`,
        "--",
        branch!.slice("refs/heads/".length),
      ]);
      return { status: "completed", message, members: { ...members, upstreamSet: true } };
    } catch (error) {
      return {
        status: "completed",
        message: redact(`${message}, but the upstream was not set: ${wordsOf(error)}`),
        members: { ...members, upstreamSet: false },
      };
    }
  },
};

/** Also asks git that what is overwritten was once looked at here; of no effect beside a named id. */
async function ifIncludes(): Promise<string[]> {
  const { major, minor } = await gitCapabilities();
  return major > 2 || minor >= 30 ? ["--force-if-includes"] : [];
}

function failureWords(error: unknown, urls: string): string {
  if (error instanceof GitError && error.kind === "timed_out") {
    return "the push did not end; whether the remote took it is not known";
  }
  return urls.includes("\n") ? "not every URL of the remote took the push" : "nothing was pushed";
}
