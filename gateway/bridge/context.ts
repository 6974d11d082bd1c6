/** What a call to the gateway knows of its caller; a tool's context has all of it. */
export interface BridgeContext {
  readonly signal: AbortSignal;
  /** Self-declared name of the caller, already cleaned. */
  readonly agentId: string;
  /** `FLUXGIT_RUN_DIR` or the platform's default; null when there is none. */
  readonly runDir: string | null;
  /** Reads a variable of the server's environment. */
  readonly env: (name: string) => string | undefined;
  /** Wall clock, Unix milliseconds. */
  readonly now: () => number;
  progress(progress: number, total?: number, message?: string): void;
}

/** What a tool makes its answer of; failures are thrown as `CodedError`. */
export interface BridgeAnswer {
  readonly data?: unknown;
  readonly members: Record<string, unknown>;
}

/** Header of `gateway/server/routes_agent.ts` that marks the proposals of one process. */
const SECRET_HEADER = "X-Fluxgit-Sidecar-Secret";
let secret: string | null = null;

/**
 * The header by which a gateway can tell the proposals of this process from those of others that
 * call themselves the same: only this process may cancel them. Made when first needed and kept in
 * memory only.
 */
export function secretHeader(): Record<string, string> {
  secret ??= Array.from(
    crypto.getRandomValues(new Uint8Array(32)),
    (byte) => byte.toString(16).padStart(2, "0"),
  ).join("");
  return { [SECRET_HEADER]: secret };
}
