import { CodedError } from "../../common/errors.ts";
import { readGatewaySetting } from "../../common/gateway_address.ts";
import { HOMEPAGE } from "../../common/version.ts";
import type { ToolAnswer, ToolContext } from "../../registry/define.ts";

/** What a tool of this tier offers in its absence. */
export interface Absent {
  readonly tool: string;
  /** A reading tool or command that tells part of the same. */
  readonly alternative: string;
}

/** Arguments that the five tools share. */
export interface StoreArgs {
  readonly repoPath: string;
  readonly repoId?: string | undefined;
  readonly runDir?: string | undefined;
}

/**
 * Where the restore points of a repository come from; the five tools answer from here. There is no
 * store to read yet, so this decides, at each call, how that is said: error 10001 without a gateway
 * address, 10002 with one (`protocol.md` section 11). Throws `CodedError` -32602 for a run directory
 * that is not the server's own.
 */
export function answerFromStore(
  absent: Absent,
  args: StoreArgs,
  context: ToolContext,
): Promise<ToolAnswer> {
  return Promise.resolve().then(() => {
    const { found, passedOver } = readGatewaySetting(context.env);
    if (found === null) throw notConfigured(absent, passedOver);
    refuseOtherRunDirectory(args.runDir, context.runDir);
    throw nothingToServe(absent.tool, found.address);
  });
}

function notConfigured({ tool, alternative }: Absent, passedOver: readonly string[]): CodedError {
  return new CodedError(10001, "This tool needs the approval gateway and its restore points", {
    tool,
    tier: "fluxgit",
    gatewayConfigured: false,
    reason: passedOver.length > 0
      ? `${
        passedOver.join(" and ")
      }: set, but not to a loopback IP address with a port. This version cannot read restore points without one.`
      : "No gateway address is configured, and this version does not read restore points by itself.",
    upgradeHint:
      "Set FLUXGIT_MCP_HANDSHAKE_ADDR to the address of a running gateway (127.0.0.1 with its port).",
    learnMore: HOMEPAGE,
    freeShellAlternative: alternative,
  }, { tier: "fluxgit" });
}

function nothingToServe(tool: string, address: string): CodedError {
  return new CodedError(10002, "The gateway is configured, but there is nothing to answer with", {
    tool,
    gatewayConfigured: true,
    reason:
      `An address is configured (${address}), but this version does not read restore points yet. This does not mean that there are none.`,
    agentRecommendation:
      "Do not conclude that nothing can be restored. Use repo.reflog to find earlier states, and ask the user to look in the application.",
    learnMore: HOMEPAGE,
  }, {});
}

/** The contract lets a caller name the run directory; reading any other place at its word is refused. */
function refuseOtherRunDirectory(asked: string | undefined, own: string | null): void {
  if (asked === undefined || asked.trim() === "" || asked === own) return;
  const real = (path: string | null) => {
    try {
      return path === null ? null : Deno.realPathSync(path);
    } catch {
      return null;
    }
  };
  const ownReal = real(own);
  if (ownReal !== null && real(asked) === ownReal) return;
  throw new CodedError(-32602, "Invalid params", {
    details:
      "arguments.runDir is not the server's own run directory; leave it out (the server reads FLUXGIT_RUN_DIR)",
  }, { source: "local-git" });
}
