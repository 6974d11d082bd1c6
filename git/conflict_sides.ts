import { decodeText } from "../common/bytes.ts";
import { GitError } from "./errors.ts";
import type { Operation, OperationKind } from "./in_progress.ts";
import type { Repository } from "./repository.ts";

/** Which commits the stages of a conflict come from, by the operation that made it. */
export interface ConflictCommits {
  readonly labels?: SideLabels;
  /** Only for a revert, where stage 1 is the commit that is undone. */
  readonly base?: CommitName | null;
  readonly ours: CommitName | null;
  readonly theirs: CommitName | null;
}

export interface CommitName {
  readonly sha: string;
  /** At most 1,000 UTF-16 units; callers may shorten it further. */
  subject: string;
}

export interface SideLabels {
  readonly ours: string;
  readonly theirs: string;
}

/**
 * What the sides are, where "ours" and "theirs" do not say it: a rebase turns them around, a revert merges
 * the parent of the reverted commit (weakness 5 of `read-tools.md` 27).
 */
const LABELS: { readonly [K in OperationKind]?: SideLabels } = {
  "rebase": { ours: "branch rebased onto", theirs: "commit being replayed" },
  "am": { ours: "HEAD", theirs: "patch" },
  "cherry-pick": { ours: "HEAD", theirs: "picked commit" },
  "revert": { ours: "HEAD", theirs: "parent of the reverted commit" },
};

const MAX_SUBJECT = 1_000;

/** Names the commits of the sides; null where there is none or it cannot be told. */
export async function readConflictCommits(
  repo: Repository,
  operation: Operation | null,
): Promise<ConflictCommits> {
  // A merge inside a rebase with merges is made with what MERGE_HEAD names.
  const merging = operation?.kind === "rebase" && exists(`${repo.facts.gitDir}/MERGE_HEAD`);
  const other = merging ? "MERGE_HEAD" : operation?.oid;
  const reverting = operation?.kind === "revert";
  const wanted = ["HEAD", ...(other ? [other] : []), ...(other && reverting ? [`${other}^@`] : [])];
  const found = await nameCommits(repo, wanted) ?? await nameCommits(repo, ["HEAD"]) ?? [];
  const [ours = null, named = null, ...parents] = found;
  const plain = operation ? LABELS[operation.kind] : undefined;
  const labels = merging && plain ? { ...plain, theirs: "commit being merged" } : plain;
  if (!reverting) return { ...(labels ? { labels } : {}), ours, theirs: named };
  // Which parent of a merge is reverted to is not recorded.
  return {
    ...(labels ? { labels } : {}),
    base: named,
    ours,
    theirs: parents.length === 1 ? parents[0]! : null,
  };
}

async function nameCommits(
  repo: Repository,
  revisions: readonly string[],
): Promise<CommitName[] | null> {
  try {
    const text = await repo.run(
      [
        "log",
        "--no-walk=unsorted",
        "-z",
        "--format=%H%x00%s",
        "--encoding=UTF-8",
        ...revisions,
        "--",
      ],
      { okCodes: [0, 128] },
    );
    if (text.code !== 0) return null;
    const fields = decodeText(text.stdout).split("\0");
    const names: CommitName[] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      names.push({ sha: fields[i]!, subject: fields[i + 1]!.slice(0, MAX_SUBJECT) });
    }
    return names;
  } catch (error) {
    if (error instanceof GitError && error.kind === "failed") return null;
    throw error;
  }
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
