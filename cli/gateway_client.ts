import { readPrivateFile } from "../common/private_file.ts";
import { proveCode } from "../gateway/server/pairing_code.ts";

/** How commands for people talk to a running gateway: found by its file, spoken to over loopback. */

/** Why a command could not be carried out; the text is for people. */
export class GatewayProblem extends Error {
  override name = "GatewayProblem";
  constructor(
    message: string,
    readonly status: number | null = null,
    readonly code: string | null = null,
  ) {
    super(message);
  }
}

export interface GatewayClient {
  readonly address: string;
  /**
   * Signs in with the pairing code, or the link, for the requests that follow. Throws
   * {@link GatewayProblem}.
   */
  signIn(codeOrLink: string): Promise<void>;
  /** Ends the session. Never throws. */
  signOut(): Promise<void>;
  /** Throws {@link GatewayProblem} for anything but 2xx. */
  get(path: string): Promise<Record<string, unknown>>;
  post(path: string, body: unknown): Promise<Record<string, unknown>>;
}

/** Operations may run hooks. Milliseconds. */
const LONG_MS = 11 * 60_000;
/** Everything else; a wrong code is answered after 30 s at the latest. Milliseconds. */
const SHORT_MS = 60_000;
const MAX_ANSWER = 4 * 1_024 * 1_024;
const MAX_FILE = 4_096;
/** While others flood the gateway with wrong codes, chance decides which one it looks at. */
const SIGN_IN_TRIES = 20;
const SIGN_IN_PAUSE_MS = 250;

/** Finds the gateway of a run directory. Throws {@link GatewayProblem} when none runs. */
export async function findGateway(runDir: string | null): Promise<GatewayClient> {
  if (runDir === null || runDir === "") {
    throw new GatewayProblem("there is no run directory: set FLUXGIT_RUN_DIR or HOME");
  }
  const address = readAddress(runDir);
  if (address === null) throw noGateway(runDir);
  const client = new Client(address);
  await client.greet(runDir);
  return client;
}

function readAddress(runDir: string): string | null {
  try {
    const bytes = readPrivateFile(`${runDir}/gateway.json`, MAX_FILE);
    if (bytes === null) return null;
    const value = JSON.parse(new TextDecoder().decode(bytes)) as { address?: unknown } | null;
    const address = value?.address;
    return typeof address === "string" && /^127\.0\.0\.1:[1-9]\d{0,4}$/.test(address)
      ? address
      : null;
  } catch {
    return null;
  }
}

function noGateway(runDir: string): GatewayProblem {
  return new GatewayProblem(
    `no gateway runs with the run directory ${runDir}; start one in another terminal: fluxgit-sidecar gateway`,
  );
}

class Client implements GatewayClient {
  #session: string | null = null;

  constructor(readonly address: string) {}

  /** A file that a killed gateway left may name a port that somebody else has now: no code for them. */
  async greet(runDir: string): Promise<void> {
    let health: Record<string, unknown>;
    try {
      health = await this.#send("GET", "/v1/mcp/health", undefined, SHORT_MS);
    } catch {
      throw noGateway(runDir);
    }
    if (health["service"] !== "fluxgit-gateway" || health["apiVersion"] !== 1) {
      throw noGateway(runDir);
    }
  }

  async signIn(codeOrLink: string): Promise<void> {
    const [, host, link] = /^(?:http:\/\/([^/#]*)\/)?#([A-Za-z0-9_-]{43})$/.exec(codeOrLink) ?? [];
    if (link !== undefined && host !== this.address) {
      throw new GatewayProblem(
        `that link is not of the gateway at ${this.address}, which the run directory names`,
      );
    }
    for (let i = 1;; i++) {
      // Whoever can write the run directory can name another address: no code goes there.
      const given = link === undefined ? await proveCode(codeOrLink, this.address) : { link };
      const body = { ...given, channel: "terminal" };
      try {
        const answer = await this.#send("POST", "/v1/human/session", body, SHORT_MS);
        this.#session = String(answer["session"]);
        return;
      } catch (error) {
        const flooded = error instanceof GatewayProblem && error.code === "too_many_tries";
        if (!flooded || i === SIGN_IN_TRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, SIGN_IN_PAUSE_MS));
      }
    }
  }

  async signOut(): Promise<void> {
    if (this.#session === null) return;
    await this.#send("DELETE", "/v1/human/session", undefined, SHORT_MS).catch(() => {});
    this.#session = null;
  }

  get(path: string): Promise<Record<string, unknown>> {
    return this.#send("GET", path, undefined, SHORT_MS);
  }

  post(path: string, body: unknown): Promise<Record<string, unknown>> {
    return this.#send("POST", path, body, LONG_MS);
  }

  async #send(
    method: string,
    path: string,
    body: unknown,
    waitMs: number,
  ): Promise<Record<string, unknown>> {
    let response: Response, answer: Record<string, unknown>;
    try {
      response = await fetch(`http://${this.address}${path}`, {
        method,
        redirect: "manual",
        signal: AbortSignal.timeout(waitMs),
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(this.#session === null ? {} : { authorization: `Bearer ${this.#session}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      answer = await readAnswer(response);
    } catch (error) {
      throw new GatewayProblem(
        `the gateway at ${this.address} does not answer: ${
          error instanceof Error ? error.message : error
        }`,
      );
    }
    if (response.ok) return answer;
    const text = typeof answer["message"] === "string"
      ? answer["message"]
      : `the gateway answered ${response.status}`;
    throw new GatewayProblem(
      text,
      response.status,
      typeof answer["error"] === "string" ? answer["error"] : null,
    );
  }
}

/** A JSON object, bounded; anything else counts as an empty one. */
async function readAnswer(response: Response): Promise<Record<string, unknown>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER) throw new Error("its answer is too large");
    chunks.push(chunk);
  }
  try {
    const value = JSON.parse(await new Blob(chunks).text());
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}
