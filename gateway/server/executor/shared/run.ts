import { decodeText } from "../../../../common/bytes.ts";
import { GitError } from "../../../../git/errors.ts";
import type { Repository } from "../../../../git/repository.ts";
import type { ExecutionResult } from "../../types.ts";

/** Hooks and signing may take their time; a hanging one ends here. Milliseconds. */
export const APPROVED_DEADLINE_MS = 10 * 60_000;
/** What is kept of a hook's output. */
const KEPT_OUTPUT = 2_000;

/**
 * Runs one approved command as the user's own git would, hooks and signing included. Throws
 * {@link GitError} with git's words when it fails.
 */
export async function approvedGit(
  repo: Repository,
  args: readonly string[],
  stdin?: Uint8Array | string,
): Promise<string> {
  const out = await repo.run(args, {
    profile: "approved",
    deadlineMs: APPROVED_DEADLINE_MS,
    maxBytes: 1_024 * 1_024,
    overflow: "cut",
    ...(stdin === undefined ? {} : { stdin }),
  });
  return decodeText(out.stdout);
}

/**
 * Moves refs in one transaction, each with its old value, so that a ref that somebody moved meanwhile
 * makes git refuse them all. `null` as the new value deletes, as the old one means "must not exist".
 */
export async function moveRefs(
  repo: Repository,
  moves: readonly { ref: string; from: string | null; to: string | null }[],
  message: string,
): Promise<void> {
  const zero = "0".repeat(repo.facts.objectFormat === "sha256" ? 64 : 40);
  const lines = moves.map(({ ref, from, to }) =>
    to === null ? `delete ${ref}\0${from ?? zero}\0` : `update ${ref}\0${to}\0${from ?? zero}\0`
  );
  await repo.run(["update-ref", "--create-reflog", "-m", message, "-z", "--stdin"], {
    profile: "approved",
    stdin: `start\0${lines.join("")}prepare\0commit\0`,
  });
}

/** A failure that says what git said, bounded. */
export function failedWith(
  error: unknown,
  what: string,
  members: Record<string, unknown> = {},
): ExecutionResult {
  const details = error instanceof GitError
    ? String(error.data?.["details"] ?? "")
    : error instanceof Error
    ? error.message
    : String(error);
  return { status: "failed", message: `${what}: ${details.slice(0, KEPT_OUTPUT)}`, members };
}
