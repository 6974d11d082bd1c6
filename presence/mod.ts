/** Public face of this room: who else is at work in a repository. */

import { askerOf, type PresenceData, presenceData } from "./agents.ts";
import { HINT_WAIT_MS } from "./limits.ts";
import { type OtherAgents, otherAgentsOf, type ProposalView } from "./other_agents.ts";
import { systemProcesses } from "./processes.ts";
import { Scanner } from "./scanner.ts";
import type { Surroundings } from "./surroundings.ts";

export type { PresenceData } from "./agents.ts";
export type { OtherAgents } from "./other_agents.ts";

/** Set to anything, it switches detection off. */
export const DETECTION_SWITCH = "FLUXGIT_MCP_AGENT_DETECTION_DISABLED";

/** Where to look from: what a tool's context has, or the gateway. */
export interface LookFrom {
  readonly env: Surroundings["env"];
  readonly runDir: string | null;
  readonly now: () => number;
  /** Canonical allowed roots; null for no restriction. */
  readonly roots?: readonly string[] | null;
  readonly copyDatabase?: Surroundings["copyDatabase"];
}

/** One scanner for each environment, which is one for each process but in tests. */
const scanners = new WeakMap<Surroundings["env"], Scanner>();

function scannerOf(from: LookFrom): Scanner {
  let scanner = scanners.get(from.env);
  if (!scanner) {
    scanner = new Scanner({
      os: Deno.build.os,
      env: from.env,
      now: from.now,
      runDir: from.runDir,
      ownPid: Deno.pid,
      parentPid: Deno.ppid,
      processes: systemProcesses(),
      copyDatabase: from.copyDatabase ?? null,
    }, from.roots ?? null);
    scanners.set(from.env, scanner);
  }
  return scanner;
}

/** Whether the user switched detection off. */
export function detectionDisabled(env: Surroundings["env"]): boolean {
  return env(DETECTION_SWITCH) !== undefined;
}

/** Begins to look, so that a later question finds it ready. @param path canonical */
export function startLooking(from: LookFrom, path: string): void {
  if (!detectionDisabled(from.env)) scannerOf(from).start(path);
}

/** `data` of `agents.presence`: looks to the end. @param path canonical; @param agentId of the caller */
export async function lookAround(
  from: LookFrom,
  path: string,
  agentId: string,
): Promise<PresenceData> {
  return presenceData(path, await scannerOf(from).whole(path), agentId);
}

/**
 * The hint beside a proposal. Waits at most 50 ms for what is not ready; that is then said.
 *
 * @param agentId of whoever proposes
 * @param isParent whether the processes above this one are the proposer's (in the sidecar, not in the
 * gateway)
 */
export async function otherAgents(
  from: LookFrom,
  path: string,
  agentId: string,
  proposal: ProposalView,
  isParent = true,
): Promise<OtherAgents> {
  const seen = await scannerOf(from).within(path, HINT_WAIT_MS);
  return otherAgentsOf(seen, askerOf(agentId, isParent), proposal);
}
