import { AUDIT_SETTINGS, type AuditSettings, readLedgerConfig } from "../audit/config.ts";
import { runDirectory } from "../common/platform.ts";
import { type Gateway, startGateway } from "../gateway/server/gateway.ts";
import { parsePolicy, type Policy } from "../gateway/server/policy.ts";
import { restoreRoom } from "../gateway/server/restore_room.ts";
import type { InteractiveIo } from "./approvals.ts";
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
const MAX_POLICY_BYTES = 1_024 * 1_024;

/** Runs `gateway …` until it is told to stop. Gives the exit code. */
export async function run(args: string[], io: InteractiveIo): Promise<number> {
  if (args[0] === "register") return await register(args.slice(1), io);
  const parsed = parse(args);
  if (typeof parsed === "string") {
    await io.stderr(parsed === "" ? USAGE : `fluxgit-sidecar: ${parsed}\n${USAGE}`);
    return parsed === "" ? 0 : 2;
  }
  if (!parsed.json && !io.interactive) {
    await io.stderr(
      "fluxgit-sidecar: standard input is no terminal; give --json to run the gateway unattended\n",
    );
    return 2;
  }
  const log = (line: string) => void io.stderr(`fluxgit-sidecar: ${visible(line, 2_000)}\n`);
  let gateway: Gateway;
  try {
    const runDir = runDirectory(io.env);
    if (runDir === null || runDir === "") {
      throw new Error("there is no run directory: set FLUXGIT_RUN_DIR or HOME");
    }
    const settings = Object.fromEntries(
      AUDIT_SETTINGS.map((name) => [name, io.env(name)]),
    ) as AuditSettings;
    gateway = await startGateway({
      runDir,
      port: parsed.port,
      attended: io.interactive && !parsed.json,
      policy: await readPolicy(io.env(POLICY_VARIABLE)),
      ledger: await readLedgerConfig(settings, { runDir }),
      restore: restoreRoom,
      env: io.env,
      log,
    });
  } catch (error) {
    log(error instanceof Error ? error.message : String(error));
    return 1;
  }
  await announceTo(gateway, parsed.json, io);
  await untilStopped(gateway, parsed.json, io);
  await gateway.stop();
  return 0;
}

async function readPolicy(path: string | undefined): Promise<Policy | null> {
  if (path === undefined) return null;
  try {
    const info = await Deno.stat(path);
    if (!info.isFile || info.size > MAX_POLICY_BYTES) {
      throw new Error("it is no regular file of at most 1 MiB");
    }
    return parsePolicy(await Deno.readTextFile(path));
  } catch (error) {
    throw new Error(
      `${POLICY_VARIABLE} ${JSON.stringify(path.slice(0, 300))}: ${
        error instanceof Error ? error.message : error
      }`,
    );
  }
}

async function announceTo(gateway: Gateway, json: boolean, io: InteractiveIo): Promise<void> {
  if (json) {
    const { address, runDir, auth } = gateway;
    await io.stdout(
      JSON.stringify({
        address,
        approveUrl: gateway.approveUrl(),
        pairingCode: auth.code,
        runDir,
        attended: auth.attended,
      }) + "\n",
    );
    return;
  }
  await io.stderr(`The gateway listens on ${gateway.address}.
Pairing code: ${gateway.auth.code}   (fluxgit-sidecar approvals list | show | approve | reject)
Approve in a browser (works once): ${gateway.approveUrl()}
Keep this terminal to yourself: whoever sees it can approve.
`);
}

/** Reads the terminal's words until `quit`, a signal, or (attended) the end of input. */
async function untilStopped(gateway: Gateway, json: boolean, io: InteractiveIo): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM", "SIGHUP"];
  const stop = () => stopped.resolve();
  for (const signal of signals) Deno.addSignalListener(signal, stop);
  const words = async () => {
    for (let line = await io.readLine(); line !== null; line = await io.readLine()) {
      const word = line.trim();
      if (word === "quit") return stop();
      if (word === "link") gateway.auth.renewLink();
      else if (word === "code") gateway.auth.renewCode();
      else {
        if (word !== "") await io.stderr("Known words: link, code, quit\n");
        continue;
      }
      await announceTo(gateway, json, io);
    }
    // Unattended it may have no input at all; at a terminal its end means that nobody is there.
    if (!json) stop();
  };
  words().catch(stop);
  await stopped.promise;
  for (const signal of signals) Deno.removeSignalListener(signal, stop);
}

async function register(args: readonly string[], io: InteractiveIo): Promise<number> {
  const [path] = args;
  if (args.length !== 1 || path === undefined || path.startsWith("-")) {
    await io.stderr(`fluxgit-sidecar: gateway register needs one path\n${USAGE}`);
    return 2;
  }
  try {
    const runDir = runDirectory(io.env);
    if (runDir === null || runDir === "") {
      throw new Error("there is no run directory: set FLUXGIT_RUN_DIR or HOME");
    }
    const { registerRepository } = await import("../gateway/server/restore_room.ts");
    await io.stdout(`${await registerRepository(runDir, path)}\n`);
    return 0;
  } catch (error) {
    await io.stderr(
      `fluxgit-sidecar: ${
        visible(error instanceof Error ? error.message : String(error), 2_000)
      }\n`,
    );
    return 1;
  }
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
