import type { Repository } from "../../../../git/repository.ts";
import type { Note } from "../../types.ts";
import type { Facts } from "./facts.ts";

/** What a push to a configured remote would really reach, and what runs on the way (`security.md` S-19). */

/** URLs that a push to the remote uses, rewritten as git does; none when the name is not a configured remote. */
export function pushUrls(repo: Repository, remote: string): string[] {
  const push = valuesOf(repo, `remote.${remote}.pushurl`);
  if (push.length > 0) return push.map((url) => rewritten(repo, url, "insteadof"));
  const urls = valuesOf(repo, `remote.${remote}.url`);
  // Once one URL is rewritten for pushing, git pushes only to those that are.
  const pushed = urls.map((url) => rewritten(repo, url, "pushinsteadof"))
    .filter((url, i) => url !== urls[i]);
  return pushed.length > 0 ? pushed : urls.map((url) => rewritten(repo, url, "insteadof"));
}

/** `url.<base>.insteadOf`: the longest beginning that matches is replaced. */
function rewritten(repo: Repository, url: string, variable: string): string {
  let best: { base: string; length: number } | null = null;
  for (const { key, value } of repo.facts.config.entries) {
    if (value === null || !key.startsWith("url.") || !key.endsWith(`.${variable}`)) continue;
    if (value !== "" && url.startsWith(value) && value.length > (best?.length ?? 0)) {
      best = { base: key.slice(4, -(variable.length + 1)), length: value.length };
    }
  }
  return best === null ? url : best.base + url.slice(best.length);
}

/** The remote-tracking ref that follows a branch of the remote, by its fetch refspecs; null without one. */
export function trackingRef(repo: Repository, remote: string, branch: string): string | null {
  const ref = `refs/heads/${branch}`;
  for (const spec of valuesOf(repo, `remote.${remote}.fetch`)) {
    const [from = "", to = ""] = spec.replace(/^\+/, "").split(":");
    if (from.startsWith("^") || to === "") continue;
    const star = from.indexOf("*");
    if (star === -1) {
      if (from === ref) return to;
      continue;
    }
    const head = from.slice(0, star), tail = from.slice(star + 1);
    if (
      ref.length >= head.length + tail.length && ref.startsWith(head) && ref.endsWith(tail) &&
      to.includes("*")
    ) {
      return to.replace("*", () => ref.slice(head.length, ref.length - tail.length));
    }
  }
  return null;
}

/** Why nothing may be pushed to this remote. */
export function remoteBlockers(repo: Repository, remote: string, urls: readonly string[]): Note[] {
  const blockers: Note[] = [];
  if (urls.length === 0) {
    blockers.push({
      code: "unknown_remote",
      message: "no remote of this name is configured; a URL is not taken",
    });
  }
  if (urls.some((url) => /^[A-Za-z0-9+.-]*::/.test(url) || url.startsWith("-"))) {
    blockers.push({ code: "program_remote", message: "the remote's URL names a program to run" });
  }
  for (const key of ["receivepack", "vcs", "proxy"]) {
    if (ownEntries(repo).some((entry) => entry.key === `remote.${remote}.${key}`)) {
      blockers.push({
        code: "program_remote",
        message: `the repository's own configuration sets remote.<name>.${key}`,
      });
    }
  }
  if (repo.facts.config.bool(`remote.${remote}.mirror`, false)) {
    blockers.push({
      code: "mirror_remote",
      message: "the remote is a mirror: git would push and delete every ref there",
    });
  }
  return blockers;
}

/** Keys of the repository's own configuration that decide how a push travels or start programs. */
const PROGRAM_KEYS =
  /^(?:core\.sshcommand|core\.gitproxy|core\.askpass|ssh\.variant|credential\.(?:.*\.)?helper|url\..*\.(?:push)?insteadof|http\.(?:.*\.)?(?:proxy|sslverify|sslcainfo|curloptresolve)|push\.gpgsign|push\.pushoption)$/s;

/** Those settings, as facts and as warnings that name program and place. */
export function programsOf(repo: Repository): { facts: Facts; warnings: Note[]; named: string[] } {
  const facts: Facts = {};
  const named: string[] = [];
  for (const { key, value } of ownEntries(repo)) {
    if (!PROGRAM_KEYS.test(key)) continue;
    facts[`config.${named.length}.${key}`] = value;
    named.push(`${key} = ${withoutCredentials(value ?? "true").slice(0, 500)}`);
  }
  return {
    facts,
    named,
    warnings: named.length === 0 ? [] : [{
      code: "repository_programs",
      message: `the repository's own configuration decides how it is pushed: ${named.join("; ")}`,
    }],
  };
}

/**
 * Variables that keep ssh from asking at the gateway's own terminal: what needs a password or an unknown
 * host's key fails instead (`operations.md` E9). A command that is no plain ssh is left as it is.
 */
export function quietSsh(repo: Repository): Record<string, string> {
  const command = repo.facts.config.get("core.sshcommand") || "ssh";
  const variant = repo.facts.config.get("ssh.variant");
  const program = /^\s*(?:"([^"]*)"|'([^']*)'|(\S+))/.exec(command);
  const name = (program?.[1] ?? program?.[2] ?? program?.[3] ?? "").replace(/^.*[\\/]/, "")
    .replace(/\.exe$/i, "");
  const plain = variant === "ssh" || (!variant && name === "ssh");
  return plain
    ? { GIT_SSH_COMMAND: `${command} -o BatchMode=yes`, SSH_ASKPASS_REQUIRE: "never" }
    : { SSH_ASKPASS_REQUIRE: "never" };
}

/** A URL as a person may see it: what stands before an `@` can be a password. */
export function withoutCredentials(url: string): string {
  return url.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/@\s]*@/gi, "$1…@");
}

function valuesOf(repo: Repository, key: string): string[] {
  const values: string[] = [];
  for (const entry of repo.facts.config.entries) {
    // An empty value starts the list anew.
    if (entry.key === key && entry.value === "") values.length = 0;
    else if (entry.key === key && entry.value !== null) values.push(entry.value);
  }
  return values;
}

function ownEntries(repo: Repository) {
  return repo.facts.config.entries.filter(({ scope }) => scope === "local" || scope === "worktree");
}
