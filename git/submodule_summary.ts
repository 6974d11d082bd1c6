import type { Gitlink, IndexScan } from "./index_scan.ts";
import { openSubmodule } from "./index_scan.ts";
import type { Repository } from "./repository.ts";
import type { StatusEntry } from "./status.ts";

/** A submodule that is not clean. */
export interface SubmoduleAttention {
  /** As `git submodule status` marks it; a space when only its content is dirty, null when unknown. */
  readonly state: " " | "-" | "+" | "U" | null;
  /** Recorded commit, full id. */
  readonly commit: string;
  readonly path: string;
  readonly dirty?: { readonly modified: boolean; readonly untracked: boolean };
}

/** Counts over the direct submodules; each is in exactly one count besides `total`. */
export interface SubmoduleSummary {
  readonly total: number;
  /** null when dirt inside could not be looked at. */
  readonly clean: number | null;
  readonly drifted: number;
  readonly uninitialized: number;
  readonly conflicts: number;
  readonly dirty?: number;
  readonly unreadable?: number;
  readonly attention: SubmoduleAttention[];
  readonly attentionTruncated?: true;
}

export const MAX_ATTENTION = 10;

/** Collects what `git status` says of submodules, by path, while its entries stream by. */
export class SubmoduleFlags {
  readonly #flags = new Map<string, NonNullable<StatusEntry["submodule"]> | null>();

  constructor(scan: IndexScan) {
    for (const link of scan.gitlinks) this.#flags.set(link.path, null);
  }

  /** False when no entry can be a submodule, so that nothing needs to be offered. */
  get any(): boolean {
    return this.#flags.size > 0;
  }

  offer(path: string, make: () => StatusEntry): void {
    if (this.#flags.has(path)) this.#flags.set(path, make().submodule ?? null);
  }

  get(path: string): NonNullable<StatusEntry["submodule"]> | null {
    return this.#flags.get(path) ?? null;
  }
}

/** Summarises the gitlinks of an index; null when there are none. `read`: dirt inside was looked at. */
export async function summariseSubmodules(
  repo: Repository,
  scan: IndexScan,
  flags: SubmoduleFlags,
  read: boolean,
): Promise<SubmoduleSummary | null> {
  if (scan.gitlinks.length === 0) return null;
  const counts = { drifted: 0, uninitialized: 0, conflicts: 0, dirty: 0, unreadable: 0, clean: 0 };
  const attention: SubmoduleAttention[] = [];
  let total = 0, noted = 0, last: string | undefined;
  for (const link of scan.gitlinks) {
    // A conflict has up to three entries of one path.
    if (link.path === last) continue;
    last = link.path;
    total++;
    const { count, state } = await judge(repo, link, flags.get(link.path), read);
    counts[count]++;
    if (count === "clean") continue;
    noted++;
    if (attention.length >= MAX_ATTENTION) continue;
    const { modified = false, untracked = false } = flags.get(link.path) ?? {};
    attention.push({
      state,
      commit: link.oid,
      path: link.path,
      ...(modified || untracked ? { dirty: { modified, untracked } } : {}),
    });
  }
  const { clean, dirty, unreadable, ...rest } = counts;
  return {
    total,
    clean: read && !scan.gitlinksCut ? clean : null,
    ...rest,
    ...(dirty > 0 ? { dirty } : {}),
    ...(unreadable > 0 ? { unreadable } : {}),
    attention,
    ...(noted > attention.length ? { attentionTruncated: true as const } : {}),
  };
}

async function judge(
  repo: Repository,
  link: Gitlink,
  flags: NonNullable<StatusEntry["submodule"]> | null,
  read: boolean,
): Promise<{
  count: "drifted" | "uninitialized" | "conflicts" | "dirty" | "unreadable" | "clean";
  state: SubmoduleAttention["state"];
}> {
  if (link.stage > 0) return { count: "conflicts", state: "U" };
  const sub = await openSubmodule(repo, link);
  if (sub === "uninitialised") return { count: "uninitialized", state: "-" };
  if (flags?.newCommits) return { count: "drifted", state: "+" };
  if (sub === "unreadable") return { count: "unreadable", state: null };
  if (flags?.modified || flags?.untracked) return { count: "dirty", state: " " };
  return { count: "clean", state: read ? " " : null };
}
