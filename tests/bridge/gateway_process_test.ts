import assert from "node:assert/strict";
import { callRaw, type Payload } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";
import { BINARY, Host, ROOT, serverEnv, until, within } from "../e2e/host.ts";

/** The bridge and the bundled gateway as its own process, with a person who signs in by the code. */

const reason = "because the tests say so";

/** A running `fluxgit-sidecar gateway --json`. */
class Running implements AsyncDisposable {
  #session: string | null = null;

  private constructor(
    readonly child: Deno.ChildProcess,
    readonly address: string,
    readonly pairingCode: string,
    readonly drained: Promise<unknown>,
  ) {}

  static async start(box: Sandbox): Promise<Running> {
    const [command, args] = BINARY === null
      ? [Deno.execPath(), ["run", "-q", "-P=strict", "--no-remote", "--no-prompt", "main.ts"]]
      : [BINARY, []];
    const child = new Deno.Command(command, {
      args: [...args, "gateway", "--json"],
      cwd: ROOT,
      clearEnv: true,
      env: serverEnv(box),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const stderr = new Response(child.stderr).text();
    const reader = child.stdout.getReader();
    let line = "";
    while (!line.includes("\n")) {
      const { value, done } = await within(reader.read(), "the gateway's first line");
      if (done) throw new Error(`the gateway ended: ${await stderr}`);
      line += new TextDecoder().decode(value);
    }
    const { address, pairingCode } = JSON.parse(line);
    const drained = Promise.all([
      stderr,
      (async () => {
        while (!(await reader.read()).done);
      })(),
    ]);
    return new Running(child, address, pairingCode, drained);
  }

  /** A request of the person. */
  async human(path: string, body?: unknown): Promise<Payload> {
    if (this.#session === null && path !== "session") {
      this.#session = (await this.human("session", { code: this.pairingCode })).session;
    }
    const response = await fetch(`http://${this.address}/v1/human/${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(this.#session === null ? {} : { authorization: `Bearer ${this.#session}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = await response.json();
    assert(response.ok, `${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  async approve(previewId: string): Promise<Payload> {
    const card = await this.human(`proposals/${previewId}`);
    assert.deepEqual(card.blockers, []);
    return await this.human(`proposals/${previewId}/approve`, {
      digest: card.digest,
      ...(card.words === null ? {} : { words: card.words }),
    });
  }

  async stop(): Promise<void> {
    this.child.kill("SIGTERM");
    await this.child.status;
    await this.drained;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.child.kill("SIGKILL");
    } catch { /* it has ended */ }
    await this.child.status;
    await this.drained;
  }
}

/** A sandbox with a repository and the tools of one sidecar that knows only the run directory. */
async function story() {
  const box = await Sandbox.create();
  useSandbox(box);
  const repo = await box.repo();
  await box.commit(repo, "one", { "a.txt": "1\n" });
  const runDir = `${box.root}/run`;
  const over = new AbortController();
  const call = async (name: string, args: Record<string, unknown>): Promise<Payload> => {
    const outcome = await callRaw(name, args, {
      runDir,
      signal: over.signal,
      env: { FLUXGIT_MCP_AGENT_DETECTION_DISABLED: "1" },
    });
    assert(outcome.kind === "result", JSON.stringify(outcome));
    return { isError: outcome.isError, ...outcome.payload };
  };
  return {
    box,
    repo,
    runDir,
    call,
    propose: (type: string, members: Record<string, unknown>) =>
      call(`operation.preview.${type}`, { repoPath: repo, reason, ...members }),
    status: (previewId: string, waitMs = 0) => call("operation.status", { previewId, waitMs }),
    async [Symbol.asyncDispose]() {
      over.abort();
      await box[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a gateway that is started later is found; a commit is proposed, approved and told", async () => {
  await using at = await story();
  await at.box.write(at.repo, { "a.txt": "2\n" });
  const before = await hashTree(at.repo);
  const early = await at.propose("commit", { message: "Second", paths: ["a.txt"] });
  assert.equal(early.error.code, 10003);
  assert.match(early.error.data.reason, /no gateway runs with this run directory/);
  await using gateway = await Running.start(at.box);
  const proposed = await at.propose("commit", { message: "Second", paths: ["a.txt"] });
  assert.deepEqual([proposed.isError, proposed.accepted, proposed.status], [
    false,
    true,
    "pending",
  ]);
  assert.match(proposed.nextAction.data.expiresAt, /^\d{4}-/);
  assert.equal(await hashTree(at.repo), before);
  const waiting = at.status(proposed.previewId, 30_000);
  waiting.catch(() => {});
  await gateway.approve(proposed.previewId);
  const told = await waiting;
  assert.deepEqual([told.isError, told.status, told.terminal, told.ok], [
    false,
    "completed",
    true,
    true,
  ]);
  const head = (await at.box.git(at.repo, "rev-parse", "HEAD")).trim();
  assert.equal(told.data.result.commitSha, head);
  assert.equal(await at.box.git(at.repo, "log", "-1", "--format=%s"), "Second\n");
  assert.equal((await at.box.git(at.repo, "status", "--short")).trim(), "");
});

Deno.test("a rejection comes back as an error with the person's reason, and nothing was changed", async () => {
  await using at = await story();
  await using gateway = await Running.start(at.box);
  const before = await hashTree(at.repo);
  const { previewId } = await at.propose("branch", { name: "side" });
  await gateway.human(`proposals/${previewId}/reject`, { reason: "not this week" });
  const told = await at.status(previewId);
  assert.deepEqual([told.isError, told.error.code, told.status, told.data.rejectionReason], [
    true,
    10004,
    "rejected",
    "not this week",
  ]);
  assert.equal(await hashTree(at.repo), before);
  const late = await at.call("operation.cancel", { previewId });
  assert.deepEqual([late.error.code, late.error.data.httpStatus], [10006, 409]);
});

Deno.test("a proposal can be withdrawn twice, by the process that made it and by no other of the same name", async () => {
  await using at = await story();
  await using gateway = await Running.start(at.box);
  const { previewId } = await at.propose("branch", { name: "side" });
  // Processes that call themselves the same, without a secret and with one of their own.
  const cancel = async (id: string, headers: Record<string, string>) => {
    const response = await fetch(`http://${gateway.address}/v1/mcp/operation/cancel/${id}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ agentId: "test-agent" }),
    });
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await cancel(previewId, {}), 403);
  assert.equal(await cancel(previewId, { "x-fluxgit-sidecar-secret": "0".repeat(64) }), 403);
  assert.equal((await at.status(previewId)).status, "pending");
  // The control: where no secret was sent, the name alone decides.
  const plain = await fetch(`http://${gateway.address}/v1/mcp/operation/preview/branch`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      previewId: "by-name",
      agentId: "test-agent",
      idempotencyKey: "branch:call:1",
      operationType: "branch",
      repoPath: at.repo,
      reason,
      name: "other",
    }),
  });
  assert.equal(plain.status, 202);
  await plain.body?.cancel();
  assert.equal(await cancel("by-name", {}), 200);
  for (let i = 0; i < 2; i++) {
    const told = await at.call("operation.cancel", { previewId });
    assert.deepEqual([told.isError, told.status], [false, "cancelled"]);
  }
  assert.equal((await at.status(previewId)).error.code, 10004);
});

Deno.test("a key brings back the same proposal; the same key for something else is refused", async () => {
  await using at = await story();
  await using _gateway = await Running.start(at.box);
  const first = await at.propose("branch", { name: "side", idempotencyKey: "K" });
  const again = await at.propose("branch", { name: "side", idempotencyKey: "K" });
  assert.equal(again.previewId, first.previewId);
  const other = await at.propose("branch", { name: "other", idempotencyKey: "K" });
  assert.deepEqual([other.status, other.error.code, other.error.data.httpStatus], [
    "refused",
    10006,
    409,
  ]);
  const [one, two] = [
    await at.propose("branch", { name: "third" }),
    await at.propose("branch", { name: "third" }),
  ];
  assert.notEqual(one.previewId, two.previewId);
});

Deno.test("an unknown id is 10005, and after a restart a pending proposal is still there, at the new address", async () => {
  await using at = await story();
  let previewId: string;
  {
    await using gateway = await Running.start(at.box);
    ({ previewId } = await at.propose("branch", { name: "side" }));
    assert.equal((await at.status("never-seen")).error.code, 10005);
    await gateway.stop();
  }
  assert.equal((await at.status(previewId)).error.code, 10003);
  await using _second = await Running.start(at.box);
  assert.equal((await at.status(previewId)).status, "pending");
});

Deno.test("the server under its strict permissions finds the gateway and proposes through it", async () => {
  await using at = await story();
  await using gateway = await Running.start(at.box);
  await using host = new Host({ env: serverEnv(at.box) });
  await host.initialize();
  const proposed = await host.payload("operation.preview.branch", {
    repoPath: at.repo,
    reason,
    name: "side",
    checkout: false,
  });
  assert.equal(proposed.accepted, true);
  const call = host.payload("operation.status", {
    previewId: proposed.previewId,
    waitMs: 30_000,
  });
  call.catch(() => {});
  await gateway.approve(proposed.previewId);
  assert.deepEqual((await call).data.result.branch, "side");
  const branches = await at.box.git(at.repo, "branch", "--list", "side");
  assert.match(branches, /side/);
  const semantic = await host.payload("diff.semantic", { repoPath: at.repo });
  assert.match(semantic.data.reason, /no engine/);
  await until(async () => (await at.status(proposed.previewId)).ok === true, "the end is told");
});
