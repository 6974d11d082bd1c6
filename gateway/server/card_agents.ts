import type { ReadVariable } from "../../common/platform.ts";
import type { OtherAgents } from "../../presence/mod.ts";
import type { ProposalRecord } from "./journal.ts";

export interface CardAgentsOptions {
  readonly runDir: string;
  readonly now: () => number;
  /** The environment, where stores of other agents are found; without it nobody is looked for. */
  readonly env?: ReadVariable | undefined;
}

/**
 * Begins to look for other agents in a proposal's repository and gives what asks for the outcome, once
 * the touched paths are known. The hint is for the person's eyes, stands outside the digest, and holds
 * a card up for 50 ms at most. Findings of the proposing agent itself are left out and counted.
 */
export function lookForAgents(
  record: ProposalRecord,
  options: CardAgentsOptions,
): (paths: readonly string[] | null) => Promise<{ readonly otherAgents?: OtherAgents }> {
  const { env, runDir, now } = options;
  if (env === undefined) return () => Promise.resolve({});
  const from = { env, runDir, now };
  const loaded = import("../../presence/mod.ts").then((presence) => {
    presence.startLooking(from, record.repoPath);
    return presence;
  });
  // Told below, where it is waited for.
  loaded.catch(() => {});
  return async (paths) => {
    try {
      const presence = await loaded;
      if (presence.detectionDisabled(env)) return {};
      const args = { ...record.action, repoPath: record.repoPath };
      const proposal = { args, paths };
      return {
        otherAgents: await presence.otherAgents(
          from,
          record.repoPath,
          record.agentId,
          proposal,
          false,
        ),
      };
    } catch {
      // A card without the hint is as good to decide on.
      return {};
    }
  };
}
