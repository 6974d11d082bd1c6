import { MAX_LISTED_AGENTS } from "./limits.ts";
import { agentOfClient } from "./records.ts";
import type { SeenRepository } from "./scanner.ts";
import type { Finding, Unavailable } from "./types.ts";

/** What callers without a name are called inside the program; never a name of theirs. */
export const UNNAMED_CALLER = "external-mcp-sidecar";

/** An agent as answers show it (`presence.md` 3.1). Everything but the last two members is always there. */
export interface ShownAgent {
  readonly agent: string;
  readonly state: Finding["state"];
  readonly sources: Finding["sources"];
  readonly pid: number | null;
  readonly lastActivityMs: number | null;
  readonly branch: string | null;
  readonly lastTool: string | null;
  readonly files: readonly string[];
  readonly mcpClient: Finding["mcpClient"];
  readonly sameAgentAsCaller: boolean;
  /** Several sessions of this agent are at work here, at least so many. */
  readonly sessions?: number;
  /** The work tree of this repository that it is in, when that is another one than was asked about. */
  readonly worktree?: string;
}

/** A finding with what is needed to judge it. */
export interface JudgedAgent {
  readonly shown: ShownAgent;
  readonly likelyCaller: boolean;
  /** Branch that it works on: its own word, else what is checked out where it is. */
  readonly workingBranch: string | null;
}

/** Who asks. */
export interface Asker {
  /** Cleaned, self-declared name; null when there is none. */
  readonly clientName: string | null;
  readonly agent: string | null;
  /**
   * Whether our own ancestors are the asker's processes. They are not where the answer is for
   * somebody else: then every finding of the same agent counts as the asker.
   */
  readonly isParent: boolean;
}

/** The asker that a call's agent id stands for. */
export function askerOf(agentId: string, isParent: boolean): Asker {
  const clientName = agentId === UNNAMED_CALLER || agentId === "" ? null : agentId;
  return { clientName, agent: clientName === null ? null : agentOfClient(clientName), isParent };
}

/** All findings, those of the asked work tree (and below it) apart from those in other work trees. */
export function judgeAgents(
  seen: SeenRepository,
  asker: Asker,
): { readonly here: readonly JudgedAgent[]; readonly elsewhere: readonly JudgedAgent[] } {
  const here: JudgedAgent[] = [], elsewhere: JudgedAgent[] = [];
  const { top, others, branch } = seen.places;
  for (const finding of seen.findings) {
    const { root, sessions, ...facts } = finding;
    const place = root === top ? undefined : others.find((one) => one.path === root);
    const below = isBelow(root, top);
    const same = asker.agent !== null && finding.agent === asker.agent;
    const own = finding.pid === null || !asker.isParent || seen.ancestors.has(finding.pid);
    const judged: JudgedAgent = {
      shown: {
        ...pick(place && below ? { ...facts, files: prefixed(facts.files, root, top) } : facts),
        sameAgentAsCaller: same,
        ...(sessions > 1 ? { sessions } : {}),
        ...(place ? { worktree: below ? root.slice(top.length + 1) : root } : {}),
      },
      likelyCaller: same && own,
      workingBranch: finding.branch ?? (place ? place.branch : branch),
    };
    (place && !below ? elsewhere : here).push(judged);
  }
  return { here, elsewhere };
}

function isBelow(path: string, top: string): boolean {
  return path.startsWith(`${top}/`) || path.startsWith(`${top}\\`);
}

/** Files of a work tree below the asked one, as they are called from there. */
function prefixed(files: readonly string[], root: string, top: string): string[] {
  const prefix = root.slice(top.length + 1).replaceAll("\\", "/");
  return files.map((file) => `${prefix}/${file}`);
}

function pick(facts: Omit<Finding, "root" | "sessions">): Omit<ShownAgent, "sameAgentAsCaller"> {
  const { agent, state, sources, pid, lastActivityMs, branch, lastTool, files, mcpClient } = facts;
  return { agent, state, sources, pid, lastActivityMs, branch, lastTool, files, mcpClient };
}

/** `data` of `agents.presence`. */
export interface PresenceData {
  readonly repoPath: string;
  readonly agents: readonly (ShownAgent & { readonly likelyCaller: boolean })[];
  readonly agentCount: number;
  readonly truncated: boolean;
  /** Agents in other work trees of this repository; left out when there are none. */
  readonly worktreeAgents?: readonly (ShownAgent & { readonly likelyCaller: boolean })[];
  readonly caller: {
    readonly clientName: string | null;
    readonly agent: string | null;
    readonly ownMcpPresenceExcluded: true;
  };
  readonly sourcesUnavailable: readonly Unavailable[];
}

/** Puts together what `agents.presence` answers. */
export function presenceData(
  repoPath: string,
  seen: SeenRepository,
  agentId: string,
): PresenceData {
  const asker = askerOf(agentId, true);
  const { here, elsewhere } = judgeAgents(seen, asker);
  const show = ({ shown, likelyCaller }: JudgedAgent) => ({ ...shown, likelyCaller });
  const agents = here.slice(0, MAX_LISTED_AGENTS).map(show);
  const others = elsewhere.slice(0, MAX_LISTED_AGENTS).map(show);
  return {
    repoPath,
    agents,
    agentCount: agents.length,
    truncated: here.length > MAX_LISTED_AGENTS || elsewhere.length > MAX_LISTED_AGENTS,
    ...(others.length > 0 ? { worktreeAgents: others } : {}),
    caller: {
      clientName: asker.clientName,
      agent: asker.agent,
      ownMcpPresenceExcluded: true,
    },
    sourcesUnavailable: seen.missing,
  };
}
