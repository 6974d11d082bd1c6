import { decodeText } from "../../common/bytes.ts";
import { mayReach, parseGatewayAddress, readGatewaySetting } from "../../common/gateway_address.ts";
import { JsonError, parseJson, printable } from "../../common/json.ts";
import { PrivateFileError, readPrivateFile } from "../../common/private_file.ts";
import type { BridgeContext } from "./context.ts";
import { member } from "./foreign.ts";
import { type BridgeIo, exchange, NoAnswer, REAL_IO } from "./http.ts";

/**
 * Where the gateway is, looked up at each call: by the three variables, else by the file that a
 * running gateway leaves in the run directory (`operations.md` section 1, `additions.md` section 4).
 */

/** A gateway to ask, or why there is none: one or two sentences for an agent and its user. */
export type Lookup =
  | { readonly address: string; readonly reason?: never }
  | { readonly address?: never; readonly reason: string };

const FILE = "gateway.json";
const FILE_BYTES = 4_096;
/** The answer that tells a gateway is short. */
const HEALTH_BYTES = 65_536;
const NONE =
  "No gateway address is configured: FLUXGIT_MCP_HANDSHAKE_ADDR, FLUXGIT_GATEWAY_ADDR and FLUXGIT_GATEWAY_URL are unset";

/**
 * Finds the gateway. A variable that is set but unusable is reported and nothing else is tried: a
 * proposal must not go to another gateway than the one that was meant. An address found in the run
 * directory is used only when a gateway answers there.
 */
export async function findGateway(
  context: BridgeContext,
  io: BridgeIo = REAL_IO,
): Promise<Lookup> {
  const { found, passedOver } = readGatewaySetting(context.env);
  if (passedOver.length > 0) {
    return {
      reason: `${passedOver.join(" and ")} ${
        passedOver.length > 1 ? "are" : "is"
      } set, but not to a loopback IP address with a port (such as 127.0.0.1:59647).${
        found === null ? "" : ` ${found.variable} is not used in its place.`
      }`,
    };
  }
  if (found === null) return await findRunning(context, io);
  if (mayReach(found.address)) return { address: found.address };
  return { reason: `${found.variable} names ${found.address}, but ${outOfReach()}.` };
}

function outOfReach(): string {
  return mayReach("127.0.0.1:1")
    ? "this program is only permitted to reach 127.0.0.1; let the gateway listen there"
    : "this program was started without the permission to reach 127.0.0.1";
}

async function findRunning(context: BridgeContext, io: BridgeIo): Promise<Lookup> {
  const { runDir } = context;
  if (runDir === null || runDir === "") {
    return { reason: `${NONE}, and there is no run directory.` };
  }
  let address: string | null;
  try {
    address = announced(runDir);
  } catch (error) {
    return { reason: `${NONE}, and ${FILE} in the run directory is not used: ${said(error)}.` };
  }
  if (address === null) {
    return {
      reason: `${NONE}, and no gateway runs with this run directory (fluxgit-sidecar gateway).`,
    };
  }
  if (!mayReach(address)) {
    return { reason: `${NONE}, and ${FILE} names ${address}, but ${outOfReach()}.` };
  }
  const problem = await healthProblem(address, context, io);
  return problem === null ? { address } : {
    reason:
      `${NONE}, and at ${address}, which ${FILE} in the run directory names, there is no gateway (${problem}). It may have ended.`,
  };
}

/** The address in the file of a running gateway; null without such a file. Throws when it cannot be trusted. */
function announced(runDir: string): string | null {
  const bytes = readPrivateFile(`${runDir}/${FILE}`, FILE_BYTES, (info) => {
    if (info.mode !== null && Deno.build.os !== "windows" && (info.mode & 0o077) !== 0) {
      return "may be touched by others than its owner";
    }
    const owner = Deno.statSync(runDir).uid;
    return info.uid === owner ? null : "belongs to another user than the run directory";
  });
  if (bytes === null) return null;
  const text = decodeText(bytes);
  const value = parseJson(text);
  // Of a key that stands twice, two readers may take different values.
  const keys = text.match(/"(?:[^"\\]|\\.)*"\s*:/g)?.length ?? 0;
  if (keys !== countKeys(value)) throw new JsonError("a key stands twice");
  if (member(value, "version") !== 1) throw new JsonError("its version is not 1");
  const address = member(value, "address");
  const normal = typeof address === "string" ? parseGatewayAddress(address) : null;
  if (normal === null) throw new JsonError("it names no loopback address with a port");
  return normal;
}

function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, inner) => sum + countKeys(inner), own);
}

function said(error: unknown): string {
  if (error instanceof PrivateFileError || error instanceof JsonError) return error.message;
  return printable(error instanceof Error ? error.message : String(error), 200);
}

/** Null when a gateway answers at the address, else why not. */
async function healthProblem(
  address: string,
  context: BridgeContext,
  io: BridgeIo,
): Promise<string | null> {
  const brief = { ...io, limits: { ...io.limits, bodyBytes: HEALTH_BYTES } };
  try {
    const { status, body } = await exchange(
      address,
      { method: "GET", path: "/v1/mcp/health" },
      brief,
      context.signal,
    );
    if (status !== 200) return `HTTP status ${status}`;
    if (!body.readable) return body.why;
    const isGateway = member(body.value, "service") === "fluxgit-gateway" &&
      member(body.value, "apiVersion") === 1;
    return isGateway ? null : "another program answers there";
  } catch (error) {
    if (error instanceof NoAnswer) return error.message;
    throw error;
  }
}
