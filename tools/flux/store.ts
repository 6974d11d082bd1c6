import { CodedError } from "../../common/errors.ts";
import { readGatewaySetting } from "../../common/gateway_address.ts";
import { HOMEPAGE } from "../../common/version.ts";
import { findGateway } from "../../gateway/bridge.ts";
import { readHead } from "../../git/head.ts";
import { printable } from "../../git/errors.ts";
import type { Repository } from "../../git/repository.ts";
import type { ToolContext } from "../../registry/define.ts";
import {
  checkpointPath,
  findRepoId,
  hasRestoreStore,
  readCheckpoint,
  readList,
  registeredPath,
  repositoryPath,
  type RestorePoint,
} from "../../restore/mod.ts";
import { openForTool, type Warning } from "../open.ts";
import { type PointView, viewCheckpoint, viewPoint } from "./view.ts";

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

/** The restore points of a repository as the five tools give them. */
export interface Recovery {
  readonly repo: Repository;
  /** Id that the repository is registered under; null when it is not. */
  readonly repoId: string | null;
  /** Newest first. */
  readonly points: readonly PointView[];
  /** What the list holds, for details; in the same order. */
  readonly stored: ReadonlyMap<string, RestorePoint>;
  readonly warnings: readonly Warning[];
}

/**
 * Reads the restore points that a gateway keeps in the run directory, and the checkpoint of the
 * desktop application beside them. Answers whenever there is a store, or a gateway to fill one; a list
 * that cannot be read is a warning, never "none" (`read-tools.md` 27, item 12).
 *
 * Throws `CodedError` 10001 without store and gateway, -32602 for a run directory that is not the
 * server's own, and what opening the repository throws.
 */
export async function readRecovery(
  absent: Absent,
  args: StoreArgs,
  context: ToolContext,
): Promise<Recovery> {
  const { runDir } = context;
  if (!hasStore(runDir)) await requireGateway(absent, context);
  refuseOtherRunDirectory(args.runDir, runDir);
  const repo = await openForTool(args, context);
  if (runDir === null) return { repo, repoId: null, points: [], stored: new Map(), warnings: [] };
  const warnings: Warning[] = [];
  const repoId = findId(runDir, repo, args.repoId, warnings);
  if (repoId === null) return { repo, repoId, points: [], stored: new Map(), warnings };
  const head = await readHead(repo);
  const path = repositoryPath(repo);
  const state = await readList(runDir, repoId, path);
  if (state.kind === "corrupt") {
    warnings.push(unreadable("the list of restore points", state.reason));
  }
  const listed = state.kind === "ok" ? state.list.points : [];
  const points = listed.map((point) => viewPoint(point, repoId, runDir, head));
  const file = readCheckpoint(runDir, repoId, path);
  if (file.kind === "corrupt") warnings.push(unreadable("the checkpoint file", file.reason));
  // The gateway writes it beside its own list; only one that is not in the list adds something.
  if (
    file.kind === "ok" &&
    !listed.some((point) => point.id === file.checkpoint.restorePoint)
  ) {
    points.push(viewCheckpoint(file.checkpoint, repoId, head));
  }
  points.sort((a, b) => order(a) - order(b));
  points.reverse();
  return { repo, repoId, points, stored: new Map(listed.map((p) => [p.id, p])), warnings };
}

function order(point: PointView): number {
  return point.createdAtMs ?? 0;
}

function hasStore(runDir: string | null): boolean {
  if (runDir === null || runDir === "") return false;
  if (hasRestoreStore(runDir)) return true;
  try {
    return Deno.lstatSync(checkpointPath(runDir, "any").replace(/\/[^/]*$/, "")).isDirectory;
  } catch {
    return false;
  }
}

/** The id of the argument counts only when the registry says that it is this repository's. */
function findId(
  runDir: string,
  repo: Repository,
  asked: string | undefined,
  warnings: Warning[],
): string | null {
  const paths = [repositoryPath(repo), repo.facts.askedPath];
  if (asked === undefined || asked.trim() === "") {
    for (const path of paths) {
      const id = findRepoId(runDir, path);
      if (id !== null) return id;
    }
    return null;
  }
  const registered = registeredPath(runDir, asked);
  if (registered !== null && paths.includes(registered)) return asked;
  warnings.push({
    code: "source_unavailable",
    message:
      `repoId ${JSON.stringify(printable(asked, 100))} is not registered for this repository, ` +
      "so its restore points were not read; leave it out",
  });
  return null;
}

function unreadable(what: string, reason: string): Warning {
  return {
    code: "store_unreadable",
    message: `${what} cannot be read (${
      printable(reason, 300)
    }); there may be restore points that are not shown`,
  };
}

async function requireGateway(absent: Absent, context: ToolContext): Promise<void> {
  // A configured address counts without being tried: whether it answers says nothing about a store.
  if (readGatewaySetting(context.env).found !== null) return;
  const lookup = await findGateway(context);
  if (lookup.address !== undefined) return;
  throw new CodedError(10001, "This tool needs the approval gateway and its restore points", {
    tool: absent.tool,
    tier: "fluxgit",
    gatewayConfigured: false,
    reason: `${lookup.reason} The run directory holds no restore points either.`,
    upgradeHint:
      "Start the gateway (fluxgit-sidecar gateway) with the same FLUXGIT_RUN_DIR, or set FLUXGIT_MCP_HANDSHAKE_ADDR to the address of a running one.",
    learnMore: HOMEPAGE,
    freeShellAlternative: absent.alternative,
  }, { tier: "fluxgit" });
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
