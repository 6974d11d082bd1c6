import { scrypt } from "node:crypto";

/**
 * The pairing code as people type it, and the proof of knowing it. A command finds the gateway by a
 * file that every program of the user can write, so it must not hand the code to whoever answers
 * there: it sends a proof that counts only at the address it was made for. Whoever else gets one can
 * neither pass it on nor find the code behind it while the gateway lives.
 */

/** Memory-hard on purpose: 2^40 codes at about a tenth of a second each. */
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1_024 * 1_024 } as const;
const PROOF_BYTES = 32;
const SALT_BYTES = 16;

export interface CodeProof {
  /** 32 hexadecimal digits of chance, chosen by whoever signs in. */
  readonly salt: string;
  /** 64 hexadecimal digits. */
  readonly proof: string;
}

/** What a person types: spaces and dashes do not count, digits that look like letters are read as them. */
export function normalCode(text: string): string {
  return text.slice(0, 40).toUpperCase().replace(/[\s-]/g, "").replaceAll("0", "O")
    .replaceAll("1", "I").replaceAll("8", "B");
}

/** Proves knowledge of a code to the gateway at `authority` (`127.0.0.1:port`), with a fresh salt. */
export async function proveCode(code: string, authority: string): Promise<CodeProof> {
  const bytes = crypto.getRandomValues(new Uint8Array(SALT_BYTES));
  const salt = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { salt, proof: await proofOf(normalCode(code), authority, salt) };
}

/** The proof that belongs to a normal code, an address and a salt; 64 hexadecimal digits. */
export function proofOf(code: string, authority: string, salt: string): Promise<string> {
  return new Promise((resolve, reject) =>
    scrypt(
      code,
      `fluxgit-sidecar sign-in\0${authority}\0${salt}`,
      PROOF_BYTES,
      COST,
      (error, key) => error ? reject(error) : resolve(key.toString("hex")),
    )
  );
}
