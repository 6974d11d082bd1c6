import { runDirectory } from "../common/platform.ts";
import { cardText, rowText } from "./card_text.ts";
import { findGateway, type GatewayClient, GatewayProblem } from "./gateway_client.ts";
import { visible } from "./screen_text.ts";

/** The world of an interactive command. */
export interface InteractiveIo {
  stdout(text: string): void | Promise<void>;
  stderr(text: string): void | Promise<void>;
  env(name: string): string | undefined;
  /** True when a person sits at standard input. */
  readonly interactive: boolean;
  /** Next line of standard input without its end; null at the end. */
  readLine(): Promise<string | null>;
}

const USAGE = `Usage: fluxgit-sidecar approvals list [--all]
       fluxgit-sidecar approvals show ID
       fluxgit-sidecar approvals approve ID [--apply-to-index] [--confirm-step N]...
       fluxgit-sidecar approvals reject ID [--reason TEXT]
       fluxgit-sidecar approvals reconcile ID --completed | --failed

Every decision asks for the pairing code that the gateway's own terminal shows.
With --code-stdin the first line of standard input is the code, the second the words that 'show' names.
Exit codes: 0 done, 1 not done, 2 wrong use
`;

interface Parsed {
  readonly command: string;
  readonly id: string | null;
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
  try {
    const gateway = await findGateway(runDirectory(io.env));
    return await COMMANDS[parsed.command]!(gateway, parsed, io);
  } catch (error) {
    if (!(error instanceof GatewayProblem)) throw error;
    await io.stderr(`fluxgit-sidecar: ${visible(error.message, 2_000)}\n`);
    return 1;
  }
}

type Command = (gateway: GatewayClient, parsed: Parsed, io: InteractiveIo) => Promise<number>;

const COMMANDS: Readonly<Record<string, Command>> = {
  async list(gateway, parsed, io) {
    await signIn(gateway, parsed, io);
    const states = parsed.flags.has("--all") ? ["all"] : ["recoverable", "pending"];
    let shown = 0;
    for (const state of states) {
      const { proposals } = await gateway.get(`/v1/human/proposals?state=${state}`);
      for (const row of proposals as unknown[]) {
        await io.stdout(rowText(row) + "\n");
        shown++;
      }
    }
    if (shown === 0) await io.stderr("Nothing is waiting for a decision.\n");
    return 0;
  },

  async show(gateway, parsed, io) {
    await signIn(gateway, parsed, io);
    await io.stdout(cardText(await gateway.get(`/v1/human/proposals/${parsed.id}`)));
    return 0;
  },

  async approve(gateway, parsed, io) {
    await signIn(gateway, parsed, io);
    const toIndex = parsed.flags.has("--apply-to-index");
    const card = await gateway.get(
      `/v1/human/proposals/${parsed.id}${toIndex ? "?applyToIndex=true" : ""}`,
    );
    await io.stderr(cardText(card));
    if (typeof card["digest"] !== "string") {
      throw new GatewayProblem("this card cannot be approved as things are");
    }
    let words: string | null = null;
    if (typeof card["words"] === "string") {
      words = await ask(io, parsed, `Type these words to approve: ${visible(card["words"])}\n> `);
    } else if (io.interactive && !parsed.flags.has("--code-stdin")) {
      const yes = await ask(io, parsed, "Approve this? Type yes: ");
      if ((yes ?? "").trim().toLowerCase() !== "yes") throw new GatewayProblem("not approved");
    }
    const overrides = {
      ...(toIndex ? { applyToIndex: true } : {}),
      ...(parsed.steps.length > 0 ? { confirmedSteps: parsed.steps } : {}),
    };
    const answer = await gateway.post(`/v1/human/proposals/${parsed.id}/approve`, {
      digest: card["digest"],
      words,
      overrides,
    });
    const result = answer["result"] as { message?: unknown } | null;
    await io.stdout(
      `${visible(String(answer["status"]))}: ${visible(String(result?.message ?? ""), 2_000)}\n`,
    );
    return answer["status"] === "completed" ? 0 : 1;
  },

  async reject(gateway, parsed, io) {
    await signIn(gateway, parsed, io);
    const answer = await gateway.post(
      `/v1/human/proposals/${parsed.id}/reject`,
      parsed.reason === null ? {} : { reason: parsed.reason },
    );
    await io.stdout(`${visible(String(answer["status"]))}\n`);
    return 0;
  },

  async reconcile(gateway, parsed, io) {
    await signIn(gateway, parsed, io);
    await io.stderr(cardText(await gateway.get(`/v1/human/proposals/${parsed.id}`)));
    const outcome = parsed.flags.has("--completed") ? "completed" : "failed";
    const answer = await gateway.post(`/v1/human/proposals/${parsed.id}/reconcile`, { outcome });
    await io.stdout(`${visible(String(answer["status"]))}\n`);
    return 0;
  },
};

async function signIn(gateway: GatewayClient, parsed: Parsed, io: InteractiveIo): Promise<void> {
  const code = await ask(io, parsed, "Pairing code (the gateway's terminal shows it): ");
  if (code === null || code.trim() === "") throw new GatewayProblem("no pairing code was given");
  await gateway.signIn(code.trim());
}

async function ask(io: InteractiveIo, parsed: Parsed, prompt: string): Promise<string | null> {
  if (!parsed.flags.has("--code-stdin")) {
    if (!io.interactive) {
      throw new GatewayProblem("standard input is no terminal; give the code with --code-stdin");
    }
    await io.stderr(prompt);
  }
  return await io.readLine();
}

const FLAGS: Readonly<Record<string, readonly string[]>> = {
  list: ["--all"],
  show: [],
  approve: ["--apply-to-index"],
  reject: [],
  reconcile: ["--completed", "--failed"],
};

/** The arguments taken apart, or what is wrong with them ("" asks for help). */
function parse(args: readonly string[]): Parsed | string {
  const [command, ...rest] = args;
  if (command === undefined || command === "--help") return "";
  const known = Object.hasOwn(FLAGS, command) ? FLAGS[command]! : null;
  if (!known) return `unknown subcommand approvals ${visible(command, 60)}`;
  const flags = new Set<string>();
  const steps: number[] = [];
  let id: string | null = null, reason: string | null = null;
  for (let i = 0; i < rest.length; i++) {
    const arg = rest[i]!;
    if (arg === "--code-stdin" || known.includes(arg)) flags.add(arg);
    else if (arg === "--reason" && command === "reject") {
      reason = rest[++i] ?? null;
      if (reason === null || reason.length > 4_096) {
        return "--reason needs a text of at most 4096 characters";
      }
    } else if (arg === "--confirm-step" && command === "approve") {
      const step = Number(rest[++i]);
      if (!Number.isInteger(step) || step < 1 || step > 10) {
        return "--confirm-step needs the number of a step, 1 to 10";
      }
      steps.push(step - 1);
    } else if (!arg.startsWith("-") && id === null && command !== "list") id = arg;
    else return `${visible(arg, 60)} is not an argument of approvals ${command}`;
  }
  if (command !== "list" && (id === null || !/^[A-Za-z0-9_-]{1,128}$/.test(id))) {
    return `approvals ${command} needs the id of a proposal`;
  }
  if (command === "reconcile" && flags.has("--completed") === flags.has("--failed")) {
    return "reconcile needs --completed or --failed";
  }
  return { command, id, flags, reason, steps };
}
