/** Retention checkpoints: what remains of entries that were pruned (`audit.md` 6.3, 7.2). */

import { canonicalBytes } from "./canonical.ts";
import { type ChainStart, checkSignature } from "./chain.ts";
import { CHECKPOINT_VERSION, MAX_CHECKPOINT_BYTES, SIGNATURE_VERSION } from "./constants.ts";
import { LedgerError } from "./errors.ts";
import { openSafely } from "./folder.ts";
import { isSha256 } from "./hash.ts";
import { LineFault, readRecord } from "./line.ts";
import { joinPath, readAt, shown } from "./paths.ts";
import type { Signer, VerifyKey } from "./signing.ts";

/** Content of a new checkpoint: canonical JSON without a line end. */
export function checkpointBytes(
  start: ChainStart,
  createdAt: number,
  signer: Signer | null,
): Uint8Array {
  const content = {
    auditCheckpointVersion: CHECKPOINT_VERSION,
    createdAt,
    nextSequence: start.nextSequence,
    previousHash: start.previousHash,
    prunedThroughSequence: start.nextSequence - 1,
  };
  if (!signer) return canonicalBytes(content);
  const signed = {
    ...content,
    signatureKeyId: signer.keyId,
    signatureVersion: SIGNATURE_VERSION,
  };
  return canonicalBytes({ ...signed, signature: signer.signText(canonicalBytes(signed)) });
}

/**
 * Reads and checks one checkpoint file.
 *
 * @throws {LedgerError} `integrity` naming the file, `io`
 */
export function readCheckpoint(
  folder: string,
  name: string,
  keys: VerifyKey[] = [],
  requireSigned = false,
): ChainStart {
  const { file } = openSafely(joinPath(folder, name), {});
  let bytes: Uint8Array;
  try {
    bytes = readAt(file, 0, MAX_CHECKPOINT_BYTES + 1);
  } finally {
    file.close();
  }
  try {
    return parseCheckpoint(bytes, keys, requireSigned);
  } catch (error) {
    if (!(error instanceof LineFault)) throw error;
    throw new LedgerError("integrity", `checkpoint ${shown(name)}: ${error.message}`);
  }
}

function parseCheckpoint(
  bytes: Uint8Array,
  keys: VerifyKey[],
  requireSigned: boolean,
): ChainStart {
  if (bytes.length === 0 || bytes.length > MAX_CHECKPOINT_BYTES) {
    throw new LineFault(`its size is not within 1 to ${MAX_CHECKPOINT_BYTES} bytes`);
  }
  const line = readRecord(bytes);
  const { auditCheckpointVersion, nextSequence, previousHash } = line.record();
  if (auditCheckpointVersion !== CHECKPOINT_VERSION) {
    throw new LineFault("unknown auditCheckpointVersion");
  }
  if (
    typeof nextSequence !== "number" || !Number.isSafeInteger(nextSequence) || nextSequence < 2
  ) {
    throw new LineFault("nextSequence is not an integer above 1");
  }
  if (!isSha256(previousHash)) {
    throw new LineFault("previousHash is not a SHA-256 in its written form");
  }
  checkSignature(line, keys, requireSigned);
  return { nextSequence, previousHash };
}
