/** A new signing key pair, in files that the start-up rules accept. */

import { randomBytes } from "node:crypto";
import { LedgerError } from "./errors.ts";
import { syncFolder } from "./folder.ts";
import { joinPath, refuseLinkedFolder, refuseOddFile, shown } from "./paths.ts";
import { privateKeyPem, publicKeyPem } from "./pem.ts";
import { writeAll } from "./retention.ts";
import { Signer } from "./signing.ts";

export const PRIVATE_KEY_NAME = "audit-signing-key.pem";
export const PUBLIC_KEY_NAME = "audit-signing-key.pub.pem";

/** The files of a new pair. */
export interface KeyPair {
  readonly privatePath: string;
  readonly publicPath: string;
  /** 32 raw bytes. */
  readonly publicKey: Uint8Array;
  readonly keyId: string;
}

/**
 * Writes a new Ed25519 key pair: the private key with mode 0600, the public one with 0644. A missing
 * folder is created private; nothing is overwritten.
 *
 * @throws {LedgerError} `io` when the folder is reached through a link, when others may write to it,
 * or when a key is there already; nothing was written then
 */
export function writeKeyPair(folder: string): KeyPair {
  const privatePath = joinPath(folder, PRIVATE_KEY_NAME);
  const publicPath = joinPath(folder, PUBLIC_KEY_NAME);
  const created = prepareFolder(folder);
  for (const path of [privatePath, publicPath]) {
    if (refuseOddFile(path)) throw new LedgerError("io", `${shown(path)} is already there`);
  }
  const seed = new Uint8Array(randomBytes(32));
  const { publicKey, keyId } = new Signer(seed);
  try {
    writeNew(privatePath, privateKeyPem(seed), 0o600);
    try {
      writeNew(publicPath, publicKeyPem(publicKey), 0o644);
    } catch (error) {
      Deno.removeSync(privatePath);
      throw error;
    }
  } catch (error) {
    if (created) Deno.removeSync(folder);
    throw error;
  }
  syncFolder(folder);
  return { privatePath, publicPath, publicKey, keyId };
}

/** @returns true when the folder was created */
function prepareFolder(folder: string): boolean {
  let created = false;
  try {
    refuseLinkedFolder(folder);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    Deno.mkdirSync(folder, { mode: 0o700 });
    created = true;
    refuseLinkedFolder(folder);
  }
  const { mode } = Deno.lstatSync(folder);
  if (Deno.build.os !== "windows" && mode !== null && (mode & 0o022) !== 0) {
    throw new LedgerError("io", `others may write to ${shown(folder)}; use a folder of your own`);
  }
  return created;
}

function writeNew(path: string, text: string, mode: number): void {
  const file = Deno.openSync(path, { write: true, createNew: true, mode });
  try {
    writeAll(file, new TextEncoder().encode(text));
    file.syncSync();
  } catch (error) {
    file.close();
    Deno.removeSync(path);
    throw error;
  }
  file.close();
}
