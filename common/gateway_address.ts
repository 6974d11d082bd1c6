/**
 * Where a gateway listens, by the variables of `protocol.md` section 12: the first one whose value is
 * a loopback address with a port counts, and an unusable one is passed over. Read at every call.
 */

/** The variables, in the order in which they are looked at. */
export const GATEWAY_VARIABLES = [
  "FLUXGIT_MCP_HANDSHAKE_ADDR",
  "FLUXGIT_GATEWAY_ADDR",
  "FLUXGIT_GATEWAY_URL",
] as const;

export interface GatewayAddress {
  /** `a.b.c.d:port` or `[v6]:port`; with `http://` in front it is the base URL. */
  readonly address: string;
  readonly variable: typeof GATEWAY_VARIABLES[number];
}

/** What the variables say. */
export interface GatewaySetting {
  /** null when no variable holds a usable address. */
  readonly found: GatewayAddress | null;
  /** Variables that are set but hold none, and come before the found one. */
  readonly passedOver: readonly string[];
}

/** Looks the variables up. */
export function readGatewaySetting(env: (name: string) => string | undefined): GatewaySetting {
  const passedOver: string[] = [];
  for (const variable of GATEWAY_VARIABLES) {
    const value = env(variable);
    if (value === undefined || value.trim() === "") continue;
    const address = parseGatewayAddress(value);
    if (address !== null) return { found: { address, variable }, passedOver };
    passedOver.push(variable);
  }
  return { found: null, passedOver };
}

/**
 * The normal form of an address, or null when it is not one that may be used: plain HTTP, a literal
 * loopback IP, an explicit port other than 80 (URL parsing drops that one), nothing after it.
 *
 * @example
 * ```ts
 * parseGatewayAddress(" http://127.0.0.1:59647/ "); // "127.0.0.1:59647"
 * parseGatewayAddress("localhost:59647"); // null
 * ```
 */
export function parseGatewayAddress(value: string): string | null {
  const text = value.trim();
  // URL.search and URL.hash are empty for a bare "?" or "#", so the text itself is looked at; blanks
  // and controls inside would be removed silently by the URL parser.
  // deno-lint-ignore no-control-regex
  if (text === "" || text.length > 300 || /[?#\\@\u0000-\u0020\u007f]/.test(text)) return null;
  let url: URL;
  try {
    url = new URL(text.includes("://") ? text : `http://${text}`);
  } catch {
    return null;
  }
  if (url.protocol !== "http:" || url.port === "" || url.pathname !== "/") return null;
  if (url.username !== "" || url.password !== "") return null;
  const loopback = /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(url.hostname) ||
    url.hostname === "[::1]";
  return loopback ? url.host : null;
}

/**
 * Whether this process may connect to an address at all: the compiled program may reach 127.0.0.1
 * only, so `[::1]` and the rest of 127/8 are well-formed and out of reach.
 */
export function mayReach(
  address: string,
  query: (host: string) => Deno.PermissionState = (host) =>
    Deno.permissions.querySync({ name: "net", host }).state,
): boolean {
  return query(address) === "granted";
}
