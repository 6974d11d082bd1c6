/** `audit keygen|export|head`: keys, data and heads of the ledger. */

import { readPrivateKeyFile } from "../audit/config.ts";
import { AuditConfigError, reasonOf } from "../audit/errors.ts";
import { type ExportFormat, exportLedger } from "../audit/export.ts";
import { headNote, headText, noteVerifierKey } from "../audit/head.ts";
import { writeKeyPair } from "../audit/keygen.ts";
import { Signer } from "../audit/signing.ts";
import { verifyLedger } from "../audit/verify.ts";
import { printable } from "../common/json.ts";
import {
  archiveArgument,
  type CommandIo,
  failureText,
  ledgerArgument,
  parseArguments,
  type ParsedArguments,
  progress,
  single,
  UsageError,
} from "./audit_input.ts";

const USAGE = `Usage: fluxgit-sidecar audit keygen DIR
       fluxgit-sidecar audit head [LEDGER] [--key PEM]
       fluxgit-sidecar audit export --format csv|json|jsonl [LEDGER] [--since TIME] [--tool NAME]...
                    [--result RESULT]... [--archive DIR | --no-archive]

keygen   writes a new Ed25519 key pair into DIR
head     prints the newest entry as SEQ:HASH, signed when FLUXGIT_MCP_AUDIT_SIGN_KEY or --key names
         a key; keep it elsewhere for 'verify-audit --expect-head'
export   writes entries to standard output; TIME is Unix milliseconds, a date or an ISO 8601 time
LEDGER defaults to FLUXGIT_MCP_AUDIT_LOG, else the one in the run directory
`;

/** Runs the command. @returns the exit code: 0, 1, 2 or 3 */
export async function run(args: string[], io: CommandIo): Promise<number> {
  const [command, ...rest] = args;
  try {
    switch (command) {
      case "keygen":
        return await keygen(rest, io);
      case "head":
        return await head(rest, io);
      case "export":
        return await exportEntries(rest, io);
      case "--help":
        await io.stderr(USAGE);
        return 0;
      case undefined:
        throw new UsageError("say keygen, head or export");
      default:
        throw new UsageError(
          `unknown command ${printable(command, 80)}; say keygen, head or export`,
        );
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    await io.stderr(`fluxgit-sidecar: audit: ${error.message}\n`);
    return 2;
  }
}

async function keygen(args: readonly string[], io: CommandIo): Promise<number> {
  const { positionals } = parseArguments(args, {});
  const [folder, more] = positionals;
  if (folder === undefined || folder === "" || more !== undefined) {
    throw new UsageError("keygen takes one folder");
  }
  let pair;
  try {
    pair = writeKeyPair(folder);
  } catch (error) {
    throw new UsageError(`keygen: ${reasonOf(error)}`);
  }
  await io.stdout(
    [
      `private key:   ${pair.privatePath}`,
      `public key:    ${pair.publicPath}`,
      `key id:        ${pair.keyId}`,
      `note verifier: ${noteVerifierKey(pair.publicKey)}`,
      "",
    ].join("\n"),
  );
  await io.stderr(
    "fluxgit-sidecar: set FLUXGIT_MCP_AUDIT_SIGN_KEY to the private key's path; " +
      "keep a copy of the public key where the ledger is verified\n",
  );
  return 0;
}

async function head(args: readonly string[], io: CommandIo): Promise<number> {
  const parsed = parseArguments(args, { "--key": "value" });
  const ledger = ledgerArgument(parsed, io);
  const signer = await readSigner(parsed, io);
  // A head of a ledger that does not hold would vouch for nothing.
  const report = await verifyLedger(ledger);
  if (report.failure) {
    await io.stderr(`fluxgit-sidecar: audit head: ${failureText(report.failure)}\n`);
    return 3;
  }
  if (!report.head) {
    await io.stderr(`fluxgit-sidecar: ${printable(ledger, 300)} has no entry yet\n`);
    return 1;
  }
  await io.stdout(signer ? headNote(report.head, signer) : `${headText(report.head)}\n`);
  return 0;
}

async function readSigner(parsed: ParsedArguments, io: CommandIo): Promise<Signer | null> {
  const path = single(parsed, "--key") ?? io.env("FLUXGIT_MCP_AUDIT_SIGN_KEY");
  if (path === undefined) return null;
  try {
    return new Signer(await readPrivateKeyFile(path));
  } catch (error) {
    if (error instanceof AuditConfigError) throw new UsageError(error.message);
    throw error;
  }
}

async function exportEntries(args: readonly string[], io: CommandIo): Promise<number> {
  const parsed = parseArguments(args, {
    "--format": "value",
    "--since": "value",
    "--tool": "value",
    "--result": "value",
    "--archive": "value",
    "--no-archive": "flag",
  });
  const format = single(parsed, "--format");
  if (format !== "csv" && format !== "json" && format !== "jsonl") {
    throw new UsageError(
      format === undefined
        ? "export needs --format csv, json or jsonl"
        : `unknown format ${printable(format, 80)}; say csv, json or jsonl`,
    );
  }
  const ledger = ledgerArgument(parsed, io);
  const { report, exported } = await exportLedger(ledger, {
    format: format satisfies ExportFormat,
    archive: archiveArgument(parsed, io),
    ...readFilter(parsed),
    afterFile: progress(io),
  }, (text) => io.stdout(text));
  if (report.failure) {
    await io.stderr(
      `fluxgit-sidecar: audit export: ${failureText(report.failure)}; the output ends before it\n`,
    );
    return 3;
  }
  await io.stderr(`fluxgit-sidecar: ${exported} of ${report.entries} entries exported\n`);
  return 0;
}

function readFilter(parsed: ParsedArguments) {
  const since = single(parsed, "--since");
  const tools = parsed.values.get("--tool");
  const results = parsed.values.get("--result");
  for (const name of ["--tool", "--result"]) {
    if (parsed.values.get(name)?.includes("")) throw new UsageError(`${name} is empty`);
  }
  for (const result of results ?? []) {
    if (!/^[a-z][a-z_-]{0,40}$/.test(result)) {
      throw new UsageError(
        `--result ${printable(result, 80)} is none; say success, error or blocked`,
      );
    }
  }
  return {
    ...(since === undefined ? {} : { since: parseTime(since) }),
    ...(tools ? { tools } : {}),
    ...(results ? { results } : {}),
  };
}

/** Unix milliseconds, a date, or a time with its zone; anything else would mean local time. */
function parseTime(text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  const iso = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
  const time = iso.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) {
    throw new UsageError(
      `--since ${
        printable(text, 80)
      } is no time; say Unix milliseconds, YYYY-MM-DD, or an ISO 8601 ` +
        "time with its zone",
    );
  }
  return time;
}
