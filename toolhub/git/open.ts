/** The workspace's repository through the hardened door of `git/`: nothing of it is run or written. */

import { CodedError } from "../../common/errors.ts";
import { GitError } from "../../git/errors.ts";
import { gitProgram } from "../../git/program.ts";
import { openRepository, type Repository } from "../../git/repository.ts";
import { HubError } from "../errors.ts";
import type { CallInfo, Hub } from "../hub.ts";
import { componentsBelow } from "../platform.ts";

/** Milliseconds for one answer. */
export const GIT_MS = 20_000;

const MAX_STDERR = 500;

/**
 * Opens the repository whose work tree is the workspace.
 *
 * @throws {HubError} no repository, or one that reaches beyond the workspace
 */
export async function openWorkspaceRepository(hub: Hub, call: CallInfo): Promise<Repository> {
  refusePlantedGit(hub.workspace);
  const repo = await told(() => openRepository(hub.workspace, { signal: call.signal }));
  const top = repo.facts.topLevel;
  if (top === null) {
    throw new HubError("GitError", "git exited 128: the workspace is a bare repository");
  }
  if (componentsBelow(real(top), hub.workspace) === null) {
    throw new HubError(
      "WorkspaceBoundaryViolation",
      "The repository escapes ToolHub workspace: its work tree is a folder above it, or somewhere else",
    );
  }
  return repo;
}

/** A git that lies in the workspace could be anybody's, whatever PATH says. */
function refusePlantedGit(workspace: string): void {
  let path: string;
  try {
    path = gitProgram().path;
  } catch {
    return; // told by the first command, with the reason
  }
  if (
    componentsBelow(real(path), workspace) === null && componentsBelow(path, workspace) === null
  ) {
    return;
  }
  throw new HubError("GitError", "The git in PATH lies in the workspace and is not run");
}

/** Runs something of git and turns its failures into sentences of ours. */
export async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GitError) throw gitFailure(error);
    if (error instanceof CodedError && error.code === -32011) {
      throw new HubError(
        "WorkspaceBoundaryViolation",
        "The repository escapes ToolHub workspace",
      );
    }
    throw error;
  }
}

function gitFailure(error: GitError): HubError {
  const details = String(error.data?.["details"] ?? "").slice(0, MAX_STDERR);
  switch (error.kind) {
    case "timed_out":
      return new HubError("TimeoutError", "git did not finish in 20 seconds");
    case "git_missing":
      return new HubError("GitError", "Git was not found, or may not be run");
    case "cancelled":
      return new HubError("GitError", "The call was cancelled");
    case "not_a_repository":
      return new HubError(
        "GitError",
        `git exited ${error.exitCode ?? 128}: the workspace is not a Git repository`,
      );
    default:
      return new HubError("GitError", `git exited ${error.exitCode ?? "early"}: ${details}`);
  }
}

function real(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch {
    return path;
  }
}
