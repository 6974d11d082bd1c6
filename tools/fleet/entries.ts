import {
  type AllowedRoots,
  canonicalRepositoryPath,
  readAllowedRoots,
  ROOTS_VARIABLE,
} from "../../common/allowed_roots.ts";
import { CodedError } from "../../common/errors.ts";
import type { ToolContext } from "../../registry/define.ts";

/** A repository that a fleet tool was asked to look at, as the caller named it. */
export interface AskedRepository {
  readonly repoPath: string;
  readonly repoId?: string | undefined;
  readonly label?: string | undefined;
  /** Where it stands in the arguments. */
  readonly location: string;
}

/** One repository of a fleet. `problem` is set when it may not or cannot be read at all. */
export interface FleetTarget {
  /** Canonical, or as given when there is a problem. */
  readonly repoPath: string;
  readonly repoId: string | null;
  readonly label: string | null;
  readonly problem: EntryProblem | null;
}

/** Why one repository has no answer; the others have theirs. */
export interface EntryProblem {
  readonly code: number;
  /** One word for the cause where there is one. */
  readonly kind: string | null;
  readonly message: string;
}

const MAX_MESSAGE = 512;

/**
 * Makes each path canonical under the allowed roots, one bad path being one bad entry, and removes
 * those that name the same place twice. The first naming gives the position; a later one may add the
 * label or the id that it lacks. Throws `CodedError` -32010 for roots that are set wrongly.
 */
export async function fleetTargets(
  asked: readonly AskedRepository[],
  context: Pick<ToolContext, "env">,
): Promise<FleetTarget[]> {
  const roots = readAllowedRoots(context.env(ROOTS_VARIABLE));
  const targets = new Map<string, FleetTarget>();
  for (const one of asked) {
    const { repoPath, problem } = await canonical(one, roots);
    const key = problem ? `?${repoPath}` : repoPath;
    const before = targets.get(key);
    targets.set(key, {
      repoPath,
      repoId: before?.repoId ?? one.repoId ?? null,
      label: before?.label ?? one.label ?? null,
      problem,
    });
  }
  return [...targets.values()];
}

async function canonical(
  { repoPath, location }: AskedRepository,
  roots: AllowedRoots | null,
): Promise<{ repoPath: string; problem: EntryProblem | null }> {
  try {
    const path = await canonicalRepositoryPath(repoPath, roots, location);
    return { repoPath: path, problem: missing(path) };
  } catch (error) {
    return { repoPath, problem: entryProblem(error) };
  }
}

/** Said without asking git, which would only find that it cannot change to the folder. */
function missing(path: string): EntryProblem | null {
  const problem = (kind: string, message: string) => ({ code: 10010, kind, message });
  try {
    return Deno.statSync(path).isDirectory
      ? null
      : problem("not_a_repository", "the path is not a directory");
  } catch (error) {
    return error instanceof Deno.errors.NotFound
      ? problem("not_a_repository", "the path does not exist")
      : problem("not_a_repository", "the path cannot be read");
  }
}

/** Tells a failure of one repository, with git's own reason and what to do. */
export function entryProblem(error: unknown): EntryProblem {
  if (!(error instanceof CodedError)) {
    return { code: -32603, kind: null, message: "an unexpected failure" };
  }
  const text = (name: string) => {
    const value = error.data?.[name];
    return typeof value === "string" ? value : null;
  };
  const message = [text("details") ?? error.message, text("hint")].filter(Boolean).join(" ");
  return {
    code: error.code,
    kind: text("kind"),
    message: message.length > MAX_MESSAGE ? message.slice(0, MAX_MESSAGE - 1) + "…" : message,
  };
}
