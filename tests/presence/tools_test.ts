import assert from "node:assert/strict";
import { cardText } from "../../cli/card_text.ts";
import { answer, gatewayWith } from "../bridge/mock_gateway.ts";
import { type CallOptions, callRaw, data, type Payload, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";
import { GatewayLab } from "../gateway/harness.ts";
import { Lab } from "./lab.ts";

/** agents.presence, the hint beside proposals, and the same facts on a gateway's card. */

interface Stage extends AsyncDisposable {
  readonly lab: Lab;
  readonly repo: string;
  readonly options: CallOptions;
}

/** A repository in which codex changes `src/one.ts` on branch `main`. */
async function stage(env: Record<string, string> = {}): Promise<Stage> {
  const lab = await Lab.create(), box = await Sandbox.create();
  useSandbox(box);
  const repo = await box.repo();
  await box.commit(repo, "one", { "src/one.ts": "1\n", "LICENSE": "x\n" });
  await codexAt(lab, repo);
  return {
    lab,
    repo,
    options: { env: { HOME: lab.home, ...env }, runDir: lab.runDir },
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      await box[Symbol.asyncDispose]();
    },
  };
}

async function codexAt(lab: Lab, repo: string): Promise<void> {
  const input = "*** Begin Patch\n*** Update File: src/one.ts\n";
  await lab.lines(
    ".codex/sessions/2030/01/01/r.jsonl",
    { type: "session_meta", payload: { cwd: repo } },
    {
      timestamp: new Date().toISOString(),
      payload: { type: "custom_tool_call", name: "apply_patch", input },
    },
  );
}

const codex = (agents: Payload[]) => agents.find(({ agent }) => agent === "codex");

Deno.test("agents.presence finds another agent, from a folder below too, and writes nothing", async () => {
  await using at = await stage();
  const before = [await hashTree(at.repo), await hashTree(at.lab.home)];
  for (const repoPath of [at.repo, `${at.repo}/src`]) {
    const found = codex((await data("agents.presence", { repoPath }, at.options)).agents);
    assert.deepEqual(
      [found.state, found.files, found.lastTool, found.likelyCaller],
      ["working", ["src/one.ts"], "apply_patch", false],
    );
  }
  assert.deepEqual([await hashTree(at.repo), await hashTree(at.lab.home)], before);
});

Deno.test("no repository is 10010 whether looking is switched off or not; then 10011 with the reason", async () => {
  const off = { FLUXGIT_MCP_AGENT_DETECTION_DISABLED: "" };
  await using at = await stage(off);
  for (const env of [{ HOME: at.lab.home }, { HOME: at.lab.home, ...off }]) {
    const failed = await callRaw("agents.presence", { repoPath: at.lab.home }, { env });
    assert(failed.kind === "result" && failed.isError);
    assert.equal((failed.payload["error"] as Payload).code, 10010);
    assert.equal(failed.payload["source"], "local-agent-detector");
  }
  const refused = await refusal("agents.presence", { repoPath: at.repo }, at.options);
  assert.deepEqual([refused.form, refused.code], ["result", 10011]);
  assert.equal(refused.data.environmentVariable, "FLUXGIT_MCP_AGENT_DETECTION_DISABLED");
  assert(refused.data.reason && refused.data.agentRecommendation);
});

Deno.test("whatever becomes of a proposal, the hint stands beside it and changes nothing else", async () => {
  const accepted = answer(200, { status: "pending" });
  const posts: [post: string, error: number | null][] = [
    [accepted, null],
    [answer(403, { error: "policy_denied", message: "no" }), 10006],
  ];
  for (const [post, error] of posts) {
    await using gateway = gatewayWith(post);
    const address = { FLUXGIT_MCP_HANDSHAKE_ADDR: gateway.address };
    await using at = await stage(address);
    const args = { repoPath: at.repo, paths: ["src", "LICENSE"], reason: "to see who is there" };
    const ask = async (options: CallOptions) => {
      const outcome = await callRaw("operation.preview.discard", args, options);
      assert(outcome.kind === "result", JSON.stringify(outcome));
      return outcome;
    };
    const { payload, isError } = await ask(at.options);
    assert.equal((payload["error"] as Payload)?.code ?? null, error);
    const hint = payload["otherAgents"] as Payload;
    assert.deepEqual(codex(hint.agents).overlappingPaths, ["src/one.ts"]);
    assert.deepEqual([hint.proposalPathsKnown, hint.overlappingAgentCount], [true, 1]);
    // The control: the same without looking.
    const env = { ...at.options.env, FLUXGIT_MCP_AGENT_DETECTION_DISABLED: "1" };
    const plain = await ask({ ...at.options, env });
    assert.equal("otherAgents" in plain.payload, false);
    assert.deepEqual(
      [isError, ...Object.keys(payload)],
      [plain.isError, ...Object.keys(plain.payload), "otherAgents"],
    );
  }
});

Deno.test("without a gateway the hint is there too; a refused request has none", async () => {
  await using at = await stage();
  const reason = "to see who is there";
  const merge = { repoPath: at.repo, sourceRef: "main", targetRef: "other", reason };
  const outcome = await callRaw("operation.preview.merge", merge, at.options);
  assert(outcome.kind === "result");
  assert.equal((outcome.payload["error"] as Payload).code, 10003);
  assert.equal(outcome.payload["tier"], "fluxgit-write-handshake");
  const found = codex((outcome.payload["otherAgents"] as Payload).agents);
  assert.deepEqual(
    [found.overlappingPaths, found.overlappingBranches],
    [null, ["main"]],
  );
  const bad = await callRaw("operation.preview.merge", { ...merge, sourceRef: "-x" }, at.options);
  assert(JSON.stringify(bad).includes("-32602") && !JSON.stringify(bad).includes("otherAgents"));
  const gone = { ...merge, repoPath: `${at.lab.root}/none` };
  const nobody = await callRaw("operation.preview.merge", gone, at.options);
  assert(nobody.kind === "result");
  assert.deepEqual((nobody.payload["otherAgents"] as Payload).agents, []);
});

Deno.test("an agent in another work tree of the repository stands apart, outside the roots not at all", async () => {
  await using box = await Sandbox.create();
  useSandbox(box);
  await using lab = await Lab.create();
  const repo = await box.repo();
  await box.commit(repo, "one", { "src/one.ts": "1\n" });
  await box.git(repo, "worktree", "add", "-q", "-b", "topic", "../tree");
  await codexAt(lab, `${box.root}/tree/src`);
  const env = { HOME: lab.home };
  const args = {
    repoPath: repo,
    targets: [{ repoPath: repo, branches: ["topic"] }],
    reason: "to clean up",
  };
  const found = await data("agents.presence", { repoPath: repo }, { env });
  assert.equal(codex(found.agents), undefined);
  assert.equal(codex(found.worktreeAgents).worktree, `${box.root}/tree`);
  const outcome = await callRaw("operation.preview.branchDelete", args, { env });
  assert(outcome.kind === "result");
  const { worktreeAgents } = outcome.payload["otherAgents"] as Payload;
  assert.deepEqual(codex(worktreeAgents).overlappingBranches, ["topic"]);
  const there = await data("agents.presence", { repoPath: `${box.root}/tree` }, { env });
  assert(codex(there.agents));
  const fenced = { HOME: lab.home, FLUXGIT_MCP_ALLOWED_ROOTS: repo };
  const inside = await data("agents.presence", { repoPath: repo }, { env: fenced });
  assert.equal(codex(inside.worktreeAgents ?? []), undefined);
  assert(!JSON.stringify(inside).includes(`${box.root}/tree`));
});

Deno.test("a card says who else works there, and it is no part of what is approved", async () => {
  await using lab = await Lab.create();
  const env = (name: string) => name === "HOME" ? lab.home : undefined;
  await using gateway = await GatewayLab.create({ env });
  const repo = await gateway.box.repo();
  await gateway.box.commit(repo, "one", { "src/one.ts": "1\n" });
  await gateway.box.write(repo, { "src/one.ts": "2\n" });
  const { previewId } = await gateway.propose(repo, "commit", {
    message: "Change it",
    paths: ["src/one.ts"],
    stageAll: false,
  });
  const alone = await gateway.card(previewId);
  assert.equal(codex(alone.otherAgents?.agents as Payload[]), undefined);
  assert.equal(alone.otherAgents?.informational, true);
  await codexAt(lab, repo);
  // A look is kept for two seconds.
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const card = await gateway.card(previewId);
  assert.deepEqual(codex(card.otherAgents?.agents as Payload[]).overlappingPaths, ["src/one.ts"]);
  assert.match(cardText(card), /^ {2}codex \(working\) works on src\/one\.ts too$/m);
  assert(card.digest !== null);
  assert.equal(card.digest, alone.digest);
});
