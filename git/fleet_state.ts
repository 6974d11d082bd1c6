import { hasLinkedParts } from "./confinement.ts";
import { GitError } from "./errors.ts";
import { readHead } from "./head.ts";
import { type Operation, readOperation } from "./in_progress.ts";
import { type MergePreview, type MergeScratch, previewMerge } from "./merge_preview.ts";
import { plainRepository } from "./plain_repository.ts";
import { openRepository, type Repository } from "./repository.ts";
import { readStatus, type Status } from "./status.ts";
import { readWorkTree } from "./work_tree.ts";

/** Time for a forecast: a slow one must not cost the repository its whole answer. */
const PREVIEW_MS = 5_000;

/** What one look at a repository tells, for lists of many: one git process when it is an ordinary one. */
export interface FleetState {
  readonly repo: Repository;
  /** null in a bare repository, which has no work tree to look at. */
  readonly status: Status | null;
  readonly branch: string | null;
  readonly head: string | null;
  readonly detached: boolean;
  readonly unborn: boolean;
  readonly operation: Operation | null;
  /** Distances are lower bounds. */
  readonly shallow: boolean;
  /** False when dirt inside submodules could not be looked at. */
  readonly submodulesRead: boolean;
  /** What merging the upstream would give; only when both sides have commits of their own. */
  readonly preview: MergePreview | null;
}

export interface FleetStateOptions {
  readonly signal?: AbortSignal | undefined;
  readonly roots?: readonly string[] | null | undefined;
  readonly scratch: MergeScratch;
  /** Conflicting paths to keep. */
  readonly previewLimit: number;
}

/** Reads the state of the repository at a canonical path. Throws as {@link openRepository} and {@link readStatus}. */
export async function readFleetState(
  path: string,
  options: FleetStateOptions,
): Promise<FleetState> {
  const { repo, status, submodulesRead } = await readPlain(path, options) ??
    await readAny(path, options);
  const operation = await readOperation(repo, (status?.counts.conflicted ?? 0) > 0);
  const head = status ?? await bareHead(repo);
  const diverged = status !== null && (status.ahead ?? 0) > 0 && (status.behind ?? 0) > 0;
  return {
    repo,
    status,
    branch: head.branch,
    head: head.head,
    detached: head.detached,
    unborn: head.unborn,
    operation,
    shallow: isShallow(repo),
    submodulesRead,
    preview: diverged ? await forecast(path, status, options) : null,
  };
}

type Read = Pick<FleetState, "repo" | "status" | "submodulesRead">;

async function readPlain(path: string, options: FleetStateOptions): Promise<Read | null> {
  const plain = plainRepository(path, options.signal);
  if (plain === null || (options.roots && hasLinkedParts(plain.repo.facts.gitDir))) return null;
  let status: Status;
  try {
    status = await readStatus(plain.repo, { env: plain.env }, () => {});
  } catch (error) {
    // Git found something wrong with it: the thorough way has the better words, or another repository.
    if (error instanceof GitError && error.kind !== "cancelled" && error.kind !== "timed_out") {
      return null;
    }
    throw error;
  }
  // Whether an upstream exists takes a question of its own here.
  if (status.unborn && status.upstream !== null) return null;
  return { repo: plain.repo, status, submodulesRead: true };
}

async function readAny(path: string, options: FleetStateOptions): Promise<Read> {
  const repo = await openRepository(path, options);
  if (repo.facts.topLevel === null) return { repo, status: null, submodulesRead: true };
  const status = await readWorkTree(repo, { limit: 0 });
  return { repo, status, submodulesRead: status.submodulesRead };
}

async function bareHead(repo: Repository) {
  const { branch, oid, detached, unborn } = await readHead(repo);
  return { branch, head: oid, detached, unborn };
}

/** The merge runs in a thoroughly opened repository, because merge drivers can be named anywhere. */
async function forecast(
  path: string,
  status: Status,
  options: FleetStateOptions,
): Promise<MergePreview | null> {
  const repo = await openRepository(path, options);
  const theirs = await repo.optionalText([
    "rev-parse",
    "--verify",
    "--quiet",
    "@{upstream}^{commit}",
  ]);
  if (theirs === null || status.head === null) return null;
  try {
    return await previewMerge(repo, status.head, theirs, options.scratch, {
      limit: options.previewLimit,
      deadlineMs: PREVIEW_MS,
    });
  } catch (error) {
    if (!(error instanceof GitError) || error.kind === "cancelled") throw error;
    return {
      status: "unknown",
      mergeBases: [],
      conflicts: [],
      conflictCount: null,
      notes: [{ code: "source_unavailable", message: "the merge could not be previewed" }],
    };
  }
}

function isShallow(repo: Repository): boolean {
  try {
    return Deno.lstatSync(`${repo.facts.commonDir}/shallow`).size > 0;
  } catch {
    return false;
  }
}
