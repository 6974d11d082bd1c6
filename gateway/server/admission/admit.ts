import { hash } from "node:crypto";
import type { ProposalRecord } from "../journal.ts";
import { checkRules, type Policy, rulesFor } from "../policy.ts";
import { namedIn } from "../policy_names.ts";
import { asked, type Proposals } from "../proposals.ts";
import { Refusal } from "../refusal.ts";
import { parseBody, type ParsedBody } from "./body.ts";
import { canonicalAction, openNamed } from "./canonical.ts";
import type { Repository } from "../../../git/repository.ts";

export interface AdmissionParts {
  readonly proposals: Proposals;
  readonly policy: Policy | null;
  /** Registers a canonical repository path and gives its id. */
  readonly register: (path: string) => Promise<string>;
}

/**
 * Admits a proposal or gives the one that the request repeats, in the order of `operations.md` 11.2:
 * validity, idempotency, policy, quota, journal. Throws `Refusal`.
 */
export async function admit(
  type: string,
  body: unknown,
  secret: string | null,
  parts: AdmissionParts,
): Promise<{ record: ProposalRecord; fresh: boolean }> {
  const asGiven = parseBody(body, type);
  const { agentId, repoPath } = asGiven.envelope;
  const repo = await openNamed(repoPath, "body.repoPath");
  const parsed: ParsedBody = {
    envelope: asGiven.envelope,
    action: await canonicalAction(asGiven.action, repo),
  };
  const whole = asked(parsed, repo.path);
  const known = parts.proposals.existing(whole);
  if (known) return { record: known, fresh: false };
  await checkPolicy(parsed, repo, parts.policy);
  // Before the registration, so that what is not admitted leaves no trace.
  parts.proposals.checkQuota(agentId, whole.size);
  const id = await parts.register(repo.path);
  return parts.proposals.admit(whole, id, ownerHash(secret));
}

/** What the journal keeps of a process's secret. */
export function ownerHash(secret: string | null): string | null {
  return secret === null ? null : hash("sha256", secret);
}

async function checkPolicy(
  { envelope, action }: ParsedBody,
  repo: Repository,
  policy: Policy | null,
): Promise<void> {
  const rules = rulesFor(policy, envelope.agentId);
  if (rules.length === 0) return;
  let named;
  try {
    named = await namedIn(action, repo);
  } catch {
    throw new Refusal(
      403,
      "agent_policy_violation",
      "whether the agent policy of this machine allows this cannot be found out",
      "Look at the repository first: what the proposal names could not be read.",
    );
  }
  checkRules(rules, named);
}
