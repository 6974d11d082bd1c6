import { type Branch, type BranchSurvey, surveyBranches } from "../../git/branches.ts";
import { type Distance, distance, distances } from "../../git/distances.ts";
import { shortRef } from "../../git/ref_names.ts";
import type { Repository } from "../../git/repository.ts";
import { readShallow } from "../../git/objects.ts";
import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { openForTool, type Warning, warningsMember } from "../open.ts";
import { count, nullableCount, nullableString, warnings } from "../shapes.ts";

const DEFAULT_BASES = ["main", "master", "develop", "dev", "trunk"];
const RELATIONS = ["tracks-current", "descends-from-current", "shares-base"] as const;
const ACTIONS = [
  "compareWithBase",
  "showAllBranchContext",
  "openSafetyTimeline",
  "prepareGuardedRebasePlan",
] as const;

/** repo.branchStack: `read-tools.md` 5 with `additions.md` 2. */
export default defineTool({
  name: "repo.branchStack",
  title: "Branch relations",
  description:
    "The current branch against its upstream, its base and related local branches, with commit counts (null when unknown). baseCandidates replaces the default bases main, master, develop, dev, trunk.",
  family: "repo",
  scope: "repository",
  tier: "free",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    baseCandidates: z.array(z.string().min(1).max(4096)).max(256).optional(),
    maxRelated: z.int().min(1).max(50).default(8),
  }),
  output: (z) =>
    z.object({
      shallow: z.literal(true).optional(),
      current: z.object({
        ref: nullableString(z),
        label: z.string(),
        commit: nullableString(z),
        detached: z.literal(true).optional(),
        unborn: z.literal(true).optional(),
        ahead: nullableCount(z),
        behind: nullableCount(z),
      }),
      upstream: z.object({
        ref: z.string(),
        label: z.string(),
        commit: nullableString(z),
        gone: z.literal(true).optional(),
      }).nullable(),
      base: z.object({
        ref: z.string(),
        label: z.string(),
        commit: nullableString(z),
        distance: z.object({ aheadFromBase: count(z), behindBase: count(z) }).nullable(),
      }).nullable(),
      related: z.array(z.object({
        ref: z.string(),
        label: z.string(),
        commit: z.string(),
        relation: z.enum(RELATIONS),
        aheadOfCurrent: nullableCount(z),
        behindCurrent: nullableCount(z),
        upstream: nullableString(z),
      })),
      relatedTotal: nullableCount(z).optional(),
      truncated: z.literal(true).optional(),
      risk: z.enum(["low", "medium", "high"]),
      summary: z.string(),
      suggestedActions: z.array(z.enum(ACTIONS)),
      model: z.literal("real-git-refs-no-virtual-branches"),
      networkFetchPerformed: z.literal(false),
      readOnly: z.literal(true),
      warnings: warnings(z),
    }),
  async run(args, context) {
    const repo = await openForTool(args, context);
    const given = args.baseCandidates?.filter((name) => name.trim() !== "") ?? [];
    const bases = (given.length > 0 ? given : DEFAULT_BASES).flatMap((name) => [
      `refs/heads/${name}`,
      `refs/remotes/origin/${name}`,
    ]);
    const survey = await surveyBranches(repo, bases);
    const { headRef, headOid, upstream } = survey;
    const base = bases.find((ref) => ref !== headRef && survey.branches.has(ref));
    const baseBranch = base === undefined ? null : survey.branches.get(base)!;
    const { related, total } = findRelated(survey, baseBranch, args.maxRelated);
    const { counted, missing } = await countAll(repo, headOid, [
      ...(upstream?.oid ? [upstream.oid] : []),
      ...(baseBranch ? [baseBranch.oid] : []),
    ], related.map(({ branch }) => branch.oid));
    const toHead = (oid: string | null | undefined) => oid ? counted.get(oid) ?? null : null;
    // Distances are the tip's against HEAD; of HEAD itself they are told the other way round.
    const toUpstream = toHead(upstream?.oid);
    const toBase = toHead(baseBranch?.oid);
    const ahead = toUpstream?.behind ?? null, behind = toUpstream?.ahead ?? null;
    return {
      data: {
        // Distances are lower bounds then.
        ...(readShallow(repo).shallow ? { shallow: true as const } : {}),
        current: {
          ref: headRef,
          label: headRef === null ? "HEAD" : shortRef(headRef),
          commit: headOid,
          ...(headRef === null ? { detached: true } : {}),
          ...(headOid === null ? { unborn: true } : {}),
          ahead,
          behind,
        },
        upstream: upstream && {
          ref: shortRef(upstream.ref),
          label: shortRef(upstream.ref),
          commit: upstream.oid,
          ...(upstream.oid === null ? { gone: true as const } : {}),
        },
        base: baseBranch && {
          ref: baseBranch.ref,
          label: shortRef(baseBranch.ref),
          commit: baseBranch.oid,
          distance: toBase && { aheadFromBase: toBase.behind, behindBase: toBase.ahead },
        },
        related: related.map(({ branch, relation }) => {
          const apart = toHead(branch.oid);
          return {
            ref: branch.ref,
            label: shortRef(branch.ref),
            commit: branch.oid,
            relation,
            aheadOfCurrent: apart?.ahead ?? null,
            behindCurrent: apart?.behind ?? null,
            upstream: branch.upstream,
          };
        }),
        ...(related.length < total || !survey.complete
          ? { relatedTotal: survey.complete ? total : null, truncated: true }
          : {}),
        risk: riskOf(ahead, behind, total > 0),
        summary: summaryOf(survey, ahead, behind),
        suggestedActions: ACTIONS.filter((action) =>
          action === "openSafetyTimeline" ||
          (action === "compareWithBase" && toBase !== null) ||
          (action === "showAllBranchContext" && total > 0) ||
          (action === "prepareGuardedRebasePlan" && (behind ?? toBase?.ahead ?? 0) > 0)
        ),
        model: "real-git-refs-no-virtual-branches",
        networkFetchPerformed: false,
        readOnly: true,
        ...warningsMember(distanceWarning(missing)),
      },
    };
  },
});

type Relation = typeof RELATIONS[number];

/** Related branches by name, the first relation that holds; all are counted, `max` are kept. */
function findRelated(
  survey: BranchSurvey,
  base: Branch | null,
  max: number,
): { related: { branch: Branch; relation: Relation }[]; total: number } {
  const related: { branch: Branch; relation: Relation }[] = [];
  let total = 0;
  for (const branch of survey.branches.values()) {
    const { ref, upstream } = branch;
    if (!ref.startsWith("refs/heads/") || ref === survey.headRef || ref === base?.ref) continue;
    const relation: Relation | null = survey.headRef !== null && upstream === survey.headRef
      ? "tracks-current"
      : survey.containing.has(ref)
      ? "descends-from-current"
      : base && upstream === base.ref
      ? "shares-base"
      : null;
    if (relation === null) continue;
    total++;
    if (related.length < max) related.push({ branch, relation });
  }
  return { related, total };
}

/** Distances of all tips from HEAD; of the important ones even when the rest is too much work. */
async function countAll(
  repo: Repository,
  head: string | null,
  important: readonly string[],
  others: readonly string[],
): Promise<{ counted: Map<string, Distance>; missing: "too-far" | "unreadable" | null }> {
  const counted = new Map<string, Distance>();
  if (head === null) return { counted, missing: null };
  const together = await distances(repo, head, [...important, ...others]);
  if (typeof together !== "string") return { counted: together, missing: null };
  for (const tip of new Set(important)) {
    const alone = await distance(repo, head, tip);
    if (alone !== null) counted.set(tip, alone);
  }
  return { counted, missing: together };
}

function riskOf(
  ahead: number | null,
  behind: number | null,
  related: boolean,
): "low" | "medium" | "high" {
  if (ahead === null || behind === null) return "medium";
  if (ahead > 0 && behind > 0) return "high";
  return behind > 0 || related ? "medium" : "low";
}

/** Fixed words and numbers only: what the repository's authors wrote stays in data (`security.md` S-28). */
function summaryOf(survey: BranchSurvey, ahead: number | null, behind: number | null): string {
  if (survey.headOid === null) return "no commit yet";
  if (survey.upstream === null) {
    return survey.headRef === null ? "detached HEAD" : "no upstream configured";
  }
  if (survey.upstream.oid === null) return "the configured upstream no longer exists here";
  if (ahead === null || behind === null) return "distance to upstream unknown";
  if (ahead > 0 && behind > 0) return `diverged from upstream: ${ahead} ahead, ${behind} behind`;
  if (ahead > 0) return `${commits(ahead)} ahead of upstream`;
  if (behind > 0) return `${commits(behind)} behind upstream`;
  return "no drift from upstream";
}

function commits(n: number): string {
  return n === 1 ? "1 commit" : `${n} commits`;
}

/** Said when distances are null although the commits are known. */
function distanceWarning(missing: "too-far" | "unreadable" | null): Warning[] {
  if (missing === null) return [];
  return [
    missing === "too-far"
      ? { code: "timed_out", message: "branches too far apart to count have null distances" }
      : {
        code: "missing_objects",
        message: "part of the history is not here; some distances are null",
      },
  ];
}
