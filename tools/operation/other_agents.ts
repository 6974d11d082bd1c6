import { CodedError } from "../../common/errors.ts";
import { detectionDisabled, otherAgents, startLooking } from "../../presence/mod.ts";
import type { ToolAnswer, ToolContext } from "../../registry/define.ts";
import { lookFrom } from "../look_from.ts";

/**
 * Asks for a proposal and puts the hint `otherAgents` beside whatever comes of it, errors included
 * (`presence.md` 3.3). The look around goes on meanwhile; the hint changes nothing else, and without
 * it the answer is the same.
 *
 * @param tier member that errors of this family carry
 */
export async function withOtherAgents(
  args: Readonly<Record<string, unknown>> & { readonly repoPath: string },
  context: ToolContext,
  tier: string,
  propose: () => Promise<ToolAnswer>,
): Promise<ToolAnswer> {
  if (detectionDisabled(context.env)) return await propose();
  const from = lookFrom(context);
  const hint = async () => {
    try {
      const found = await otherAgents(from, args.repoPath, context.agentId, { args });
      return { otherAgents: found };
    } catch {
      // Nobody may be kept from proposing by a hint.
      return {};
    }
  };
  try {
    startLooking(from, args.repoPath);
  } catch { /* the hint says so */ }
  try {
    const answer = await propose();
    return { ...answer, members: { ...answer.members, ...await hint() } };
  } catch (error) {
    // Errors of the request itself carry nothing.
    if (!(error instanceof CodedError) || error.code < 0) throw error;
    const members = { ...(error.members ?? { tier }), ...await hint() };
    throw new CodedError(error.code, error.message, error.data, members);
  }
}
