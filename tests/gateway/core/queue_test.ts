import assert from "node:assert/strict";
import { PROPOSAL_LIMITS } from "../../../gateway/server/proposals.ts";
import { type Json, Lab } from "./lab.ts";

Deno.test("only its owner may withdraw a proposal: by its secret where it gave one, else by its name", async () => {
  await using lab = await Lab.create();
  const secret = (digit: string) => ({ "x-fluxgit-sidecar-secret": digit.repeat(64) });
  const marked = (await lab.propose("commit", {}, secret("a"))).body.previewId;
  for (
    const [agentId, headers] of [
      ["tester", {}],
      ["tester", secret("b")],
      ["other", secret("b")],
    ] as const
  ) {
    const { status, body } = await lab.cancel(marked, agentId, headers);
    assert.equal(status, 403);
    assert.equal(body.error, "not_the_owner");
  }
  // Renamed since, but the same process.
  const { status, body } = await lab.cancel(marked, "renamed", secret("a"));
  assert.equal(status, 200);
  assert.equal(body.status, "cancelled");
  assert.equal(body.previewId, marked);
  // A second time is no error for the owner, and none of others' business.
  assert.equal((await lab.cancel(marked, "tester", secret("a"))).body.status, "cancelled");
  assert.equal((await lab.cancel(marked, "tester")).status, 403);
  const plain = await lab.proposed();
  assert.equal((await lab.cancel(plain, "other")).status, 403);
  assert.equal((await lab.cancel(plain, "tester", secret("b"))).status, 200);
  assert.equal((await lab.cancel("unknown")).status, 404);
  assert.equal((await lab.propose("commit", {}, { "x-fluxgit-sidecar-secret": "x" })).status, 422);
  const odd = { agentId: "tester", force: true };
  assert.equal((await lab.send("POST", `/v1/mcp/operation/cancel/${plain}`, odd)).status, 422);
});

Deno.test("the secret of a process is kept as a hash alone", async () => {
  await using lab = await Lab.create();
  const secret = "d".repeat(64);
  const { body } = await lab.propose("commit", {}, { "x-fluxgit-sidecar-secret": secret });
  const { ownerHash } = lab.gateway.service.record(body.previewId);
  assert.match(ownerHash!, /^[0-9a-f]{64}$/);
  assert.notEqual(ownerHash, secret);
});

Deno.test("equal proposals are told as equal, and each is decided by itself (P-24)", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  const ids = [];
  for (let i = 0; i < 6; i++) ids.push(await lab.proposed("commit", { reason: `reason ${i}` }));
  await lab.proposed("commit", { message: "Something else" });
  const { body } = await person.get("proposals");
  const equal = body.proposals.map((row: Json) => row.equal).sort();
  assert.deepEqual(equal, [1, 6, 6, 6, 6, 6, 6]);
  const keys = Object.keys(body.proposals[0]);
  assert(!keys.includes("action") && !keys.includes("bodyHash"), keys.join());
  await person.approve(ids[0]!);
  assert.equal(lab.operation.executed.length, 1);
  assert.equal((await lab.status(ids[1]!)).body.status, "pending");
});

Deno.test("rows of the queue tell what it would do and how long it stands", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  const id = await lab.proposed("reset");
  lab.clock += 60_000;
  await person.card(id);
  const [row] = (await person.get("proposals")).body.proposals;
  assert.equal(row.headline, "a stand-in for an operation");
  assert.equal(row.risk, "low");
  assert.equal(row.timeLeftMs, PROPOSAL_LIMITS.lifeMs - 60_000);
  assert.equal(row.ageMs, 60_000);
  assert.equal(row.running, false);
  assert.equal((await person.get("proposals?state=nonsense")).status, 422);
});
