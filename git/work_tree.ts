import { guardSubmodules } from "./index_scan.ts";
import type { Repository } from "./repository.ts";
import {
  compareKeys,
  type EntryKey,
  readStatus,
  type Status,
  type StatusEntry,
  type StatusOptions,
} from "./status.ts";

/** A status whose entries were kept up to a limit. */
export interface WorkTreeStatus extends Status {
  readonly entries: StatusEntry[];
  /** More entries follow the kept ones. */
  readonly more: boolean;
  /** False when dirt inside submodules could not be looked at. */
  readonly submodulesRead: boolean;
}

export interface KeepOptions extends StatusOptions {
  /** Entries to keep. */
  readonly limit: number;
  /** Keep only what comes after this one. */
  readonly after?: EntryKey | undefined;
  /** Keep only entries of which this is true; counts speak of all. */
  readonly filter?: (status: string) => boolean;
}

/**
 * One guarded `git status`: configuration of submodules overridden, and an upstream of an unborn
 * branch looked up. Entries go to `onEntry`; nothing is kept.
 * A repository without a work tree has none: check `repo.facts.topLevel` before.
 */
export async function streamWorkTree(
  repo: Repository,
  options: StatusOptions,
  onEntry: Parameters<typeof readStatus>[2],
): Promise<Status & Pick<WorkTreeStatus, "submodulesRead">> {
  const guard = await guardSubmodules(repo);
  const status = await readStatus(
    repo.with(guard.overrides),
    { ...options, ignoreDirtySubmodules: !guard.complete },
    onEntry,
  );
  await settleUpstream(repo, status);
  return { ...status, submodulesRead: guard.complete };
}

/** As {@link streamWorkTree}, with the entries kept up to a limit. */
export async function readWorkTree(
  repo: Repository,
  options: KeepOptions,
): Promise<WorkTreeStatus> {
  const entries: StatusEntry[] = [];
  let more = false;
  const status = await streamWorkTree(repo, options, (key, make) => {
    if (options.after && compareKeys(key, options.after) <= 0) return;
    if (entries.length < options.limit) {
      const entry = make();
      if (!options.filter || options.filter(entry.status)) entries.push(markNested(repo, entry));
    } else if (!more) {
      more = !options.filter || options.filter(make().status);
    }
  });
  return { ...status, entries, more };
}

/** An untracked directory that is a repository of its own shows as one entry with a slash. */
export function markNested(repo: Repository, entry: StatusEntry): StatusEntry {
  if (entry.status !== "??" || !entry.path.endsWith("/") || entry.pathBytes) return entry;
  try {
    Deno.lstatSync(`${repo.facts.topLevel}/${entry.path}.git`);
    return { ...entry, nestedRepo: true };
  } catch {
    return entry;
  }
}

/** On an unborn branch git prints no counts either way: ask whether the upstream exists. */
async function settleUpstream(repo: Repository, status: Status): Promise<void> {
  if (!status.unborn || status.upstream === null) return;
  const found = await repo.run([
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${status.upstream}^{commit}`,
  ], {
    okCodes: "any",
  });
  status.upstreamGone = found.code !== 0;
}

/** True for the seven two-letter codes of unmerged entries. */
export function isConflicted(status: string): boolean {
  return /U|^AA$|^DD$/.test(status);
}
