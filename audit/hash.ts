/** SHA-256 as the ledger writes it. `node:crypto` is synchronous and the fastest there is in Deno. */

import { hash } from "node:crypto";
import { canonicalBytes } from "./canonical.ts";

/** `sha256:` and 64 lower-case hex digits, over bytes. */
export function sha256(bytes: Uint8Array): string {
  return `sha256:${hash("sha256", bytes, "hex")}`;
}

/** True for the written form of {@link sha256}. */
export function isSha256(text: unknown): text is string {
  return typeof text === "string" && /^sha256:[0-9a-f]{64}$/.test(text);
}

/**
 * Fingerprint of a JSON value: {@link sha256} over its canonical JSON (`audit.md` 4.5). It hides the
 * value, but a short or guessable one can be found again by trying.
 *
 * @throws {TypeError} as `canonicalJson`
 *
 * @example
 * ```ts
 * import { fingerprint } from "./hash.ts";
 *
 * fingerprint({ limit: 5, repoPath: "/srv/repos/api" });
 * // sha256:2fdf54ed94f829bad1167189eda468f2d1956cbd317d8086304561baf36bbb37
 * ```
 */
export function fingerprint(value: unknown): string {
  return sha256(canonicalBytes(value));
}
