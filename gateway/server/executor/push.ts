import { readHead } from "../../../git/head.ts";
import type { Repository } from "../../../git/repository.ts";
import type { ExecutionResult, Inspection, Note, Operation, PushAction } from "../types.ts";
import { commitEffects, emptyEffect } from "./shared/effect.ts";
import { type Facts, hookFacts } from "./shared/facts.ts";
import { approvedGit, failedWith } from "./shared/run.ts";

/**
 * push: one branch to the same name on a configured remote (`operations.md` E9). Force only with a
 * lease that names the id on the card, so that a fetch in the background cannot widen it
 * (`security.md` P-03). A URL, an option or a helper in the place of the remote is refused (S-19).
 */
export const operation: Operation<PushAction> = {
  type: "push",

  async inspect(action, { repo }): Promise<Inspection> {
    const head = await readHead(repo);
    const branch = action.branch ?? head.branch;
    const ref = branch === null ? null : `refs/heads/${branch}`;
    const urls = pushUrls(repo, action.remote);
    const tracking = branch === null ? null : `refs/remotes/${action.remote}/${branch}`;
    const [oid, seen, hooks] = await Promise.all([
      ref === null
        ? null
        : repo.optionalText(["rev-parse", "--verify", "--quiet", `${ref}^{commit}`]),
      tracking === null ? null : repo.optionalText(["rev-parse", "--verify", "--quiet", tracking]),
      hookFacts(repo, ["pre-push", "reference-transaction"]),
    ]);
    const blockers: Note[] = [];
    if (urls.length === 0) {
      blockers.push({
        code: "unknown_remote",
        message: "no remote of this name is configured; a URL is not taken",
      });
    }
    const odd = urls.find((url) => /^ext::|^[A-Za-z0-9+.-]*::/.test(url) || url.startsWith("-"));
    if (odd !== undefined) {
      blockers.push({ code: "program_remote", message: "the remote's URL names a program to run" });
    }
    for (const key of ["receivepack", "vcs", "proxy"]) {
      if (fromRepository(repo, `remote.${action.remote}.${key}`)) {
        blockers.push({
          code: "program_remote",
          message: `the repository's own configuration sets remote.<name>.${key}`,
        });
      }
    }
    if (branch === null) {
      blockers.push({ code: "detached", message: "HEAD is detached: name a branch to push" });
    } else if (oid === null) {
      blockers.push({ code: "unknown_ref", message: "there is no such local branch" });
    }
    const facts: Facts = {
      branch: ref,
      oid,
      remote: action.remote,
      url: urls.join("\n") || null,
      tracking: seen,
      ...hooks.facts,
      ...programFacts(repo),
    };
    const force = action.forceWithLease;
    const summary = `push ${branch ?? "?"} to ${action.remote}${
      force ? " with force (lease)" : ""
    }`;
    const base: Inspection = {
      facts,
      effect: emptyEffect(summary),
      risk: force ? "high" : "medium",
      destructive: force,
      words: force && branch !== null ? `force push ${branch}` : null,
      blockers,
      warnings: [...hooks.warnings, ...programWarnings(repo)],
      paths: [],
    };
    if (oid === null || ref === null) return base;
    const pushed = await commitEffects(repo, oid, seen === null ? [] : [seen], "pushed");
    const overwritten = force && seen !== null
      ? await commitEffects(repo, seen, [oid], "overwritten")
      : { commits: [], total: 0 };
    if (!force && seen !== null) {
      const behind = Number(await repo.text(["rev-list", "--count", seen, `^${oid}`, "--"]));
      if (behind > 0) {
        blockers.push({
          code: "not_fast_forward",
          message:
            `the remote branch has ${behind} commits that the local one lacks; merge or rebase first`,
        });
      }
    }
    return {
      ...base,
      effect: {
        ...base.effect,
        refs: [{ ref: `${action.remote}/${branch}`, before: seen, after: oid }],
        commits: [...overwritten.commits, ...pushed.commits],
        commitsTotal: pushed.total + overwritten.total,
        details: {
          remote: action.remote,
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

  async execute(action, inspection, { repo }): Promise<ExecutionResult> {
    const { branch, oid, tracking } = inspection.facts as Record<string, string | null>;
    // The id of the card goes to the remote, not whatever the branch names by then.
    const refspec = `${oid}:${branch}`;
    const lease = action.forceWithLease ? [`--force-with-lease=${branch}:${tracking ?? ""}`] : [];
    try {
      await approvedGit(repo, [
        "push",
        "--porcelain",
        "--no-follow-tags",
        "--no-recurse-submodules",
        ...lease,
        "--",
        action.remote,
        refspec,
      ]);
    } catch (error) {
      return failedWith(error, "nothing was pushed");
    }
    if (action.setUpstream) {
      try {
        await approvedGit(repo, [
          "branch",
          "--quiet",
          `--set-upstream-to=${action.remote}/${branch!.slice("refs/heads/".length)}`,
          branch!.slice("refs/heads/".length),
        ]);
      } catch (error) {
        return {
          status: "completed",
          message: `pushed, but the upstream was not set: ${String(error).slice(0, 300)}`,
          members: { pushedRef: branch, remote: action.remote, upstreamSet: false },
        };
      }
    }
    return {
      status: "completed",
      message: `pushed ${oid!.slice(0, 12)} to ${action.remote}`,
      members: { pushedRef: branch, remote: action.remote, pushedOid: oid },
    };
  },
};

/** URLs that a push to the remote uses; none when the name is not a configured remote. */
function pushUrls(repo: Repository, remote: string): string[] {
  const all = (key: string) =>
    repo.facts.config.entries.filter((entry) => entry.key === key && entry.value !== null).map((
      entry,
    ) => entry.value!);
  const push = all(`remote.${remote}.pushurl`);
  return push.length > 0 ? push : all(`remote.${remote}.url`);
}

function fromRepository(repo: Repository, key: string): boolean {
  return repo.facts.config.entries.some((entry) =>
    entry.key === key && (entry.scope === "local" || entry.scope === "worktree")
  );
}

/** Programs of the repository's own configuration that a push starts. */
const PROGRAM_KEYS =
  /^(?:core\.sshcommand|core\.gitproxy|core\.askpass|credential\.(?:.*\.)?helper|url\..*\.(?:push)?insteadof|http\.(?:.*\.)?proxy)$/s;

function programFacts(repo: Repository): Facts {
  const facts: Facts = {};
  for (const { scope, key, value } of repo.facts.config.entries) {
    if ((scope === "local" || scope === "worktree") && PROGRAM_KEYS.test(key)) {
      facts[`config.${key}`] = value;
    }
  }
  return facts;
}

function programWarnings(repo: Repository): Note[] {
  const keys = Object.keys(programFacts(repo)).map((name) => name.slice("config.".length));
  return keys.length === 0 ? [] : [{
    code: "repository_programs",
    message: `the repository's own configuration decides how it is pushed: ${keys.join(", ")}`,
  }];
}

/** A URL as a person may see it: what stands before an `@` can be a password. */
export function withoutCredentials(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, "$1…@");
}
