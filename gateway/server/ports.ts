import type { Repository } from "../../git/repository.ts";

/**
 * What the gateway needs of the rooms beside it, so that its own logic can be read and tested without
 * them. `restore_room.ts` and `ledger.ts` fill these in.
 */

/** A restore point that was made before an operation. */
export interface MadePoint {
  readonly id: string;
  /** `result.restorePoint` of the contract, for history operations. */
  readonly before: { readonly branchRef: string | null; readonly commit: string | null };
  /** What it does not cover, in words (ignored files, submodule contents …). */
  readonly notCovered: readonly string[];
}

export interface PointRequest {
  readonly operation: string;
  readonly previewId: string | null;
  readonly agentId: string | null;
}

/** A repository that nobody else changes through any gateway while this is held. */
export interface HeldRepository {
  /** Throws when a complete point cannot be made: then nothing may be executed. */
  make(request: PointRequest): Promise<MadePoint>;
  /** Brings the repository back to a point that was just made; throws when it cannot. */
  bringBack(point: MadePoint): Promise<void>;
  /**
   * Records what the operation led to (commit after, refs) for undo and the reference's file. Gives
   * where HEAD stands now, where that is known.
   */
  settle(
    point: MadePoint,
    outcome: "completed" | "failed",
  ): Promise<MadePoint["before"] | null | void>;
  /** One text that is the same exactly when HEAD, refs, index and work tree are. */
  fingerprint(): Promise<string>;
}

export interface RestorePort {
  /** Runs `work` under the repository's lock. Throws when it cannot be had in time. */
  locked<T>(
    repo: Repository,
    repoId: string,
    work: (held: HeldRepository) => Promise<T>,
  ): Promise<T>;
  /** As {@link HeldRepository.fingerprint}, for looking at an interrupted execution. */
  readonly fingerprint?: (repo: Repository) => Promise<string>;
}

/** A decision or outcome for the ledger; never holds paths, arguments or texts in clear. */
export interface LedgerEvent {
  readonly kind:
    | "approve"
    | "reject"
    | "reconcile"
    | "execute"
    | "expire"
    | "wrong_code"
    | "restore";
  readonly operationType: string | null;
  readonly previewId: string | null;
  readonly agentId: string | null;
  readonly repoPath: string | null;
  readonly channel: string | null;
  readonly digest: string | null;
  readonly result: "success" | "error" | "denied";
  /** Ids before and after, full object ids only. */
  readonly ids?: Readonly<Record<string, string | null>>;
  /** For wrong codes: how many since the last entry. */
  readonly tries?: number;
}

export interface LedgerPort {
  /** Never throws and never undoes a transition (`operations.md` U2). */
  record(event: LedgerEvent): void;
  state(): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}
