import assert from "node:assert/strict";
import { call, callRaw, data, type Payload, refusal } from "../fixtures/call.ts";
import { Sandbox, useSandbox } from "../fixtures/sandbox.ts";

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
    assert.match(data.reason, /holds no restore points/);
    assert.match(data.freeShellAlternative, /repo\.reflog/);
  }
});

Deno.test("with an address, or with a store and no address, they answer from local files", async () => {
  await using box = await Sandbox.create();
  useSandbox(box);
  const repoPath = await box.repo();
  const head = await box.commit(repoPath, "First", { f: "f\n" });
  const runDir = `${box.root}/run`;
  for (const name of TOOLS) {
    const answer = await call(name, { repoPath }, { env: ADDRESS, runDir });
    assert.equal(answer.source, "local-git");
    assert.equal(answer.error, undefined);
  }
  const none = await data("flux.restorePoints", { repoPath }, { env: ADDRESS, runDir });
  assert.deepEqual(none, {
    restorePoints: [],
    restoreCount: 0,
    limit: 50,
    total: 0,
    truncated: false,
    approvalRequired: true,
  });
  assert.equal((await refusal("flux.restorePoints", { repoPath }, { runDir })).code, 10001);
  await Deno.mkdir(`${runDir}/restore`, { recursive: true });
  for (const name of TOOLS) await call(name, { repoPath }, { runDir });
  const { events } = await data("safety.timeline", { repoPath }, { runDir });
  assert.deepEqual(events.map((event: Payload) => [event.source, event.headAfter]), [
    ["reflog", head],
  ]);
});

Deno.test("whether there is a gateway or a store is decided at each call", async () => {
  const [name] = TOOLS as [string];
  const codes = [];
  for (const env of [{}, ADDRESS, { FLUXGIT_GATEWAY_URL: "localhost:1" }, ADDRESS]) {
    codes.push((await refusal(name, { repoPath: "/proc" }, { env })).code);
  }
  assert.deepEqual(codes, [10001, 10010, 10001, 10010]);
});

Deno.test("a caller cannot point the tools at another run directory", async () => {
  await using box = await Sandbox.create();
  useSandbox(box);
  const repoPath = await box.repo();
  const own = `${box.root}/own`, other = `${box.root}/other`;
  await Deno.mkdir(own);
  await Deno.mkdir(other);
  const ask = (runDir: string) =>
    callRaw("flux.restorePoints", { repoPath, runDir }, { env: ADDRESS, runDir: own });
  for (const runDir of [other, `${own}/nothing`]) {
    const outcome = await ask(runDir);
    assert(outcome.kind === "result" && outcome.isError);
    assert.equal((outcome.payload["error"] as Payload).code, -32602);
  }
  for (const runDir of [own, `${own}/.`, ""]) {
    const outcome = await ask(runDir);
    assert(outcome.kind === "result" && !outcome.isError, runDir);
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
