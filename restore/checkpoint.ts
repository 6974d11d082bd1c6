import { decodeText } from "../common/bytes.ts";
import { parseJson, stringifyJson } from "../common/json.ts";
import { makePrivateFolder, readPrivateFile, writePrivateFile } from "../common/private_file.ts";
import type { Repository } from "../git/repository.ts";
import type { HiddenRepository } from "./hidden.ts";
import { isRepoId, repositoryPath } from "./registry.ts";
import type { RestorePoint } from "./types.ts";

/**
 * The reference's single checkpoint of a repository, `<run_dir>/rebase/<repoId>.json` (`read-tools.md`
 * 0.7): kept up to date for operations that moved a branch, and read for points that the desktop
 * application made. Missing or wrongly typed members read as null.
 */
export interface Checkpoint {
  readonly path: string;
  readonly operation: string | null;
  readonly branchRef: string | null;
  readonly before: string | null;
  readonly after: string | null;
  readonly beforeRef: string | null;
  readonly afterRef: string | null;
  /** Unix seconds. */
  readonly createdAt: number | null;
  readonly undone: boolean;
  readonly upstreamRef: string | null;
  readonly resetMode: string | null;
  readonly plan: unknown;
  /** Restore point that it belongs to; null for one of the desktop application. */
  readonly restorePoint: string | null;
}

/** What a reader finds; a damaged file is said. */
export type CheckpointState =
  | { readonly kind: "ok"; readonly checkpoint: Checkpoint }
  | { readonly kind: "none" }
  | { readonly kind: "corrupt"; readonly reason: string };

const MAX_BYTES = 1024 * 1024;

export function checkpointPath(runDir: string, repoId: string): string {
  return `${runDir}/rebase/${repoId}.json`;
}

/** Reads the checkpoint. A repository path inside must be `repoPath`. Never throws. */
export function readCheckpoint(runDir: string, repoId: string, repoPath: string): CheckpointState {
  if (!isRepoId(repoId)) return { kind: "none" };
  const path = checkpointPath(runDir, repoId);
  try {
    const bytes = readPrivateFile(path, MAX_BYTES);
    if (bytes === null) return { kind: "none" };
    const value = parseJson(decodeText(bytes));
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return { kind: "corrupt", reason: "it is not a JSON object" };
    }
    const record = value as Record<string, unknown>;
    // Ours carry the path; the desktop application's do not.
    if (record["repo_path"] !== undefined && record["repo_path"] !== repoPath) {
      return { kind: "corrupt", reason: "it belongs to another repository" };
    }
    return { kind: "ok", checkpoint: toCheckpoint(path, record) };
  } catch (error) {
    return { kind: "corrupt", reason: error instanceof Error ? error.message : String(error) };
  }
}

function toCheckpoint(path: string, record: Record<string, unknown>): Checkpoint {
  const text = (key: string) => typeof record[key] === "string" ? record[key] as string : null;
  const createdAt = record["created_at"];
  return {
    path,
    operation: text("operation"),
    branchRef: text("branch_ref"),
    before: text("before_commit"),
    after: text("after_commit"),
    beforeRef: text("before_ref"),
    afterRef: text("after_ref"),
    createdAt: Number.isSafeInteger(createdAt) ? createdAt as number : null,
    undone: record["undone"] === true,
    upstreamRef: text("upstream_ref"),
    resetMode: text("reset_mode"),
    plan: record["plan"] ?? null,
    restorePoint: text("restore_point"),
  };
}

/**
 * Writes the checkpoint for a finished operation that moved the branch HEAD was on; any other
 * operation leaves the file as it is. The two refs that it names are kept in the hidden repository:
 * as refs of the repository itself `log --all` would show them.
 */
export async function writeCheckpoint(
  repo: Repository,
  hidden: HiddenRepository,
  context: { readonly runDir: string; readonly repoId: string },
  point: RestorePoint,
): Promise<void> {
  const { head, headAfter } = point;
  if (head.ref === null || head.oid === null || !headAfter?.oid) return;
  if (headAfter.ref !== head.ref || headAfter.oid === head.oid) return;
  const refs = `refs/fluxgit/checkpoints/rebase/${context.repoId}`;
  await hidden.run(["update-ref", "--stdin", "-z"], {
    stdin: `update ${refs}/before\0${head.oid}\0\0update ${refs}/after\0${headAfter.oid}\0\0`,
  });
  const upstream = await readUpstream(repo, head.ref);
  const merged = upstream === null ? false : (await repo.run(
    ["merge-base", "--is-ancestor", head.oid, upstream],
    { okCodes: "any" },
  )).code === 0;
  write(context, {
    version: 1,
    operation: point.operation,
    branch_ref: head.ref,
    before_commit: head.oid,
    after_commit: headAfter.oid,
    before_ref: `${refs}/before`,
    after_ref: `${refs}/after`,
    created_at: Math.floor(point.createdAtMs / 1_000),
    undone: false,
    upstream_ref: upstream,
    branch_has_upstream: upstream !== null,
    before_commit_reachable_from_upstream: merged,
    ...(point.resetMode === null ? {} : { reset_mode: point.resetMode }),
    plan: point.plan ?? { pick_count: 0, squash_count: 0, fixup_count: 0, drop_count: 0 },
    repo_path: repositoryPath(repo),
    restore_point: point.id,
  });
}

/** Marks the checkpoint of a point as undone or done again; another point's is left alone. */
export function markCheckpoint(
  context: { readonly runDir: string; readonly repoId: string },
  pointId: string,
  undone: boolean,
): void {
  try {
    const bytes = readPrivateFile(checkpointPath(context.runDir, context.repoId), MAX_BYTES);
    const record = bytes && parseJson(decodeText(bytes)) as Record<string, unknown> | null;
    if (record?.["restore_point"] === pointId) write(context, { ...record, undone });
  } catch { /* not ours, or damaged: readers say so */ }
}

function write(
  context: { readonly runDir: string; readonly repoId: string },
  record: Record<string, unknown>,
): void {
  makePrivateFolder(context.runDir, "rebase");
  writePrivateFile(
    checkpointPath(context.runDir, context.repoId),
    stringifyJson(record) + "\n",
  );
}

async function readUpstream(repo: Repository, ref: string): Promise<string | null> {
  const text = await repo.optionalText(["for-each-ref", "--format=%(upstream)", ref]);
  return text ? text.split("\n")[0] || null : null;
}
