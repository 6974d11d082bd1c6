import assert from "node:assert/strict";
import { callRaw, type Payload, refusal } from "../fixtures/call.ts";

const TOOLS = [
  "safety.timeline",
  "safety.eventDetails",
  "flux.latestRestorePoint",
  "flux.restorePoints",
  "flux.restorePointDetails",
];
const ADDRESS = { FLUXGIT_MCP_HANDSHAKE_ADDR: "127.0.0.1:1" };

async function payload(
  name: string,
  args: Record<string, unknown>,
  options = {},
): Promise<Payload> {
  const outcome = await callRaw(name, { repoPath: "/tmp", ...args }, options);
  assert(outcome.kind === "result", JSON.stringify(outcome));
  assert.equal(outcome.isError, true);
  return outcome.payload;
}

Deno.test("without a gateway address the recovery tools answer 10001, with a valid repository too, and offer what works", async () => {
  for (const name of TOOLS) {
    const answer = await payload(name, {});
    assert.deepEqual(Object.keys(answer).sort(), ["error", "readOnly", "tier", "tool"]);
    assert.deepEqual([answer.tool, answer.readOnly, answer.tier], [name, true, "fluxgit"]);
    assert.equal(answer.error.code, 10001);
    const { data } = answer.error;
    assert.deepEqual(Object.keys(data).sort(), [
      "freeShellAlternative",
      "gatewayConfigured",
      "learnMore",
      "reason",
      "tier",
      "tool",
      "upgradeHint",
    ]);
    assert.deepEqual([data.tool, data.tier, data.gatewayConfigured], [name, "fluxgit", false]);
    assert.match(data.reason, /does not read restore points/);
    assert.match(data.freeShellAlternative, /repo\.reflog/);
  }
});

Deno.test("with an address they say honestly that nothing is read yet, never that there is nothing", async () => {
  for (const name of TOOLS) {
    const answer = await payload(name, {}, { env: ADDRESS });
    assert.deepEqual(Object.keys(answer).sort(), ["error", "readOnly", "tool"]);
    assert.equal(answer.error.code, 10002);
    const { data } = answer.error;
    assert.deepEqual(Object.keys(data).sort(), [
      "agentRecommendation",
      "gatewayConfigured",
      "learnMore",
      "reason",
      "tool",
    ]);
    assert.equal(data.gatewayConfigured, true);
    assert.match(data.reason, /does not mean that there are none/);
  }
});

Deno.test("whether an address is configured is decided at each call", async () => {
  const [name] = TOOLS as [string];
  const codes = [];
  for (const env of [{}, ADDRESS, { FLUXGIT_GATEWAY_URL: "localhost:1" }, ADDRESS]) {
    codes.push((await refusal(name, { repoPath: "/tmp" }, { env })).code);
  }
  assert.deepEqual(codes, [10001, 10002, 10001, 10002]);
});

Deno.test("a caller cannot point the tools at another run directory", async () => {
  const own = await Deno.makeTempDir(), other = await Deno.makeTempDir();
  try {
    const ask = async (runDir: string) =>
      (await payload("flux.restorePoints", { runDir }, { env: ADDRESS, runDir: own })).error;
    assert.equal((await ask(other)).code, -32602);
    assert.equal((await ask(`${own}/nothing`)).code, -32602);
    assert.equal((await ask(own)).code, 10002);
    assert.equal((await ask(`${own}/.`)).code, 10002);
    assert.equal((await ask("")).code, 10002);
  } finally {
    await Deno.remove(own);
    await Deno.remove(other);
  }
});

Deno.test("their limits are enforced: values outside are refused, not clamped", async () => {
  const wrong: [string, Record<string, unknown>][] = [
    ["safety.timeline", { limit: 0 }],
    ["safety.timeline", { limit: 201 }],
    ["safety.timeline", { reflogLimit: 101 }],
    ["safety.timeline", { includeReflog: "yes" }],
    ["flux.restorePoints", { limit: 201 }],
    ["flux.latestRestorePoint", { limit: 1 }],
    ["flux.restorePointDetails", { restorePointId: "x".repeat(4_097) }],
    ["safety.eventDetails", { eventId: 1 }],
  ];
  for (const [name, args] of wrong) {
    const error = await refusal(name, { repoPath: "/tmp", ...args }, { env: ADDRESS });
    assert.deepEqual([error.form, error.code], ["rpc", -32602], JSON.stringify(args));
  }
});
