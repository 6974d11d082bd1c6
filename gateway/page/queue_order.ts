/** In which order and in which groups proposals stand in the queue. Knows no document. */

import type { Proposal } from "./shapes.ts";

/** Proposals of one agent that asks for much of the same. */
export interface Group {
  readonly key: string;
  readonly proposals: readonly Proposal[];
}

/** So many of one kind, from one agent, in one repository, are shown as one entry. */
export const FLOOD = 4;
/** Less time than this is urgent. Milliseconds. */
export const SOON_MS = 60_000;

/** High risk, or little time left. */
export function isUrgent(proposal: Proposal, leftMs: number): boolean {
  return proposal.status === "pending" && (proposal.risk === "high" || leftMs < SOON_MS);
}

/**
 * Groups floods and sorts: urgent first, then newest first. A group stands where its first one would.
 *
 * @param left milliseconds that a proposal has left
 */
export function arrange(
  proposals: readonly Proposal[],
  left: (proposal: Proposal) => number,
): Group[] {
  const sorted = [...proposals].sort((a, b) =>
    Number(isUrgent(b, left(b))) - Number(isUrgent(a, left(a))) ||
    b.createdAtMs - a.createdAtMs || (a.previewId < b.previewId ? -1 : 1)
  );
  const kinds = new Map<string, Proposal[]>();
  for (const proposal of sorted) {
    const key = JSON.stringify([proposal.agentId, proposal.repoPath, proposal.operationType]);
    const kind = kinds.get(key);
    if (kind) kind.push(proposal);
    else kinds.set(key, [proposal]);
  }
  const groups: Group[] = [];
  const done = new Set<string>();
  for (const proposal of sorted) {
    const key = JSON.stringify([proposal.agentId, proposal.repoPath, proposal.operationType]);
    const kind = kinds.get(key)!;
    if (kind.length < FLOOD) groups.push({ key: proposal.previewId, proposals: [proposal] });
    else if (!done.has(key)) {
      done.add(key);
      groups.push({ key, proposals: kind });
    }
  }
  return groups;
}
