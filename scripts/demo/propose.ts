import type { Client } from "@modelcontextprotocol/client";
import { print } from "../lib/terminal.ts";
import { runPlain } from "./plain.ts";
import { DemoGateway } from "./gateway.ts";

/** How the demo finds its person. */
export interface PersonChoice {
  /** Plays the person, as `--yes` asks. */
  readonly play: boolean;
  /** Run directory to name in the command for the second terminal. */
  readonly runDir: string;
}

/**
 * The second half of the demo, on the sample repository: the agent proposes a commit and a merge, a
 * person approves, both really happen, and the merge is taken back.
 */
export async function proposeAndUndo(
  client: Client,
  repo: string,
  person: PersonChoice,
): Promise<void> {
  await using gateway = await DemoGateway.start(person.runDir);
  print("\nNow the agent wants to change something. It can only propose; a gateway that");
  print(`you started asks you. Here it listens on ${gateway.address}, found by itself.\n`);
  await propose(client, gateway, person, repo, "operation.preview.commit", {
    message: "Keep the address of a customer",
    reason: "The staged file is complete; the rest of the tree is still in the making.",
  });
  await log(repo);
  await propose(client, gateway, person, repo, "operation.preview.merge", {
    sourceRef: "docs/readme",
    targetRef: "feature/checkout",
    reason: "The new README text is needed on this branch.",
  });
  await log(repo);
  print("A person can take the last one back, byte for byte:");
  print("    fluxgit-sidecar restore undo");
  await gateway.undo(repo);
  await log(repo);
}

async function propose(
  client: Client,
  gateway: DemoGateway,
  person: PersonChoice,
  repo: string,
  tool: string,
  args: Record<string, unknown>,
): Promise<void> {
  const opened = await callTool(client, tool, { repoPath: repo, ...args });
  const previewId = String(opened["previewId"]);
  print(`${tool}`);
  print(`    the agent got: status ${opened["status"]}, previewId ${previewId.slice(0, 8)}…`);
  if (person.play) {
    const card = await gateway.approve(previewId);
    print(
      `    the person saw: ${(card["effect"] as { summary: string }).summary}; risk ${
        card["risk"]
      }`,
    );
  } else {
    print(`    approve it in a second terminal (the pairing code is ${gateway.code}):`);
    print(`    FLUXGIT_RUN_DIR=${person.runDir} npx -y deno@2.9.6 run -q -P=strict \\`);
    print(`      main.ts approvals approve ${previewId}`);
  }
  const status = await waitFor(client, previewId);
  const result = status["data"] as { status: string; result?: { message?: string } };
  print(`    operation.status: ${result.status}`);
  print(`    ${(result.result?.message ?? "").slice(0, 74)}\n`);
  if (result.status !== "completed") throw new Error(`the proposal ended as ${result.status}`);
}

/** Follows a proposal as an agent does: one long question after the other. */
async function waitFor(client: Client, previewId: string): Promise<Record<string, unknown>> {
  for (;;) {
    const status = await callTool(client, "operation.status", { previewId, waitMs: 20_000 });
    if (status["terminal"] === true) return status;
  }
}

async function callTool(
  client: Client,
  name: string,
  args: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const result = await client.callTool({ name, arguments: args });
  const [block] = result.content as { text?: string }[];
  const payload = JSON.parse(block?.text ?? "{}") as Record<string, unknown>;
  const error = payload["error"] as { code: number; message: string } | undefined;
  if (error && payload["terminal"] !== true) {
    throw new Error(`${name}: ${error.code} ${error.message}`);
  }
  return payload;
}

async function log(repo: string): Promise<void> {
  const [run] = await runPlain(repo, [["log", "--oneline", "--graph", "-4"]]);
  print("    git log --oneline --graph -4");
  for (const line of run!.text.trimEnd().split("\n").slice(0, 5)) {
    print(`      ${line.slice(0, 70)}`);
  }
  print();
}

/** Commits of the sample need an author, also on a machine where nobody told git a name yet. */
export async function nameAuthor(repo: string): Promise<void> {
  for (
    const [key, value] of [["user.name", "Sample Person"], [
      "user.email",
      "sample@example.org",
    ]] as const
  ) {
    await new Deno.Command("git", { args: ["-C", repo, "config", key, value] }).output();
  }
}
