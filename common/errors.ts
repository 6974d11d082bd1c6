/**
 * An error that already knows how it is told to a client: a code of the contract (`protocol.md`
 * section 11), one short sentence, and data that says what was refused and what to do next.
 *
 * @example
 * ```ts
 * throw new CodedError(10010, "Local git fallback failed", { command: ["git"], details: "timed out" });
 * ```
 */
export class CodedError extends Error {
  override name = "CodedError";
  /** @param code number of the contract; @param data bounded, already escaped details */
  constructor(
    readonly code: number,
    message: string,
    readonly data?: Record<string, unknown>,
    /** Members of the payload beside `error` that replace the defaults of the tool. */
    readonly members?: Record<string, unknown>,
  ) {
    super(message);
  }
}
