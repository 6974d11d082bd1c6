/** `verify-audit LEDGER`: checks a ledger without changing anything (`audit.md` section 8). */

import { MAX_KEY_FILE_BYTES } from "../audit/constants.ts";
import { reasonOf } from "../audit/errors.ts";
import { parseHeadText } from "../audit/head.ts";
import { parsePublicKeyPem } from "../audit/pem.ts";
import { verifyLedger, type VerifyReport } from "../audit/verify.ts";
import { printable } from "../common/json.ts";
import {
  archiveArgument,
  asUsage,
  type CommandIo,
  failureText,
  parseArguments,
  progress,
  UsageError,
} from "./audit_input.ts";

const USAGE = `Usage: fluxgit-sidecar verify-audit LEDGER [--pubkey PEM]... [--require-signed]
                    [--expect-head SEQ:HASH]... [--archive DIR | --no-archive] [--json]

Checks the hash chain, the files, the checkpoints and the signatures of a ledger. Changes nothing.
  --pubkey PEM          public key file; give one for each key that ever signed the ledger
  --require-signed      refuse unsigned entries
  --expect-head S:H     the ledger must contain this entry; 'audit head' prints it
  --archive DIR         folder of archived segments (default: FLUXGIT_MCP_AUDIT_ARCHIVE)
  --json                print the whole report as JSON
Exit codes: 0 it holds, 2 wrong use, 3 it does not hold
`;

/** Runs the command. @returns the exit code: 0, 2 or 3 */
export async function run(args: string[], io: CommandIo): Promise<number> {
  if (args.includes("--help") && args.length === 1) {
    await io.stderr(USAGE);
    return 0;
  }
  let input: Input;
  try {
    input = readInput(args, io);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    await io.stderr(`verify-audit: ${error.message}\n`);
    return 2;
  }
  const report = await verifyLedger(input.ledger, {
    publicKeys: input.publicKeys,
    requireSigned: input.requireSigned,
    expectHeads: input.expectHeads,
    archive: input.archive,
    afterFile: progress(io),
  });
  if (input.json) await io.stdout(`${JSON.stringify(jsonReport(report), null, 2)}\n`);
  if (report.failure) {
    await io.stderr(`verify-audit: ${failureText(report.failure)}\n`);
    return 3;
  }
  if (!input.json) await io.stdout(counterLines(report));
  for (const note of notes(report)) await io.stderr(`fluxgit-sidecar: ${note}\n`);
  return 0;
}

interface Input {
  ledger: string;
  publicKeys: string[];
  requireSigned: boolean;
  expectHeads: { sequence: number; hash: string }[];
  archive: string | null;
  json: boolean;
}

function readInput(args: readonly string[], io: CommandIo): Input {
  const parsed = parseArguments(args, {
    "--pubkey": "value",
    "--expect-head": "value",
    "--archive": "value",
    "--no-archive": "flag",
    "--require-signed": "flag",
    "--json": "flag",
  });
  const [ledger, more] = parsed.positionals;
  if (ledger === undefined || ledger === "") throw new UsageError("no ledger is named");
  if (more !== undefined) {
    throw new UsageError(`more than one ledger is named: ${printable(more, 80)}`);
  }
  return {
    ledger,
    publicKeys: (parsed.values.get("--pubkey") ?? []).map(readPublicKey),
    requireSigned: parsed.flags.has("--require-signed"),
    expectHeads: (parsed.values.get("--expect-head") ?? []).map((text) => {
      const head = parseHeadText(text);
      if (head) return head;
      throw new UsageError(
        `--expect-head ${printable(text, 120)} is not SEQ:HASH (a number, 64 hex digits)`,
      );
    }),
    archive: archiveArgument(parsed, io),
    json: parsed.flags.has("--json"),
  };
}

/** @returns the PEM text of a file that holds an Ed25519 public key */
function readPublicKey(path: string): string {
  const fail = (reason: string) => new UsageError(`--pubkey ${printable(path, 200)}: ${reason}`);
  let text: string;
  try {
    const info = Deno.statSync(path);
    // Anything but a file (a pipe, a device) may never end.
    if (!info.isFile) throw fail("not a regular file");
    if (info.size > MAX_KEY_FILE_BYTES) throw fail(`larger than ${MAX_KEY_FILE_BYTES} bytes`);
    text = new TextDecoder("utf-8", { fatal: true }).decode(Deno.readFileSync(path));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw fail(error instanceof TypeError ? "not valid UTF-8" : reasonOf(error));
  }
  try {
    asUsage(() => parsePublicKeyPem(text));
  } catch (error) {
    throw error instanceof UsageError ? fail(error.message) : error;
  }
  return text;
}

/** The eight lines of the contract. */
function counterLines(report: VerifyReport): string {
  return [
    `entries:   ${report.entries}`,
    `chained:   ${report.chained}`,
    `legacy:    ${report.legacy}`,
    `signed:    ${report.signed}`,
    `unsigned:  ${report.unsigned}`,
    `segments:  ${report.segments}`,
    `sequence:  ${report.firstSequence}..${report.lastSequence}`,
    `retention_checkpoint_used: ${report.retentionCheckpointUsed}`,
    "",
  ].join("\n");
}

function jsonReport(report: VerifyReport): Record<string, unknown> {
  return {
    ...report,
    keyPinned: !report.notExcluded.includes("key_not_pinned"),
    headPinned: !report.notExcluded.includes("tail_cut"),
  };
}

/** What a good report leaves open, said in full. */
function notes(report: VerifyReport): string[] {
  const texts: Record<VerifyReport["notExcluded"][number], string> = {
    key_not_pinned: "key not pinned: anyone could have written this ledger anew; give --pubkey",
    unsigned_records: `${report.unsigned} of ${report.entries} entries are unsigned; ` +
      "--require-signed refuses them",
    tail_cut: "head not pinned: newest entries may have been cut off; give --expect-head",
  };
  return [
    // An absent ledger is a good one by contract (`audit.md` 7.1); a mistyped path looks the same.
    ...(report.entries === 0 ? ["no entry is there, so nothing was verified; check the path"] : []),
    ...report.notExcluded.map((open) => texts[open]),
    ...report.gaps.map(({ firstSequence, lastSequence }) =>
      `entries ${firstSequence} to ${lastSequence} were pruned while no archive was kept`
    ),
  ];
}
