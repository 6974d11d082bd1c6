import { printable } from "../../git/errors.ts";
import { reflogKind } from "../../git/reflog.ts";
import { findReflog } from "../../git/reflog_place.ts";
import {
  readReflogFile,
  readReflogThroughGit,
  type ReflogCursor,
  type ReflogEntry,
  type ReflogPage,
} from "../../git/reflog_read.ts";
import type { Repository } from "../../git/repository.ts";
import type { Recovery } from "../flux/store.ts";
import { type PointView, shown } from "../flux/view.ts";
import type { Warning } from "../open.ts";

/**
 * Events of the recovery timeline (`read-tools.md` 20): restore points and movements of HEAD. An id
 * names its event for good: a point by its own id, a movement by where it stands in the reflog and what
 * it says, so that movements within one second differ and newer ones change nothing.
 */
export interface SafetyEvent {
  readonly id: string;
  readonly occurredAtUnix: number;
  readonly [member: string]: unknown;
}

const MAX_SUMMARY = 500;

/** Restore points as events, newest first. */
export function pointEvents(recovery: Recovery): SafetyEvent[] {
  return recovery.points.map((point) => pointEvent(recovery, point));
}

function pointEvent(recovery: Recovery, point: PointView): SafetyEvent {
  const operation = printable(point.operation ?? "history operation", 100);
  return {
    id: pointEventId(point),
    repoLabel: label(recovery.repo),
    source: "restore_point",
    kind: "restore_created",
    severity: "warning",
    title: `Restore point before ${operation}`,
    summary: SUMMARIES[point.state ?? "finished"] ?? SUMMARIES["finished"]!,
    occurredAtUnix: point.metadata.createdAt ?? 0,
    headBefore: point.before,
    headAfter: point.after,
    restorePoint: shown(point),
    actions: ["openRestorePoint", "compareBeforeAfter", "copyRedactedSummary"],
    approvalRequired: true,
    networkFetchPerformed: false,
  };
}

const SUMMARIES: Readonly<Record<string, string>> = {
  open: "The operation has not been seen to end; the state before it can be brought back.",
  finished: "The state before the operation can be brought back.",
  failed: "The operation failed; the state before it can be brought back.",
};

function pointEventId(point: PointView): string {
  return `restore:${point.repoId}:${point.id}`;
}

/** The newest movements of HEAD as events, newest first. What cannot be read is a warning. */
export async function reflogEvents(
  repo: Repository,
  limit: number,
  warnings: Warning[],
): Promise<SafetyEvent[]> {
  const page = await readHeadLog(repo, limit, warnings);
  return (page?.entries ?? []).map((entry) => reflogEvent(repo, entry));
}

function reflogEvent(repo: Repository, entry: ReflogEntry): SafetyEvent {
  const selector = `HEAD@{${entry.index}}`;
  const rewrites = ["reset", "rebase", "merge", "cherryPick", "revert"];
  return {
    id: reflogEventId(entry.cursor),
    repoLabel: label(repo),
    source: "reflog",
    kind: "ref_move",
    severity: rewrites.includes(reflogKind(entry.message)) ? "warning" : "info",
    title: `HEAD moved (${selector})`,
    summary: printable(entry.message, MAX_SUMMARY) || "(no message)",
    occurredAtUnix: entry.seconds ?? 0,
    headBefore: entry.oldOid,
    headAfter: entry.newOid,
    reflogSelector: selector,
    canCompare: entry.oldOid !== null && entry.newOid !== null,
    actions: [
      "openReflogEntry",
      "compareBeforeAfter",
      "createRescueBranch",
      "copyRedactedSummary",
    ],
    approvalRequired: true,
    networkFetchPerformed: false,
  };
}

function reflogEventId({ at, hash }: ReflogCursor): string {
  return `reflog:HEAD:${at.toString(36)}-${hash}`;
}

/** Entries read at a time when one is looked for, and how often that is done. */
const LOOK_UP = { entries: 10_000, pages: 100 } as const;

/**
 * The event with an id, looked for directly; null when there is none (any more).
 */
export async function findEvent(
  recovery: Recovery,
  id: string,
  warnings: Warning[],
): Promise<SafetyEvent | null> {
  const point = recovery.points.find((candidate) => pointEventId(candidate) === id);
  if (point) return pointEvent(recovery, point);
  const wanted = /^reflog:HEAD:([0-9a-z]{1,12})-([0-9a-z]{1,20})$/.exec(id);
  if (!wanted) return null;
  const [at, hash] = [Number.parseInt(wanted[1]!, 36), wanted[2]!];
  let same: ReflogEntry | null = null;
  let after: ReflogCursor | undefined;
  for (let i = 0; i < LOOK_UP.pages; i++) {
    const page = await readHeadLog(recovery.repo, LOOK_UP.entries, warnings, after);
    if (!page) return null;
    for (const entry of page.entries) {
      if (entry.cursor.hash !== hash) continue;
      if (entry.cursor.at === at) return reflogEvent(recovery.repo, entry);
      // Older lines were expired, so that the line has moved.
      same ??= entry;
    }
    after = page.entries.at(-1)?.cursor;
    if (!page.more || after === undefined) break;
  }
  return same && reflogEvent(recovery.repo, same);
}

async function readHeadLog(
  repo: Repository,
  limit: number,
  warnings: Warning[],
  after?: ReflogCursor,
): Promise<ReflogPage | null> {
  const place = await findReflog(repo, "HEAD");
  if (place.logExists === false) {
    if (!place.enabled) {
      warnings.push({
        code: "reflog_disabled",
        message: "movements of HEAD are not recorded here (core.logAllRefUpdates)",
      });
    }
    return null;
  }
  try {
    return place.file === null
      ? await readReflogThroughGit(repo, place.ref, limit, after)
      : await readReflogFile(
        place.file,
        [repo.facts.gitDir, repo.facts.commonDir],
        limit,
        after,
      );
  } catch (error) {
    warnings.push({
      code: "reflog_unreadable",
      message: `the record of movements of HEAD cannot be read: ${
        printable(error instanceof Error ? error.message : String(error), 200)
      }`,
    });
    return null;
  }
}

function label(repo: Repository): string {
  const path = (repo.facts.topLevel ?? repo.facts.askedPath).replace(/[\\/]+$/, "");
  return printable(path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1), 200) ||
    "repository";
}

/** By time, newest first; a point stands before a movement of the same second. */
export function inOrder(events: SafetyEvent[]): SafetyEvent[] {
  return events.sort((a, b) => b.occurredAtUnix - a.occurredAtUnix);
}
