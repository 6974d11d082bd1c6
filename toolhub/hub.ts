/** What every tool of ToolHub works with. */

import type { ApprovalStore } from "./approvals/store.ts";
import type { AuditLog } from "./audit/log.ts";
import type { MicroClock } from "./clock.ts";
import type { HubFolders, ReadVariable } from "./config.ts";
import type { RaceHooks } from "./workspace/chain.ts";

/** Moments in which tests interfere; nothing of it is reachable from outside. */
export interface HubHooks extends RaceHooks {
  /** After an approval was consumed, before its action begins. */
  readonly afterConsume?: () => void | Promise<void>;
  /** Before the last checks of a program, and between them. */
  readonly beforeVerify?: () => void;
  readonly betweenChecks?: () => void;
}

export interface Hub extends HubFolders {
  readonly env: ReadVariable;
  readonly clock: MicroClock;
  readonly approvals: ApprovalStore;
  readonly audit: AuditLog;
  /** Read files that have several names. */
  readonly hardLinks: boolean;
  readonly hooks: HubHooks;
}

/** What a call knows besides its arguments. */
export interface CallInfo {
  /** Aborted when the client cancels and when the connection ends. */
  readonly signal: AbortSignal;
}

/** One tool's code. `args` were checked against its schema, defaults filled in. */
export type ToolRun<Args> = (
  args: Args,
  hub: Hub,
  call: CallInfo,
) => Record<string, unknown> | Promise<Record<string, unknown>>;
