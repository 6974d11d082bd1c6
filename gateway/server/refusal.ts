/**
 * A request that the gateway does not serve: HTTP status, machine code, one sentence, and what the
 * agent should do. Every answer outside 2xx has this form (`operations.md` T5).
 */
export class Refusal extends Error {
  override name = "Refusal";
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly agentRecommendation: string,
    /** Further response headers. */
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }

  /** The JSON body. */
  body(): { error: string; message: string; agentRecommendation: string } {
    return {
      error: this.code,
      message: this.message,
      agentRecommendation: this.agentRecommendation,
    };
  }
}

/** A proposal that breaks the contract (422). */
export function invalid(message: string): Refusal {
  return new Refusal(
    422,
    "validation_failed",
    message,
    "Correct the named member and propose again.",
  );
}

/** Shows a foreign value in a message: bounded and with control characters escaped. */
export function shown(value: unknown): string {
  const text = typeof value === "string" ? value : typeof value === "object" ? "…" : String(value);
  return JSON.stringify(text.length > 120 ? text.slice(0, 120) + "…" : text)
    .replace(/[^\x20-\x7e]/gu, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`);
}
