/** What can go wrong with a ledger, told apart by what a caller has to do about it. */

/**
 * - `integrity`: the content does not hold together; nothing is appended until it is moved away
 * - `configuration`: files lie in the folder that no ledger of this name can have
 * - `io`: the file system refused (disk full, read-only, missing permission)
 * - `busy`: another process held the lock for too long
 * - `entry`: this one entry cannot be written (too large); the ledger itself is fine
 */
export type LedgerErrorKind = "integrity" | "configuration" | "io" | "busy" | "entry";

/** A failure of the ledger. `message` is one printable line and never holds entry content. */
export class LedgerError extends Error {
  override name = "LedgerError";
  constructor(readonly kind: LedgerErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** A setting, key or key file that stops the start; nothing runs unsigned or unrecorded instead. */
export class AuditConfigError extends Error {
  override name = "AuditConfigError";
}

/** One bounded, printable line about any thrown value. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").slice(0, 300);
}
