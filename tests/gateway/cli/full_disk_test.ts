import assert from "node:assert/strict";
import { Sandbox } from "../../fixtures/sandbox.ts";
import { Lab, until } from "../core/lab.ts";
import { GatewayProcess } from "./world.ts";

Deno.test({
  name:
    "when the disk takes no more, proposals are refused with the reason and the gateway goes on",
  ignore: Deno.build.os === "windows",
  async fn() {
    const box = await Sandbox.create();
    await using _ = box;
    const repo = await box.repo("repo");
    await box.write(repo, { "a.txt": "one\n" });
    // No file may grow beyond a few hundred KiB: for SQLite that is a full disk.
    await using gateway = await GatewayProcess.start(box, [], {}, "trap '' XFSZ; ulimit -f 600");
    const propose = (n: number) =>
      gateway.propose("commit", repo, {
        message: "x".repeat(60_000),
        stageAll: true,
        agentId: `agent-${n}`,
      });
    const known: string[] = [];
    let refused: unknown = null;
    for (let n = 0; n < 60 && refused === null; n++) {
      try {
        known.push((await propose(n)).previewId);
      } catch (error) {
        refused = error;
      }
    }
    assert(known.length > 0);
    const { error, message, agentRecommendation } = JSON.parse((refused as Error).message);
    assert.equal(error, "journal_unwritable");
    assert.match(message, /cannot write its journal/);
    assert(agentRecommendation.length > 0);
    // What was admitted is still there, and the gateway's terminal says what is wrong in one line.
    for (const id of known) assert.equal((await gateway.status(id)).status, "pending");
    await until(() => gateway.stderr.includes("cannot write its journal"), "the reason");
    assert(!gateway.stderr.includes(" at "), gateway.stderr);
  },
});

Deno.test("a journal that cannot be written does not end the gateway when proposals are due", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed();
  const { proposals } = lab.gateway.service.parts;
  const settle = proposals.settle.bind(proposals);
  let tries = 0;
  proposals.settle = () => {
    tries++;
    throw new Error("database or disk is full");
  };
  // Thrown in a timer it would end the process, and this test with it.
  await until(() => tries >= 2, "the second try");
  proposals.settle = settle;
  assert.equal((await lab.status(id)).body.status, "pending");
  const said = lab.logged.filter((line) => line.includes("disk is full"));
  assert.deepEqual(said, ["proposals cannot be kept up to date: database or disk is full"]);
});
