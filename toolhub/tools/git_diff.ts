import { streamGit } from "../../git/command.ts";
import { diffArguments, forDiff } from "../../git/diff.ts";
import { guardSubmodules } from "../../git/index_scan.ts";
import { describeFailure } from "../errors.ts";
import { DiffCounter } from "../git/diff_count.ts";
import { GIT_MS, openWorkspaceRepository, told } from "../git/open.ts";
import { RawText } from "../git/raw.ts";
import type { CallInfo, Hub, ToolRun } from "../hub.ts";
import { pathComponents } from "../workspace/path.ts";

const TOOL = "git.diff";

export interface DiffArgs {
  readonly path: string | null;
  readonly staged: boolean;
}

/** `git.diff`: the path is literal. */
export const run: ToolRun<DiffArgs> = async (args, hub, call) => {
  const path = args.path ?? null;
  const { staged } = args;
  const started = performance.now();
  try {
    const diff = await readDiff(hub, call, path, staged);
    await hub.audit.record({
      tool: TOOL,
      action: "read",
      executed: true,
      success: true,
      durationMs: performance.now() - started,
      arguments: { path, staged, additions: diff.additions, deletions: diff.deletions },
    });
    return { ...diff };
  } catch (error) {
    const { type, message } = describeFailure(error);
    await hub.audit.record({
      tool: TOOL,
      action: "failure",
      executed: false,
      success: false,
      durationMs: performance.now() - started,
      arguments: { path, staged },
      error: message,
      errorType: type,
    });
    throw error;
  }
};

async function readDiff(hub: Hub, call: CallInfo, path: string | null, staged: boolean) {
  const repo = await openWorkspaceRepository(hub, call);
  const parts = path === null ? null : pathComponents(path, "mutation");
  const counter = new DiffCounter();
  const raw = new RawText();
  await told(async () => {
    const guard = await guardSubmodules(repo);
    const request = diffArguments({
      sides: { kind: staged ? "index" : "worktree", from: null },
      paths: ["--", ...(parts === null ? [] : [parts.length === 0 ? "." : parts.join("/")])],
      ignoreDirtySubmodules: !guard.complete,
    }, ["--patch", "--unified=3"]);
    await streamGit(
      forDiff(repo.with(guard.overrides)),
      request,
      { signal: call.signal, deadlineMs: GIT_MS },
      (chunk) => {
        counter.add(chunk);
        raw.add(chunk);
        return true;
      },
    );
  });
  counter.end();
  const { additions, deletions, binary } = counter;
  return {
    path,
    staged,
    additions: binary ? null : additions,
    deletions: binary ? null : deletions,
    binary,
    raw: raw.text(),
  };
}
