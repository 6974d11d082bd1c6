import type { Proposal, Risk } from "./shapes.ts";

/** The gateway's list made whole: times by the gateway's clock, risk by type where nothing else is known. */

/** `GET /v1/human/proposals`. */
export interface ProposalList {
  /** The gateway's clock, Unix milliseconds. */
  readonly nowMs?: number;
  readonly proposals: readonly Given[];
}

type Given =
  & Omit<Proposal, "timeLeftMs" | "ageMs" | "risk" | "headline" | "running">
  & Partial<Pick<Proposal, "risk" | "headline" | "running">>;

const RISKS: Readonly<Record<string, Risk>> = {
  reset: "high",
  discard: "high",
  worktree: "low",
  commit: "low",
  branch: "low",
};

/** Fills in what the page needs of each proposal. */
export function readProposals({ nowMs = Date.now(), proposals }: ProposalList): Proposal[] {
  return proposals.map((one) => ({
    ...one,
    timeLeftMs: Math.max(0, one.expiresAtMs - nowMs),
    ageMs: Math.max(0, nowMs - one.createdAtMs),
    risk: one.risk ?? RISKS[one.operationType] ?? "medium",
    headline: one.headline ?? null,
    running: one.running ?? false,
  }));
}
