import { runDirectory } from "../common/platform.ts";
import { readRestorePoints, RestoreError, type StoredPoints } from "../restore/mod.ts";
import type { InteractiveIo } from "./approvals.ts";
import { findGateway, type GatewayClient, GatewayProblem } from "./gateway_client.ts";
import { listText, pointText, previewText } from "./restore_text.ts";
import { visible } from "./screen_text.ts";

/** `restore …`: look at restore points, and go back to one through the gateway. */

const USAGE = `Usage: fluxgit-sidecar restore list [--json]
       fluxgit-sidecar restore show ID [--json]
       fluxgit-sidecar restore apply ID
       fluxgit-sidecar restore undo | redo

--repo PATH   the repository; without it the one here
apply, undo and redo are carried out by the running gateway: they show what will change, then ask
for the pairing code that its own terminal shows (--code-stdin: first line of standard input).
Exit codes: 0 done, 1 not done, 2 wrong use
`;

interface Parsed {
  readonly command: "list" | "show" | "apply" | "undo" | "redo";
  readonly id: string | null;
  readonly repo: string;
  readonly json: boolean;
  readonly codeStdin: boolean;
}

/** Runs `restore …`. Gives the exit code. */
export async function run(args: string[], io: InteractiveIo): Promise<number> {
  const parsed = parse(args);
  if (typeof parsed === "string") {
    await io.stderr(parsed === "" ? USAGE : `fluxgit-sidecar: ${parsed}\n${USAGE}`);
    return parsed === "" ? 0 : 2;
  }
  io.drop?.("write", "sys", "ffi");
  let gateway: GatewayClient | undefined;
  try {
    const runDir = runDirectory(io.env);
    if (runDir === null || runDir === "") {
      throw new GatewayProblem("there is no run directory: set FLUXGIT_RUN_DIR or HOME");
    }
    const stored = await readStored(runDir, parsed.repo);
    if (parsed.command === "list" || parsed.command === "show") {
      return await look(parsed, stored, io);
    }
    gateway = await findGateway(runDir);
    // All that is left to do is to talk to that gateway.
    io.drop?.("read", "run", "env");
    return await restore(parsed, stored, gateway, io);
  } catch (error) {
    if (!(error instanceof GatewayProblem || error instanceof RestoreError)) throw error;
    await io.stderr(`fluxgit-sidecar: ${visible(error.message, 2_000)}\n`);
    return 1;
  } finally {
    await gateway?.signOut();
  }
}

async function readStored(runDir: string, path: string): Promise<StoredPoints> {
  try {
    return await readRestorePoints(runDir, path);
  } catch (error) {
    const details = (error as { data?: { details?: unknown } }).data?.details;
    throw new GatewayProblem(
      `${JSON.stringify(path)} cannot be opened: ${
        typeof details === "string" ? details : error instanceof Error ? error.message : error
      }`,
    );
  }
}

async function look(parsed: Parsed, stored: StoredPoints, io: InteractiveIo): Promise<number> {
  const { list, head } = stored;
  if (list.kind === "corrupt") {
    throw new GatewayProblem(
      `the list of restore points cannot be read (${list.reason}); the next operation of the gateway puts it aside and finds the points again`,
    );
  }
  const points = list.kind === "ok" ? list.list.points : [];
  if (parsed.command === "list") {
    if (parsed.json) {
      const { repoPath, repoId } = stored;
      const branchTips = list.kind === "ok" ? list.list.branchTips : [];
      await io.stdout(JSON.stringify({ repoPath, repoId, head, points, branchTips }) + "\n");
    } else if (list.kind === "ok") await io.stdout(listText(list.list, head));
    if (points.length === 0) {
      await io.stderr(`There are no restore points of ${visible(stored.repoPath, 400)}.\n`);
    }
    return 0;
  }
  const point = points.find((candidate) => candidate.id === parsed.id);
  if (!point) throw new GatewayProblem(`there is no restore point ${parsed.id}; list them first`);
  await io.stdout(parsed.json ? JSON.stringify(point) + "\n" : pointText(point, head));
  return 0;
}

async function restore(
  parsed: Parsed,
  stored: StoredPoints,
  gateway: GatewayClient,
  io: InteractiveIo,
): Promise<number> {
  const { command, id } = parsed;
  const { repoPath } = stored;
  const code = await ask(io, parsed, "Pairing code (the gateway's terminal shows it): ");
  if (code === null || code.trim() === "") throw new GatewayProblem("no pairing code was given");
  await gateway.signIn(code.trim());
  const answer = await gateway.post("/v1/human/restore/preview", {
    repoPath,
    ...(command === "apply" ? { id } : { direction: command }),
  });
  const preview = answer["preview"] as Record<string, unknown> | undefined;
  const operation = answer["operation"] as { id?: unknown; operation?: unknown } | undefined;
  const what = command === "apply"
    ? `go back to ${id}`
    : `${command} ${visible(String(operation?.operation ?? "?"), 60)} (${
      visible(String(operation?.id ?? "?"), 60)
    })`;
  await io.stderr(previewText(preview, what));
  if (typeof preview?.["digest"] !== "string") {
    throw new GatewayProblem("the gateway gave no preview that can be confirmed");
  }
  if (Array.isArray(preview["blockers"]) && preview["blockers"].length > 0) {
    throw new GatewayProblem("nothing was changed");
  }
  if (io.interactive && !parsed.codeStdin) {
    const yes = await ask(io, parsed, "Do this? Type yes: ");
    if ((yes ?? "").trim().toLowerCase() !== "yes") throw new GatewayProblem("nothing was changed");
  }
  const result = await gateway.post(`/v1/human/restore/${command}`, {
    repoPath,
    digest: preview["digest"],
    ...(command === "apply" ? { id } : {}),
  });
  return await tell(result, io);
}

async function tell(result: Record<string, unknown>, io: InteractiveIo): Promise<number> {
  const made = result["madePoint"] as { id?: unknown } | undefined;
  const back = visible(String(made?.id ?? "?"), 60);
  if (result["verified"] === true) {
    await io.stdout(`done and compared; to take it back: fluxgit-sidecar restore apply ${back}\n`);
    return 0;
  }
  const differences = Array.isArray(result["differences"]) ? result["differences"] : [];
  const words = differences.slice(0, 10).map((text) => visible(String(text), 100)).join(", ");
  await io.stderr(
    `fluxgit-sidecar: done, but these differ from the point: ${words}; to take it back: fluxgit-sidecar restore apply ${back}\n`,
  );
  return 1;
}

async function ask(io: InteractiveIo, parsed: Parsed, prompt: string): Promise<string | null> {
  if (!parsed.codeStdin) {
    if (!io.interactive) {
      throw new GatewayProblem("standard input is no terminal; give the code with --code-stdin");
    }
    await io.stderr(prompt);
  }
  return await io.readLine();
}

const COMMANDS = ["list", "show", "apply", "undo", "redo"] as const;

/** The arguments taken apart, or what is wrong with them ("" asks for help). */
function parse(args: readonly string[]): Parsed | string {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help") return "";
  const command = COMMANDS.find((known) => known === name);
  if (!command) return `unknown subcommand restore ${visible(name, 60)}`;
  const wantsId = command === "show" || command === "apply";
  const looks = command === "list" || command === "show";
  let id: string | null = null, repo = ".", json = false, codeStdin = false;
  for (let i = 0; i < rest.length; i++) {
    const arg = rest[i]!;
    if (arg === "--json" && looks) json = true;
    else if (arg === "--code-stdin" && !looks) codeStdin = true;
    else if (arg === "--repo") {
      const path = rest[++i];
      if (path === undefined || path === "") return "--repo needs a path";
      repo = path;
    } else if (!arg.startsWith("-") && wantsId && id === null) id = arg;
    else return `${visible(arg, 60)} is not an argument of restore ${command}`;
  }
  if (wantsId && (id === null || !/^[0-9a-z-]{1,64}$/.test(id))) {
    return `restore ${command} needs the id of a restore point`;
  }
  return { command, id, repo, json, codeStdin };
}
