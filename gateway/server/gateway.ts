import type { ReadVariable } from "../../common/platform.ts";
import type { LedgerConfig } from "../../audit/config.ts";
import { gitProgram } from "../../git/program.ts";
import { Bodies, closing } from "./bodies.ts";
import type { InspectOptions } from "./cards.ts";
import { steadyClock } from "./clock.ts";
import { Events } from "./events.ts";
import { messageOf } from "./execution.ts";
import { errorAnswer, guardHost } from "./http.ts";
import { HumanAuth } from "./human_auth.ts";
import { Journal } from "./journal.ts";
import { ledgerPort } from "./ledger.ts";
import { listen } from "./listener.ts";
import { pageRoute } from "./page.ts";
import type { Policy } from "./policy.ts";
import type { LedgerPort, RestorePort } from "./ports.ts";
import { Proposals } from "./proposals.ts";
import { Refusal } from "./refusal.ts";
import { agentRoute, type Health } from "./routes_agent.ts";
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
  /** Unix milliseconds; default a clock that does not go back. */
  readonly now?: () => number;
  /** Gives the operation of a type; for tests. */
  readonly load?: InspectOptions["load"];
  /** Milliseconds for one approved git command, its hooks included; ten minutes when not given. */
  readonly approvedDeadlineMs?: number;
  /** The environment, to find stores of other agents; without it cards say nothing of them. */
  readonly env?: ReadVariable;
}

/** The restore room as the gateway wires it: the port for executions and the routes for people. */
export interface RestoreRoom {
  readonly port: RestorePort;
  readonly register: (path: string) => Promise<string>;
  readonly route: (
    parts: { events: Events; ledger: LedgerPort; bodies: Bodies },
  ) => HumanParts["restoreRoute"];
}

export interface Gateway {
  /** `127.0.0.1:port`. */
  readonly address: string;
  /** Canonical run directory. */
  readonly runDir: string;
  readonly auth: HumanAuth;
  readonly service: Service;
  /** An operation, or a way back, is being carried out. */
  readonly busy: boolean;
  /** Resolves with the reason when it cannot go on serving; then it must be stopped. */
  readonly lost: Promise<string>;
  /** Link with the one-use secret in its fragment; null once it was used. */
  approveUrl(): string | null;
  /** Stops listening, waits for executions under way, flushes the ledger. */
  stop(): Promise<void>;
}

/** Due proposals are looked for this often, so that cards disappear by themselves. Milliseconds. */
const SETTLE_MS = 1_000;
/** How long answers under way may take at the end, once no operation runs. Milliseconds. */
const GRACE_MS = 250;

/**
 * Starts the approval gateway on a loopback port. Throws with a message for people when another one
 * runs with this run directory, or a file of it or the port cannot be used.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  // Nothing works without git: better now than when a person has approved.
  gitProgram();
  const runDir = prepareRunDir(options.runDir);
  const lock = await lockRunDir(runDir);
  try {
    const journal = new Journal(`${runDir}/gateway/journal.sqlite`);
    try {
      return assemble(options, runDir, journal, lock);
    } catch (error) {
      journal.close();
      throw error;
    }
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Wires the rooms. Nothing is awaited here: what throws has started nothing that goes on. */
function assemble(
  options: GatewayOptions,
  runDir: string,
  journal: Journal,
  lock: { release(): void },
): Gateway {
  const now = options.now ?? steadyClock();
  const { log } = options;
  const proposals = new Proposals(journal, now);
  const events = new Events();
  const bodies = new Bodies();
  const lost = Promise.withResolvers<string>();
  let handler: (request: Request) => Promise<Response> = () => Promise.reject(closing());
  const listener = listen(options.port, {
    handler: (request) => handler(request).catch((error) => errorAnswer(error, log)),
    onError: (error) => errorAnswer(error, log),
    onReopened(reason) {
      // Somebody else may have had the port for a moment and been told a session.
      auth.signOutAll();
      log(`the listener was lost (${reason}) and opened again; everybody has to sign in again`);
    },
    onLost: (reason) => lost.resolve(`port of the gateway lost: ${reason}`),
  });
  const authority = listener.authority;
  const auth = new HumanAuth(now, options.attended, (tries) => {
    log(
      tries === 1
        ? "a wrong pairing code or link was given"
        : `${tries} wrong pairing codes or links were given`,
    );
    ledger.record({ ...NOBODY, kind: "wrong_code", result: "denied", tries });
  });
  const ledger = ledgerPort(options.ledger, log, now);
  const room = options.restore(runDir, { now, log });
  const service = new Service({
    proposals,
    policy: options.policy,
    restore: room.port,
    ledger,
    options: {
      runDir,
      now,
      env: options.env,
      ...(options.load ? { load: options.load } : {}),
      ...(options.approvedDeadlineMs === undefined
        ? {}
        : { approvedDeadlineMs: options.approvedDeadlineMs }),
    },
    register: room.register,
    log,
    onLooked: (previewId) => events.emit({ type: "proposal", previewId, status: "pending" }),
  });
  watch(proposals, events, ledger);
  const restoreRoute = room.route({ events, ledger, bodies });
  const ways = new Pending();
  const parts: HumanParts = {
    service,
    auth,
    events,
    ledger,
    bodies,
    restoreRoute: (request, rest, session) => ways.run(restoreRoute(request, rest, session)),
  };
  const health: Health = {
    service: "fluxgit-gateway",
    apiVersion: 1,
    attended: options.attended,
  };
  let ending = false;
  handler = async (request) => {
    guardHost(request, authority);
    if (ending) throw closing();
    const url = new URL(request.url);
    return await agentRoute(request, url.pathname, authority, service, health, bodies) ??
      await humanRoute(request, url, authority, parts) ??
      pageRoute(request, url.pathname, authority) ??
      notFound();
  };
  for (const { previewId } of journal.rows(["executing"], 20)) {
    log(`an operation was cut off: fluxgit-sidecar approvals show ${previewId}`);
  }
  try {
    announce(runDir, authority, new Date(now()).toISOString());
  } catch (error) {
    void listener.close(0);
    void ledger.close();
    throw error;
  }
  let troubled = false;
  const settle = setInterval(() => {
    auth.settle();
    try {
      proposals.settle();
      proposals.prune();
      troubled = false;
    } catch (error) {
      // A full disk must not end the gateway, least of all in the middle of an operation.
      if (!troubled) log(`proposals cannot be kept up to date: ${messageOf(error)}`);
      troubled = true;
    }
  }, SETTLE_MS);
  return {
    address: authority,
    runDir,
    auth,
    service,
    get busy() {
      return service.busy || ways.size > 0;
    },
    lost: lost.promise,
    approveUrl: () => auth.link === null ? null : `http://${authority}/#${auth.link}`,
    async stop() {
      withdraw(runDir);
      ending = true;
      bodies.close();
      // Whoever approved waits for the outcome, so the executions come before the connections.
      await Promise.all([service.idle(), ways.idle()]);
      clearInterval(settle);
      auth.close();
      events.close();
      await listener.close(GRACE_MS);
      await ledger.close();
      journal.close();
      lock.release();
    },
  };
}

/** What the end has to wait for. */
class Pending {
  readonly #work = new Set<Promise<unknown>>();

  get size(): number {
    return this.#work.size;
  }

  run<T>(work: Promise<T>): Promise<T> {
    this.#work.add(work);
    return work.finally(() => this.#work.delete(work));
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#work);
  }
}

/** Tells windows of every transition, and the ledger of what nobody decided. */
function watch(proposals: Proposals, events: Events, ledger: LedgerPort): void {
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
}

const NOBODY = {
  operationType: null,
  previewId: null,
  agentId: null,
  repoPath: null,
  channel: null,
  digest: null,
} as const;

function notFound(): never {
  throw new Refusal(
    404,
    "not_found",
    "there is no such page",
    "Open the link that the gateway's terminal shows.",
  );
}
