import assert from "node:assert/strict";
import { answer, gatewayWith, HANG_UP, quickIo, type Reply } from "./mock_gateway.ts";
import { bad, good, MERGE } from "./proposing.ts";

/** A gateway that takes a proposal and then never answers, in one way or another. */
const LOST: Record<string, Reply> = {
  "hangs": null,
  "closes": HANG_UP,
  "answers half a line": "HTTP/1.1 20",
  "answers garbage": "\u0000\u0001\u0002",
};

Deno.test("an answer that was lost after the gateway admitted the proposal is found by its id, not sent again", async () => {
  for (const [name, post] of Object.entries(LOST)) {
    const admitted = new Set<string>();
    await using gateway = gatewayWith(
      (received) => {
        admitted.add(received.json.previewId);
        return post;
      },
      (received) => {
        const id = received.path.split("/").at(-1)!;
        return admitted.has(id)
          ? answer(200, { previewId: id, status: "pending", operationType: "merge" })
          : answer(404, { error: "unknown_preview" });
      },
    );
    const io = quickIo({ wholeMs: post === null ? 1_000 : 10_000 });
    const told = await good(gateway, MERGE, io);
    assert.deepEqual([told["status"], told["accepted"]], ["pending", true], name);
    assert.deepEqual([...admitted], [told["previewId"]]);
    assert.equal(gateway.of("POST").length, 1);
    assert.equal(gateway.of("GET").length, 1);
  }
});

Deno.test("a lost answer whose proposal cannot be found is 10003 with the id, and says that its fate is open", async () => {
  const looks: [Reply, RegExp][] = [
    [
      answer(404, { error: "unknown_preview" }),
      /does not know the proposal, though it may still admit it/,
    ],
    [answer(500, {}), /asking for the proposal failed too \(it answered with HTTP status 500\)/],
    [answer(200, {}), /not about this proposal/],
    [answer(200, { previewId: "another", status: "pending" }), /not about this proposal/],
    [answer(200, { operationType: "push", status: "pending" }), /not about this proposal/],
  ];
  for (const [look, reason] of looks) {
    await using gateway = gatewayWith(LOST["closes"]!, look);
    const told = await bad(gateway.address);
    assert.deepEqual([told["code"], told["previewId"], told["data"].outcome], [
      10003,
      undefined,
      "unknown",
    ]);
    assert.equal(told["data"].previewId, gateway.of("POST")[0]!.json.previewId);
    assert.match(told["data"].reason, reason);
    assert.match(told["data"].agentRecommendation, /operation\.status/);
    assert.doesNotMatch(told["data"].agentRecommendation, /idempotencyKey/);
    assert.equal(gateway.of("POST").length, 1);
  }
  await using gateway = gatewayWith(LOST["closes"]!, answer(404, {}));
  const keyed = await bad(gateway.address, { ...MERGE, idempotencyKey: "k" });
  assert.match(keyed["data"].agentRecommendation, /same idempotencyKey, cannot open a second/);
});
