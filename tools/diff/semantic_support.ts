import { readGatewaySetting } from "../../common/gateway_address.ts";
import { refuseOption } from "../../git/repository.ts";
import type { RepositoryArgs, ToolContext, Z } from "../../registry/define.ts";
import { openForTool } from "../open.ts";
import { readPaths } from "../path_argument.ts";

/** What both semantic tools share (`read-tools.md` 15 and 16): their arguments, and why there is no such diff. */

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
  readonly reason: string;
  /** The path as git names it; null for the whole repository. */
  readonly path: string | null;
  readonly textDiffArguments: Record<string, string>;
}

/**
 * Checks the call as a text diff would be checked, and says why there is no semantic one. Throws
 * {@link GitError} when there is no repository, `CodedError` -32602 for revisions that could be read
 * as options and for paths outside.
 */
export async function semanticUnsupported(
  args: SemanticArgs,
  context: ToolContext,
): Promise<Unsupported> {
  const repo = await openForTool(args, context);
  const base = present(args.base), head = present(args.head);
  if (base !== undefined) refuseOption("base", base);
  if (head !== undefined) refuseOption("head", head);
  const path = readPaths(repo, args)[0];
  const { found } = readGatewaySetting(context.env);
  return {
    reason: found
      ? `This version has no syntax-tree engine and does not ask the gateway at ${found.address} for one yet.`
      : "This version has no syntax-tree engine, and no gateway address is configured.",
    path: path?.path ?? null,
    textDiffArguments: {
      repoPath: args.repoPath,
      ...(base === undefined ? {} : { base }),
      ...(head === undefined ? {} : { head }),
      ...(path === undefined ? {} : { path: path.path }),
      ...(path?.pathBytes === undefined ? {} : { pathBytes: path.pathBytes }),
    },
  };
}

function present(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === "" ? undefined : value;
}
