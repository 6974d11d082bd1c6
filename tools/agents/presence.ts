import { CodedError } from "../../common/errors.ts";
import { DETECTION_SWITCH, detectionDisabled, lookAround } from "../../presence/mod.ts";
import { defineTool, READ_HINTS, type Z } from "../../registry/define.ts";
import { openForTool } from "../open.ts";
import { lookFrom } from "../look_from.ts";
import { nullableString } from "../shapes.ts";

const SOURCES = ["process", "session", "repo-trace", "ide", "mcp"] as const;

const agents = (z: Z) =>
  z.array(z.object({
    agent: z.string(),
    state: z.enum(["working", "open", "recent"]),
    sources: z.array(z.enum(SOURCES)).max(5),
    pid: z.int().min(0).nullable(),
    lastActivityMs: z.int().nullable(),
    branch: nullableString(z),
    lastTool: nullableString(z),
    files: z.array(z.string()).max(8),
    mcpClient: z.object({ name: z.string().min(1), version: nullableString(z) }).nullable(),
    sameAgentAsCaller: z.boolean(),
    sessions: z.int().optional(),
    worktree: z.string().optional(),
    likelyCaller: z.boolean(),
  })).max(32);

/** agents.presence: `presence.md` 3.1, `read-tools.md` 19. */
export default defineTool({
  name: "agents.presence",
  title: "Agents at work here",
  description:
    "Other coding agents active in this repository, under the names each tool declares for itself; likelyCaller is probably you. sourcesUnavailable was not looked at. Tell the user before working beside one.",
  family: "agents",
  scope: "repository",
  tier: "free",
  sources: ["local-agent-detector"],
  risk: "none",
  annotations: READ_HINTS,
  input: () => ({}),
  output: (z) =>
    z.object({
      repoPath: z.string(),
      agents: agents(z),
      agentCount: z.int().min(0).max(32),
      truncated: z.boolean(),
      worktreeAgents: agents(z).optional(),
      caller: z.object({
        clientName: nullableString(z),
        agent: nullableString(z),
        ownMcpPresenceExcluded: z.literal(true),
      }),
      sourcesUnavailable: z.array(z.object({
        source: z.enum(SOURCES),
        reason: z.string(),
        agents: z.array(z.string()).optional(),
        message: z.string().optional(),
      })),
    }),
  async run(args, context) {
    await openForTool(args, context);
    if (detectionDisabled(context.env)) {
      throw new CodedError(10011, "Detection of other agents is switched off", {
        environmentVariable: DETECTION_SWITCH,
        reason:
          "The user switched off local detection: processes and stores of other agents are not read.",
        agentRecommendation:
          "Do not conclude that nobody else works here: ask the user, or look at worktree.changes.",
      });
    }
    return { data: await lookAround(lookFrom(context), args.repoPath, context.agentId) };
  },
});
