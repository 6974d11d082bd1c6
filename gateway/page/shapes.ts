/** What the gateway's routes for people answer, as far as the page reads it. */

export type Risk = "low" | "medium" | "high";
export type Status =
  | "pending"
  | "approved"
  | "executing"
  | "completed"
  | "rejected"
  | "failed"
  | "expired"
  | "cancelled";

/** A line of the queue. */
export interface Proposal {
  readonly previewId: string;
  readonly operationType: string;
  readonly status: Status;
  readonly agentId: string;
  readonly repoPath: string;
  readonly repoId: string;
  readonly reason: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly endedAtMs: number | null;
  /** By the gateway's clock when it answered. Milliseconds. */
  readonly timeLeftMs: number;
  readonly ageMs: number;
  readonly risk: Risk;
  /** What it would do in one line; null until it was looked at. */
  readonly headline: string | null;
  /** An execution is under way in the gateway right now. */
  readonly running: boolean;
  readonly result?: Result;
  readonly rejectionReason?: string;
}

export interface Result {
  readonly status?: string;
  readonly message?: string;
  readonly restorePointId?: string;
  readonly restorePointNotCovered?: readonly string[];
  readonly [member: string]: unknown;
}

export interface Note {
  readonly code: string;
  readonly message: string;
  readonly paths?: readonly string[];
}

export interface FileEffect {
  readonly path: string;
  readonly pathBytes?: string;
  readonly origPath?: string;
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
  readonly fate: string;
}

export interface RefEffect {
  readonly ref: string;
  readonly before: string | null;
  readonly after: string | null;
}

export interface Effect {
  readonly summary: string;
  readonly refs: readonly RefEffect[];
  readonly files: readonly FileEffect[];
  readonly filesTotal: number;
  readonly commits: readonly CommitEffect[];
  readonly commitsTotal: number;
  readonly diff: string | null;
  readonly diffTruncated: boolean;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface Card {
  readonly previewId: string;
  readonly operationType: string;
  readonly status: Status;
  readonly agentId: string;
  readonly reason: string;
  readonly repoPath: string;
  readonly createdAtMs: number;
  readonly timeLeftMs: number;
  readonly digest: string | null;
  readonly risk: Risk;
  readonly destructive: boolean;
  readonly words: string | null;
  readonly blockers: readonly Note[];
  readonly warnings: readonly Note[];
  readonly effect: Effect | null;
  readonly overrides: Overrides;
  readonly result: Result | null;
  readonly rejectionReason: string | null;
  readonly running?: boolean;
  /** For an execution that was cut off: what is known about it. */
  readonly recovery?: Recovery | null;
  readonly otherAgents?: OtherAgents;
}

export interface Recovery {
  readonly begun: boolean;
  readonly message: string;
  readonly repositories: readonly {
    readonly repoPath: string;
    readonly restorePointId: string;
    readonly headBefore: string | null;
    readonly headNow: string | null;
    /** Null when it could not be found out. */
    readonly unchanged: boolean | null;
  }[];
}

export interface Overrides {
  readonly applyToIndex?: boolean;
  readonly confirmedSteps?: readonly number[];
}

/** Who else works in the repository; filled by detection where the gateway has it. */
export interface OtherAgents {
  readonly agents: readonly OtherAgent[];
  /** Those in other work trees of the repository. */
  readonly worktreeAgents?: readonly OtherAgent[];
  readonly note?: string;
}

export interface OtherAgent {
  /** What it calls itself, or what its files tell. */
  readonly agent: string;
  readonly state: string;
  readonly worktree?: string;
  readonly overlappingPaths?: readonly string[] | null;
  readonly overlappingBranches?: readonly string[];
}

export interface Named {
  readonly count: number;
  readonly first: readonly string[];
}

/** What a restore point made now would leave out. */
export interface Coverage {
  readonly covered: readonly string[];
  readonly notCovered: Readonly<Record<string, Named>>;
}

export interface HeadState {
  readonly ref: string | null;
  readonly oid: string | null;
}

export interface RestorePoint {
  readonly id: string;
  readonly kind: "operation" | "restore" | "manual";
  readonly operation: string;
  readonly previewId: string | null;
  readonly agentId: string | null;
  readonly createdAtMs: number;
  readonly state: "open" | "finished" | "failed";
  readonly head: HeadState;
  readonly headAfter: HeadState | null;
  readonly refs: readonly RefEffect[];
  readonly refsTotal: number;
  readonly files: number | null;
  readonly notCovered: Readonly<Record<string, Named | true>>;
  readonly undone: boolean;
  readonly restores: string | null;
  readonly direction: "apply" | "undo" | "redo" | null;
}

/** Tip of a deleted branch. */
export interface BranchTip {
  readonly id: string;
  readonly ref: string;
  readonly oid: string;
  readonly deletedAtMs: number;
}

export interface RestoreHistory {
  readonly repoPath: string;
  readonly kind: "ok" | "none" | "corrupt";
  readonly reason?: string;
  readonly list?: {
    readonly points: readonly RestorePoint[];
    readonly branchTips?: readonly BranchTip[];
  };
}

export interface RestorePreview {
  readonly pointId: string;
  readonly digest: string;
  readonly head: { readonly from: HeadState; readonly to: HeadState };
  readonly refs: readonly RefEffect[];
  readonly refsTotal: number;
  readonly refsLeft: readonly { readonly ref: string; readonly reason: string }[];
  readonly refsLeftTotal: number;
  readonly files: {
    readonly created: Named;
    readonly overwritten: Named;
    readonly removed: Named;
    readonly left: Named;
  };
  readonly lines: { readonly added: number; readonly deleted: number } | null;
  readonly index: "same" | "changes";
  readonly operationState: Named;
  readonly stash: { readonly changes: boolean; readonly newerKept: number };
  readonly commitsLeftBehind: number | null;
  readonly blockers: readonly (Note & { readonly first: readonly string[] })[];
  readonly nothingToDo: boolean;
}

export interface LedgerState {
  readonly status: "ok" | "degraded" | "off";
  readonly reason?: string | null;
  readonly head?: { readonly sequence?: number; readonly hash?: string } | null;
  readonly written?: number;
  readonly waiting?: number;
  readonly lost?: number;
}
