import type { LedgerConfig } from "../../../audit/mod.ts";
import { type Gateway, startGateway } from "../../../gateway/server/gateway.ts";
import type { Policy } from "../../../gateway/server/policy.ts";
import { restoreRoom } from "../../../gateway/server/restore_room.ts";
import type {
  Action,
  ExecutionResult,
  Inspection,
  Operation,
  OperationType,
} from "../../../gateway/server/types.ts";
import { Sandbox, useSandbox } from "../../fixtures/sandbox.ts";

/** A gateway in this process, over a real repository, with an operation whose doings a test decides. */

// deno-lint-ignore no-explicit-any
export type Json = any;

export interface Answer {
  readonly status: number;
  readonly body: Json;
  readonly headers: Headers;
}

/** What the stand-in for every operation does; a test changes it while the gateway runs. */
export class FakeOperation {
  /** Facts beside the content of the file `fact` in the repository. */
  facts: Record<string, string> = {};
  words: string | null = null;
  destructiveSteps: number[] = [];
  blockers: { code: string; message: string }[] = [];
  executed: string[] = [];
  inspected = 0;
  inspecting: () => void | Promise<void> = () => {};
  /** Writes a file by default. */
  executing: (path: string, action: Action) => Promise<ExecutionResult | void> = () =>
    Promise.resolve();

  readonly load = (type: OperationType): Promise<Operation> =>
    Promise.resolve({
      type,
      inspect: async (_action: Action, { repo }: { repo: { path: string } }) => {
        this.inspected++;
        await this.inspecting();
        return this.inspection(await readOr(`${repo.path}/fact`, ""));
      },
      execute: async (action: Action, _seen: Inspection, { repo }: { repo: { path: string } }) => {
        this.executed.push(action.operationType);
        const given = await this.executing(repo.path, action);
        return given ?? { status: "completed", message: "done", members: {} };
      },
    } as unknown as Operation);

  inspection(fact: string): Inspection {
    return {
      facts: { fact, ...this.facts },
      effect: {
        summary: "a stand-in for an operation",
        refs: [],
        files: [],
        filesTotal: 0,
        commits: [],
        commitsTotal: 0,
        diff: null,
        diffTruncated: false,
        details: this.destructiveSteps.length > 0
          ? { destructiveSteps: this.destructiveSteps }
          : {},
      },
      risk: "low",
      destructive: this.words !== null,
      words: this.words,
      blockers: this.blockers,
      warnings: [],
      paths: [],
    };
  }
}

async function readOr(path: string, fallback: string): Promise<string> {
  return await Deno.readTextFile(path).catch(() => fallback);
}

export interface LabOptions {
  readonly policy?: Policy | null;
  readonly attended?: boolean;
  readonly ledger?: boolean;
  readonly lockWaitMs?: number;
  /** Uses the real operations instead of the stand-in. */
  readonly real?: boolean;
}

export class Lab implements AsyncDisposable {
  readonly operation = new FakeOperation();
  readonly logged: string[] = [];
  /** The gateway's clock. Unix milliseconds. */
  clock = 1_900_000_000_000;
  gateway!: Gateway;
  #running = false;

  private constructor(
    readonly box: Sandbox,
    readonly repo: string,
    readonly options: LabOptions,
  ) {}

  static async create(options: LabOptions = {}): Promise<Lab> {
    const box = await Sandbox.create();
    useSandbox(box);
    const repo = await box.repo();
    await box.commit(repo, "first", { "a.txt": "one\n", fact: "1" });
    const lab = new Lab(box, repo, options);
    await lab.start();
    return lab;
  }

  get runDir(): string {
    return `${this.box.root}/run`;
  }

  get ledgerPath(): string {
    return `${this.runDir}/audit/mcp.jsonl`;
  }

  get port(): number {
    return Number(this.gateway.address.split(":")[1]);
  }

  async start(): Promise<void> {
    const ledger: LedgerConfig | null = this.options.ledger
      ? { path: this.ledgerPath, signSeed: null, archive: null }
      : null;
    this.gateway = await startGateway({
      runDir: this.runDir,
      port: 0,
      attended: this.options.attended ?? true,
      policy: this.options.policy ?? null,
      ledger,
      restore: (runDir, parts) =>
        restoreRoom(runDir, {
          ...parts,
          ...(this.options.lockWaitMs === undefined ? {} : { lockWaitMs: this.options.lockWaitMs }),
        }),
      log: (line) => void this.logged.push(line),
      now: () => this.clock,
      ...(this.options.real ? {} : { load: this.operation.load }),
    });
    this.#running = true;
  }

  async stop(): Promise<void> {
    if (this.#running) await this.gateway.stop();
    this.#running = false;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** A proposal's whole body; members of `more` win. */
  body(type: OperationType = "commit", more: Record<string, unknown> = {}): Json {
    return {
      previewId: crypto.randomUUID(),
      agentId: "tester",
      idempotencyKey: `${type}:call:${crypto.randomUUID()}`,
      operationType: type,
      repoPath: this.repo,
      reason: "because the test says so",
      requestedAt: "2030-01-01T00:00:00.000Z",
      ...GOOD[type],
      ...(type === "branchDelete" ? { targets: [{ repoPath: this.repo, branches: ["old"] }] } : {}),
      ...more,
    };
  }

  /** Proposes; gives the answer whatever it is. */
  propose(
    type: OperationType = "commit",
    more: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.send("POST", `/v1/mcp/operation/preview/${type}`, this.body(type, more), headers);
  }

  /** Proposes and gives the id; fails when it is not admitted. */
  async proposed(type: OperationType = "commit", more: Record<string, unknown> = {}) {
    const answer = await this.propose(type, more);
    if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
    return answer.body.previewId as string;
  }

  /** Waits for the look that the gateway takes at each new proposal in the background. */
  async looked(id: string): Promise<void> {
    const row = () =>
      this.gateway.service.list(["pending"]).proposals.find((one) => one.previewId === id);
    await until(() => typeof row()?.headline === "string", "the first look");
  }

  status(id: string): Promise<Answer> {
    return this.send("GET", `/v1/mcp/operation/status/${id}`);
  }

  cancel(id: string, agentId = "tester", headers: Record<string, string> = {}): Promise<Answer> {
    return this.send("POST", `/v1/mcp/operation/cancel/${id}`, { agentId }, headers);
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(`http://${this.gateway.address}${path}`, {
      method,
      redirect: "manual",
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      parsed = text;
    }
    return { status: response.status, body: parsed as Json, headers: response.headers };
  }

  /** Signs in with the pairing code. */
  async person(channel: "terminal" | "page" = "terminal"): Promise<Person> {
    const { status, body } = await this.send("POST", "/v1/human/session", {
      code: this.gateway.auth.code,
      channel,
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return new Person(this, body.session);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.box[Symbol.asyncDispose]();
  }
}

/** A signed-in person. */
export class Person {
  constructor(readonly lab: Lab, readonly session: string) {}

  get headers(): Record<string, string> {
    return { authorization: `Bearer ${this.session}` };
  }

  get(path: string): Promise<Answer> {
    return this.lab.send("GET", `/v1/human/${path}`, undefined, this.headers);
  }

  post(path: string, body: unknown): Promise<Answer> {
    return this.lab.send("POST", `/v1/human/${path}`, body, this.headers);
  }

  async card(id: string): Promise<Json> {
    return (await this.get(`proposals/${id}`)).body;
  }

  /** Approves what the card says now. */
  async approve(id: string, more: Record<string, unknown> = {}): Promise<Answer> {
    const { digest } = await this.card(id);
    return await this.post(`proposals/${id}/approve`, { digest, ...more });
  }
}

const GOOD: Record<OperationType, Record<string, unknown>> = {
  merge: { sourceRef: "side", targetRef: "main", strategy: "merge" },
  rebase: { currentRef: "HEAD", ontoRef: "main", interactive: false },
  discard: { paths: ["a.txt"] },
  reset: { targetRef: "HEAD", mode: "mixed" },
  patch: { patchContent: "--- a/a.txt\n+++ b/a.txt\n", applyToIndex: false },
  plan: { steps: [{ operationType: "discard", paths: ["a.txt"] }] },
  worktree: { branch: "side" },
  commit: { message: "A change", stageAll: true },
  push: { remote: "origin", setUpstream: false, forceWithLease: false },
  branch: { name: "side", checkout: true },
  branchDelete: {},
  submodulePointer: { parentPath: "", relativePath: "lib", direction: "return" },
};

/**
 * Sends bytes over a plain connection and gives what comes back until the other side closes, or the
 * body that was announced is there. `PORT` in the text is replaced.
 */
export async function raw(port: number, text: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(
    new TextEncoder().encode(text.replaceAll("\n", "\r\n").replaceAll("PORT", String(port))),
  );
  let answer = "";
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(65_536);
  for (let n = await connection.read(buffer); n !== null; n = await connection.read(buffer)) {
    answer += decoder.decode(buffer.subarray(0, n), { stream: true });
    const [head = "", body] = answer.split("\r\n\r\n");
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? Infinity);
    if (body !== undefined && body.length >= length) break;
  }
  return answer;
}

/** Looks again and again until it holds; fails when it never does. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + 20_000;
  while (!await holds()) {
    if (performance.now() > end) throw new Error(`${what}: did not come to pass`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
