import { decodeText } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import { GitError } from "./errors.ts";
import { FieldRecords } from "./fields.ts";
import { nulFormat, wholeCharacters } from "./log.ts";
import type { Repository } from "./repository.ts";

/** One entry of the stash, newest first. */
export interface Stash {
  /** `n` of `stash@{n}`. */
  readonly index: number;
  /** Full id of the stash commit. */
  readonly oid: string;
  readonly subject: string;
  readonly subjectTruncated?: true;
  /** Untracked files are kept in a third parent. */
  readonly hasUntracked: boolean;
}

const MAX_SUBJECT = 500;

/**
 * Lists stash entries up to `limit`, and counts all. Positions are counted here: `%gd` prints dates
 * instead under some settings. Throws {@link GitError} when the stash cannot be read.
 */
export async function readStashes(
  repo: Repository,
  limit: number,
): Promise<{ entries: Stash[]; total: number }> {
  const reftable = repo.facts.config.get("extensions.refstorage")?.startsWith("reftable");
  if (!reftable && !exists(`${repo.facts.commonDir}/logs/refs/stash`)) {
    return { entries: [], total: 0 };
  }
  const entries: Stash[] = [];
  let total = 0;
  const records = new FieldRecords([64, 3 * 65, MAX_SUBJECT]);
  const args = [
    "log",
    "--walk-reflogs",
    "-z",
    "--no-patch",
    nulFormat(["%H", "%P", "%gs"]),
    "refs/stash",
    "--",
  ];
  const end = await streamGit(
    repo,
    args,
    { signal: repo.signal, okCodes: "any" },
    (chunk) =>
      records.push(chunk, ([oid, parents, subject]) => {
        if (entries.length < limit) {
          entries.push({
            index: total,
            oid: decodeText(oid!.bytes),
            subject: wholeCharacters(decodeText(subject!.bytes), subject!),
            ...(subject!.size > MAX_SUBJECT ? { subjectTruncated: true as const } : {}),
            hasUntracked: decodeText(parents!.bytes).split(" ").length >= 3,
          });
        }
        total++;
        return true;
      }),
  );
  // A log without its ref: the last entry was dropped.
  if (end.code !== 0 && !/unknown revision|bad revision/.test(end.stderr)) {
    throw new GitError("failed", args, end.stderr, end.code);
  }
  return { entries, total };
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
