import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { unwritable } from "../../../gateway/server/journal_errors.ts";
import { PROPOSAL_LIMITS } from "../../../gateway/server/proposals.ts";
import { type Json, Lab, until } from "./lab.ts";

/** Makes the gateway stand where a kill left it: the journal as it was, the process gone. */
async function asKilled(lab: Lab, change: (db: DatabaseSync) => void): Promise<void> {
  await lab.stop();
  const db = new DatabaseSync(`${lab.runDir}/gateway/journal.sqlite`);
  change(db);
  db.close();
  await lab.start();
}

const acting = (lab: Lab, fingerprint: string, point = "0000abcd-0000abcd") =>
  JSON.stringify({
    phase: "acting",
    repositories: [{
      repoPath: lab.repo,
      restorePointId: point,
      fingerprint,
      head: "a".repeat(40),
    }],
  });

Deno.test("pending proposals survive a restart until their time is over (D2)", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed();
  const first = (await lab.status(id)).body;
  lab.clock += 60_000;
  await lab.restart();
  assert.deepEqual((await lab.status(id)).body, first);
  const person = await lab.person();
  assert.equal((await person.card(id)).timeLeftMs, PROPOSAL_LIMITS.lifeMs - 60_000);
  await lab.stop();
  lab.clock += PROPOSAL_LIMITS.lifeMs;
  await lab.start();
  assert.equal((await lab.status(id)).body.status, "expired");
});

Deno.test("what was approved and not begun runs only by a new approval of the same state", async () => {
  await using lab = await Lab.create({ ledger: true });
  const [same, moved] = [await lab.proposed(), await lab.proposed()];
  const person = await lab.person();
  const digest = (await person.card(same)).digest;
  await asKilled(lab, (db) => {
    db.prepare("UPDATE proposals SET status='approved', digest=? WHERE preview_id=?")
      .run(digest, same);
    db.prepare("UPDATE proposals SET status='approved', digest=? WHERE preview_id=?")
      .run("sha256:" + "0".repeat(64), moved);
  });
  const again = await lab.person();
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(lab.operation.executed.length, 0, "nothing resumes by itself");
  const { proposals } = (await again.get("proposals?state=recoverable")).body;
  assert.deepEqual(
    proposals.map((row: Json) => [row.previewId, row.status, row.running]).sort(),
    [[same, "approved", false], [moved, "approved", false]].sort(),
  );
  const card = await again.card(same);
  assert.equal(card.warnings[0].code, "approved_not_run");
  // The other was approved in another state: it can only be rejected.
  const stale = await again.approve(moved);
  assert.equal(stale.status, 409);
  assert.equal(stale.body.error, "card_changed");
  assert.equal((await again.post(`proposals/${moved}/reject`, {})).body.status, "rejected");
  // Two at once are two no more than before.
  const answers = await Promise.all([again.approve(same), again.approve(same)]);
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 409]);
  assert.equal(lab.operation.executed.length, 1);
});

Deno.test("an approval that nobody renews ends after five minutes (D5)", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed();
  await asKilled(
    lab,
    (db) => db.exec(`UPDATE proposals SET status='approved', digest='sha256:x'`),
  );
  assert.equal((await lab.status(id)).body.status, "approved");
  lab.clock += PROPOSAL_LIMITS.lifeMs;
  assert.equal((await lab.status(id)).body.status, "expired");
});

Deno.test("an interrupted execution is shown, never run again, and ends by a person's word", async () => {
  await using lab = await Lab.create({ ledger: true });
  const [id, other] = [await lab.proposed(), await lab.proposed("discard")];
  await asKilled(lab, (db) => {
    db.prepare(
      "UPDATE proposals SET status='executing', digest='sha256:x', progress=? WHERE preview_id=?",
    ).run(acting(lab, "something else"), id);
  });
  assert(lab.logged.some((line) => line.includes(`approvals show ${id}`)));
  assert.equal((await lab.status(id)).body.status, "executing");
  lab.clock += 10 * PROPOSAL_LIMITS.memoryMs;
  lab.gateway.service.parts.proposals.prune();
  assert.equal((await lab.status(id)).body.status, "executing", "it waits as long as it takes");
  const person = await lab.person();
  const card = await person.card(id);
  assert.equal(card.running, false);
  assert.equal(card.effect, null);
  assert.equal(card.recovery.begun, true);
  assert.match(card.recovery.message, /may have done a part/);
  assert.match(card.recovery.message, /no git or hook of it is still running/);
  const [place] = card.recovery.repositories;
  assert.deepEqual([place.repoPath, place.restorePointId, place.unchanged], [
    lab.repo,
    "0000abcd-0000abcd",
    false,
  ]);
  const head = (await lab.box.git(lab.repo, "rev-parse", "HEAD")).trim();
  assert.deepEqual([place.headBefore, place.headNow], ["a".repeat(40), head]);
  assert.equal((await person.post(`proposals/${id}/approve`, { digest: "sha256:x" })).status, 409);
  assert.equal((await person.post(`proposals/${id}/reject`, {})).status, 409);
  assert.equal((await lab.cancel(id)).status, 409);
  for (const outcome of [undefined, "cancelled", true]) {
    assert.equal((await person.post(`proposals/${id}/reconcile`, { outcome })).status, 422);
  }
  const { body } = await person.post(`proposals/${id}/reconcile`, { outcome: "completed" });
  assert.equal(body.status, "completed");
  assert.equal(body.result.reconciled, true);
  assert.equal(body.result.restorePointId, "0000abcd-0000abcd");
  assert.equal((await person.post(`proposals/${id}/reconcile`, { outcome: "failed" })).status, 409);
  assert.equal(lab.operation.executed.length, 0);
  assert.equal((await lab.status(other)).body.status, "expired");
  await lab.stop();
  const text = await Deno.readTextFile(lab.ledgerPath);
  const kinds = text.trim().split("\n").map((line) => JSON.parse(line).decision);
  assert.deepEqual(kinds, ["expire", "reconcile"]);
});

Deno.test("an execution that was cut off before its first change says so", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed();
  await asKilled(lab, (db) => db.exec("UPDATE proposals SET status='executing'"));
  const person = await lab.person();
  const { recovery } = await person.card(id);
  assert.equal(recovery.begun, false);
  assert.match(recovery.message, /before it changed anything/);
});

Deno.test("whether the repository is as before an interrupted operation is found out by looking", async () => {
  await using lab = await Lab.create();
  const port = lab.gateway.service.parts.restore;
  const { openRepository } = await import("../../../git/repository.ts");
  const fingerprint = await port.fingerprint!(await openRepository(lab.repo));
  const id = await lab.proposed();
  await asKilled(lab, (db) => {
    db.prepare("UPDATE proposals SET status='executing', progress=?").run(acting(lab, fingerprint));
  });
  const person = await lab.person();
  const same = (await person.card(id)).recovery;
  assert.equal(same.repositories[0].unchanged, true);
  assert.match(same.message, /exactly as it was/);
  await Deno.writeTextFile(`${lab.repo}/a.txt`, "changed");
  assert.equal((await person.card(id)).recovery.repositories[0].unchanged, false);
  await Deno.rename(lab.repo, lab.repo + "-gone");
  assert.equal((await person.card(id)).recovery.repositories[0].unchanged, null);
});

Deno.test("nothing more is approved in a repository with an interrupted operation, its work trees included", async () => {
  await using lab = await Lab.create();
  await lab.box.git(lab.repo, "worktree", "add", "-q", "../linked", "-b", "linked");
  const other = await lab.box.repo("other");
  await lab.box.commit(other, "first", { a: "1" });
  const id = await lab.proposed();
  const here = await lab.proposed("discard");
  const beside = await lab.proposed("discard", { repoPath: `${lab.box.root}/linked` });
  const elsewhere = await lab.proposed("discard", { repoPath: other });
  await asKilled(lab, (db) => {
    db.prepare("UPDATE proposals SET status='executing' WHERE preview_id=?").run(id);
  });
  const person = await lab.person();
  for (const blocked of [here, beside]) {
    assert.equal((await person.card(blocked)).blockers[0].code, "interrupted_execution");
    const { status, body } = await person.approve(blocked);
    assert.equal(status, 409);
    assert.equal(body.error, "interrupted_execution");
    assert(body.message.includes(id));
  }
  assert.equal((await person.approve(elsewhere)).body.status, "completed");
  await person.post(`proposals/${id}/reconcile`, { outcome: "failed" });
  assert.equal((await person.approve(here)).body.status, "completed");
});

Deno.test("an execution under way is told as running and cannot be reconciled; stopping waits for it", async () => {
  await using lab = await Lab.create();
  const go = Promise.withResolvers<void>();
  lab.operation.executing = async () => await go.promise;
  const id = await lab.proposed();
  const person = await lab.person();
  const approval = person.approve(id);
  await until(() => lab.operation.executed.length === 1, "the execution began");
  assert.equal((await lab.status(id)).body.status, "executing");
  const card = await person.card(id);
  assert.deepEqual([card.running, card.recovery], [true, null]);
  const [row] = (await person.get("proposals?state=recoverable")).body.proposals;
  assert.equal(row.running, true);
  const { status, body } = await person.post(`proposals/${id}/reconcile`, { outcome: "failed" });
  assert.equal(status, 409);
  assert.equal(body.error, "still_running");
  let stopped = false;
  const stop = lab.stop().then(() => stopped = true);
  const late = await lab.propose().catch(() => null);
  assert(late === null || late.status === 503);
  assert.equal(stopped, false);
  go.resolve();
  assert.equal((await approval).body.status, "completed");
  await stop;
  await lab.start();
  assert.equal((await lab.status(id)).body.status, "completed");
});

Deno.test("an operation that waits too long for the repository fails and changes nothing", async () => {
  await using lab = await Lab.create({ lockWaitMs: 50 });
  const { withRepositoryLock } = await import("../../../restore/mod.ts");
  const { openRepository } = await import("../../../git/repository.ts");
  const repo = await openRepository(lab.repo);
  const id = await lab.proposed();
  const person = await lab.person();
  const free = Promise.withResolvers<void>();
  const holder = withRepositoryLock(repo.facts.commonDir, () => free.promise);
  const answer = await person.approve(id);
  free.resolve();
  await holder;
  assert.equal(answer.body.status, "failed");
  assert.match(answer.body.result.message, /nothing was changed: another process/);
  assert.equal(lab.operation.executed.length, 0);
});

Deno.test("a branch deletion locks and secures every repository it names, whatever their order", async () => {
  await using lab = await Lab.create();
  const paths = [lab.repo];
  for (const name of ["zeta", "alpha"]) {
    const path = await lab.box.repo(name);
    await lab.box.commit(path, "first", { a: name });
    paths.push(path);
  }
  await lab.box.git(lab.repo, "worktree", "add", "-q", "../linked", "-b", "linked");
  const person = await lab.person();
  const run = async (order: string[], repoPath: string) => {
    const targets = order.map((path) => ({ repoPath: path, branches: ["old"] }));
    return await person.approve(
      await lab.proposed("branchDelete", { repoPath, targets }),
    );
  };
  const linked = `${lab.box.root}/linked`;
  const answers = await Promise.all([
    run([...paths, linked], paths[0]!),
    run([...paths].reverse(), paths[2]!),
  ]);
  for (const { body } of answers) {
    assert.equal(body.status, "completed", JSON.stringify(body));
    assert.equal(body.result.restorePoints.length, 3);
  }
  assert.equal(answers[0]!.body.result.restorePoints[0].repoPath, paths[0]);
  assert.equal(answers[1]!.body.result.restorePoints[0].repoPath, paths[2]);
  // Where it fails every one of them is as before.
  lab.operation.executing = async () => {
    for (const path of paths) await lab.box.git(path, "branch", "half-done");
    throw new Error("broke");
  };
  const failed = await run(paths, paths[0]!);
  assert.equal(failed.body.result.repositoryUnchanged, true, failed.body.result.message);
  for (const path of paths) {
    assert.equal(await lab.box.git(path, "branch", "--list", "half-done"), "");
  }
});

Deno.test("a ledger that cannot be written is told as degraded and undoes nothing (U2)", async () => {
  await using lab = await Lab.create({ ledger: true });
  const first = await lab.person();
  await first.post(`proposals/${await lab.proposed()}/reject`, {});
  await lab.stop();
  await Deno.remove(lab.ledgerPath);
  await Deno.mkdir(lab.ledgerPath);
  await lab.start();
  const person = await lab.person();
  const id = await lab.proposed();
  assert.equal((await person.approve(id)).body.status, "completed");
  await until(async () => (await person.get("ledger")).body.status === "degraded", "it is told");
  assert.equal((await lab.status(id)).body.status, "completed");
  assert(lab.logged.some((line) => line.startsWith("ledger: ")));
});

Deno.test("an outcome waits for a journal that takes nothing at the moment", async () => {
  await using lab = await Lab.create();
  const { proposals } = lab.gateway.service.parts;
  Object.assign(lab.gateway.service.parts, { patience: { tries: 5, pauseMs: 5 } });
  const finish = proposals.finish.bind(proposals);
  let failures = 3;
  proposals.finish = (...given) => {
    if (failures-- > 0) throw unwritable(new Error("database or disk is full"))!;
    return finish(...given);
  };
  const person = await lab.person();
  const id = await lab.proposed();
  assert.equal((await person.approve(id)).body.status, "completed");
  assert(lab.logged.some((line) => line.includes("an outcome cannot be recorded yet")));
  // Where it never takes anything again, the proposal stays to be reconciled.
  failures = 100;
  const other = await lab.proposed();
  const { status, body } = await person.approve(other);
  assert.equal(status, 503);
  assert.equal(body.error, "journal_unwritable");
  const card = await person.card(other);
  assert.deepEqual([card.status, card.running, card.recovery.begun], ["executing", false, true]);
});
