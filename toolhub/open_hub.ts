/** Puts together what the tools of one process work with. */

import { ApprovalStore } from "./approvals/store.ts";
import { AuditLog } from "./audit/log.ts";
import { type MicroClock, systemClock } from "./clock.ts";
import { HARD_LINKS_VARIABLE, type HubFolders, type ReadVariable } from "./config.ts";
import type { Hub, HubHooks } from "./hub.ts";

export interface HubParts {
  readonly folders: HubFolders;
  readonly env: ReadVariable;
  readonly complain: (line: string) => void;
  readonly clock?: MicroClock;
  readonly hooks?: HubHooks;
}

/** Touches no file. */
export function openHub(
  { folders, env, complain, clock = systemClock, hooks = {} }: HubParts,
): Hub {
  return {
    ...folders,
    env,
    clock,
    approvals: new ApprovalStore(folders.state, clock),
    audit: new AuditLog(folders.state, clock, complain),
    hardLinks: env(HARD_LINKS_VARIABLE) === "1",
    hooks,
  };
}
