import type { Repository } from "./repository.ts";

/**
 * The full name of the upstream that configuration gives a branch, whether it exists or not; null
 * without one. For branches that git's own listings do not know yet (unborn) or cannot show (bare).
 */
export function configuredUpstream(repo: Repository, branch: string): string | null {
  const { config } = repo.facts;
  const remote = config.get(`branch.${branch}.remote`);
  const merge = config.get(`branch.${branch}.merge`);
  if (!remote || !merge) return null;
  if (remote === ".") return merge;
  for (const { key, value } of config.entries) {
    if (key !== `remote.${remote}.fetch` || !value) continue;
    const mapped = mapRefspec(value, merge);
    if (mapped !== null) return mapped;
  }
  return null;
}

/** Where a fetch refspec (`+refs/heads/*:refs/remotes/origin/*`) puts a ref, null when it does not take it. */
export function mapRefspec(refspec: string, ref: string): string | null {
  const [from, to] = refspec.replace(/^\+/, "").split(":");
  if (!from || !to) return null;
  if (!from.includes("*")) return from === ref ? to : null;
  const [before, after] = from.split("*");
  if (ref.length < from.length - 1 || !ref.startsWith(before!) || !ref.endsWith(after!)) {
    return null;
  }
  return to.replace("*", () => ref.slice(before!.length, ref.length - after!.length));
}
