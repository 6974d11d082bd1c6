import { openRepository, type Repository } from "../git/repository.ts";
import type { RepositoryArgs, ToolContext } from "../registry/define.ts";

/** One entry of `data.warnings`: a code of `additions.md` section 1 and what it means here. */
export interface Warning {
  readonly code:
    | "submodules_unreadable"
    | "missing_objects"
    | "filter_not_run"
    | "merge_driver_not_run"
    | "git_too_old"
    | "timed_out"
    | "reflog_disabled"
    | "reflog_unreadable"
    | "path_not_utf8"
    | "upstream_unreadable"
    | "config_unreadable"
    | "store_unreadable"
    | "source_unavailable";
  readonly message: string;
  readonly count?: number;
  readonly path?: string;
}

/** Opens the repository of a call under the call's roots and cancellation. */
export function openForTool(args: RepositoryArgs, context: ToolContext): Promise<Repository> {
  return openRepository(args.repoPath, { signal: context.signal, roots: context.roots });
}

/** The member `warnings`, left out when there is nothing to say. */
export function warningsMember(list: readonly Warning[]): { warnings?: readonly Warning[] } {
  return list.length > 0 ? { warnings: list } : {};
}

/** Said when the repository names clean filters: content was compared as it lies on disk. */
export function filterWarning(repo: Repository): Warning[] {
  const named = repo.facts.programs.filter((key) => /^filter\..*\.(?:clean|process)$/s.test(key));
  return named.length === 0 ? [] : [{
    code: "filter_not_run",
    message:
      "filters named by the repository's own configuration were not run; their files can show as modified",
    count: named.length,
  }];
}
