import type { Repository } from "../../git/repository.ts";

/** The twelve operation types, as they stand in paths and bodies (`operations.md` section 3). */
export const OPERATION_TYPES = [
  "merge",
  "rebase",
  "discard",
  "reset",
  "patch",
  "plan",
  "worktree",
  "commit",
  "push",
  "branch",
  "branchDelete",
  "submodulePointer",
] as const;
export type OperationType = typeof OPERATION_TYPES[number];

/** Lifecycle of a proposal (`operations.md` section 10). */
export type ProposalStatus =
  | "pending"
  | "approved"
  | "executing"
  | "completed"
  | "rejected"
  | "failed"
  | "expired"
  | "cancelled";

export const TERMINAL: ReadonlySet<ProposalStatus> = new Set([
  "completed",
  "rejected",
  "failed",
  "expired",
  "cancelled",
]);

/** One step of a plan, with its own defaults filled in and nothing of another type. */
export type StepAction = MergeAction | RebaseAction | DiscardAction | ResetAction | PatchAction;

export interface MergeAction {
  readonly operationType: "merge";
  readonly sourceRef: string;
  readonly targetRef: string;
  readonly strategy: "merge" | "squash";
}
export interface RebaseAction {
  readonly operationType: "rebase";
  readonly currentRef: string;
  readonly ontoRef: string;
}
export interface DiscardAction {
  readonly operationType: "discard";
  readonly paths: readonly string[];
}
export interface ResetAction {
  readonly operationType: "reset";
  readonly targetRef: string;
  readonly mode: "soft" | "mixed" | "hard";
}
export interface PatchAction {
  readonly operationType: "patch";
  readonly patchContent: string;
  readonly applyToIndex: boolean;
}
export interface PlanAction {
  readonly operationType: "plan";
  readonly steps: readonly StepAction[];
}
export interface WorktreeAction {
  readonly operationType: "worktree";
  readonly branch: string;
  /** Absolute, or null for the default place beside the repository. */
  readonly path: string | null;
}
export interface CommitAction {
  readonly operationType: "commit";
  readonly message: string;
  /** null: not given; `[]` was given empty. Paths win over `stageAll`. */
  readonly paths: readonly string[] | null;
  readonly stageAll: boolean;
}
export interface PushAction {
  readonly operationType: "push";
  readonly remote: string;
  /** null: the checked-out branch. */
  readonly branch: string | null;
  readonly setUpstream: boolean;
  readonly forceWithLease: boolean;
}
export interface BranchAction {
  readonly operationType: "branch";
  readonly name: string;
  readonly startPoint: string;
  readonly checkout: boolean;
}
export interface BranchDeleteAction {
  readonly operationType: "branchDelete";
  readonly targets: readonly { readonly repoPath: string; readonly branches: readonly string[] }[];
}
export interface SubmodulePointerAction {
  readonly operationType: "submodulePointer";
  readonly parentPath: string;
  readonly relativePath: string;
  readonly direction: "record" | "return";
  readonly message: string | null;
  readonly expectedRecordedOid: string | null;
  readonly expectedCheckedOutOid: string | null;
}

/** What is proposed, validated and with every default filled in; the canonical form that is hashed. */
export type Action =
  | StepAction
  | PlanAction
  | WorktreeAction
  | CommitAction
  | PushAction
  | BranchAction
  | BranchDeleteAction
  | SubmodulePointerAction;

export type Risk = "low" | "medium" | "high";

/** A sentence with a code, for agents and people; never holds text of the repository. */
export interface Note {
  readonly code: string;
  readonly message: string;
  readonly paths?: readonly string[];
}

/** A file that the operation changes, as the gateway itself computed it. */
export interface FileEffect {
  readonly path: string;
  readonly pathBytes?: string;
  readonly origPath?: string;
  /** `A` added, `M` modified, `D` deleted, `R` renamed, `T` type, `U` conflict, `?` untracked that is lost. */
  readonly status: string;
  readonly added: number | null;
  readonly deleted: number | null;
  readonly binary?: true;
  readonly modes?: { readonly old: string; readonly new: string };
  readonly note?: string;
}

export interface CommitEffect {
  readonly oid: string;
  readonly parents: readonly string[];
  readonly subject: string;
  readonly author: string;
  /** What happens to it. */
  readonly fate: "merged" | "lost" | "replayed" | "pushed" | "overwritten";
}

export interface RefEffect {
  readonly ref: string;
  readonly before: string | null;
  /** null: deleted; "new": an id that does not exist yet. */
  readonly after: string | null;
}

/** What will happen, for the card (`operations.md` H4). Lists are bounded; totals are real. */
export interface Effect {
  /** One line made of fixed phrases and names. */
  readonly summary: string;
  readonly refs: readonly RefEffect[];
  readonly files: readonly FileEffect[];
  readonly filesTotal: number;
  readonly commits: readonly CommitEffect[];
  readonly commitsTotal: number;
  /** Unified diff as it will really be, at most 256 KiB; `diffTruncated` when there is more. */
  readonly diff: string | null;
  readonly diffTruncated: boolean;
  /** Further facts by operation: push target and lease, worktree path, branch table, plan steps, submodule commits. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** What an operation found out about the repository as it is now. */
export interface Inspection {
  /**
   * Every resolved fact that the effect depends on (HEAD, refs, index and work tree digests, remote
   * URL, hooks and signing …), by a stable name. The card's digest is made of the action and these.
   */
  readonly facts: Readonly<Record<string, string | null>>;
  readonly effect: Effect;
  readonly risk: Risk;
  /** Destroys something that only a restore point brings back: typed words are asked for. */
  readonly destructive: boolean;
  /** Words to type for a destructive card, for example `reset main`; null otherwise. */
  readonly words: string | null;
  /** While one stands the card cannot be approved; each says what to do. */
  readonly blockers: readonly Note[];
  /** What a person should know: hooks that will run, files that change what runs later … */
  readonly warnings: readonly Note[];
  /** Paths that it touches, null when unknown (for presence and policy). */
  readonly paths: readonly string[] | null;
}

/** What a person changed on the card. */
export interface Overrides {
  readonly applyToIndex?: boolean;
  /** Plan steps whose check box was ticked, by index. */
  readonly confirmedSteps?: readonly number[];
}

export interface OperationContext {
  readonly repo: Repository;
  readonly runDir: string;
  readonly overrides: Overrides;
  readonly signal?: AbortSignal;
  /** Ceiling of the effect's diff where a person asked for more than a card usually holds. Bytes. */
  readonly diffBytes?: number;
  /** Wall clock, Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds for one approved git command, its hooks included; ten minutes when not given. */
  readonly approvedDeadlineMs?: number;
}

/** Result members of `tool-schemas.md` 5.7 for one operation, with its outcome. */
export interface ExecutionResult {
  readonly status: "completed" | "failed";
  /** One sentence; on failure what was left as it was and what was not. */
  readonly message: string;
  readonly members: Readonly<Record<string, unknown>>;
  /**
   * On a failure: bring nothing back. The operation wrote nothing here, took back what it wrote, or what
   * it wrote stands elsewhere; whatever differs now is somebody else's.
   */
  readonly leaveAsIs?: true;
}

/**
 * One operation type. `inspect` never writes. `execute` runs under the repository lock right after an
 * inspection whose digest equalled the approved one, with a restore point already made; it gives the
 * old values of refs to git, so that a race is refused by git itself, and on failure leaves the
 * repository as it found it.
 */
export interface Operation<A extends Action = Action> {
  readonly type: A["operationType"];
  inspect(action: A, context: OperationContext): Promise<Inspection>;
  execute(action: A, inspection: Inspection, context: OperationContext): Promise<ExecutionResult>;
}
