import { guardSubmodules } from "../../git/index_scan.ts";
import { runGit } from "../../git/command.ts";
import { describeFailure, HubError } from "../errors.ts";
import { GIT_MS, openWorkspaceRepository, told } from "../git/open.ts";
import { RawText } from "../git/raw.ts";
import type { CallInfo, Hub, ToolRun } from "../hub.ts";

const TOOL = "git.status";
const MAX_ENTRIES = 10_000;
const MAX_BYTES = 4 * 1_048_576;

interface Status extends Record<string, unknown> {
  readonly branch: string | null;
  readonly entries: readonly { code: string; path: string }[];
}

/** `git.status` */
export const run: ToolRun<unknown> = async (_args, hub, call) => {
  const started = performance.now();
  try {
    const status = await readStatus(hub, call);
    await hub.audit.record({
      tool: TOOL,
      action: "read",
      executed: true,
      success: true,
      durationMs: performance.now() - started,
      arguments: { branch: status.branch, entries: status.entries.length },
    });
    return status;
  } catch (error) {
    const { type, message } = describeFailure(error);
    await hub.audit.record({
      tool: TOOL,
      action: "failure",
      executed: false,
      success: false,
      durationMs: performance.now() - started,
      arguments: { subcommand: "status" },
      error: message,
      errorType: type,
    });
    throw error;
  }
};

async function readStatus(hub: Hub, call: CallInfo): Promise<Status> {
  const repo = await openWorkspaceRepository(hub, call);
  const out = await told(async () => {
    const guard = await guardSubmodules(repo);
    const args = [
      "status",
      "--porcelain=v1",
      "--branch",
      "--untracked-files=normal",
      "--find-renames",
      "--ahead-behind",
      `--ignore-submodules=${guard.complete ? "none" : "dirty"}`,
    ];
    return await runGit(repo.with(guard.overrides), args, {
      signal: call.signal,
      deadlineMs: GIT_MS,
      maxBytes: MAX_BYTES,
    });
  });
  const raw = new RawText();
  raw.add(out.stdout);
  const lines = new TextDecoder().decode(out.stdout).split("\n").filter((line) => line !== "");
  const head = lines[0]?.startsWith("## ") ? lines.shift()!.slice(3) : null;
  if (lines.length > MAX_ENTRIES) {
    throw new HubError(
      "GitError",
      `git status has too many entries: ${lines.length}, at most ${MAX_ENTRIES} are given`,
    );
  }
  const entries = lines.map((line) => ({ code: line.slice(0, 2), path: line.slice(3).trim() }));
  return {
    path: ".",
    branch: head === null ? null : branchOf(head),
    clean: entries.length === 0,
    entries,
    raw: raw.text(),
  };
}

/** The branch in the first line of `--branch`. */
export function branchOf(head: string): string {
  return head.replace(/^No commits yet on /, "").split("...", 1)[0]!.split(" [", 1)[0]!;
}
