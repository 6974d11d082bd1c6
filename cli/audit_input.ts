/** What `verify-audit` and `audit …` share: their arguments, their settings, their way of failing. */

import { AUDIT_SETTINGS, type AuditSettings, ledgerPath } from "../audit/config.ts";
import { AuditConfigError, reasonOf } from "../audit/errors.ts";
import type { VerifyFailure } from "../audit/verify.ts";
import { printable } from "../common/json.ts";
import { runDirectory } from "../common/platform.ts";

/** The world of a command; texts come with their line ends. */
export interface CommandIo {
  stdout(text: string): void | Promise<void>;
  stderr(text: string): void | Promise<void>;
  env(name: string): string | undefined;
}

/** Bad input: exit code 2, nothing written. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** How an option is written: with a value (each one is kept), or alone. */
export type OptionKinds = Readonly<Record<string, "value" | "flag">>;

/** Arguments taken apart. */
export interface ParsedArguments {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly positionals: readonly string[];
}

/**
 * Takes arguments apart. An option's value is the next argument, whatever it looks like.
 *
 * @throws {UsageError} unknown option, missing value
 */
export function parseArguments(args: readonly string[], kinds: OptionKinds): ParsedArguments {
  const flags = new Set<string>();
  const values = new Map<string, string[]>();
  const positionals: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (!arg.startsWith("-")) {
      positionals.push(arg);
      continue;
    }
    const kind = Object.hasOwn(kinds, arg) ? kinds[arg] : undefined;
    if (kind === undefined) throw new UsageError(`unknown option ${printable(arg, 80)}`);
    if (kind === "flag") {
      flags.add(arg);
      continue;
    }
    const value = args[++at];
    if (value === undefined) throw new UsageError(`${arg} needs a value`);
    values.set(arg, [...values.get(arg) ?? [], value]);
  }
  return { flags, values, positionals };
}

/** The one value of an option that makes no sense twice. @throws {UsageError} */
export function single(parsed: ParsedArguments, name: string): string | undefined {
  const given = parsed.values.get(name) ?? [];
  if (given.length > 1) throw new UsageError(`${name} is given ${given.length} times`);
  return given[0];
}

/** The ledger named by the arguments, else the configured one. @throws {UsageError} */
export function ledgerArgument(parsed: ParsedArguments, io: CommandIo): string {
  const [given, ...more] = parsed.positionals;
  if (more.length > 0) {
    throw new UsageError(`more than one ledger is named: ${printable(more[0]!, 80)}`);
  }
  if (given === "") throw new UsageError("the ledger's path is empty");
  if (given !== undefined) return given;
  return asUsage(() => ledgerPath(auditSettings(io), runDirectory((name) => io.env(name))));
}

/** `--archive DIR`, else the configured archive, unless `--no-archive`. @throws {UsageError} */
export function archiveArgument(parsed: ParsedArguments, io: CommandIo): string | null {
  const given = single(parsed, "--archive");
  if (parsed.flags.has("--no-archive")) {
    if (given !== undefined) throw new UsageError("--archive and --no-archive exclude each other");
    return null;
  }
  if (given === undefined) return io.env("FLUXGIT_MCP_AUDIT_ARCHIVE") || null;
  let info: Deno.FileInfo;
  try {
    info = Deno.statSync(given);
  } catch (error) {
    throw new UsageError(`--archive ${printable(given, 200)}: ${reasonOf(error)}`);
  }
  if (!info.isDirectory) throw new UsageError(`--archive ${printable(given, 200)} is no folder`);
  return given.length > 1 ? given.replace(/\/+$/, "") : given;
}

/** The settings of the ledger from the environment. */
export function auditSettings(io: CommandIo): AuditSettings {
  return Object.fromEntries(AUDIT_SETTINGS.map((name) => [name, io.env(name)]));
}

/** Runs something whose configuration errors are the user's input. */
export function asUsage<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof AuditConfigError) throw new UsageError(error.message);
    throw error;
  }
}

/** Where a verification failed and why, on one line. */
export function failureText(failure: VerifyFailure): string {
  const place = failure.segment === null
    ? ""
    : `segment ${failure.segment} line ${failure.line} (${
      printable(failure.file ?? "", 120)
    }, after sequence ${failure.afterSequence ?? 0}): `;
  const hint = failure.torn ? "; the next append repairs it" : "";
  return `verification failed: ${place}${failure.reason}${hint}`;
}

/** Shows how far a long verification is, on a terminal only. */
export function progress(io: CommandIo): (done: number, total: number) => void {
  const shown = Deno.stderr.isTerminal();
  return (done, total) => {
    // A handful of files is done before anyone could read it.
    if (!shown || total < 20) return;
    void io.stderr(done === total ? "\r\x1b[K" : `\r${done} of ${total} files`);
  };
}
