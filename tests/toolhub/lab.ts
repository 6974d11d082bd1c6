import assert from "node:assert/strict";
import { permissionFlags, readPermissionSet } from "../../scripts/lib/profile.ts";
import { ROOT } from "../../scripts/lib/deno.ts";
import type { MicroClock } from "../../toolhub/clock.ts";
import type { Hub, HubHooks } from "../../toolhub/hub.ts";
import { openHub } from "../../toolhub/open_hub.ts";
import { openFolders } from "../../toolhub/state/open.ts";
import { createHubTable } from "../../toolhub/table.ts";
import { Host } from "../e2e/host.ts";

/**
 * A workspace and a state folder for one test, the two programs as processes, and the tools in this
 * process for what only hooks and an injected clock can show. `TOOLHUB_TEST_BINARIES` names a folder
 * with the compiled programs to test those instead.
 */

// deno-lint-ignore no-explicit-any
export type Json = any;

const BINARIES = Deno.env.get("TOOLHUB_TEST_BINARIES");

/** What to execute. */
export async function program(
  name: "mcp-toolhub" | "mcp-toolhub-admin",
): Promise<{ command: string; args: string[] }> {
  if (BINARIES !== undefined) return { command: `${BINARIES}/${name}`, args: [] };
  const server = name === "mcp-toolhub";
  const set = await readPermissionSet(server ? "toolhub" : "toolhub-admin");
  return {
    command: Deno.execPath(),
    args: [
      ...["run", "-q", "--config", `${ROOT}/deno.json`, ...permissionFlags(set)],
      ...["--no-remote", "--no-prompt"],
      `${ROOT}/toolhub/${server ? "main" : "admin_main"}.ts`,
    ],
  };
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class Lab implements AsyncDisposable {
  private constructor(
    readonly root: string,
    readonly workspace: string,
    readonly state: string,
    readonly outside: string,
  ) {}

  static async create(): Promise<Lab> {
    const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "toolhub-test-" }));
    const lab = new Lab(root, `${root}/workspace`, `${root}/state`, `${root}/outside`);
    for (const folder of [lab.workspace, lab.outside, `${root}/home`]) await Deno.mkdir(folder);
    await Deno.writeTextFile(`${lab.outside}/secret.txt`, "SECRET\n");
    return lab;
  }

  /** The environment of both programs. */
  env(more: Record<string, string> = {}): Record<string, string> {
    return {
      PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
      HOME: `${this.root}/home`,
      GIT_CONFIG_NOSYSTEM: "1",
      TOOLHUB_WORKSPACE_ROOT: this.workspace,
      TOOLHUB_STATE_ROOT: this.state,
      ...(BINARIES === undefined ? { DENO_DIR: DENO_DIR } : {}),
      ...more,
    };
  }

  /** The server as a process, started from a foreign folder. */
  async server(env: Record<string, string> = {}): Promise<Host> {
    const command = await program("mcp-toolhub");
    return new Host({
      env: this.env(env),
      cwd: this.outside,
      command: { command: command.command, args: [...command.args, "serve"] },
    });
  }

  /** Runs one of the programs to its end. */
  async run(
    name: "mcp-toolhub" | "mcp-toolhub-admin",
    args: readonly string[],
    options: { env?: Record<string, string>; only?: Record<string, string>; stdin?: string } = {},
  ): Promise<Finished> {
    const { command, args: first } = await program(name);
    const child = new Deno.Command(command, {
      args: [...first, ...args],
      cwd: this.outside,
      clearEnv: true,
      env: options.only ?? this.env(options.env),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(options.stdin ?? "")).catch(() => {});
    await writer.close().catch(() => {});
    const out = await child.output();
    const text = new TextDecoder();
    return { code: out.code, stdout: text.decode(out.stdout), stderr: text.decode(out.stderr) };
  }

  /** `mcp-toolhub-admin …` */
  admin(args: readonly string[], stdin = ""): Promise<Finished> {
    return this.run("mcp-toolhub-admin", args, { stdin });
  }

  /** Approves as a person does. */
  async approve(id: string): Promise<void> {
    const { code, stderr } = await this.admin(["approve", id], "APPROVE\n");
    assert.equal(code, 0, stderr);
  }

  /** The hub in this process. */
  async hub(
    options: { clock?: MicroClock; hooks?: HubHooks; env?: Record<string, string> } = {},
  ): Promise<
    Tools
  > {
    const env = this.env(options.env);
    const folders = await openFolders((name) => env[name]);
    const complaints: string[] = [];
    const hub = openHub({
      folders,
      env: (name) => env[name],
      complain: (line) => complaints.push(line),
      ...(options.clock ? { clock: options.clock } : {}),
      ...(options.hooks ? { hooks: options.hooks } : {}),
    });
    return new Tools(hub, complaints);
  }

  write(name: string, content: string | Uint8Array): string {
    const path = `${this.workspace}/${name}`;
    Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    if (typeof content === "string") Deno.writeTextFileSync(path, content);
    else Deno.writeFileSync(path, content);
    return path;
  }

  /** The stored requests by id. */
  stored(): Record<string, Json> {
    return JSON.parse(Deno.readTextFileSync(`${this.state}/approvals.json`)).requests;
  }

  /** Lines of the audit log. */
  audit(): Json[] {
    return Deno.readTextFileSync(`${this.state}/audit.jsonl`).trimEnd().split("\n").map((line) =>
      JSON.parse(line)
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true }).catch(() => {});
  }
}

/** Calls of the tools in this process, through the table that the server uses. */
export class Tools implements AsyncDisposable {
  readonly #table;
  readonly #abort = new AbortController();

  constructor(readonly hub: Hub, readonly complaints: string[]) {
    this.#table = createHubTable(hub, (line) => complaints.push(line));
  }

  /** The payload of a good call. */
  async call(name: string, args: Json = {}): Promise<Json> {
    const outcome = await this.#call(name, args);
    assert(outcome.kind === "result" && !outcome.isError, `${name}: ${JSON.stringify(outcome)}`);
    return outcome.payload;
  }

  /** The text of a failed call. */
  async error(name: string, args: Json = {}): Promise<string> {
    const outcome = await this.#call(name, args);
    assert(outcome.kind === "result" && outcome.isError, `${name}: ${JSON.stringify(outcome)}`);
    return String(outcome.content?.[0]?.["text"]);
  }

  /** Submits, approves, and calls the resuming tool's name back with the id. */
  async approved(name: string, args: Json): Promise<string> {
    const { request_id: id } = await this.call(name, args);
    const { done } = await this.hub.approvals.approve(id);
    assert(done);
    return id;
  }

  cancel(): void {
    this.#abort.abort();
  }

  #call(name: string, args: Json) {
    return this.#table.call(name, args, {
      era: { kind: "modern" },
      agentId: "test",
      clientVersion: null,
      signal: this.#abort.signal,
      progress() {},
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hub.audit.close();
  }
}

/** The text of a failed call through a process. */
export function failureText(result: Json): string {
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.equal(result.structuredContent, undefined);
  return result.content[0].text;
}

const DENO_DIR = BINARIES === undefined ? await denoDir() : "";

async function denoDir(): Promise<string> {
  const out = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return (JSON.parse(new TextDecoder().decode(out.stdout)) as { denoDir: string }).denoDir;
}
