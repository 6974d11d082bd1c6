/** Ed25519 signatures of entries and checkpoints (`audit.md` section 5), by `node:crypto`. */

import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { Buffer } from "node:buffer";
import { keyIdOf, parsePublicKeyPem, pkcs8Der, spkiDer } from "./pem.ts";

/** Signs with one private key. */
export class Signer {
  readonly publicKey: Uint8Array;
  /** First 8 bytes of the public key in hex. */
  readonly keyId: string;
  readonly #key: KeyObject;

  /** @param seed the 32 bytes of `LedgerConfig.signSeed` */
  constructor(seed: Uint8Array) {
    this.#key = createPrivateKey({
      key: Buffer.from(pkcs8Der(seed)),
      format: "der",
      type: "pkcs8",
    });
    const spki = createPublicKey(this.#key).export({ format: "der", type: "spki" });
    this.publicKey = Uint8Array.from(spki.subarray(spki.length - 32));
    this.keyId = keyIdOf(this.publicKey);
  }

  /** @returns the 64 bytes of the signature */
  sign(bytes: Uint8Array): Uint8Array {
    return sign(null, bytes, this.#key);
  }

  /** @returns the signature as an entry carries it: base64url without padding, 86 characters */
  signText(bytes: Uint8Array): string {
    return Buffer.from(this.sign(bytes)).toString("base64url");
  }
}

/** Checks signatures with one public key. */
export class VerifyKey {
  readonly keyId: string;
  readonly #key: KeyObject;

  /** @param publicKey 32 raw bytes */
  constructor(readonly publicKey: Uint8Array) {
    this.keyId = keyIdOf(publicKey);
    this.#key = createPublicKey({
      key: Buffer.from(spkiDer(publicKey)),
      format: "der",
      type: "spki",
    });
  }

  /**
   * @param pem a PEM `PUBLIC KEY`
   * @throws {AuditConfigError} when it is anything else
   */
  static fromPem(pem: string): VerifyKey {
    return new VerifyKey(parsePublicKeyPem(pem));
  }

  verify(bytes: Uint8Array, signature: Uint8Array): boolean {
    return verify(null, bytes, this.#key, signature);
  }
}

/**
 * Reads a signature as written in an entry: 64 bytes in base64url without padding, in the one
 * canonical spelling (the four bits that 86 characters have too many are zero).
 *
 * @returns null when it is not one
 */
export function decodeSignature(text: unknown): Uint8Array | null {
  if (typeof text !== "string" || !/^[A-Za-z0-9_-]{85}[AQgw]$/.test(text)) return null;
  return Buffer.from(text, "base64url");
}
