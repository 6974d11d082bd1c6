/** The whole environment of an approved program, fixed at submission and stored with the request. */

import type { ReadVariable } from "../config.ts";
import { escapeText, HubError } from "../errors.ts";
import { WINDOWS } from "../platform.ts";
import { sameText, sha256 } from "../workspace/hash.ts";

/** As the approval stores it. */
export interface StoredEnvironment {
  readonly policy_version: 1;
  readonly platform: "posix" | "windows";
  readonly variables: Readonly<Record<string, string>>;
  readonly sha256: string;
}

/**
 * The one variable of our own. Every process that the program starts inherits it, so that those that
 * left its group can still be found and stopped.
 */
export const MARKER = "TOOLHUB_REQUEST_ID";

const WINDOWS_VARIABLES = ["SystemRoot", "WINDIR", "TEMP", "TMP"];
const MAX_VALUE = 4_096;

/** Nothing is inherited: on Windows four variables that programs cannot start without, else none. */
export function buildEnvironment(
  requestId: string,
  read: ReadVariable,
  windows = WINDOWS,
): StoredEnvironment {
  const variables: Record<string, string> = { [MARKER]: requestId };
  for (const name of windows ? WINDOWS_VARIABLES : []) {
    const value = read(name);
    if (value === undefined || value.length > MAX_VALUE || value.trim() !== value) continue;
    if (/^[A-Za-z]:[\\/]/.test(value) && !value.includes("\0")) variables[name] = value;
  }
  const platform = windows ? "windows" : "posix";
  return { policy_version: 1, platform, variables, sha256: digest(platform, variables) };
}

/**
 * Reads a stored environment and checks that it is the one that was approved.
 *
 * @throws {HubError} missing, malformed, of another platform or request, or with a wrong digest
 */
export function readEnvironment(
  value: unknown,
  requestId: string,
  windows = WINDOWS,
): Record<string, string> {
  const wrong = () =>
    new HubError("ExecutableIdentityMismatch", "Refused: the stored environment is malformed");
  if (typeof value !== "object" || value === null) throw wrong();
  const here = windows ? "windows" : "posix";
  const { policy_version, platform, variables, sha256: stored } = value as Record<string, unknown>;
  if (policy_version !== 1 || platform !== here) throw wrong();
  if (typeof variables !== "object" || variables === null || typeof stored !== "string") {
    throw wrong();
  }
  const allowed = new Set([MARKER, ...(windows ? WINDOWS_VARIABLES : [])]);
  for (const [name, text] of Object.entries(variables)) {
    if (!allowed.has(name) || typeof text !== "string" || text.length > MAX_VALUE) throw wrong();
    if (text.includes("\0")) throw wrong();
  }
  const good = variables as Record<string, string>;
  if (good[MARKER] !== requestId || !sameText(digest(here, good), stored)) throw wrong();
  return { ...good };
}

function digest(platform: string, variables: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1));
  return sha256(escapeText(JSON.stringify({ platform, policy_version: 1, variables: pairs })));
}
