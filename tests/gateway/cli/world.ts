import { run as runApprovals } from "../../../cli/approvals.ts";
import { run as runGateway } from "../../../cli/gateway.ts";
import type { InteractiveIo } from "../../../cli/interactive_io.ts";
import { lineReader } from "../../../cli/line_reader.ts";
import { serverCommand, serverEnv, within } from "../../e2e/host.ts";
import type { Sandbox } from "../../fixtures/sandbox.ts";

/** The commands as processes of their own, and in this process with a terminal that a test plays. */

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program to its end. */
export async function program(
  box: Sandbox,
  args: readonly string[],
  options: { stdin?: string; env?: Record<string, string> } = {},
): Promise<Ended> {
  const { command, args: base } = serverCommand();
  const child = new Deno.Command(command, {
    args: [...base, ...args],
    cwd: box.root,
    clearEnv: true,
    env: { ...serverEnv(box), ...options.env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  writer.write(new TextEncoder().encode(options.stdin ?? "")).catch(() => {});
  writer.close().catch(() => {});
  const out = await within(child.output(), `the end of ${args.join(" ")}`);
  const text = new TextDecoder();
  return { code: out.code, stdout: text.decode(out.stdout), stderr: text.decode(out.stderr) };
}

/** A `gateway --json` of its own process. */
export class GatewayProcess implements AsyncDisposable {
  stderr = "";
  readonly #lines: () => Promise<string | null>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #complaining: Promise<void>;
  #ended = false;

  private constructor(readonly box: Sandbox, readonly child: Deno.ChildProcess) {
    const reader = child.stdout.getReader();
    let rest = new Uint8Array();
    this.#lines = lineReader({
      async read(buffer) {
        if (rest.length === 0) {
          const { value, done } = await reader.read();
          if (done) return null;
          rest = new Uint8Array(value);
        }
        const n = Math.min(buffer.length, rest.length);
        buffer.set(rest.subarray(0, n));
        rest = rest.slice(n);
        return n;
      },
    });
    this.#writer = child.stdin.getWriter();
    this.#complaining = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of child.stderr) {
        this.stderr += decoder.decode(chunk, { stream: true });
      }
    })();
  }

  /** What it printed when it was ready. */
  ready!: {
    address: string;
    approveUrl: string;
    pairingCode: string;
    runDir: string;
    attended: boolean;
  };

  static async start(
    box: Sandbox,
    args: readonly string[] = [],
    env: Record<string, string> = {},
    /** Words of a shell before the program, such as limits. */
    shell?: string,
  ): Promise<GatewayProcess> {
    const { command, args: base } = serverCommand();
    const all = [...base, "gateway", "--json", ...args];
    const child = new Deno.Command(shell === undefined ? command : "sh", {
      args: shell === undefined ? all : ["-c", `${shell}; exec "$0" "$@"`, command, ...all],
      cwd: box.root,
      clearEnv: true,
      env: { ...serverEnv(box), ...env },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const gateway = new GatewayProcess(box, child);
    const line = await gateway.line();
    if (line === null) {
      await gateway.ended();
      throw new Error(`the gateway did not start: ${gateway.stderr}`);
    }
    gateway.ready = JSON.parse(line);
    return gateway;
  }

  /** Next line of its standard output. */
  line(): Promise<string | null> {
    return within(this.#lines(), "a line of the gateway");
  }

  async type(text: string): Promise<void> {
    await this.#writer.write(new TextEncoder().encode(text));
  }

  async ended(): Promise<Deno.CommandStatus> {
    const status = await within(this.child.status, "the end of the gateway");
    if (!this.#ended) {
      this.#ended = true;
      await this.#complaining;
      // Whatever is left is read, so that nothing of the pipe stays open.
      while (await this.#lines() !== null);
      await this.#writer.close().catch(() => {});
    }
    return status;
  }

  kill(signal: Deno.Signal): void {
    this.child.kill(signal);
  }

  approvals(args: readonly string[], words: readonly string[] = []): Promise<Ended> {
    return program(this.box, ["approvals", ...args, "--code-stdin"], {
      stdin: [this.ready.pairingCode, ...words].map((line) => line + "\n").join(""),
    });
  }

  // deno-lint-ignore no-explicit-any
  async propose(type: string, repoPath: string, more: Record<string, unknown>): Promise<any> {
    const response = await fetch(`http://${this.ready.address}/v1/mcp/operation/preview/${type}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        previewId: crypto.randomUUID(),
        agentId: "tester",
        idempotencyKey: `${type}:call:${crypto.randomUUID()}`,
        operationType: type,
        repoPath,
        reason: "because the test says so",
        ...more,
      }),
    });
    const body = await response.json();
    if (response.status !== 202) throw new Error(JSON.stringify(body));
    return body;
  }

  // deno-lint-ignore no-explicit-any
  async status(id: string): Promise<any> {
    const response = await fetch(`http://${this.ready.address}/v1/mcp/operation/status/${id}`);
    return await response.json();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#ended) {
      try {
        this.kill("SIGKILL");
      } catch { /* it has ended */ }
      await this.ended();
    }
  }
}

/** A terminal that a test plays: what is typed, and what was shown. */
export class FakeTerminal {
  out = "";
  err = "";
  dropped: string[] = [];
  readonly #typed: string[] = [];
  readonly #waiting: ((line: string | null) => void)[] = [];
  #closed = false;

  constructor(
    readonly env: Record<string, string>,
    readonly options: { interactive?: boolean; screens?: { stdout: boolean; stderr: boolean } } =
      {},
  ) {}

  type(...lines: string[]): void {
    for (const line of lines) {
      const next = this.#waiting.shift();
      if (next) next(line);
      else this.#typed.push(line);
    }
  }

  /** The end of input. */
  close(): void {
    this.#closed = true;
    for (const next of this.#waiting.splice(0)) next(null);
  }

  get io(): InteractiveIo {
    return {
      stdout: (text) => void (this.out += text),
      stderr: (text) => void (this.err += text),
      env: (name) => this.env[name],
      interactive: this.options.interactive ?? true,
      screens: this.options.screens ?? { stdout: true, stderr: true },
      readLine: () => {
        const line = this.#typed.shift();
        if (line !== undefined) return Promise.resolve(line);
        if (this.#closed) return Promise.resolve(null);
        return new Promise((resolve) => this.#waiting.push(resolve));
      },
      drop: (...names) => void this.dropped.push(...names),
    };
  }

  gateway(...args: string[]): Promise<number> {
    return runGateway(args, this.io);
  }

  approvals(...args: string[]): Promise<number> {
    return runApprovals(args, this.io);
  }

  /** Waits until something was shown and gives what the pattern's group caught. */
  async shown(pattern: RegExp): Promise<string> {
    const end = performance.now() + 20_000;
    for (;;) {
      const found = pattern.exec(this.out) ?? pattern.exec(this.err);
      if (found) return found[1] ?? found[0];
      if (performance.now() > end) {
        throw new Error(`${pattern} was not shown:\n${this.out}\n${this.err}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
