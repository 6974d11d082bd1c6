import { readHead } from "../../git/head.ts";
import { openRepository } from "../../git/repository.ts";
import type { ProposalRecord } from "./journal.ts";
import type { RestorePort } from "./ports.ts";

/** How a repository of an interrupted execution looks now. */
export interface RecoveryPlace {
  readonly repoPath: string;
  /** Made before the first change; brings everything back. */
  readonly restorePointId: string;
  readonly headBefore: string | null;
  /** Null when it cannot be read, or while nothing is committed. */
  readonly headNow: string | null;
  /** Everything is as before the operation; null when that could not be found out. */
  readonly unchanged: boolean | null;
}

/** What is known about an execution that was cut off; a person must say what became of it. */
export interface Recovery {
  /** False: it was cut off before it could change anything. */
  readonly begun: boolean;
  readonly repositories: readonly RecoveryPlace[];
  /** The same in a sentence. */
  readonly message: string;
}

/** Looks at what an interrupted execution left. Never throws. */
export async function lookAtRemains(
  record: ProposalRecord,
  restore: RestorePort,
): Promise<Recovery> {
  if (record.progress?.phase !== "acting") {
    return {
      begun: false,
      repositories: [],
      message: "it was cut off before it changed anything",
    };
  }
  const repositories: RecoveryPlace[] = [];
  for (const place of record.progress.repositories) {
    const { repoPath, restorePointId, fingerprint, head } = place;
    const base = { repoPath, restorePointId, headBefore: head };
    try {
      const repo = await openRepository(repoPath);
      const [now, print] = await Promise.all([
        readHead(repo),
        restore.fingerprint?.(repo) ?? Promise.resolve(null),
      ]);
      const unchanged = print === null ? null : print === fingerprint;
      repositories.push({ ...base, headNow: now.oid, unchanged });
    } catch {
      repositories.push({ ...base, headNow: null, unchanged: null });
    }
  }
  const same = repositories.every((place) => place.unchanged === true);
  return {
    begun: true,
    repositories,
    message:
      (same
        ? "the repository is exactly as it was before the operation"
        : "the operation may have done a part of its work: compare the repository with the restore point") +
      // Git outlives a gateway that was killed, and goes on.
      "; make sure first that no git or hook of it is still running",
  };
}
