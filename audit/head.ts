/**
 * The head of a ledger in the form to keep elsewhere: a C2SP signed note whose text is a checkpoint
 * (<https://c2sp.org/signed-note>, <https://c2sp.org/tlog-checkpoint>). Body lines: the log's name,
 * the newest sequence, its hash in base64, and `SEQ:HASH` as `--expect-head` takes it.
 */

import { hash } from "node:crypto";
import { toBase64 } from "../common/bytes.ts";
import type { Head } from "./chain.ts";
import { keyIdOf } from "./pem.ts";
import type { Signer } from "./signing.ts";

/** Signature type of Ed25519 in signed notes. */
const ED25519 = 1;
/** Bytes of a key's hash in front of each signature. */
const KEY_HASH_BYTES = 4;

/** `SEQ:HASH`, the hash in plain hex. */
export function headText(head: Head): string {
  return `${head.sequence}:${head.hash.replace(/^sha256:/, "")}`;
}

/**
 * Reads `SEQ:HASH`; the hash may carry `sha256:`, upper-case digits are taken too.
 *
 * @returns null when it is not one
 */
export function parseHeadText(text: string): Head | null {
  const match = /^([1-9][0-9]{0,15}):(?:sha256:)?([0-9A-Fa-f]{64})$/.exec(text);
  const sequence = Number(match?.[1]);
  if (!match || !Number.isSafeInteger(sequence)) return null;
  return { sequence, hash: `sha256:${match[2]!.toLowerCase()}` };
}

/** Name of the log and of its key, in a note: it goes with the key, so a new key is a new log. */
export function logName(publicKey: Uint8Array): string {
  return `fluxgit-sidecar/audit/${keyIdOf(publicKey)}`;
}

/**
 * The signed note of a head.
 *
 * @example
 * ```text
 * fluxgit-sidecar/audit/03a107bff3ce10be
 * 3
 * 2tGVtj5b0aa2mhy4fO7/kKvnMrnDxhq7aMUumEmk98k=
 * 3:dad195b63e5bd1a6b69a1cb87ceeff90abe732b9c3c61abb68c52e9849a4f7c9
 *
 * — fluxgit-sidecar/audit/03a107bff3ce10be <base64>
 * ```
 */
export function headNote(head: Head, signer: Signer): string {
  const name = logName(signer.publicKey);
  const line = headText(head);
  const digest = Uint8Array.from(
    line.slice(line.indexOf(":") + 1).match(/../g)!,
    (byte) => Number.parseInt(byte, 16),
  );
  const text = `${name}\n${head.sequence}\n${toBase64(digest)}\n${line}\n`;
  const signature = signer.sign(new TextEncoder().encode(text));
  const blob = new Uint8Array(KEY_HASH_BYTES + signature.length);
  blob.set(keyHash(name, signer.publicKey));
  blob.set(signature, KEY_HASH_BYTES);
  return `${text}\n\u2014 ${name} ${toBase64(blob)}\n`;
}

/** The public key as verifiers of signed notes take it: `<name>+<key hash>+<base64>`. */
export function noteVerifierKey(publicKey: Uint8Array): string {
  const name = logName(publicKey);
  const hex = Array.from(keyHash(name, publicKey), (byte) => byte.toString(16).padStart(2, "0"));
  return `${name}+${hex.join("")}+${toBase64(Uint8Array.of(ED25519, ...publicKey))}`;
}

function keyHash(name: string, publicKey: Uint8Array): Uint8Array {
  const bytes = Uint8Array.of(...new TextEncoder().encode(`${name}\n`), ED25519, ...publicKey);
  return new Uint8Array(hash("sha256", bytes, "buffer")).subarray(0, KEY_HASH_BYTES);
}
