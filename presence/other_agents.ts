import { type Asker, judgeAgents, type JudgedAgent, type ShownAgent } from "./agents.ts";
import { MAX_LISTED_AGENTS } from "./limits.ts";
import { overlaps, proposalBranches, proposalPaths, proposalWorktrees } from "./proposal.ts";
import type { SeenRepository } from "./scanner.ts";
import type { Unavailable } from "./types.ts";

/** An agent beside a proposal. */
export interface OtherAgent extends ShownAgent {
  /** Its files that the proposal touches too; null when either side's files are not known. */
  readonly overlappingPaths: readonly string[] | null;
  /** Branches that the proposal names and this agent works on; left out when there are none. */
  readonly overlappingBranches?: readonly string[];
  /** The proposal's work tree would lie where this agent works. */
  readonly overlappingWorktree?: true;
}

/** The hint beside a proposal: who else is there. It decides nothing (`presence.md` 3.3). */
export interface OtherAgents {
  readonly informational: true;
  readonly agents: readonly OtherAgent[];
  readonly agentCount: number;
  readonly overlappingAgentCount: number;
  readonly proposalPathsKnown: boolean;
  readonly omittedLikelyCaller: number;
  /** Agents in other work trees of the repository; left out when there are none. */
  readonly worktreeAgents?: readonly OtherAgent[];
  /** What could not be looked at, or was not done in time; left out when nothing is missing. */
  readonly sourcesUnavailable?: readonly Unavailable[];
  readonly note: string;
}

const NOTE = "For information; it never blocks. Names are what tools call themselves. " +
  "overlappingPaths: files that the agent and the proposal both touch, null when not known. " +
  "Tell the user about overlaps.";

/** A proposal as far as the hint looks at it. */
export interface ProposalView {
  /** Arguments of the call, or the action of a card. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Paths that are known better than from the arguments. */
  readonly paths?: readonly string[] | null;
}

/** Puts the hint together. */
export function otherAgentsOf(
  seen: SeenRepository,
  asker: Asker,
  proposal: ProposalView,
): OtherAgents {
  const { top, branch } = seen.places;
  const paths = proposal.paths ?? proposalPaths(proposal.args, top);
  const branches = proposalBranches(proposal.args, branch);
  const worktrees = proposalWorktrees(proposal.args);
  const { here, elsewhere } = judgeAgents(seen, asker);
  let omitted = 0;
  const listed = (all: readonly JudgedAgent[]) => {
    const agents: OtherAgent[] = [];
    for (const one of all) {
      if (agents.length === MAX_LISTED_AGENTS) break;
      if (one.likelyCaller) omitted++;
      else agents.push(describe(one));
    }
    return agents;
  };
  const describe = ({ shown, workingBranch }: JudgedAgent): OtherAgent => {
    const shared = branches.filter((name) => name === workingBranch);
    const known = paths !== null && shown.files.length > 0;
    return {
      ...shown,
      overlappingPaths: known ? overlaps(shown.files, paths) : null,
      ...(shared.length > 0 ? { overlappingBranches: shared } : {}),
      ...(worktrees.some((place) => sameOrInside(place, shown.worktree))
        ? { overlappingWorktree: true as const }
        : {}),
    };
  };
  const agents = listed(here), worktreeAgents = listed(elsewhere);
  const overlapping = (agent: OtherAgent) =>
    agent.overlappingPaths !== null && agent.overlappingPaths.length > 0;
  return {
    informational: true,
    agents,
    agentCount: agents.length,
    overlappingAgentCount: agents.filter(overlapping).length,
    proposalPathsKnown: paths !== null,
    omittedLikelyCaller: omitted,
    ...(worktreeAgents.length > 0 ? { worktreeAgents } : {}),
    ...(seen.missing.length > 0 ? { sourcesUnavailable: seen.missing } : {}),
    note: NOTE,
  };
}

/** Whether a new work tree would lie at, in or around the one that an agent works in. */
function sameOrInside(place: string, worktree: string | undefined): boolean {
  if (worktree === undefined) return false;
  const [a, b] = [place, worktree].map((path) => path.replaceAll("\\", "/").replace(/\/+$/, ""));
  return a === b || a!.startsWith(`${b}/`) || b!.startsWith(`${a}/`);
}
