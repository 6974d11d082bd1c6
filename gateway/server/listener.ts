/**
 * The gateway's listener on 127.0.0.1. A process that runs out of file descriptors, because somebody
 * opens thousands of connections, loses its listener: it is opened again on the same port.
 */

export interface Listener {
  /** `127.0.0.1:port`; stays the same. */
  readonly authority: string;
  /** Takes no more connections and waits at most `graceMs` for answers under way. */
  close(graceMs: number): Promise<void>;
}

export interface ListenerHooks {
  readonly handler: (request: Request) => Promise<Response>;
  readonly onError: (error: unknown) => Response;
  /** It was lost and is there again: whoever talked to the port meanwhile may not have been we. */
  readonly onReopened: (reason: string) => void;
  /** It was lost and somebody else has the port, or it cannot be opened: the gateway must end. */
  readonly onLost: (reason: string) => void;
}

const TRIES = 50;
/** Our own old listener may still be closing; later it is somebody else's. */
const TRIES_IN_USE = 10;
const PAUSE_MS = 100;

/** Listens. Throws with a message for people when the port cannot be had. */
export function listen(port: number, hooks: ListenerHooks): Listener {
  let closed = false;
  const open = (at: number) =>
    Deno.serve({
      hostname: "127.0.0.1",
      port: at,
      onListen() {},
      onError: hooks.onError,
    }, hooks.handler);
  let server: Deno.HttpServer<Deno.NetAddr>;
  try {
    server = open(port);
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) {
      throw new Error(`port ${port} of 127.0.0.1 is in use by another program; choose another one`);
    }
    throw error;
  }
  const at = server.addr.port;
  const watch = async () => {
    for (;;) {
      const reason = await server.finished.then(() => null, (error) => String(error));
      if (closed || reason === null) return;
      const again = await reopen(() => open(at), () => closed);
      if (closed) {
        if (typeof again !== "string") await again.shutdown();
        return;
      }
      if (typeof again === "string") return hooks.onLost(again);
      server = again;
      hooks.onReopened(reason);
    }
  };
  void watch();
  return {
    authority: `127.0.0.1:${at}`,
    async close(graceMs) {
      closed = true;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => timer = setTimeout(resolve, graceMs));
      await Promise.race([server.shutdown().catch(() => {}), late]);
      clearTimeout(timer);
    },
  };
}

/** The new server, or why there is none. */
async function reopen(
  open: () => Deno.HttpServer<Deno.NetAddr>,
  closed: () => boolean,
): Promise<Deno.HttpServer<Deno.NetAddr> | string> {
  let reason = "";
  for (let i = 0; i < TRIES && !closed(); i++) {
    try {
      return open();
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
      if (error instanceof Deno.errors.AddrInUse && i >= TRIES_IN_USE) return reason;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return reason;
}
