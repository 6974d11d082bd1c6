import { AUDIT_SETTINGS, type AuditSettings, readLedgerConfig } from "../audit/config.ts";
import { runDirectory } from "../common/platform.ts";
import { type Gateway, startGateway } from "../gateway/server/gateway.ts";
import { type Policy, readPolicyFile } from "../gateway/server/policy.ts";
import { registerRepository, restoreRoom } from "../gateway/server/restore_room.ts";
import type { InteractiveIo } from "./interactive_io.ts";
import { visible } from "./screen_text.ts";

const USAGE = `Usage: fluxgit-sidecar gateway [--port N] [--json]
       fluxgit-sidecar gateway register PATH

Waits for proposals of agents on this machine and carries out what a person approves.
  --port N   listen on this port of 127.0.0.1; without it the system chooses one
  --json     print one JSON line with the address and the pairing code; needed without a terminal
While it runs, type: link (a new link), code (a new pairing code), quit
Exit codes: 0 stopped, 1 failed, 2 wrong use
`;

const POLICY_VARIABLE = "FLUXGIT_MCP_AGENT_POLICY";

/** Runs `gateway …` until it is told to stop. Gives the exit code. */
export async function run(args: string[], io: InteractiveIo): Promise<number> {
  io.drop?.("sys", "ffi");
  if (args[0] === "register") return await register(args.slice(1), io);
  const parsed = parse(args);
  if (typeof parsed === "string") {
    await io.stderr(parsed === "" ? USAGE : `fluxgit-sidecar: ${parsed}\n${USAGE}`);
    return parsed === "" ? 0 : 2;
  }
  const unfit = parsed.json ? null : noTerminal(io);
  if (unfit !== null) {
    await io.stderr(`fluxgit-sidecar: ${unfit}\n`);
    return 2;
  }
  const log = logTo(io);
  let gateway: Gateway;
  try {
    gateway = await start(parsed, io, log);
  } catch (error) {
    await io.stderr(`fluxgit-sidecar: ${problemText(error)}\n`);
    return 1;
  }
  const stopping = untilStopped(gateway, parsed.json, io, log);
  await announceTo(gateway, parsed.json, io);
  const { reason, done } = await stopping;
  if (gateway.busy) log("an operation is being carried out; the gateway ends after it");
  await gateway.stop();
  done();
  if (reason !== null) log(reason);
  return reason === null ? 0 : 1;
}

async function start(
  parsed: { port: number; json: boolean },
  io: InteractiveIo,
  log: (line: string) => void,
): Promise<Gateway> {
  const runDir = neededRunDir(io);
  const settings = Object.fromEntries(
    AUDIT_SETTINGS.map((name) => [name, io.env(name)]),
  ) as AuditSettings;
  const policy = readPolicy(io.env(POLICY_VARIABLE));
  const ledger = await readLedgerConfig(settings, { runDir });
  return await startGateway({
    runDir,
    port: parsed.port,
    // With --json the code goes to whoever reads it: a person only when that is a terminal.
    attended: io.interactive && (!parsed.json || io.screens?.stdout !== false),
    policy,
    ledger,
    restore: restoreRoom,
    env: io.env,
    log,
  });
}

/** Why this is no place for a gateway that a person attends; null when it is one. */
function noTerminal(io: InteractiveIo): string | null {
  if (!io.interactive) {
    return "standard input is no terminal; give --json to run the gateway unattended";
  }
  return io.screens?.stderr === false
    ? "standard error is no terminal: the pairing code would land where it is sent; give --json to hand it to a program"
    : null;
}

function neededRunDir(io: InteractiveIo): string {
  const runDir = runDirectory(io.env);
  if (runDir !== null && runDir !== "") return runDir;
  throw new Error("there is no run directory: set FLUXGIT_RUN_DIR or HOME");
}

function readPolicy(path: string | undefined): Policy | null {
  if (path === undefined) return null;
  try {
    return readPolicyFile(path);
  } catch (error) {
    throw new Error(
      `${POLICY_VARIABLE} ${JSON.stringify(path.slice(0, 300))}: ${problemText(error)}`,
    );
  }
}

/** Messages for people; a terminal that is gone must not end an operation under way. */
function logTo(io: InteractiveIo): (line: string) => void {
  return (line) => {
    void (async () => {
      try {
        await io.stderr(`fluxgit-sidecar: ${visible(line, 2_000)}\n`);
      } catch { /* nobody is listening */ }
    })();
  };
}

async function announceTo(gateway: Gateway, json: boolean, io: InteractiveIo): Promise<void> {
  const { address, runDir, auth } = gateway;
  const approveUrl = gateway.approveUrl();
  if (json) {
    await io.stdout(
      JSON.stringify({
        address,
        approveUrl,
        pairingCode: auth.code,
        runDir,
        attended: auth.attended,
      }) + "\n",
    );
    return;
  }
  const code = `${auth.code.slice(0, 4)}-${auth.code.slice(4)}`;
  const link = approveUrl ?? "(it was used; type link for a new one)";
  await io.stderr(`The gateway listens on ${address}.
Pairing code: ${code}   (fluxgit-sidecar approvals list | show | approve | reject)
Approve in a browser (works once): ${link}
Keep this terminal to yourself: whoever sees it can approve.
`);
}

/**
 * Reads the terminal's words until `quit`, a signal, the loss of the port, or (attended) the end of
 * input. The reason is null unless something went wrong; `done` ends listening to signals.
 */
async function untilStopped(
  gateway: Gateway,
  json: boolean,
  io: InteractiveIo,
  log: (line: string) => void,
): Promise<{ reason: string | null; done: () => void }> {
  const stopped = Promise.withResolvers<string | null>();
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM", "SIGHUP"];
  // A second one while an operation runs must not tear it apart.
  const onSignal = () => stopped.resolve(null);
  for (const signal of signals) Deno.addSignalListener(signal, onSignal);
  void gateway.lost.then((reason) => stopped.resolve(reason));
  const words = async () => {
    for (let line = await io.readLine(); line !== null; line = await io.readLine()) {
      const word = line.trim();
      if (word === "quit") return stopped.resolve(null);
      if (word === "link") gateway.auth.renewLink();
      else if (word === "code") gateway.auth.renewCode();
      else {
        if (word !== "") log("known words: link, code, quit");
        continue;
      }
      await announceTo(gateway, json, io);
    }
    // Unattended it may have no input at all; at a terminal its end means that nobody is there.
    if (!json) stopped.resolve(null);
  };
  words().catch((error) => stopped.resolve(`the terminal was lost: ${problemText(error)}`));
  const reason = await stopped.promise;
  return {
    reason,
    done: () => signals.forEach((signal) => Deno.removeSignalListener(signal, onSignal)),
  };
}

async function register(args: readonly string[], io: InteractiveIo): Promise<number> {
  const [path] = args;
  if (path === "--help") {
    await io.stderr(USAGE);
    return 0;
  }
  if (args.length !== 1 || path === undefined || path === "" || path.startsWith("-")) {
    await io.stderr(`fluxgit-sidecar: gateway register needs one path\n${USAGE}`);
    return 2;
  }
  try {
    await io.stdout(`${await registerRepository(neededRunDir(io), path)}\n`);
    return 0;
  } catch (error) {
    await io.stderr(
      `fluxgit-sidecar: ${visible(path, 300)} cannot be registered: ${problemText(error)}\n`,
    );
    return 1;
  }
}

/** What an error tells a person; git's own words where it has some. */
function problemText(error: unknown): string {
  const details = (error as { data?: { details?: unknown } } | null)?.data?.details;
  const text = typeof details === "string"
    ? details
    : error instanceof Error
    ? error.message
    : String(error);
  return visible(text, 2_000);
}

function parse(args: readonly string[]): { port: number; json: boolean } | string {
  let port = 0, json = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === "--help") return "";
    if (arg === "--json") json = true;
    else if (arg === "--port") {
      const text = args[++i] ?? "";
      port = Number(text);
      if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535 || port === 80) {
        return `--port needs a number from 1 to 65535 other than 80, not ${visible(text, 40)}`;
      }
    } else return `${visible(arg, 60)} is not an argument of gateway`;
  }
  return { port, json };
}
