import { concat } from "../../../../git/child.ts";
import { streamGit } from "../../../../git/command.ts";
import { decodeText } from "../../../../common/bytes.ts";
import { classifyFailure, GitError } from "../../../../git/errors.ts";
import type { Repository } from "../../../../git/repository.ts";
import type { ExecutionResult } from "../../types.ts";
import { redact } from "./redact.ts";

/** Hooks and signing may take their time; a hanging one ends here. Milliseconds. */
export const APPROVED_DEADLINE_MS = 10 * 60_000;
/** What is kept of standard output; more is read and dropped, so that a talkative hook breaks nothing. */
const KEPT_STDOUT = 1_024 * 1_024;
/** Bytes of standard error before git is stopped: a hook that never ends to talk. */
const STDERR_BYTES = 256 * 1_024 * 1_024;
/** What is told of git's and a hook's words, in UTF-16 units. */
const KEPT_WORDS = 2_000;

/** Where an approved command runs, and how long it may take. */
export interface ApprovedTarget {
  readonly repo: Repository;
  readonly approvedDeadlineMs?: number;
}

export interface ApprovedOptions {
  readonly stdin?: Uint8Array | string;
  /** Configuration for this command alone, stronger than any file. */
  readonly config?: readonly (readonly [key: string, value: string])[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Settings that would let a command reach further than its card, or record text in another encoding than given. */
const FIXED: readonly (readonly [string, string])[] = [
  ["submodule.recurse", "false"],
  ["i18n.commitEncoding", "UTF-8"],
];

/**
 * Runs one approved command as the user's own git would, hooks, filters and signing included. Gives
 * standard output. Throws {@link GitError} with git's words when it fails.
 */
export async function approvedGit(
  { repo, approvedDeadlineMs }: ApprovedTarget,
  args: readonly string[],
  options: ApprovedOptions = {},
): Promise<string> {
  const kept: Uint8Array[] = [];
  let size = 0;
  const end = await streamGit(repo, args, {
    profile: "approved",
    signal: repo.signal,
    deadlineMs: approvedDeadlineMs ?? APPROVED_DEADLINE_MS,
    stderrBytes: STDERR_BYTES,
    okCodes: "any",
    env: { ...configVariables([...FIXED, ...options.config ?? []]), ...options.env },
    ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
  }, (chunk) => {
    if (size < KEPT_STDOUT) kept.push(chunk.slice(0, KEPT_STDOUT - size));
    size += chunk.length;
    return true;
  });
  const stdout = decodeText(concat(kept));
  if (end.code !== 0) {
    // Conflicts and what a remote refused are told on standard output.
    const words = `${end.stderr}\n${stdout}`.split("\n").filter((line) =>
      !/^(?:hint:|\s*$)/.test(line)
    );
    throw new GitError(classifyFailure(end.stderr), args, words.join("\n"), end.code);
  }
  return stdout;
}

/** Configuration as variables, because `-c` cannot name a key whose subsection holds `=`. */
export function configVariables(
  pairs: readonly (readonly [key: string, value: string])[],
): Record<string, string> {
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(pairs.length) };
  pairs.forEach(([key, value], i) => {
    env[`GIT_CONFIG_KEY_${i}`] = key;
    env[`GIT_CONFIG_VALUE_${i}`] = value;
  });
  return env;
}

/** A ref and where it goes: `null` as the new value deletes, as the old one means "must not exist". */
export interface RefMove {
  readonly ref: string;
  readonly from: string | null;
  readonly to: string | null;
}

/**
 * Moves refs in one transaction, each with its old value, so that a ref that somebody moved meanwhile
 * makes git refuse them all. `HEAD` means a detached HEAD itself, never the branch it may name by then.
 */
export async function moveRefs(
  target: ApprovedTarget,
  moves: readonly RefMove[],
  message: string,
): Promise<void> {
  const zero = "0".repeat(target.repo.facts.objectFormat === "sha256" ? 64 : 40);
  const lines = moves.map(({ ref, from, to }) =>
    (ref === "HEAD" ? "option no-deref\0" : "") +
    (to === null ? `delete ${ref}\0${from ?? zero}\0` : `update ${ref}\0${to}\0${from ?? zero}\0`)
  );
  await approvedGit(target, ["update-ref", "--create-reflog", "-m", message, "-z", "--stdin"], {
    stdin: `start\0${lines.join("")}prepare\0commit\0`,
  });
}

/** A failure before anything was written, because something is not what the card showed. */
export function staleFailure(what: string): ExecutionResult {
  return {
    status: "failed",
    message: `stale: ${what} at the last moment; nothing was changed. Propose again.`,
    members: { stale: true },
    leaveAsIs: true,
  };
}

/** A failure with git's words, bounded and without what looks like a secret. */
export function failedWith(
  error: unknown,
  what: string,
  more: Partial<Pick<ExecutionResult, "members" | "leaveAsIs">> = {},
): ExecutionResult {
  return { status: "failed", message: `${what}: ${wordsOf(error)}`, members: {}, ...more };
}

/** What an error tells: git's and its hooks' words where there are any. */
export function wordsOf(error: unknown): string {
  if (error instanceof GitError && error.kind === "timed_out") {
    return `${details(error)}; a hook that hangs may still be running`;
  }
  return redact(details(error)).slice(0, KEPT_WORDS);
}

function details(error: unknown): string {
  if (error instanceof GitError) {
    // Git separates the columns of a refused push by tabs, which the error shows as escapes.
    return String(error.data?.["details"] ?? error.message).replaceAll("\\u0009", " ");
  }
  return error instanceof Error ? error.message : String(error);
}
