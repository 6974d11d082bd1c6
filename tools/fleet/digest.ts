import { isInside } from "../../common/allowed_roots.ts";
import { CodedError } from "../../common/errors.ts";
import { readRegistry, type Registry } from "../../common/repository_registry.ts";
import { type Cuttable, cuttableList, fitTokens } from "../../common/token_budget.ts";
import { defineTool, READ_HINTS, type ToolContext } from "../../registry/define.ts";
import { type Warning, warningsMember } from "../open.ts";
import { count, cut, maxTokens, nullableCount, nullableString, warnings } from "../shapes.ts";
import { realTimers } from "./bounded.ts";
import { scanDigest } from "./digest_scan.ts";
import { type FleetTarget, fleetTargets } from "./entries.ts";
import { entryError, repoPaths } from "./shapes.ts";

/** Repositories looked at in one call. */
const MAX_REPOS = 500;

/** fleet.digest: `read-tools.md` 18 with `additions.md` 3. */
export default defineTool({
  name: "fleet.digest",
  title: "Fleet activity digest",
  description:
    "Movements of HEAD and local branches in many repositories since sinceMs, from their reflogs. rewrote: commits were left behind (null unknown). identity is what git recorded, no proof of who. Without repoPaths: the registered repositories.",
  family: "fleet",
  scope: "fleet",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    sinceMs: z.int().min(0),
    repoPaths: repoPaths(z).optional(),
    maxEvents: z.int().min(1).max(1_000).default(200),
    maxTokens: maxTokens(z),
  }),
  output: (z) =>
    z.object({
      sinceMs: z.int(),
      events: z.array(z.object({
        repoPath: z.string(),
        atMs: z.int(),
        refName: z.string(),
        kind: z.enum([
          "commit",
          "amend",
          "merge",
          "checkout",
          "pull",
          "reset",
          "rebase",
          "cherryPick",
          "revert",
          "branch",
          "fetch",
          "other",
        ]),
        oldOid: nullableString(z),
        newOid: nullableString(z),
        message: z.string(),
        identity: z.string(),
        rewrote: z.boolean().nullable(),
        source: z.enum(["git", "fluxgit"]),
      })),
      eventCount: count(z),
      repos: z.array(z.object({
        repoPath: z.string(),
        error: nullableString(z),
        ...entryError(z),
        truncated: z.boolean(),
        eventCount: nullableCount(z),
      })),
      repoSource: z.enum(["arguments", "fluxgit-registry"]),
      requestedRepoCount: count(z),
      excludedOutsideAllowedRoots: count(z),
      truncated: z.boolean(),
      timedOut: z.literal(true).optional(),
      elapsedMs: count(z),
      cut: cut(z),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const started = realTimers.now();
    const fleet = args.repoPaths
      ? await fromArguments(args.repoPaths, context)
      : fromRegistry(context);
    const targets = fleet.targets.slice(0, MAX_REPOS);
    const scan = await scanDigest(targets, args.sinceMs, args.maxEvents, context, realTimers);
    const { events, repos } = scan;
    const truncated = scan.dropped || fleet.targets.length > MAX_REPOS ||
      repos.some((repo) => repo.truncated);
    const [allEvents, allRepos] = [events.length, repos.length];
    const elapsedMs = Math.max(0, Math.round(realTimers.now() - started));
    const data = () => ({
      sinceMs: args.sinceMs,
      events,
      eventCount: events.length,
      repos,
      repoSource: fleet.source,
      requestedRepoCount: fleet.targets.length,
      excludedOutsideAllowedRoots: fleet.excluded,
      truncated: truncated || events.length < allEvents || repos.length < allRepos,
      ...(scan.timedOut ? { timedOut: true } : {}),
      elapsedMs,
      ...warningsMember([...fleet.warnings, ...scan.warnings]),
    });
    const cuts = fitTokens(data, args.maxTokens, [
      quietReposFirst(repos),
      cuttableList("events", events),
    ]);
    return { data: cuts.length > 0 ? { ...data(), cut: cuts } : data() };
  },
});

/** Cuts repositories that have nothing to say before those with an error, and keeps their order. */
function quietReposFirst<R extends { error: string | null; truncated: boolean }>(
  repos: R[],
): Cuttable {
  const all = [...repos];
  const rank = (repo: R) => (repo.error !== null ? 0 : repo.truncated ? 1 : 2);
  const byRank = all.map((_, i) => i).sort((a, b) => rank(all[a]!) - rank(all[b]!) || a - b);
  return {
    name: "repos",
    size: all.length,
    keep(n) {
      const kept = byRank.slice(0, n).sort((a, b) => a - b);
      repos.splice(0, repos.length, ...kept.map((i) => all[i]!));
    },
  };
}

interface Fleet {
  readonly targets: readonly FleetTarget[];
  readonly source: "arguments" | "fluxgit-registry";
  /** Registered repositories left out because of the allowed roots. */
  readonly excluded: number;
  readonly warnings: readonly Warning[];
}

async function fromArguments(paths: readonly string[], context: ToolContext): Promise<Fleet> {
  const asked = paths.map((repoPath, i) => ({ repoPath, location: `arguments.repoPaths[${i}]` }));
  return {
    targets: await fleetTargets(asked, context),
    source: "arguments",
    excluded: 0,
    warnings: [],
  };
}

/** Throws `CodedError` -32602 when nothing is registered that may be read. */
function fromRegistry(context: ToolContext): Fleet {
  const registry = context.runDir === null ? null : tryRegistry(context.runDir);
  const { roots } = context;
  const all = registry?.repositories ?? [];
  const inside = all.filter(({ repoPath }) => roots === null || isInside(repoPath, roots));
  if (inside.length === 0) {
    throw new CodedError(-32602, "Invalid params", {
      details: "no repository was found: give repoPaths, or register repositories" +
        (all.length > 0 ? ` (${all.length} registered ones lie outside the allowed roots)` : "") +
        (registry === null && context.runDir !== null ? " (the registry cannot be read)" : ""),
    });
  }
  const unusable = registry?.unusable ?? 0;
  return {
    targets: inside.map(({ repoId, repoPath }) => ({
      repoPath,
      repoId,
      label: null,
      problem: null,
    })),
    source: "fluxgit-registry",
    excluded: all.length - inside.length,
    warnings: [
      ...(unusable > 0
        ? [{
          code: "store_unreadable" as const,
          message: "entries of the registry that name no repository",
          count: unusable,
        }]
        : []),
      ...(registry?.cut
        ? [{
          code: "store_unreadable" as const,
          message: "the registry holds more entries than are read",
        }]
        : []),
    ],
  };
}

function tryRegistry(runDir: string): Registry | null {
  try {
    return readRegistry(runDir);
  } catch {
    return null;
  }
}
