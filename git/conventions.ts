import type { Repository } from "./repository.ts";

/** True for a subject of the form `type(scope)!: text`, whatever the type is called. */
export function isConventional(subject: string): boolean {
  return /^[a-z]{1,12}(?:\([^:]*\))?!*:.*\S/s.test(subject);
}

/**
 * The default branch of `origin` (or of the only remote) as this clone knows it: what
 * `refs/remotes/origin/HEAD` names, null when it is not set.
 */
export async function defaultBranch(repo: Repository): Promise<string | null> {
  const remotes = repo.facts.config.subsections("remote", "url");
  const remote = remotes.includes("origin") ? "origin" : remotes.length === 1 ? remotes[0]! : null;
  // A name with "/.." would leave the folder of refs; no remote of git's own making has one.
  if (remote === null || remote.split("/").includes("..")) return null;
  const name = `refs/remotes/${remote}/HEAD`;
  const target = repo.facts.config.get("extensions.refstorage")?.startsWith("reftable")
    ? await repo.optionalText(["symbolic-ref", "-q", name])
    : readSymref(`${repo.facts.commonDir}/${name}`);
  const prefix = `refs/remotes/${remote}/`;
  return target?.startsWith(prefix) ? target.slice(prefix.length) : null;
}

const MAX_SYMREF = 4_200;

/** Symbolic refs are never packed: the file is all there is. */
function readSymref(file: string): string | null {
  try {
    const info = Deno.lstatSync(file);
    if (!info.isFile || info.size > MAX_SYMREF) return null;
    return /^ref:[ \t]*(\S+)\s*$/.exec(Deno.readTextFileSync(file))?.[1] ?? null;
  } catch {
    return null;
  }
}
