import { defineTool, READ_HINTS } from "../../registry/define.ts";
import { warningsMember } from "../open.ts";
import { count, nullableCount, nullableString, warnings } from "../shapes.ts";
import { RADAR_STATUSES } from "./attention.ts";
import { realTimers } from "./bounded.ts";
import { fleetTargets } from "./entries.ts";
import { scanRadar } from "./radar_scan.ts";
import { entryError, repoPaths } from "./shapes.ts";

/** fleet.radar: `read-tools.md` 17 with `additions.md` 2 and 3. */
export default defineTool({
  name: "fleet.radar",
  title: "Fleet attention list",
  description:
    "Ranks many repositories by urgency: conflicts, paused operations, predicted conflicts with the upstream, divergence, local changes. One unreadable path is one entry with error. Never fetches.",
  family: "fleet",
  scope: "fleet",
  tier: "hybrid",
  sources: ["local-git"],
  risk: "none",
  annotations: READ_HINTS,
  input: (z) => ({
    repoPaths: repoPaths(z).optional(),
    repositories: z.array(z.strictObject({
      repoPath: z.string().min(1).max(32_768),
      repoId: z.string().min(1).max(256).optional(),
      label: z.string().min(1).max(512).optional(),
    })).min(1).max(500).optional(),
    maxRepos: z.int().min(1).max(500).default(200),
  }),
  rules: { anyOf: [{ required: ["repoPaths"] }, { required: ["repositories"] }] },
  output: (z) => {
    const listed = {
      repoId: nullableString(z),
      label: z.string(),
      repoPath: z.string(),
      status: z.enum(RADAR_STATUSES),
      priority: z.int(),
      summary: z.string(),
      suggestedActions: z.array(z.string()),
    };
    return z.object({
      entries: z.array(z.object({
        ...listed,
        bare: z.literal(true).optional(),
        clean: z.boolean().nullable(),
        dirty: z.boolean().nullable(),
        changedFiles: nullableCount(z),
        branch: nullableString(z),
        detached: z.boolean().nullable(),
        unborn: z.boolean().nullable(),
        head: nullableString(z),
        shortHead: nullableString(z),
        hasUpstream: z.boolean().nullable(),
        upstream: nullableString(z),
        upstreamGone: z.boolean().nullable(),
        ahead: nullableCount(z),
        behind: nullableCount(z),
        shallow: z.literal(true).optional(),
        conflictActive: z.boolean().nullable(),
        conflictOperation: nullableString(z),
        operationInProgress: nullableString(z),
        potentialConflictActive: z.boolean().nullable(),
        potentialConflictCount: nullableCount(z),
        potentialConflictTarget: nullableString(z),
        potentialConflictPaths: z.array(z.string()),
        lastCommitTimestamp: z.int().nullable(),
        elapsedMs: count(z),
        error: z.string(),
        ...entryError(z),
        warnings: warnings(z),
      })),
      attentionStack: z.array(z.object(listed)),
      requestedCount: count(z),
      duplicateCount: count(z),
      scannedCount: count(z),
      failedCount: count(z),
      dirtyCount: count(z),
      conflictCount: count(z),
      truncatedCount: count(z),
      timedOut: z.literal(true).optional(),
      elapsedMs: count(z),
      network: z.object({
        fetchPerformed: z.literal(false),
        remoteStateSource: z.literal("cached local refs only"),
      }),
      warnings: warnings(z),
    });
  },
  async run(args, context) {
    const started = realTimers.now();
    const asked = [
      ...(args.repoPaths ?? []).map((repoPath, i) => ({
        repoPath,
        location: `arguments.repoPaths[${i}]`,
      })),
      ...(args.repositories ?? []).map((one, i) => ({
        ...one,
        location: `arguments.repositories[${i}].repoPath`,
      })),
    ];
    const all = await fleetTargets(asked, context);
    const targets = all.slice(0, args.maxRepos);
    const scan = await scanRadar(targets, context, realTimers);
    const { entries } = scan;
    const attentionStack = entries.filter((entry) => entry.status !== "clean")
      .sort((a, b) => b.priority - a.priority)
      .map(({ repoId, label, repoPath, status, priority, summary, suggestedActions }) => ({
        repoId,
        label,
        repoPath,
        status,
        priority,
        summary,
        suggestedActions,
      }));
    return {
      data: {
        entries,
        attentionStack,
        requestedCount: asked.length,
        duplicateCount: asked.length - all.length,
        scannedCount: scan.scanned,
        failedCount: entries.filter((entry) => entry.error !== "").length,
        dirtyCount: entries.filter((entry) => entry.dirty === true).length,
        conflictCount: entries.filter((entry) => entry.conflictActive === true).length,
        truncatedCount: all.length - targets.length,
        ...(scan.timedOut ? { timedOut: true } : {}),
        elapsedMs: Math.max(0, Math.round(realTimers.now() - started)),
        network: { fetchPerformed: false, remoteStateSource: "cached local refs only" },
        ...warningsMember(scan.warnings),
      },
    };
  },
});
