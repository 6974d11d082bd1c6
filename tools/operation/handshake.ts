import { CodedError } from "../../common/errors.ts";
import { mayReach, readGatewaySetting } from "../../common/gateway_address.ts";
import { HOMEPAGE } from "../../common/version.ts";
import type { ToolAnswer, ToolContext } from "../../registry/define.ts";
import type { OperationType } from "./shapes.ts";

/** What a tool of this family asks a gateway for. */
export type GatewayRequest =
  | {
    readonly kind: "preview";
    readonly operationType: OperationType;
    /** Canonical path of the repository. */
    readonly repoPath: string;
    readonly reason: string;
    /** As the caller gave it, not yet scoped. */
    readonly idempotencyKey: string | undefined;
    /** The operation's own members of the request (`operations.md` 4.4). */
    readonly members: Readonly<Record<string, unknown>>;
  }
  | { readonly kind: "status"; readonly previewId: string; readonly waitMs: number }
  | { readonly kind: "cancel"; readonly previewId: string };

const TIER = "fluxgit-write-handshake";

/**
 * Hands a request to the gateway and gives what it answered. All tools of this family come through
 * here, with arguments that have been checked.
 *
 * Throws `CodedError` 10003 when there is nobody to ask; the address is looked up at each call.
 */
export function handshake(
  tool: string,
  _request: GatewayRequest,
  context: ToolContext,
): Promise<ToolAnswer> {
  return Promise.resolve().then(() => {
    const address = gatewayAddress(tool, context);
    throw notConnected(
      tool,
      `An address is configured (${address}), but this version does not connect to a gateway yet; nothing was sent.`,
    );
  });
}

/** The address to use. Throws `CodedError` 10003 saying which variables were looked at, or what is in the way. */
export function gatewayAddress(tool: string, context: Pick<ToolContext, "env">): string {
  const { found, passedOver } = readGatewaySetting(context.env);
  if (found === null) {
    throw notConnected(
      tool,
      passedOver.length > 0
        ? `${passedOver.join(" and ")} ${
          passedOver.length > 1 ? "are" : "is"
        } set, but not to a loopback IP address with a port (such as 127.0.0.1:59647).`
        : "No gateway address is configured: FLUXGIT_MCP_HANDSHAKE_ADDR, FLUXGIT_GATEWAY_ADDR and FLUXGIT_GATEWAY_URL are unset.",
    );
  }
  if (!mayReach(found.address)) {
    throw notConnected(
      tool,
      `${found.variable} names ${found.address}, but this program is only permitted to reach 127.0.0.1; let the gateway listen there.`,
    );
  }
  return found.address;
}

/** Error 10003 (`operations.md` 8.1): there is no proposal, and nobody was asked. */
export function notConnected(tool: string, reason: string): CodedError {
  return new CodedError(10003, "No approval gateway is connected", {
    tool,
    tier: TIER,
    gatewayConfigured: false,
    reason,
    agentRecommendation:
      "Do not assume that a proposal exists, and do not make the change another way. Tell the user that a gateway must be running for a person to approve it.",
    learnMore: HOMEPAGE,
  }, { tier: TIER });
}
