import { both } from "../../common/both.ts";
import { readRegistry } from "../../common/repository_registry.ts";
import {
  askSemantic,
  findGateway,
  SEMANTIC_LIMITS,
  type SemanticFile,
} from "../../gateway/bridge.ts";
import type { DiffRequest, DiffSides } from "../../git/diff.ts";
import { readDiffSummary } from "../../git/diff_summary.ts";
import { GitError, printable } from "../../git/errors.ts";
import { guardSubmodules } from "../../git/index_scan.ts";
import { type LiteralPath, pathspecs } from "../../git/pathspec.ts";
import { refuseOption, type Repository } from "../../git/repository.ts";
import type { RepositoryArgs, ToolContext, Z } from "../../registry/define.ts";
import { openForTool, type Warning } from "../open.ts";
import { readPaths } from "../path_argument.ts";

/**
 * What both semantic tools share (`read-tools.md` 15 and 16): their arguments, and the diff of a
 * gateway that has an engine. Whatever stands in the way of that is told, and text is offered.
 */

/** The engine behind the gateway, as answers name it. */
export const ENGINE = "fluxgit-diff-engine";

export interface SemanticArgs extends RepositoryArgs {
  readonly base?: string | undefined;
  readonly head?: string | undefined;
  readonly path?: string | undefined;
  readonly pathBytes?: string | undefined;
}

export const semanticInput = (z: Z) => ({
  base: z.string().max(4_096).optional(),
  head: z.string().max(4_096).optional(),
  path: z.string().max(32_768).optional(),
  pathBytes: z.string().max(65_536).optional(),
});

/** Arguments under which `diff.text` shows the same change. */
export const textDiffArguments = (z: Z) =>
  z.object({
    repoPath: z.string(),
    base: z.string().optional(),
    head: z.string().optional(),
    path: z.string().optional(),
    pathBytes: z.string().optional(),
  });

/** Why a call got no semantic diff, with what to call instead. */
export interface Unsupported {
  readonly supported: false;
  readonly reason: string;
  /** The path as git names it; null for the whole repository. */
  readonly path: string | null;
  readonly textDiffArguments: Record<string, string>;
}

export interface Supported {
  readonly supported: true;
  readonly base: string | null;
  readonly head: string | null;
  readonly path: string | null;
  /** As the gateway told them; text fallbacks come with the arguments for `diff.text`. */
  readonly files: readonly (SemanticFile & { textDiffArguments?: Record<string, string> })[];
  /** Files that the gateway was asked about. */
  readonly changedFiles: number;
  readonly filesTruncated: boolean;
  readonly warnings: readonly Warning[];
}

/**
 * Asks the gateway for a semantic diff. Throws {@link GitError} when there is no repository,
 * `CodedError` -32602 for revisions that could be read as options and for paths outside.
 */
export async function semanticDiff(
  args: SemanticArgs,
  context: ToolContext,
): Promise<Supported | Unsupported> {
  const repo = await openForTool(args, context);
  const base = present(args.base), head = present(args.head);
  if (base !== undefined) refuseOption("base", base);
  if (head !== undefined) refuseOption("head", head);
  const paths = readPaths(repo, args);
  const path = paths[0];
  const textFor = (of: { path: string; pathBytes?: string } | undefined) => ({
    repoPath: args.repoPath,
    ...(base === undefined ? {} : { base }),
    ...(head === undefined ? {} : { head }),
    ...(of === undefined ? {} : { path: of.path }),
    ...(of?.pathBytes === undefined ? {} : { pathBytes: of.pathBytes }),
  });
  const asText = (reason: string): Unsupported => ({
    supported: false,
    reason,
    path: path?.path ?? null,
    textDiffArguments: textFor(path),
  });
  const gateway = await findGateway(context);
  if (gateway.reason !== undefined) {
    return asText(`This version has no syntax-tree engine of its own. ${gateway.reason}`);
  }
  const notAsked = (why: string) =>
    asText(`The gateway at ${gateway.address} was not asked: ${why}.`);
  const repoId = repositoryId(args, repo, context);
  if (repoId.reason !== undefined) return notAsked(repoId.reason);
  const changed = await changedPaths(repo, base, head, paths);
  if (typeof changed === "string") return notAsked(changed);
  const answer = await askSemantic(gateway.address, {
    repoId: repoId.id,
    repoPath: repo.path,
    baseRef: base ?? head ?? "",
    headRef: base === undefined ? "" : head ?? "",
    paths: changed.paths,
  }, context);
  if (answer.reason !== undefined) return asText(answer.reason);
  const told = new Set(answer.files.map((file) => file.path));
  const untold = changed.paths.filter((name) => !told.has(name)).length;
  return {
    supported: true,
    base: base ?? null,
    head: head ?? null,
    path: path?.path ?? null,
    files: answer.files.map((file) =>
      file.fallbackToText ? { ...file, textDiffArguments: textFor(file) } : file
    ),
    changedFiles: changed.paths.length,
    filesTruncated: changed.more || answer.truncated,
    warnings: [
      ...changed.warnings,
      ...(untold + answer.malformed === 0 ? [] : [{
        code: "source_unavailable" as const,
        message: "the gateway said nothing usable about changed files; diff.text shows them",
        count: Math.max(untold, answer.malformed),
      }]),
    ],
  };
}

/** The id by which the gateway knows the repository: registered, or given and not registered for another. */
function repositoryId(
  args: SemanticArgs,
  repo: Repository,
  context: ToolContext,
): { id: string; reason?: never } | { id?: never; reason: string } {
  const given = present(args.repoId);
  let known: ReturnType<typeof readRegistry>["repositories"] = [];
  try {
    if (context.runDir) known = readRegistry(context.runDir).repositories;
  } catch { /* an unreadable registry knows nothing */ }
  if (given !== undefined) {
    const other = known.find((entry) => entry.repoId === given && entry.repoPath !== repo.path);
    return other === undefined
      ? { id: given }
      : { reason: "arguments.repoId belongs to another repository" };
  }
  const own = known.find((entry) => entry.repoPath === repo.path);
  return own ? { id: own.repoId } : {
    reason: "it has not registered this repository, and no repoId was given",
  };
}

interface Changed {
  readonly paths: readonly string[];
  readonly more: boolean;
  readonly warnings: readonly Warning[];
}

/** The first changed files, by names that JSON can carry; a text says why they cannot be listed. */
async function changedPaths(
  repo: Repository,
  base: string | undefined,
  head: string | undefined,
  paths: readonly LiteralPath[],
): Promise<Changed | string> {
  try {
    const oid = (field: string, revision: string | undefined) =>
      revision === undefined ? Promise.resolve(null) : repo.resolve(field, revision, "tree");
    const [from, to] = await both(oid("base", base), oid("head", head));
    const sides: DiffSides = from !== null && to !== null
      ? { kind: "trees", from, to }
      : { kind: "worktree", from: from ?? to };
    if (sides.kind === "worktree" && repo.facts.topLevel === null) {
      return "a bare repository has no work tree; give base and head";
    }
    const { args, stdin } = pathspecs(paths);
    const request: DiffRequest = { sides, paths: args, stdin };
    const guard = sides.kind === "worktree" ? await guardSubmodules(repo) : null;
    const { files, more } = await readDiffSummary(
      guard === null ? repo : repo.with(guard.overrides),
      { ...request, ignoreDirtySubmodules: guard !== null && !guard.complete },
      { skip: 0, limit: SEMANTIC_LIMITS.files },
    );
    const named = files.map((file) => file.path).filter((name) => name.pathBytes === undefined);
    const unnamed = files.length - named.length;
    return {
      paths: named.map((name) => name.path),
      more,
      warnings: unnamed === 0 ? [] : [{
        code: "path_not_utf8",
        message: "files whose names are not UTF-8 were left out; diff.text shows them",
        count: unnamed,
      }],
    };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const details = error.data?.["details"];
    return printable(typeof details === "string" ? details : error.message, 300);
  }
}

function present(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === "" ? undefined : value;
}
