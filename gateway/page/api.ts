/// <reference no-default-lib="true" />
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/// <reference lib="esnext" />
/**
 * Talks to the gateway that served this page, and to nobody else. The session secret lives in this
 * module and in the window's session storage: never in a cookie, which any other port could read.
 */

const STORED = "fluxgit-session";

/** The gateway refused, or could not be reached. */
export class ApiError extends Error {
  /** @param status HTTP status; 0 when the gateway did not answer */
  constructor(readonly status: number, readonly code: string, message: string) {
    super(message);
  }
}

let session: string | null = null;
let onSignedOut: () => void = () => {};

/** Takes the session that this window had before it was loaded again. */
export function rememberedSession(): boolean {
  try {
    session = sessionStorage.getItem(STORED);
  } catch { /* storage may be forbidden; then the page's memory must do */ }
  return session !== null;
}

/** @param listener called when the gateway no longer knows the session */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

export function hasSession(): boolean {
  return session !== null;
}

/** Exchanges a link's secret or a pairing code for a session. Throws {@link ApiError}. */
export async function signIn(given: { link: string } | { code: string }): Promise<void> {
  const answer = await ask<{ session: string }>("POST", "session", given);
  session = answer.session;
  try {
    sessionStorage.setItem(STORED, session);
  } catch { /* it lasts until the window is loaded again */ }
}

/** Ends the session here and at the gateway. */
export async function signOut(): Promise<void> {
  await ask("DELETE", "session").catch(() => {});
  forget();
}

function forget(): void {
  session = null;
  try {
    sessionStorage.removeItem(STORED);
  } catch { /* nothing was stored */ }
}

/** One request below `/v1/human/`. Throws {@link ApiError}. */
export async function ask<T>(
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const response = await send(method, path, body, signal);
  try {
    return await response.json() as T;
  } catch {
    throw new ApiError(0, "unreadable", "the gateway's answer could not be read");
  }
}

/** A request whose answer is not JSON. Throws {@link ApiError}. */
export async function send(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  const used = session;
  const headers: Record<string, string> = {};
  if (used !== null) headers["authorization"] = `Bearer ${used}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(`/v1/human/${path}`, {
      method,
      headers,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "the gateway does not answer");
  }
  if (response.ok) return response;
  const told = await response.json().catch(() => ({})) as { error?: string; message?: string };
  const failure = new ApiError(
    response.status,
    told.error ?? "error",
    told.message ?? `the gateway answered ${response.status}`,
  );
  // Only the session that was refused is forgotten: another may have been made meanwhile.
  if (response.status === 401 && path !== "session" && used !== null && used === session) {
    forget();
    onSignedOut();
  }
  throw failure;
}

/** What an error tells a person. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
