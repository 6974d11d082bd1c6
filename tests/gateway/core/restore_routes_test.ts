import assert from "node:assert/strict";
import { type Json, Lab, until } from "./lab.ts";

/** A lab in which one operation was carried out: it commits `b.txt`. */
async function operated(lab: Lab): Promise<{ before: string; after: string; pointId: string }> {
  const head = async () => (await lab.box.git(lab.repo, "rev-parse", "HEAD")).trim();
  const before = await head();
  lab.operation.executing = async (path) => {
    await lab.box.commit(path, "made by the operation", { "b.txt": "two\n" });
    return { status: "completed", message: "made it", members: {} };
  };
  const person = await lab.person();
  const { body } = await person.approve(await lab.proposed());
  return { before, after: await head(), pointId: body.result.restorePointId };
}

async function decisions(lab: Lab): Promise<Json[]> {
  const text = await Deno.readTextFile(lab.ledgerPath);
  return text.trim().split("\n").map((line) => JSON.parse(line))
    .filter((entry) => entry.decision === "restore");
}

Deno.test("looking at restore points registers nothing and changes nothing", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  assert.deepEqual((await person.get("restore")).body, { repositories: [] });
  const { status, body } = await person.get(`restore?repoPath=${lab.repo}`);
  assert.equal(status, 200);
  assert.deepEqual([body.kind, body.repoId, body.undo, body.redo], ["none", null, null, null]);
  assert.equal(await Deno.stat(`${lab.runDir}/repos`).then(() => true, () => false), false);
  for (const path of ["", "relative", "/nowhere", lab.box.home]) {
    assert.equal((await person.get(`restore?repoPath=${path}`)).status, 422, path);
  }
});

Deno.test("undo, redo and apply need the digest of what was shown, and are in the ledger", async () => {
  await using lab = await Lab.create({ ledger: true });
  const { before, after, pointId } = await operated(lab);
  const person = await lab.person("page");
  const head = async () => (await lab.box.git(lab.repo, "rev-parse", "HEAD")).trim();
  const asked = { repoPath: lab.repo };
  const list = (await person.get(`restore?repoPath=${lab.repo}`)).body;
  assert.equal(list.undo, pointId);
  assert.equal(list.list.points[0].previewId !== null, true);
  const preview = async (more: Json) =>
    (await person.post("restore/preview", { ...asked, ...more })).body.preview;
  // Without, with a wrong, and with an outdated digest nothing happens.
  assert.equal((await person.post("restore/undo", asked)).status, 422);
  assert.equal((await person.post("restore/undo", { ...asked, digest: "x" })).status, 409);
  const old = (await preview({ direction: "undo" })).digest;
  await Deno.writeTextFile(`${lab.repo}/b.txt`, "changed since\n");
  const stale = await person.post("restore/undo", { ...asked, digest: old });
  assert.equal(stale.status, 409);
  assert.equal(stale.body.error, "restore_stale");
  assert.equal(await head(), after);
  await Deno.writeTextFile(`${lab.repo}/b.txt`, "two\n");
  const undo = { ...asked, digest: (await preview({ direction: "undo" })).digest };
  const undone = await person.post("restore/undo", undo);
  assert.equal(undone.status, 200, JSON.stringify(undone.body));
  assert.equal(undone.body.verified, true);
  assert.equal(await head(), before);
  assert.equal((await person.post("restore/undo", undo)).status, 409, "a replay");
  const redo = { ...asked, digest: (await preview({ direction: "redo" })).digest };
  assert.equal((await person.post("restore/redo", redo)).status, 200);
  assert.equal(await head(), after);
  const id = pointId;
  const apply = { ...asked, id, digest: (await preview({ id })).digest };
  assert.equal((await person.post("restore/apply", apply)).status, 200);
  assert.equal(await head(), before);
  await lab.stop();
  const entries = await decisions(lab);
  const good = entries.filter((entry) => entry.result === "success");
  assert.equal(good.length, 3);
  assert.equal(entries.length, 6, "refused attempts are recorded too");
  assert.deepEqual(
    good.map((entry) => [entry.channel, entry.id_before, entry.id_after]),
    [["page", after, before], ["page", before, after], ["page", after, before]],
  );
  for (const entry of entries) assert.equal(entry.risk, "none");
});

Deno.test("the routes take what they know and nothing else", async () => {
  await using lab = await Lab.create();
  const { pointId } = await operated(lab);
  const person = await lab.person();
  const repoPath = lab.repo;
  for (
    const body of [{}, [], "x", { repoPath: 5 }, { repoPath, id: 5 }, { repoPath, force: true }]
  ) {
    for (const route of ["preview", "diff", "apply", "undo", "redo"]) {
      const { status } = await person.post(`restore/${route}`, body);
      assert.equal(status, 422, `${route} ${JSON.stringify(body)}`);
    }
  }
  const unknown = { repoPath, id: "0000abcd-0000abcd" };
  assert.equal((await person.post("restore/preview", unknown)).status, 409);
  assert.equal((await person.post("restore/preview", { repoPath, id: "../x" })).status, 409);
  assert.equal((await person.post("restore/diff", { repoPath, id: pointId })).status, 200);
  assert.equal((await person.post("restore/nothing", { repoPath })).status, 404);
  assert.equal((await person.get("restore/undo/x")).status, 404);
});

Deno.test("the end of the gateway waits for a way back that is being carried out", async () => {
  await using lab = await Lab.create();
  const { before } = await operated(lab);
  const person = await lab.person();
  const asked = { repoPath: lab.repo };
  const { preview } = (await person.post("restore/preview", { ...asked, direction: "undo" })).body;
  const undoing = person.post("restore/undo", { ...asked, digest: preview.digest });
  await until(() => lab.gateway.busy, "it began");
  await lab.stop();
  assert.equal((await undoing).body.verified, true);
  assert.equal((await lab.box.git(lab.repo, "rev-parse", "HEAD")).trim(), before);
});
