import { runDirectory } from "../common/platform.ts";
import { cardText, rowText } from "./card_text.ts";
import { findGateway, type GatewayClient, GatewayProblem } from "./gateway_client.ts";
import type { InteractiveIo } from "./interactive_io.ts";
import { visible } from "./screen_text.ts";

export type { InteractiveIo } from "./interactive_io.ts";

const USAGE = `Usage: fluxgit-sidecar approvals list [--all]
       fluxgit-sidecar approvals show ID
       fluxgit-sidecar approvals approve ID [--apply-to-index] [--confirm-step N]...
       fluxgit-sidecar approvals reject ID [--reason TEXT]
       fluxgit-sidecar approvals reconcile ID --completed | --failed

Every command asks for the pairing code, or the link, that the gateway's own terminal shows.
With --code-stdin the first line of standard input is the code, the second the words that 'show' names.
  --all             ended proposals of the last hour too
  --apply-to-index  stage what a patch changes
  --confirm-step N  tick the box of a destructive step of a plan
  --completed, --failed   what became of an operation that was interrupted
Exit codes: 0 done, 1 not done, 2 wrong use
`;

interface Parsed {
  readonly command: Command;
  /** Empty for `list`. */
  readonly id: string;
  readonly flags: ReadonlySet<string>;
  readonly reason: string | null;
  readonly steps: readonly number[];
}

/** Runs `approvals …`. Gives the exit code. */
export async function run(args: string[], io: InteractiveIo): Promise<number> {
  const parsed = parse(args);
  if (typeof parsed === "string") {
    await io.stderr(parsed === "" ? USAGE : `fluxgit-sidecar: ${parsed}\n${USAGE}`);
    return parsed === "" ? 0 : 2;
  }
  if (!io.interactive && !parsed.flags.has("--code-stdin")) {
    await io.stderr(
      "fluxgit-sidecar: standard input is no terminal; give the pairing code with --code-stdin\n",
    );
    return 2;
  }
  let gateway: GatewayClient | undefined;
  try {
    gateway = await findGateway(runDirectory(io.env));
    // All that is left to do is to talk to that gateway.
    io.drop?.("read", "write", "run", "env", "sys", "ffi");
    await signIn(gateway, parsed, io);
    return await COMMANDS[parsed.command](gateway, parsed, io);
  } catch (error) {
    if (!(error instanceof GatewayProblem)) throw error;
    await io.stderr(`fluxgit-sidecar: ${visible(error.message, 2_000)}\n`);
    return 1;
  } finally {
    await gateway?.signOut();
  }
}

type Handler = (gateway: GatewayClient, parsed: Parsed, io: InteractiveIo) => Promise<number>;

const COMMANDS = {
  async list(gateway, parsed, io) {
    const states = parsed.flags.has("--all") ? ["all"] : ["recoverable", "pending"];
    let shown = 0;
    for (const state of states) {
      const { proposals, total } = await gateway.get(`/v1/human/proposals?state=${state}`);
      const rows = Array.isArray(proposals) ? proposals : [];
      for (const row of rows) await io.stdout(rowText(row) + "\n");
      shown += rows.length;
      if (typeof total === "number" && total > rows.length) {
        await io.stderr(`… and ${total - rows.length} more\n`);
      }
    }
    if (shown === 0) await io.stderr("Nothing is waiting for a decision.\n");
    return 0;
  },

  async show(gateway, parsed, io) {
    await io.stdout(cardText(await gateway.get(place(parsed))));
    return 0;
  },

  async approve(gateway, parsed, io) {
    const toIndex = parsed.flags.has("--apply-to-index");
    const overrides = {
      ...(toIndex ? { applyToIndex: true } : {}),
      ...(parsed.steps.length > 0 ? { confirmedSteps: parsed.steps } : {}),
    };
    for (;;) {
      const card = await gateway.get(place(parsed) + (toIndex ? "?applyToIndex=true" : ""));
      await io.stderr(cardText(card));
      const words = await confirmed(card, parsed, io);
      try {
        const answer = await gateway.post(`${place(parsed)}/approve`, {
          digest: card["digest"],
          words,
          overrides,
        });
        return await tellOutcome(answer, io);
      } catch (error) {
        if (error instanceof GatewayProblem && error.status === null) {
          throw new GatewayProblem(
            `${error.message}; whether it was carried out is not known: approvals list --all`,
          );
        }
        const changed = error instanceof GatewayProblem && error.code === "card_changed";
        if (!changed || !asksPeople(parsed, io)) throw error;
        await io.stderr(`\nfluxgit-sidecar: ${visible(error.message)}\n\n`);
      }
    }
  },

  async reject(gateway, parsed, io) {
    const answer = await gateway.post(
      `${place(parsed)}/reject`,
      parsed.reason === null ? {} : { reason: parsed.reason },
    );
    await io.stdout(`${visible(String(answer["status"]))}\n`);
    return 0;
  },

  async reconcile(gateway, parsed, io) {
    const card = await gateway.get(place(parsed));
    await io.stderr(cardText(card));
    const outcome = parsed.flags.has("--completed") ? "completed" : "failed";
    if (card["status"] === "executing" && card["running"] !== true && asksPeople(parsed, io)) {
      await demandYes(io, `Record it as ${outcome}? Type yes: `);
    }
    const answer = await gateway.post(`${place(parsed)}/reconcile`, { outcome });
    await io.stdout(`${visible(String(answer["status"]))}\n`);
    return 0;
  },
} satisfies Record<string, Handler>;
type Command = keyof typeof COMMANDS;

/** The person's yes to a card that they see: typed words where it asks for them. */
async function confirmed(
  card: Record<string, unknown>,
  parsed: Parsed,
  io: InteractiveIo,
): Promise<string | null> {
  const blocked = Array.isArray(card["blockers"]) && card["blockers"].length > 0;
  const open = card["status"] === "pending" || card["status"] === "approved";
  if (!open) throw new GatewayProblem(`the proposal is ${card["status"]}; nothing is to decide`);
  if (blocked || typeof card["digest"] !== "string") {
    throw new GatewayProblem("this cannot be approved as things are");
  }
  if (typeof card["words"] === "string") {
    if (asksPeople(parsed, io)) {
      await io.stderr(`Type these words to approve: ${visible(card["words"], 8_192)}\n> `);
    }
    return await io.readLine();
  }
  if (asksPeople(parsed, io)) await demandYes(io, "Approve this? Type yes: ");
  return null;
}

async function tellOutcome(answer: Record<string, unknown>, io: InteractiveIo): Promise<number> {
  const result = answer["result"] as { message?: unknown; restorePointId?: unknown } | null;
  await io.stdout(
    `${visible(String(answer["status"]))}: ${visible(String(result?.message ?? ""), 4_000)}\n`,
  );
  if (answer["status"] !== "completed") return 1;
  if (typeof result?.restorePointId === "string") {
    await io.stderr(
      `To go back: fluxgit-sidecar restore show ${visible(result.restorePointId, 64)}\n`,
    );
  }
  return 0;
}

async function demandYes(io: InteractiveIo, prompt: string): Promise<void> {
  await io.stderr(prompt);
  const line = await io.readLine();
  if ((line ?? "").trim().toLowerCase() !== "yes") throw new GatewayProblem("nothing was decided");
}

/** False when a script gives every answer on standard input. */
function asksPeople(parsed: Parsed, io: InteractiveIo): boolean {
  return io.interactive && !parsed.flags.has("--code-stdin");
}

async function signIn(gateway: GatewayClient, parsed: Parsed, io: InteractiveIo): Promise<void> {
  if (asksPeople(parsed, io)) {
    await io.stderr("Pairing code or link (the gateway's terminal shows them): ");
  }
  const code = await io.readLine();
  if (code === null || code.trim() === "") throw new GatewayProblem("no pairing code was given");
  await gateway.signIn(code.trim());
}

function place(parsed: Parsed): string {
  return `/v1/human/proposals/${parsed.id}`;
}

const FLAGS: Readonly<Record<Command, readonly string[]>> = {
  list: ["--all"],
  show: [],
  approve: ["--apply-to-index"],
  reject: [],
  reconcile: ["--completed", "--failed"],
};

/** The arguments taken apart, or what is wrong with them ("" asks for help). */
function parse(args: readonly string[]): Parsed | string {
  const [name, ...rest] = args;
  if (name === undefined) return "approvals needs a subcommand";
  if (rest[0] === "--help" || name === "--help") return "";
  if (!Object.hasOwn(FLAGS, name)) return `unknown subcommand approvals ${visible(name, 60)}`;
  const command = name as Command;
  const flags = new Set<string>();
  const steps: number[] = [];
  let id = "", reason: string | null = null;
  for (let i = 0; i < rest.length; i++) {
    const arg = rest[i]!;
    if (arg === "--code-stdin" || FLAGS[command].includes(arg)) flags.add(arg);
    else if (arg === "--reason" && command === "reject") {
      reason = rest[++i] ?? "";
      if (reason === "" || reason.length > 4_096) {
        return "--reason needs a text of at most 4096 characters";
      }
    } else if (arg === "--confirm-step" && command === "approve") {
      const text = rest[++i] ?? "";
      if (!/^(?:[1-9]|10)$/.test(text)) {
        return "--confirm-step needs the number of a step, 1 to 10";
      }
      steps.push(Number(text) - 1);
    } else if (!arg.startsWith("-") && id === "" && command !== "list") id = arg;
    else return `${visible(arg, 60)} is not an argument of approvals ${command}`;
  }
  if (command !== "list" && !/^[A-Za-z0-9_-]{1,128}$/.test(id)) {
    return `approvals ${command} needs the id of a proposal`;
  }
  if (command === "reconcile" && flags.has("--completed") === flags.has("--failed")) {
    return "reconcile needs either --completed or --failed";
  }
  return { command, id, flags, reason, steps };
}
