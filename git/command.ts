import { concat, superviseChild } from "./child.ts";
import { refuseWriting } from "./command_guard.ts";
import { classifyFailure, GitError } from "./errors.ts";
import { gitProgram } from "./program.ts";
import { Semaphore } from "../common/semaphore.ts";

/**
 * The one door to git: the only place of the project that spawns it. Everything that keeps a read a
 * read is added here, so that no caller can forget it (`security.md` part 1).
 */

/** Where a command runs. A {@link import("./repository.ts").Repository} is one. */
export interface GitTarget {
  /** Absolute directory handed to `git -C`. */
  readonly path: string;
  /** Extra configuration, set for this command alone and stronger than any file. */
  readonly overrides: readonly (readonly [key: string, value: string])[];
  /** A bare repository that the caller named itself; found ones are refused. */
  readonly allowBare?: boolean;
}

/**
 * What a command may do. `read`: runs no program of the repository and writes nothing. `store`:
 * writes objects, private index files and hidden refs for restore points, still without running any
 * program of the repository. `approved`: carries out what a person approved as the user's own git
 * would, hooks, filters and signing included; only the gateway's executor uses it.
 */
export type Profile = "read" | "store" | "approved";

export interface RunOptions {
  readonly profile?: Profile;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the child is stopped and the call fails. Default 30,000. */
  readonly deadlineMs?: number;
  /** Bytes of standard output. Default 4 MiB. */
  readonly maxBytes?: number;
  /** What happens past `maxBytes`: fail (default), or stop git and give the prefix with `cut: true`. */
  readonly overflow?: "fail" | "cut";
  /** Bytes of standard error past which git is stopped and the call fails. Default 1 MiB. */
  readonly stderrBytes?: number;
  /** Exit codes that are answers, not failures. Default `[0]`; `"any"` never fails on a code. */
  readonly okCodes?: readonly number[] | "any";
  readonly stdin?: Uint8Array | string;
  /** Extra variables for this child alone (object directories of a throw-away store). */
  readonly env?: Readonly<Record<string, string>>;
}

export interface GitOutput {
  readonly code: number;
  readonly stdout: Uint8Array;
  /** At most 64 KiB, decoded with replacement characters. */
  readonly stderr: string;
  /** True when output was left unread past `maxBytes`; then `code` says nothing. */
  readonly cut: boolean;
}

/** Default ceilings of `protocol.md` section 1. */
export const GIT_LIMITS = {
  deadlineMs: 30_000,
  stdoutBytes: 4 * 1024 * 1024,
  boundedBytes: 64 * 1024 * 1024,
  stderrKept: 64 * 1024,
  stderrBytes: 1024 * 1024,
  pipesMs: 2_000,
} as const;

const QUIET_FLAGS = [
  "--no-pager",
  "--no-optional-locks",
  "--no-replace-objects",
  "--literal-pathspecs",
];
/** Hooks inherit what is set here, so pathspecs stay magic: callers write `:(top,literal)` in front. */
const APPROVED_FLAGS = ["--no-pager"];

/** Keeps every program of the repository quiet. */
const QUIET_CONFIG = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "diff.autoRefreshIndex=false",
  // A file that is not there would fail every status.
  "diff.orderFile=/dev/null",
  "log.showSignature=false",
  "core.quotePath=false",
  "i18n.logOutputEncoding=UTF-8",
  "color.ui=false",
  "submodule.recurse=false",
  "gc.auto=0",
].flatMap((pair) => ["-c", pair]);

/** For approved operations: the user's git as it is, but no daemon, no `ext::` remote, no background gc. */
const APPROVED_CONFIG = [
  "core.fsmonitor=false",
  "core.quotePath=false",
  "color.ui=false",
  "protocol.ext.allow=never",
  "gc.auto=0",
  "maintenance.auto=false",
].flatMap((pair) => ["-c", pair]);

const DIFF = ["--no-ext-diff", "--no-textconv", "--no-color"];
/** Every command that a read may run, with the flags that keep repository programs quiet. */
const READ_COMMANDS: Readonly<Record<string, readonly string[]>> = {
  "cat-file": [],
  "check-attr": [],
  "check-ref-format": [],
  config: [],
  diff: DIFF,
  "diff-files": DIFF,
  "diff-index": DIFF,
  "diff-tree": DIFF,
  "for-each-ref": [],
  log: [...DIFF, "--no-show-signature"],
  "ls-files": [],
  "ls-tree": [],
  "merge-base": [],
  "merge-tree": [],
  reflog: [],
  "rev-list": [],
  "rev-parse": [],
  show: [...DIFF, "--no-show-signature"],
  "show-ref": [],
  status: [],
  "symbolic-ref": [],
  var: [],
  version: [],
  worktree: [],
};

/** Plumbing that restore points are made of and brought back with. */
const STORE_COMMANDS: Readonly<Record<string, readonly string[]>> = {
  add: [],
  "checkout-index": [],
  "commit-tree": [],
  "hash-object": [],
  mktree: [],
  "pack-objects": [],
  "read-tree": [],
  "update-index": [],
  "update-ref": [],
  "write-tree": [],
};

/** What an approved operation may run (`operations.md` 11.5). */
const APPROVED_COMMANDS: Readonly<Record<string, readonly string[]>> = {
  ...STORE_COMMANDS,
  apply: [],
  branch: [],
  checkout: [],
  commit: [],
  merge: [],
  push: [],
  rebase: [],
  reset: [],
  restore: [],
  rm: [],
  switch: [],
};

function flagsOf(command: string | undefined, profile: Profile): readonly string[] | undefined {
  if (command === undefined) return undefined;
  const more = profile === "approved"
    ? APPROVED_COMMANDS
    : profile === "store"
    ? STORE_COMMANDS
    : {};
  return READ_COMMANDS[command] ?? more[command];
}

/** At most as many git children as cores: more gains nothing (`deno-facts.md` section 3). */
const children = new Semaphore(Math.max(1, navigator.hardwareConcurrency || 1));

/**
 * Runs git and hands each piece of standard output to `onStdout`; `false` from it stops git.
 * Throws {@link GitError} for a bad exit, deadline, cancellation, or too much standard error.
 */
export async function streamGit(
  target: GitTarget,
  args: readonly string[],
  options: RunOptions,
  onStdout: (chunk: Uint8Array) => boolean,
): Promise<{ code: number; stderr: string; stopped: boolean }> {
  const [command, ...rest] = args;
  const profile = options.profile ?? "read";
  const flags = flagsOf(command, profile);
  if (command === undefined || flags === undefined) {
    throw new GitError(
      "failed",
      args,
      `the command ${JSON.stringify(command)} is not one that the profile "${profile}" runs`,
    );
  }
  if (profile === "read") refuseWriting(args, options.env);
  const program = gitProgram();
  const approved = profile === "approved";
  const argv = [
    ...(approved ? APPROVED_FLAGS : QUIET_FLAGS),
    ...(approved ? APPROVED_CONFIG : QUIET_CONFIG),
    "-c",
    `safe.bareRepository=${target.allowBare ? "all" : "explicit"}`,
    "-C",
    target.path,
    command,
    ...flags,
    ...rest,
  ];
  const env = approved
    ? { ...program.approvedEnv, ...options.env }
    : { ...program.env, ...overrideVariables(target.overrides, args), ...options.env };
  const release = await children.acquire(options.signal).catch(() => {
    throw new GitError("cancelled", args, "the call was cancelled");
  });
  try {
    return await runChild(program.path, argv, env, args, options, onStdout);
  } finally {
    release();
  }
}

/** Runs git and collects its standard output under a ceiling. Failures as {@link streamGit}. */
export async function runGit(
  target: GitTarget,
  args: readonly string[],
  options: RunOptions = {},
): Promise<GitOutput> {
  const max = options.maxBytes ?? GIT_LIMITS.stdoutBytes;
  const chunks: Uint8Array[] = [];
  let size = 0;
  let overflow = false;
  const end = await streamGit(target, args, options, (chunk) => {
    if (size + chunk.length > max) {
      chunks.push(chunk.slice(0, max - size));
      size = max;
      overflow = true;
      return false;
    }
    chunks.push(chunk);
    size += chunk.length;
    return true;
  });
  if (overflow && options.overflow !== "cut") {
    throw new GitError("output_limit", args, `git wrote more than ${max} bytes`);
  }
  return { code: end.code, stdout: concat(chunks), stderr: end.stderr, cut: overflow };
}

/** Most that can be switched off on one command line: more does not fit into an environment. */
const MAX_OVERRIDES = 1_000;
const MAX_OVERRIDE_CHARACTERS = 64 * 1024;

/** `GIT_CONFIG_COUNT` form, because `-c` cannot name a driver whose name holds `=`. */
function overrideVariables(
  overrides: GitTarget["overrides"],
  args: readonly string[],
): Record<string, string> {
  if (overrides.length === 0) return {};
  const size = overrides.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  if (overrides.length > MAX_OVERRIDES || size > MAX_OVERRIDE_CHARACTERS) {
    throw new GitError(
      "failed",
      args,
      `the repository's configuration names ${overrides.length} filter and merge drivers, more than can be switched off`,
    );
  }
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(overrides.length) };
  overrides.forEach(([key, value], i) => {
    env[`GIT_CONFIG_KEY_${i}`] = key;
    env[`GIT_CONFIG_VALUE_${i}`] = value;
  });
  return env;
}

/** Starts the one child of a call and judges its end. */
async function runChild(
  path: string,
  argv: string[],
  env: Record<string, string>,
  args: readonly string[],
  options: RunOptions,
  onStdout: (chunk: Uint8Array) => boolean,
): Promise<{ code: number; stderr: string; stopped: boolean }> {
  if (options.signal?.aborted) throw new GitError("cancelled", args, "the call was cancelled");
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(path, {
      args: argv,
      // Every path is absolute; the server's own directory may be gone, or hold a git of its own.
      cwd: Deno.build.os === "windows" ? env["SystemRoot"] ?? "C:\\" : "/",
      clearEnv: true,
      env,
      stdin: options.stdin === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    const gone = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable;
    const reason = error instanceof Error ? error.message : String(error);
    throw new GitError(gone ? "git_missing" : "failed", args, reason);
  }
  const deadlineMs = options.deadlineMs ?? GIT_LIMITS.deadlineMs;
  const { signal, stdin } = options;
  const stderrBytes = options.stderrBytes ?? GIT_LIMITS.stderrBytes;
  // Git that changes things is left to finish: killed, it would leave its locks behind.
  const dieWithUs = (options.profile ?? "read") === "read";
  const limits = { ...GIT_LIMITS, stderrBytes, deadlineMs, signal, stdin, dieWithUs };
  const end = await superviseChild(child, limits, onStdout);
  const { code, stderr, stopped } = end;
  switch (end.why) {
    case "cancelled":
      throw new GitError("cancelled", args, "the call was cancelled");
    case "timed_out":
    case "stuck":
      throw new GitError("timed_out", args, `git did not finish within ${deadlineMs} ms`);
    case "stderr":
      throw new GitError("output_limit", args, "git wrote too much to standard error");
  }
  if (stopped) return { code, stderr, stopped };
  // Killed from outside (out of memory, say): no exit code of git's own, so never an answer.
  if (end.signal !== null) throw new GitError("failed", args, `git was ended by ${end.signal}`);
  const ok = options.okCodes ?? [0];
  if (ok !== "any" && !ok.includes(code)) {
    throw new GitError(classifyFailure(stderr), args, stderr, code);
  }
  return { code, stderr, stopped };
}
