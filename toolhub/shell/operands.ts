/**
 * Files of the workspace that a command names as arguments. A script is as much the program as its
 * interpreter: they are hashed with the request, shown to the person, and checked before the start.
 */

import { HubError } from "../errors.ts";
import { componentsBelow, join } from "../platform.ts";
import { isRooted } from "../workspace/path.ts";
import { fingerprint, MAX_HASHED_BYTES, type Snapshot } from "./fingerprint.ts";

/** As the approval stores it: which argument, and what the file was. */
export interface OperandSnapshot extends Snapshot {
  readonly index: number;
}

/**
 * Hashes every argument that names a regular file inside the workspace, links followed; also the file
 * of `--name=file`.
 *
 * @param cwd canonical; @param workspace canonical
 * @throws {HubError} together they are too large
 */
export function hashOperands(
  args: readonly string[],
  cwd: string,
  workspace: string,
): OperandSnapshot[] {
  const found: OperandSnapshot[] = [];
  let left = MAX_HASHED_BYTES;
  for (const [index, arg] of args.entries()) {
    const path = operandFile(arg, cwd, workspace);
    if (path === null) continue;
    const snapshot = hashOne(path, index, left);
    left -= snapshot.size;
    found.push({ index, ...snapshot });
  }
  return found;
}

/** Reads stored snapshots of operands. @throws {HubError} malformed */
export function readOperands(
  value: unknown,
  read: (value: unknown, what: string) => Snapshot,
): OperandSnapshot[] {
  const wrong = () =>
    new HubError("ExecutableIdentityMismatch", "Refused: the operand snapshots are malformed");
  if (!Array.isArray(value)) throw wrong();
  return value.map((one: unknown) => {
    const index = (one as { index?: unknown } | null)?.index;
    if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0) throw wrong();
    return { index, ...read(one, "operand") };
  });
}

/**
 * Checks that the arguments still name the same files with the same content.
 *
 * @throws {HubError} `ExecutableIdentityMismatch`
 */
export function verifyOperands(
  stored: readonly OperandSnapshot[],
  args: readonly string[],
  cwd: string,
  workspace: string,
): void {
  const now = hashOperands(args, cwd, workspace);
  const key = (one: OperandSnapshot) =>
    JSON.stringify([one.index, one.canonical_path, one.sha256, one.size]);
  const same = now.length === stored.length &&
    now.every((one, at) => key(one) === key(stored[at]!));
  if (same) return;
  throw new HubError(
    "ExecutableIdentityMismatch",
    "Refused: a file that the arguments name has its content changed, or appeared or went, since the request",
  );
}

function hashOne(path: string, index: number, left: number): Snapshot {
  try {
    return fingerprint(path, left);
  } catch (error) {
    const why = error instanceof HubError ? error.message : "it cannot be read";
    throw new HubError(
      "ExecutableIdentityMismatch",
      `The file that argument ${index + 1} names cannot be bound to the request: ${
        why.replace(/^Refused: /, "")
      }`,
    );
  }
}

function operandFile(arg: string, cwd: string, workspace: string): string | null {
  const names = [arg];
  const equals = arg.indexOf("=");
  if (equals > 0) names.push(arg.slice(equals + 1));
  for (const name of names) {
    if (name === "" || name.includes("\0") || name.length > 4_096) continue;
    try {
      const real = Deno.realPathSync(isRooted(name) ? name : join(cwd, name));
      if (componentsBelow(real, workspace) !== null && Deno.statSync(real).isFile) return real;
    } catch { /* no file */ }
  }
  return null;
}
