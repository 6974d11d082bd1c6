import { TextLineStream } from "./lines.ts";

/** A gateway of the demo's own, and the person at it, played with the code from its JSON line. */
export class DemoGateway implements AsyncDisposable {
  private constructor(
    readonly child: Deno.ChildProcess,
    readonly address: string,
    readonly code: string,
  ) {}

  /** Starts `gateway --json` with this run directory and waits for its line. */
  static async start(runDir: string): Promise<DemoGateway> {
    const main = new URL("../../main.ts", import.meta.url).pathname;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-q", "-P=strict", "--no-remote", main, "gateway", "--json"],
      cwd: new URL("../..", import.meta.url).pathname,
      env: { FLUXGIT_RUN_DIR: runDir },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const line = await new TextLineStream(child.stdout).next();
    if (line === null) throw new Error("the gateway did not start");
    const { address, pairingCode } = JSON.parse(line) as { address: string; pairingCode: string };
    return new DemoGateway(child, address, pairingCode);
  }

  /** Approves as the person would: sign in, look at the card, send its digest back. Gives the card. */
  async approve(previewId: string): Promise<Record<string, unknown>> {
    const session = await this.#signIn();
    const card = await this.#send(session, "GET", `/v1/human/proposals/${previewId}`);
    await this.#send(session, "POST", `/v1/human/proposals/${previewId}/approve`, {
      digest: card["digest"],
      words: card["words"],
    });
    return card;
  }

  /** Takes the last operation back, after a look at what that will change. */
  async undo(repoPath: string): Promise<void> {
    const session = await this.#signIn();
    const seen = await this.#send(session, "POST", "/v1/human/restore/preview", {
      repoPath,
      direction: "undo",
    });
    const { digest } = seen["preview"] as { digest: string };
    await this.#send(session, "POST", "/v1/human/restore/undo", { repoPath, digest });
  }

  async #signIn(): Promise<string> {
    return String(
      (await this.#send(null, "POST", "/v1/human/session", {
        code: this.code,
        channel: "terminal",
      }))["session"],
    );
  }

  async #send(
    session: string | null,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Record<string, unknown>> {
    const response = await fetch(`http://${this.address}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(session === null ? {} : { authorization: `Bearer ${session}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = await response.json() as Record<string, unknown>;
    if (!response.ok) {
      throw new Error(`the gateway refused: ${answer["message"] ?? response.status}`);
    }
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.child.kill("SIGTERM");
    } catch { /* it has ended */ }
    await this.child.stdin.close().catch(() => {});
    await this.child.stdout.cancel().catch(() => {});
    await this.child.status;
  }
}
