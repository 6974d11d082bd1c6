import assert from "node:assert/strict";
import type { Sandbox } from "../../fixtures/sandbox.ts";
import type { GatewayProcess } from "../cli/world.ts";
import type { Json } from "./lab.ts";

/** One repository of the scripted run: what is proposed in it, and what it may look like. */
export interface Lane {
  readonly repo: string;
  /** Makes the work tree ready for the next proposal; only called while nothing is open here. */
  prepare(): Promise<{ type: string; more: Record<string, unknown> }>;
  /** `before` or `after` the operation last prepared; null for anything in between. */
  look(): Promise<"before" | "after" | null>;
  /** Executions that were begun, by what they were for. */
  begun(): Promise<Map<string, number>>;
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

async function lines(path: string): Promise<string[]> {
  const text = await Deno.readTextFile(path).catch(() => "");
  return text.split("\n").filter((line) => line !== "");
}

function counted(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

/** Commits one new file at a time; a hook writes down each commit that is begun. */
export async function commitLane(box: Sandbox, name: string): Promise<Lane> {
  const repo = await box.repo(name);
  await box.commit(repo, "first", { "a.txt": "one\n" });
  const log = `${box.root}/${name}.log`;
  const hook = `${repo}/.git/hooks/commit-msg`;
  await Deno.mkdir(`${repo}/.git/hooks`, { recursive: true });
  await Deno.writeTextFile(hook, `#!/bin/sh\ncat "$1" >> '${log}'\n`, { mode: 0o755 });
  let n = 0;
  let head = (await box.git(repo, "rev-parse", "HEAD")).trim();
  return {
    repo,
    async prepare() {
      head = (await box.git(repo, "rev-parse", "HEAD")).trim();
      await box.git(repo, "clean", "-fdq");
      const path = `file-${++n}`;
      await Deno.writeTextFile(`${repo}/${path}`, `${n}\n`.repeat(50));
      return { type: "commit", more: { message: `commit ${n}`, paths: [path] } };
    },
    async look() {
      if (await exists(`${repo}/.git/index.lock`)) return null;
      const [now, status] = [
        (await box.git(repo, "rev-parse", "HEAD")).trim(),
        await box.git(repo, "status", "--porcelain"),
      ];
      if (now === head) return status === `?? file-${n}\n` ? "before" : null;
      const subject = (await box.git(repo, "log", "-1", "--format=%s %P")).trim();
      return status === "" && subject === `commit ${n} ${head}` ? "after" : null;
    },
    async begun() {
      return counted(await lines(log));
    },
  };
}

const FILES = 12;

/** Discards changes of many tracked and untracked files at once. */
export async function discardLane(box: Sandbox, name: string): Promise<Lane> {
  const repo = await box.repo(name);
  const base: Record<string, string> = {};
  for (let i = 0; i < FILES; i++) base[`d${i}/f.txt`] = `base ${i}\n`;
  await box.commit(repo, "first", base);
  let n = 0;
  const changed = (i: number) => `changed ${n} ${i}\n`.repeat(200);
  return {
    repo,
    async prepare() {
      n++;
      const files: Record<string, string> = { "new/untracked.txt": changed(-1) };
      for (let i = 0; i < FILES; i++) files[`d${i}/f.txt`] = changed(i);
      await box.write(repo, files);
      return { type: "discard", more: { paths: [...Object.keys(base), "new/untracked.txt"] } };
    },
    async look() {
      if (await exists(`${repo}/.git/index.lock`)) return null;
      let before = 0, after = 0;
      for (let i = -1; i < FILES; i++) {
        const path = i === -1 ? "new/untracked.txt" : `d${i}/f.txt`;
        const text = await Deno.readTextFile(`${repo}/${path}`).catch(() => null);
        if (text === changed(i)) before++;
        else if (text === (i === -1 ? null : base[path])) after++;
      }
      return before === FILES + 1 ? "before" : after === FILES + 1 ? "after" : null;
    },
    begun: () => Promise.resolve(new Map()),
  };
}

/** What the test knows of a proposal. */
export interface Known {
  readonly lane: Lane;
  readonly id: string;
  /** The gateway answered the proposal. */
  admitted: boolean;
  /** The status that a person was told for good. */
  told: string | null;
}

/** One life of a gateway as its agent and its person see it. */
export class Life {
  #session = "";
  /** Resolves when the first approval is on its way. */
  readonly approving = Promise.withResolvers<void>();
  /** How long the last approval took, from its card to its end. Milliseconds. */
  approvalMs = 0;

  constructor(readonly gateway: GatewayProcess) {}

  get address(): string {
    return this.gateway.ready.address;
  }

  /** Null when the gateway is gone. */
  async ask(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: Json } | null> {
    try {
      const response = await fetch(`http://${this.address}${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(this.#session && path.startsWith("/v1/human/")
            ? { authorization: `Bearer ${this.#session}` }
            : {}),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.json() };
    } catch {
      return null;
    }
  }

  async signIn(): Promise<boolean> {
    const answer = await this.ask("POST", "/v1/human/session", {
      code: this.gateway.ready.pairingCode,
    });
    this.#session = answer?.body.session ?? "";
    return answer?.status === 200;
  }

  async propose(known: Known, type: string, more: Record<string, unknown>): Promise<void> {
    const answer = await this.ask("POST", `/v1/mcp/operation/preview/${type}`, {
      previewId: known.id,
      agentId: "scripted",
      idempotencyKey: `${type}:call:${known.id}`,
      operationType: type,
      repoPath: known.lane.repo,
      reason: "a scripted run",
      ...more,
    });
    if (!answer) return;
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    known.admitted = true;
  }

  /** Approves what the card says; false when the gateway is gone. */
  async approve(known: Known): Promise<boolean> {
    const card = await this.ask("GET", `/v1/human/proposals/${known.id}`);
    if (!card) return false;
    assert.equal(card.status, 200, JSON.stringify(card.body));
    assert.deepEqual(card.body.blockers, [], JSON.stringify(card.body.blockers));
    this.approving.resolve();
    const started = performance.now();
    const answer = await this.ask("POST", `/v1/human/proposals/${known.id}/approve`, {
      digest: card.body.digest,
      words: card.body.words,
    });
    if (!answer) return false;
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.status, "completed", JSON.stringify(answer.body));
    known.told = answer.body.status;
    this.approvalMs = performance.now() - started;
    return true;
  }

  /** The status of every proposal that the gateway remembers. */
  async statuses(): Promise<Map<string, string>> {
    const answer = await this.ask("GET", "/v1/human/proposals?state=all");
    assert.equal(answer?.body.truncated, false, JSON.stringify(answer?.body));
    return new Map(
      answer!.body.proposals.map((row: Json) => [row.previewId, row.status] as const),
    );
  }
}
