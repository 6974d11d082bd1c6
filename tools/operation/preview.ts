import { propose } from "../../gateway/bridge.ts";
import {
  type AnyTool,
  type Args,
  defineTool,
  type RepositoryArgs,
  type Risk,
  type Shape,
  type ToolContext,
  type Z,
} from "../../registry/define.ts";
import { withOtherAgents } from "./other_agents.ts";
import { checkText } from "./refusals.ts";
import { completedData, type OperationType, proposal } from "./shapes.ts";

/** What one proposal tool has of its own; the rest is the same for all twelve. */
export interface Preview<S extends Shape> {
  readonly type: OperationType;
  readonly title: string;
  readonly description: string;
  /** As the ledger tells it (`audit.md` 4.3). */
  readonly risk: Exclude<Risk, "none">;
  readonly destructive: boolean;
  /** True for what reaches another machine. */
  readonly openWorld?: boolean;
  readonly input: (z: Z) => S;
  readonly rules?: Record<string, unknown>;
  /** The operation's own members of a finished result. */
  readonly result: (z: Z) => Shape;
  /** Refuses what no schema can say. Throws `CodedError` -32602 or -32011. */
  readonly check: (args: Args<S> & RepositoryArgs, context: ToolContext) => void;
  /** The operation's own members of the request, defaults filled in (`operations.md` 4.4). */
  readonly members: (args: Args<S> & RepositoryArgs) => Record<string, unknown>;
}

const TIER = "fluxgit-write-handshake";

type ProposalShape = ReturnType<typeof proposal>;

/** Makes the tool `operation.preview.<type>`: it checks, asks the gateway, and changes nothing itself. */
export function definePreview<S extends Shape>(preview: Preview<S>): AnyTool {
  const tool = `operation.preview.${preview.type}`;
  return defineTool<S & ProposalShape>({
    name: tool,
    title: preview.title,
    description: preview.description,
    family: "operation",
    scope: "repository",
    tier: TIER,
    sources: ["fluxgit-app"],
    risk: preview.risk,
    annotations: {
      readOnlyHint: false,
      destructiveHint: preview.destructive,
      idempotentHint: false,
      openWorldHint: preview.openWorld ?? false,
    },
    input: (z) => ({ ...preview.input(z), ...proposal(z) }),
    ...(preview.rules ? { rules: preview.rules } : {}),
    output: (z) => completedData(z, preview.type, preview.result(z)),
    run: async (args, context) => {
      const own = args as unknown as Args<S> & RepositoryArgs & Args<ProposalShape>;
      checkText("reason", own.reason);
      preview.check(own, context);
      const members = preview.members(own);
      return await withOtherAgents(args, context, TIER, () =>
        propose(tool, {
          operationType: preview.type,
          repoPath: own.repoPath,
          reason: own.reason,
          idempotencyKey: own.idempotencyKey,
          members,
        }, context));
    },
  });
}
