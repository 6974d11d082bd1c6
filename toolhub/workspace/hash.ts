import { createHash, timingSafeEqual } from "node:crypto";

/** SHA-256 in lower-case hexadecimal digits. */
export function sha256(data: Uint8Array | string): string {
  return createHash("sha256").update(data).digest("hex");
}

/** A hash that takes its bytes in pieces. */
export function startSha256(): { update(bytes: Uint8Array): unknown; digest(form: "hex"): string } {
  return createHash("sha256");
}

/** Whether two texts are equal, in a time that does not tell where they differ. */
export function sameText(a: string, b: string): boolean {
  const left = new TextEncoder().encode(a), right = new TextEncoder().encode(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
