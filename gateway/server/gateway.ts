import type { LedgerConfig } from "../../audit/config.ts";
import { Events } from "./events.ts";
import { errorAnswer } from "./http.ts";
import { HumanAuth } from "./human_auth.ts";
import { Journal } from "./journal.ts";
import { ledgerPort } from "./ledger.ts";
import { pageRoute } from "./page.ts";
import type { Policy } from "./policy.ts";
import type { LedgerPort, RestorePort } from "./ports.ts";
import { Proposals } from "./proposals.ts";
import { Refusal } from "./refusal.ts";
import { agentRoute } from "./routes_agent.ts";
import { type HumanParts, humanRoute } from "./routes_human.ts";
import { announce, lockRunDir, prepareRunDir, withdraw } from "./run_files.ts";
import { Service } from "./service.ts";

export interface GatewayOptions {
  /** As configured; created where needed. */
  readonly runDir: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Whether it was started at a terminal. */
  readonly attended: boolean;
  readonly policy: Policy | null;
  readonly ledger: LedgerConfig | null;
  /** Made from the canonical run directory. */
  readonly restore: (
    runDir: string,
    parts: { readonly now: () => number; readonly log: (line: string) => void },
  ) => RestoreRoom;
  readonly log: (line: string) => void;
  readonly now?: () => number;
}

/** The restore room as the gateway wires it: the port for executions and the routes for people. */
export interface RestoreRoom {
  readonly port: RestorePort;
  readonly register: (path: string) => Promise<string>;
  readonly route: (parts: { events: Events; ledger: LedgerPort }) => HumanParts["restoreRoute"];
}

export interface Gateway {
  /** `127.0.0.1:port`. */
  readonly address: string;
  /** Canonical run directory. */
  readonly runDir: string;
  readonly auth: HumanAuth;
  readonly service: Service;
  /** Link with the one-use secret in its fragment; null once it was used. */
  approveUrl(): string | null;
  /** Stops listening, waits for executions under way, flushes the ledger. */
  stop(): Promise<void>;
}

/** Due proposals are looked for this often, so that cards disappear by themselves. Milliseconds. */
const SETTLE_MS = 1_000;

/**
 * Starts the approval gateway on a loopback port. Throws when another one runs with this run
 * directory or a file of it cannot be used.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const now = options.now ?? Date.now;
  const runDir = prepareRunDir(options.runDir);
  const lock = await lockRunDir(runDir);
  const journal = new Journal(`${runDir}/gateway/journal.sqlite`);
  const ledger = ledgerPort(options.ledger, options.log, now);
  const events = new Events();
  const auth = new HumanAuth(now, options.attended, (tries) => {
    options.log(`a wrong pairing code or link was given (${tries} in a row)`);
    ledger.record({
      kind: "wrong_code",
      operationType: null,
      previewId: null,
      agentId: null,
      repoPath: null,
      channel: null,
      digest: null,
      result: "denied",
    });
  });
  const proposals = new Proposals(journal, now);
  proposals.listen((record, from) => {
    events.emit({ type: "proposal", previewId: record.previewId, status: record.status });
    if (record.status !== "expired") return;
    ledger.record({
      kind: "expire",
      operationType: record.action.operationType,
      previewId: record.previewId,
      agentId: record.agentId,
      repoPath: record.repoPath,
      channel: null,
      digest: from === "approved" ? record.digest : null,
      result: "denied",
    });
  });
  const room = options.restore(runDir, { now, log: options.log });
  const service = new Service({
    proposals,
    policy: options.policy,
    restore: room.port,
    ledger,
    options: { runDir, now },
    register: room.register,
    log: options.log,
  });
  const parts: HumanParts = {
    service,
    auth,
    events,
    ledger,
    restoreRoute: room.route({ events, ledger }),
  };
  const health = { service: "fluxgit-gateway", apiVersion: 1, attended: options.attended } as const;
  let authority = "";
  const handler = async (request: Request): Promise<Response> => {
    try {
      const url = new URL(request.url);
      return await agentRoute(request, url.pathname, authority, service, health) ??
        await humanRoute(request, url, authority, parts) ??
        await pageRoute(request, url.pathname, authority) ??
        notFound();
    } catch (error) {
      return errorAnswer(error, options.log);
    }
  };
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: options.port,
    onListen() {},
    onError: (error) => errorAnswer(error, options.log),
  }, handler);
  authority = `127.0.0.1:${server.addr.port}`;
  announce(runDir, authority, new Date(now()).toISOString());
  const settle = setInterval(() => proposals.settle(), SETTLE_MS);
  return {
    address: authority,
    runDir,
    auth,
    service,
    approveUrl: () => auth.link === null ? null : `http://${authority}/#${auth.link}`,
    async stop() {
      clearInterval(settle);
      withdraw(runDir);
      events.close();
      await server.shutdown();
      await service.idle();
      await ledger.close();
      journal.close();
      lock.release();
    },
  };
}

function notFound(): never {
  throw new Refusal(
    404,
    "not_found",
    "there is no such page",
    "Open the link that the gateway's terminal shows.",
  );
}
