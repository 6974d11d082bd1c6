import { decodeText } from "../common/bytes.ts";
import { gitCapabilities } from "./capabilities.ts";
import { isConventional } from "./conventions.ts";
import { failedForObjects, GitError } from "./errors.ts";
import { type IndexScan, scanIndex } from "./index_scan.ts";
import { readRecent, type ShortCommit } from "./recent.ts";
import type { Repository } from "./repository.ts";
import type { Status, StatusEntry } from "./status.ts";
import { SubmoduleFlags, type SubmoduleSummary, summariseSubmodules } from "./submodule_summary.ts";
import { markNested, streamWorkTree } from "./work_tree.ts";

/** The parts of a repository briefing that need git; each says why when it has to do without. */

/** Why a part is not there. */
export type Missing = "missing_objects" | "timed_out";

/** A work tree as a briefing shows it. */
export interface TreeBrief {
  readonly status: Status;
  readonly submodulesRead: boolean;
  /** Conflicted entries first, then changed, then untracked ones, as many as fit. */
  readonly entries: StatusEntry[];
  readonly stashes: number | null;
  readonly submodules: SubmoduleSummary | null;
  readonly scan: IndexScan;
}

const MAX_ENTRIES = 12;
/** Long names leave room for fewer of them; in bytes. */
const MAX_ENTRY_BYTES = 1_000;

/** Reads the state of the work tree in one `git status`; says what was missing when that fails for it. */
export async function readTreeBrief(repo: Repository): Promise<TreeBrief | Missing> {
  try {
    return await treeBrief(repo);
  } catch (error) {
    if (failedForObjects(error)) return "missing_objects";
    if (error instanceof GitError && error.kind === "timed_out") return "timed_out";
    throw error;
  }
}

async function treeBrief(repo: Repository): Promise<TreeBrief> {
  const [{ statusShowStash }, scan] = await Promise.all([gitCapabilities(), scanIndex(repo)]);
  const kept = { unmerged: [], tracked: [], untracked: [] } as Record<
    "unmerged" | "tracked" | "untracked",
    { entry: StatusEntry; size: number }[]
  >;
  const flags = new SubmoduleFlags(scan);
  const status = await streamWorkTree(
    repo,
    { showStash: statusShowStash },
    ({ path }, make, kind) => {
      const list = kept[kind];
      if (list.length < MAX_ENTRIES) {
        list.push({ entry: markNested(repo, make()), size: path.length });
      }
      if (kind === "tracked" && flags.any) flags.offer(decodeText(path), make);
    },
  );
  return {
    status,
    submodulesRead: status.submodulesRead,
    entries: firstEntries([...kept.unmerged, ...kept.tracked, ...kept.untracked]),
    stashes: statusShowStash ? status.stashes : countStashLog(repo),
    submodules: await summariseSubmodules(repo, scan, flags, status.submodulesRead),
    scan,
  };
}

function firstEntries(all: readonly { entry: StatusEntry; size: number }[]): StatusEntry[] {
  let bytes = 0;
  const entries: StatusEntry[] = [];
  for (const { entry, size } of all) {
    bytes += size;
    if (entries.length >= MAX_ENTRIES || (entries.length > 0 && bytes > MAX_ENTRY_BYTES)) break;
    entries.push(entry);
  }
  return entries;
}

const MAX_STASH_LOG = 4 * 1024 * 1024;

/** For git before 2.35: one line of the log is one stash; null when the log is too long to count. */
function countStashLog(repo: Repository): number | null {
  try {
    const file = `${repo.facts.commonDir}/logs/refs/stash`;
    const info = Deno.statSync(file);
    if (!info.isFile || info.size > MAX_STASH_LOG) return null;
    let lines = 0;
    for (const byte of Deno.readFileSync(file)) if (byte === 0x0a) lines++;
    return lines;
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? 0 : null;
  }
}

/** Newest commits, and how many of the last 50 subjects follow the convention. */
export interface HistoryBrief {
  readonly commits: ShortCommit[];
  /** 0 to 1 in hundredths; null without commits. */
  readonly conventionalRatio: number | null;
  readonly missing: Missing | null;
}

const SAMPLE = 50;

export async function readHistoryBrief(repo: Repository, limit: number): Promise<HistoryBrief> {
  const commits: ShortCommit[] = [];
  let sample = 0, conventional = 0, missing: Missing | null = null;
  try {
    const end = await readRecent(repo, Math.max(SAMPLE, limit), (commit) => {
      if (commits.length < limit) commits.push(commit);
      if (++sample <= SAMPLE && isConventional(commit.subject)) conventional++;
    });
    if (end === "missing-objects") missing = "missing_objects";
  } catch (error) {
    if (!(error instanceof GitError) || error.kind !== "timed_out") throw error;
    missing = "timed_out";
  }
  sample = Math.min(sample, SAMPLE);
  return {
    commits,
    conventionalRatio: sample === 0 ? null : Math.round((100 * conventional) / sample) / 100,
    missing,
  };
}
