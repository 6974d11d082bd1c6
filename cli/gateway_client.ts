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
  /** Signs in with the pairing code for the requests that follow. Throws {@link GatewayProblem}. */
  signIn(code: string): Promise<void>;
  /** Throws {@link GatewayProblem} for anything but 2xx. */
  get(path: string): Promise<Record<string, unknown>>;
  post(path: string, body: unknown): Promise<Record<string, unknown>>;
}

/** Operations may run hooks; nothing else takes long. Milliseconds. */
const WAIT_MS = 11 * 60_000;

/** Finds the gateway of a run directory. Throws {@link GatewayProblem} when none runs. */
export async function findGateway(runDir: string | null): Promise<GatewayClient> {
  if (runDir === null) {
    throw new GatewayProblem("there is no run directory: set FLUXGIT_RUN_DIR or HOME");
  }
  let address: string;
  try {
    const file = `${runDir}/gateway.json`;
    if ((await Deno.lstat(file)).size > 4_096) throw new Error("too large");
    const value = JSON.parse(await Deno.readTextFile(file)) as { address?: unknown };
    if (typeof value.address !== "string" || !/^127\.0\.0\.1:\d{1,5}$/.test(value.address)) {
      throw new Error("no address");
    }
    address = value.address;
  } catch {
    throw new GatewayProblem(
      `no gateway runs with the run directory ${runDir}; start one in another terminal: fluxgit-sidecar gateway`,
    );
  }
  let session: string | null = null;
  const send = async (
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Record<string, unknown>> => {
    let response: Response;
    try {
      response = await fetch(`http://${address}${path}`, {
        method,
        redirect: "manual",
        signal: AbortSignal.timeout(WAIT_MS),
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(session === null ? {} : { authorization: `Bearer ${session}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw new GatewayProblem(
        `the gateway at ${address} does not answer: ${
          error instanceof Error ? error.message : error
        }`,
      );
    }
    const answer = await response.json().catch(() => ({})) as Record<string, unknown>;
    if (response.ok) return answer;
    const text = typeof answer["message"] === "string"
      ? answer["message"]
      : `the gateway answered ${response.status}`;
    throw new GatewayProblem(
      text,
      response.status,
      typeof answer["error"] === "string" ? answer["error"] : null,
    );
  };
  return {
    address,
    async signIn(code) {
      session = String(
        (await send("POST", "/v1/human/session", { code, channel: "terminal" }))["session"],
      );
    },
    get: (path) => send("GET", path),
    post: (path, body) => send("POST", path, body),
  };
}
