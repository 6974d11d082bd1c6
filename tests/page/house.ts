/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { DatabaseSync } from "node:sqlite";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { type Gateway, startGateway } from "../../gateway/server/gateway.ts";
import { readPolicyless } from "./settings.ts";
import { Sandbox, useSandbox } from "../fixtures/sandbox.ts";

/** A gateway with a repository, and a real browser to look at it. */

export { startBrowser } from "../../scripts/lib/browser.ts";

/** A gateway of its own in a sandbox. */
export class House implements AsyncDisposable {
  gateway!: Gateway;
  /** Added to the wall clock: lets five minutes pass at once. */
  skewMs = 0;
  readonly logged: string[] = [];

  private constructor(readonly sandbox: Sandbox, readonly runDir: string) {}

  static async open(): Promise<House> {
    const sandbox = await Sandbox.create();
    useSandbox(sandbox);
    const house = new House(sandbox, `${sandbox.root}/run`);
    await house.start(0);
    return house;
  }

  async start(port: number): Promise<void> {
    this.gateway = await startGateway({
      ...await readPolicyless(this.runDir),
      port,
      now: () => Date.now() + this.skewMs,
      log: (line) => this.logged.push(line),
    });
  }

  get port(): number {
    return Number(this.gateway.address.split(":")[1]);
  }

  get origin(): string {
    return `http://${this.gateway.address}`;
  }

  /** Stops and starts again on the same port with the same run directory. */
  async restart(): Promise<void> {
    const { port } = this;
    await this.gateway.stop();
    await this.start(port);
  }

  /** Proposes as an agent does. Gives the id. */
  async propose(
    type: string,
    repoPath: string,
    members: Record<string, unknown>,
    more: { agentId?: string; reason?: string } = {},
  ): Promise<string> {
    const previewId = crypto.randomUUID();
    const response = await fetch(`${this.origin}/v1/mcp/operation/preview/${type}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        previewId,
        agentId: more.agentId ?? "sample-agent",
        idempotencyKey: `${type}:call:${previewId}`,
        operationType: type,
        repoPath,
        reason: more.reason ?? `Please ${type} this`,
        requestedAt: new Date().toISOString(),
        ...members,
      }),
    });
    const body = await response.text();
    if (!response.ok) throw new Error(`proposing ${type}: ${response.status} ${body}`);
    return JSON.parse(body).previewId;
  }

  async status(previewId: string): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.origin}/v1/mcp/operation/status/${previewId}`);
    return await response.json();
  }

  /** Withdraws as the agent. */
  async cancel(previewId: string, agentId = "sample-agent"): Promise<void> {
    const response = await fetch(`${this.origin}/v1/mcp/operation/cancel/${previewId}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ agentId }),
    });
    await response.body?.cancel();
  }

  /** A window that is signed in by a new link. Fails a test when the page logs an error. */
  async window(
    browser: Browser,
    options: Parameters<Browser["newContext"]>[0] = {},
    prepare: (page: Page) => Promise<void> = () => Promise.resolve(),
  ): Promise<{ page: Page; context: BrowserContext; faults: string[] }> {
    const context = await browser.newContext({
      viewport: { width: 1320, height: 860 },
      ...options,
    });
    const page = await context.newPage();
    const faults = watch(page);
    await prepare(page);
    this.gateway.auth.renewLink();
    await page.goto(this.gateway.approveUrl()!);
    await page.locator(".connection.live").waitFor();
    return { page, context, faults };
  }

  /** Leaves a proposal as a gateway does that is killed while it carries it out. */
  async interrupt(previewId: string): Promise<void> {
    const { port } = this;
    await this.gateway.stop();
    const journal = new DatabaseSync(`${this.gateway.runDir}/gateway/journal.sqlite`);
    journal.prepare("UPDATE proposals SET status = 'executing' WHERE preview_id = ?").run(
      previewId,
    );
    journal.close();
    await this.start(port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gateway.stop();
    await this.sandbox[Symbol.asyncDispose]();
  }
}

/** Collects what must never happen: script errors and anything that the policy had to block. */
export function watch(page: Page): string[] {
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    if (/Content Security Policy|TrustedHTML|Refused to/.test(text)) faults.push(text);
  });
  return faults;
}
