import assert from "node:assert/strict";
import { verifyLedger } from "../../../audit/mod.ts";
import { PROPOSAL_LIMITS } from "../../../gateway/server/proposals.ts";
import { hashTree } from "../../fixtures/sandbox.ts";
import { type Json, Lab } from "./lab.ts";

async function ledgerEntries(lab: Lab): Promise<Json[]> {
  const report = await verifyLedger(lab.ledgerPath);
  assert(report.ok, JSON.stringify(report.failure));
  return (await Deno.readTextFile(lab.ledgerPath)).trim().split("\n").map((line) =>
    JSON.parse(line)
  );
}

Deno.test("an approval carries out what the card said, once, and says how to go back", async () => {
  await using lab = await Lab.create({ ledger: true });
  const before = (await lab.box.git(lab.repo, "rev-parse", "HEAD")).trim();
  lab.operation.executing = async (path) => {
    await lab.box.commit(path, "made by the operation", { "b.txt": "two\n" });
    return { status: "completed", message: "made it", members: { commitSha: "c".repeat(40) } };
  };
  const id = await lab.proposed();
  const person = await lab.person();
  const card = await person.card(id);
  assert.equal(card.agentId, "tester");
  assert.equal(card.reason, "because the test says so");
  assert.equal(card.effect.summary, "a stand-in for an operation");
  assert.match(card.digest, /^sha256:[0-9a-f]{64}$/);
  assert.equal(card.timeLeftMs, PROPOSAL_LIMITS.lifeMs);
  const { status, body } = await person.post(`proposals/${id}/approve`, { digest: card.digest });
  assert.equal(status, 200);
  assert.equal(body.status, "completed");
  assert.equal(body.result.message, "made it");
  const after = (await lab.box.git(lab.repo, "rev-parse", "HEAD")).trim();
  assert.deepEqual(body.result.restorePoint, {
    operation: "commit",
    branchRef: "refs/heads/main",
    beforeCommit: before,
    afterCommit: after,
    canUndo: true,
  });
  assert.equal(typeof body.result.restorePointId, "string");
  assert.deepEqual((await lab.status(id)).body.result, body.result);
  assert.deepEqual(lab.operation.executed, ["commit"]);
  // Replays find it decided.
  for (const path of ["approve", "reject", "reconcile"]) {
    const again = await person.post(
      `proposals/${id}/${path}`,
      {
        approve: { digest: card.digest },
        reject: {},
        reconcile: { outcome: "failed" },
      }[path],
    );
    assert.equal(again.status, 409, path);
  }
  assert.equal((await lab.cancel(id)).status, 409);
  assert.equal(lab.operation.executed.length, 1);
  await lab.stop();
  const entries = await ledgerEntries(lab);
  const [approve, execute] = entries;
  assert.deepEqual(entries.map((entry) => entry.decision), ["approve", "execute"]);
  for (const entry of [approve, execute]) {
    assert.equal(entry.previewId, id);
    assert.equal(entry.card_digest, card.digest);
    assert.equal(entry.channel, "terminal");
    assert.equal(entry.session_id, "tester");
    assert.equal(entry.risk, "low");
    assert.equal(entry.result, "success");
    assert.match(entry.repo_scope, /^repoPath:sha256:/);
    assert(!JSON.stringify(entry).includes(lab.repo), "no path in clear");
  }
  assert.equal(execute.id_before, before);
  assert.equal(execute.id_after, after);
  assert.equal(execute.id_commitSha, "c".repeat(40));
});

Deno.test("a card that changed since it was shown is asked for again, and nothing runs (P-01)", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed();
  const person = await lab.person();
  const shown = await person.card(id);
  await Deno.writeTextFile(`${lab.repo}/fact`, "2");
  const stale = await person.post(`proposals/${id}/approve`, { digest: shown.digest });
  assert.equal(stale.status, 409);
  assert.equal(stale.body.error, "card_changed");
  for (const digest of ["", "sha256:0", shown.digest.toUpperCase(), "x".repeat(71)]) {
    const { status } = await person.post(`proposals/${id}/approve`, { digest });
    assert([409, 422].includes(status), digest);
  }
  assert.equal((await person.post(`proposals/${id}/approve`, {})).status, 422);
  assert.equal((await lab.status(id)).body.status, "pending");
  const fresh = await person.card(id);
  assert.notEqual(fresh.digest, shown.digest);
  assert.equal(fresh.warnings[0].code, "moved_since_proposal");
  assert.match(fresh.warnings[0].message, /fact/);
  assert.equal((await person.approve(id)).body.status, "completed");
});

Deno.test("what changes between the approval and the lock fails as stale, the repository untouched", async () => {
  await using lab = await Lab.create({ ledger: true });
  const id = await lab.proposed();
  const person = await lab.person();
  await lab.looked(id);
  const { digest } = await person.card(id);
  let looks = 0;
  lab.operation.inspecting = async () => {
    // The first look is the approval's own, the second is made under the lock.
    if (++looks === 2) await Deno.writeTextFile(`${lab.repo}/fact`, "moved");
  };
  const { status, body } = await person.post(`proposals/${id}/approve`, { digest });
  assert.equal(status, 200);
  assert.equal(body.status, "failed");
  assert.match(body.result.message, /stale: the repository changed after the approval/);
  assert.equal(body.result.stale, true);
  assert.equal(lab.operation.executed.length, 0);
  await lab.stop();
  const entries = await ledgerEntries(lab);
  assert.deepEqual(
    entries.map((entry) => [entry.decision, entry.result]),
    [["approve", "success"], ["execute", "error"]],
  );
});

Deno.test("what changes while the restore point is made fails as stale too", async () => {
  await using lab = await Lab.create();
  const id = await lab.proposed();
  const person = await lab.person();
  await lab.looked(id);
  const { digest } = await person.card(id);
  let looks = 0;
  lab.operation.inspecting = async () => {
    if (++looks === 3) await Deno.writeTextFile(`${lab.repo}/fact`, "moved");
  };
  const { body } = await person.post(`proposals/${id}/approve`, { digest });
  assert.equal(body.status, "failed");
  assert.match(body.result.message, /while the restore point was made \(fact\)/);
  assert.equal(lab.operation.executed.length, 0);
});

Deno.test("two who approve at once: one execution, the other is told that it is decided (P-05)", async () => {
  await using lab = await Lab.create({ ledger: true });
  const people = [await lab.person("terminal"), await lab.person("page"), await lab.person("page")];
  for (let round = 0; round < 5; round++) {
    const id = await lab.proposed();
    const { digest } = await people[0]!.card(id);
    const answers = await Promise.all(
      people.map((person) => person.post(`proposals/${id}/approve`, { digest })),
    );
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 409, 409]);
    assert.equal(lab.operation.executed.length, round + 1);
  }
  await lab.stop();
  const kinds = (await ledgerEntries(lab)).map((entry) => entry.decision);
  assert.equal(kinds.filter((kind) => kind === "approve").length, 5);
  assert.equal(kinds.filter((kind) => kind === "execute").length, 5);
});

Deno.test("approve, reject and cancel at once: exactly one of them holds (H7)", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  for (let round = 0; round < 8; round++) {
    const id = await lab.proposed();
    const { digest } = await person.card(id);
    const [approve, reject, cancel] = await Promise.all([
      person.post(`proposals/${id}/approve`, { digest }),
      person.post(`proposals/${id}/reject`, { reason: "no" }),
      lab.cancel(id),
    ]);
    const good = [approve, reject, cancel].filter((answer) => answer.status === 200);
    assert.equal(good.length, 1, JSON.stringify([approve.body, reject.body, cancel.body]));
    const { body } = await lab.status(id);
    assert.equal(body.status, good[0]!.body.status);
  }
});

Deno.test("an expired or withdrawn proposal cannot be approved, and leaves the queue (H6)", async () => {
  await using lab = await Lab.create({ ledger: true });
  const person = await lab.person();
  const [late, gone] = [await lab.proposed(), await lab.proposed()];
  const digests = [(await person.card(late)).digest, (await person.card(gone)).digest];
  await lab.cancel(gone);
  lab.clock += PROPOSAL_LIMITS.lifeMs;
  for (const [i, id] of [late, gone].entries()) {
    const { status, body } = await person.post(`proposals/${id}/approve`, { digest: digests[i] });
    assert.equal(status, 409);
    assert.match(body.message, i === 0 ? /expired/ : /cancelled/);
  }
  assert.deepEqual((await person.get("proposals")).body.proposals, []);
  const ended = (await person.get("proposals?state=ended")).body;
  assert.equal(ended.total, 2);
  assert.equal((await person.card(late)).status, "expired");
  await lab.stop();
  const entries = await ledgerEntries(lab);
  assert.deepEqual(entries.map((entry) => [entry.decision, entry.previewId]), [["expire", late]]);
});

Deno.test("a reason for a rejection goes back to the agent; blank ones are none", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  const told = async (body: Json) => {
    const id = await lab.proposed();
    assert.equal((await person.post(`proposals/${id}/reject`, body)).status, 200);
    return (await lab.status(id)).body;
  };
  const nasty = "no\u0000\u001b[2J\u202e";
  assert.equal((await told({ reason: nasty })).rejectionReason, nasty);
  for (const body of [{}, { reason: null }, { reason: "  " }]) {
    const answer = await told(body);
    assert.equal(answer.status, "rejected");
    assert(!("rejectionReason" in answer));
  }
  const id = await lab.proposed();
  assert.equal((await person.post(`proposals/${id}/reject`, { reason: 5 })).status, 422);
  assert.equal(
    (await person.post(`proposals/${id}/reject`, { reason: "x".repeat(4_097) })).status,
    422,
  );
  assert.equal((await lab.status(id)).body.status, "pending");
});

Deno.test("typed words are asked for where the card says so, and the words must be the right ones", async () => {
  await using lab = await Lab.create();
  lab.operation.words = "reset main";
  const person = await lab.person();
  const id = await lab.proposed("reset", { mode: "hard" });
  const { digest, words, destructive } = await person.card(id);
  assert.equal(words, "reset main");
  assert.equal(destructive, true);
  for (const given of [undefined, null, "", "reset", "reset  Main", "reset main!", "yes"]) {
    const { status, body } = await person.post(`proposals/${id}/approve`, { digest, words: given });
    assert.equal(status, 422, String(given));
    assert.equal(body.error, "words_missing");
  }
  assert.equal((await lab.status(id)).body.status, "pending");
  const { body } = await person.post(`proposals/${id}/approve`, {
    digest,
    words: " reset  main\n",
  });
  assert.equal(body.status, "completed");
});

Deno.test("each destructive step of a plan needs its own box", async () => {
  await using lab = await Lab.create();
  lab.operation.destructiveSteps = [0, 2];
  const person = await lab.person();
  const steps = [1, 2, 3].map(() => ({ operationType: "discard", paths: ["a.txt"] }));
  const id = await lab.proposed("plan", { steps });
  const { digest } = await person.card(id);
  const approve = (overrides: Json) =>
    person.post(`proposals/${id}/approve`, { digest, overrides });
  for (const confirmedSteps of [[], [0], [2, 1]]) {
    const { status, body } = await approve({ confirmedSteps });
    assert.equal(status, 422);
    assert.equal(body.error, "steps_not_confirmed");
  }
  assert.equal((await approve(undefined)).status, 422);
  for (const confirmedSteps of [[3], [-1], [0.5], ["0"], "0", Array(11).fill(0)]) {
    assert.equal((await approve({ confirmedSteps })).status, 422, JSON.stringify(confirmedSteps));
  }
  const { body } = await approve({ confirmedSteps: [2, 0, 0] });
  assert.equal(body.status, "completed");
  assert.deepEqual(lab.gateway.service.record(id).overrides, { confirmedSteps: [0, 2] });
});

Deno.test("switches exist only on the cards that have them, and change the digest", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  const commit = await lab.proposed("commit");
  const { digest } = await person.card(commit);
  const wrong = (overrides: Json) =>
    person.post(`proposals/${commit}/approve`, { digest, overrides });
  assert.equal((await wrong({ applyToIndex: true })).status, 422);
  assert.equal((await wrong({ confirmedSteps: [0] })).status, 422);
  assert.equal((await wrong({ force: true })).status, 422);
  assert.equal((await wrong([])).status, 422);
  assert.equal((await person.get(`proposals/${commit}?applyToIndex=true`)).status, 422);
  const patch = await lab.proposed("patch");
  const plain = await person.card(patch);
  const switched = (await person.get(`proposals/${patch}?applyToIndex=true`)).body;
  assert.notEqual(switched.digest, plain.digest);
  assert.equal((await person.get(`proposals/${patch}?applyToIndex=1`)).status, 422);
  const mixed = await person.post(`proposals/${patch}/approve`, {
    digest: plain.digest,
    overrides: { applyToIndex: true },
  });
  assert.equal(mixed.status, 409);
  const good = await person.post(`proposals/${patch}/approve`, {
    digest: switched.digest,
    overrides: { applyToIndex: true },
  });
  assert.equal(good.body.status, "completed");
  assert.deepEqual(lab.gateway.service.record(patch).overrides, { applyToIndex: true });
});

Deno.test("a blocker stands in the way of an approval with its own words", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  const id = await lab.proposed();
  lab.operation.blockers = [{ code: "nothing_to_commit", message: "there is nothing to commit" }];
  const { digest, blockers } = await person.card(id);
  assert.equal(blockers[0].code, "nothing_to_commit");
  const { status, body } = await person.post(`proposals/${id}/approve`, { digest });
  assert.equal(status, 409);
  assert.deepEqual([body.error, body.message], ["nothing_to_commit", "there is nothing to commit"]);
});

Deno.test("a card that cannot be computed says so and cannot be approved", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  const id = await lab.proposed();
  const { digest } = await person.card(id);
  lab.operation.inspecting = () => {
    throw new Error("the disk is on fire");
  };
  const card = await person.card(id);
  assert.equal(card.digest, null);
  assert.equal(card.blockers[0].code, "cannot_inspect");
  assert.match(card.blockers[0].message, /on fire/);
  assert.equal((await person.post(`proposals/${id}/approve`, { digest })).status, 409);
  lab.operation.inspecting = () => {};
  // The repository moved away: fail closed as well (H3).
  await Deno.rename(lab.repo, lab.repo + "-moved");
  assert.equal((await person.card(id)).digest, null);
  const gone = await person.post(`proposals/${id}/approve`, { digest });
  assert.equal(gone.status, 409);
  // Another repository in its place is not the one that was shown (S-23).
  await lab.box.repo();
  await lab.box.commit(lab.repo, "another", { fact: "1" });
  const swapped = await person.post(`proposals/${id}/approve`, { digest });
  assert.equal(swapped.body.error, "card_changed");
});

Deno.test("an operation that fails leaves the repository byte for byte, by its restore point where it must", async () => {
  await using lab = await Lab.create();
  const { box, repo } = lab;
  await box.write(repo, { "untracked.txt": "mine\n", "a.txt": "changed\n" });
  const person = await lab.person();
  const tree = async () => {
    const lines = (await hashTree(repo)).split("\n").filter((line) => !line.includes("/.git/"));
    // Times may differ, content and kinds may not.
    return lines.map((line) => line.replace(/^(f \d+) \d+/, "$1")).sort().join("\n");
  };
  const state = async () => [
    await tree(),
    await box.git(repo, "for-each-ref"),
    await box.git(repo, "status", "--porcelain"),
  ];
  const before = await state();
  lab.operation.executing = async (path) => {
    await box.commit(path, "half of it", { "a.txt": "destroyed\n" });
    await Deno.remove(`${path}/untracked.txt`).catch(() => {});
    throw new Error("and then it broke");
  };
  const first = await person.approve(await lab.proposed());
  assert.equal(first.body.status, "failed");
  assert.match(first.body.result.message, /and then it broke; the repository was brought back/);
  assert.equal(first.body.result.repositoryUnchanged, true);
  assert.deepEqual(await state(), before);
  // An operation that cleaned up after itself needs none of that.
  lab.operation.executing = () => Promise.resolve({ status: "failed", message: "no", members: {} });
  const second = await person.approve(await lab.proposed());
  assert.equal(second.body.result.message, "no");
  assert.equal(second.body.result.repositoryUnchanged, true);
  assert.deepEqual(await state(), before);
});

Deno.test("when no restore point can be made the operation does not run", async () => {
  await using lab = await Lab.create();
  const person = await lab.person();
  const id = await lab.proposed();
  const { digest } = await person.card(id);
  // The place of the hidden repository is taken by a file.
  await Deno.remove(`${lab.repo}/.git/fluxgit`, { recursive: true }).catch(() => {});
  await Deno.writeTextFile(`${lab.repo}/.git/fluxgit`, "in the way");
  const { body } = await person.post(`proposals/${id}/approve`, { digest });
  assert.equal(body.status, "failed");
  assert.match(body.result.message, /^nothing was changed/);
  assert.equal(lab.operation.executed.length, 0);
});
