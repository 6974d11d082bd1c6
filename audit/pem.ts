/**
 * Ed25519 keys in their PEM forms (`audit.md` 5.2), read without any library so that a bad key can
 * stop the start before anything else is loaded.
 */

import { fromBase64, toBase64 } from "../common/bytes.ts";
import { AuditConfigError } from "./errors.ts";

/** DER in front of the 32 bytes of a public key (SubjectPublicKeyInfo). */
const SPKI_HEAD = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/** DER in front of the 32-byte seed (PKCS#8, version 0). */
const PKCS8_HEAD = [
  ...[0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70],
  ...[0x04, 0x22, 0x04, 0x20],
];
const ED25519_ALGORITHM = [0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70];

/** A private key: its seed, and the public key when the file carries one too. */
export interface PrivateKeyParts {
  readonly seed: Uint8Array;
  readonly publicKey: Uint8Array | null;
}

/**
 * Reads a PEM `PRIVATE KEY` (PKCS#8, Ed25519, not encrypted).
 *
 * @throws {AuditConfigError} with the reason, never with key material
 */
export function parsePrivateKeyPem(text: string): PrivateKeyParts {
  const der = decodePem(text, "PRIVATE KEY");
  const body = new DerReader(new DerReader(der).only(0x30, "PRIVATE KEY"));
  const version = body.next(0x02, "the version");
  if (version.length !== 1 || (version[0] !== 0 && version[0] !== 1)) {
    throw new AuditConfigError("the private key has an unknown PKCS#8 version");
  }
  const algorithm = body.nextWhole(0x30, "the algorithm");
  if (!startsWith(algorithm, ED25519_ALGORITHM) || algorithm.length !== ED25519_ALGORITHM.length) {
    throw new AuditConfigError("the private key is not an Ed25519 key");
  }
  const seed = new DerReader(body.next(0x04, "the key")).only(0x04, "the key");
  if (seed.length !== 32) throw new AuditConfigError("the private key is not 32 bytes long");
  body.optional(0xa0); // attributes say nothing that counts here
  const bits = version[0] === 1 ? body.optional(0x81) : null;
  body.end();
  if (bits && (bits.length !== 33 || bits[0] !== 0)) {
    throw new AuditConfigError("the public part of the private key is not 32 bytes long");
  }
  return { seed: seed.slice(), publicKey: bits ? bits.slice(1) : null };
}

/**
 * Reads a PEM `PUBLIC KEY` (SubjectPublicKeyInfo, Ed25519).
 *
 * @returns the 32 raw bytes
 * @throws {AuditConfigError} with the reason
 */
export function parsePublicKeyPem(text: string): Uint8Array {
  const der = decodePem(text, "PUBLIC KEY");
  if (!startsWith(der, SPKI_HEAD) || der.length !== SPKI_HEAD.length + 32) {
    throw new AuditConfigError("the public key is not an Ed25519 key");
  }
  return der.slice(SPKI_HEAD.length);
}

/** PKCS#8 DER of a seed, the form that the platform imports. */
export function pkcs8Der(seed: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...PKCS8_HEAD, ...seed]);
}

/** SubjectPublicKeyInfo DER of a raw public key. */
export function spkiDer(publicKey: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...SPKI_HEAD, ...publicKey]);
}

/** A raw public key as PEM `PUBLIC KEY`. */
export function publicKeyPem(publicKey: Uint8Array): string {
  return pemText("PUBLIC KEY", spkiDer(publicKey));
}

/** A seed as PEM `PRIVATE KEY`. */
export function privateKeyPem(seed: Uint8Array): string {
  return pemText("PRIVATE KEY", pkcs8Der(seed));
}

function pemText(label: string, der: Uint8Array): string {
  return `-----BEGIN ${label}-----\n${toBase64(der)}\n-----END ${label}-----\n`;
}

/** `signatureKeyId`: the first 8 bytes of the raw public key, 16 lower-case hex digits. */
export function keyIdOf(publicKey: Uint8Array): string {
  return Array.from(publicKey.subarray(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
}

function decodePem(text: string, label: string): Uint8Array {
  const found = /-----BEGIN ([A-Z0-9 ]{1,40})-----/.exec(text)?.[1];
  if (found === undefined) throw new AuditConfigError(`not a PEM file (expected ${label})`);
  if (found !== label) {
    const hint = found === "ENCRYPTED PRIVATE KEY"
      ? "; a key with a passphrase cannot be used"
      : "";
    throw new AuditConfigError(`PEM holds ${found}, expected ${label}${hint}`);
  }
  const match = new RegExp(
    `^\\s*-----BEGIN ${label}-----\\s+([A-Za-z0-9+/=\\s]+)-----END ${label}-----\\s*$`,
  ).exec(text);
  if (!match) throw new AuditConfigError(`${label} file is not one well-formed PEM block`);
  try {
    return fromBase64(match[1]!.replace(/\s+/g, ""));
  } catch {
    throw new AuditConfigError(`${label} file holds no valid base64`);
  }
}

function startsWith(bytes: Uint8Array, head: readonly number[]): boolean {
  return bytes.length >= head.length && head.every((byte, at) => bytes[at] === byte);
}

/** As much DER as a PKCS#8 key needs: short definite lengths, one value after another. */
class DerReader {
  #at = 0;
  constructor(readonly bytes: Uint8Array) {}

  next(tag: number, what: string): Uint8Array {
    const whole = this.nextWhole(tag, what);
    return whole.subarray(2);
  }

  nextWhole(tag: number, what: string): Uint8Array {
    const start = this.#at;
    const length = this.bytes[start + 1];
    // Everything in an Ed25519 key is shorter than 128 bytes, so a long length is a foreign key.
    if (this.bytes[start] !== tag || length === undefined || length > 127) {
      throw new AuditConfigError(
        `the private key is not an Ed25519 key (${what} has another form)`,
      );
    }
    this.#at = start + 2 + length;
    if (this.#at > this.bytes.length) throw new AuditConfigError("the private key is cut short");
    return this.bytes.subarray(start, this.#at);
  }

  optional(tag: number): Uint8Array | null {
    return this.bytes[this.#at] === tag ? this.next(tag, "an extra field") : null;
  }

  only(tag: number, what: string): Uint8Array {
    const value = this.next(tag, what);
    this.end();
    return value;
  }

  end(): void {
    if (this.#at !== this.bytes.length) {
      throw new AuditConfigError("the private key has bytes that do not belong to it");
    }
  }
}
