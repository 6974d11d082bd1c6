import assert from "node:assert/strict";
import { parseBody } from "../../../gateway/server/admission/body.ts";
import { isDotGit } from "../../../gateway/server/admission/names.ts";
import { PROPOSAL_LIMITS } from "../../../gateway/server/proposals.ts";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { OPERATION_TYPES, type OperationType } from "../../../gateway/server/types.ts";
import { type Json, Lab } from "./lab.ts";

Deno.test("each of the twelve types is admitted with its least and with every member", async () => {
  await using lab = await Lab.create();
  for (const [i, type] of OPERATION_TYPES.entries()) {
    const answer = await lab.propose(type, { agentId: `agent-${i}` });
    assert.equal(answer.status, 202, `${type}: ${JSON.stringify(answer.body)}`);
    const { previewId, status, expiresAt, operationType } = answer.body;
    assert.equal(status, "pending");
    assert.equal(operationType, type);
    assert.equal(Date.parse(expiresAt), lab.clock + PROPOSAL_LIMITS.lifeMs);
    assert.deepEqual((await lab.status(previewId)).body, answer.body);
  }
});

Deno.test("whatever breaks the contract is refused with 422, the place named, and makes no card", async () => {
  await using lab = await Lab.create();
  const long = (n: number) => "x".repeat(n);
  const wrong: [OperationType, Record<string, unknown>, RegExp][] = [
    ["commit", { previewId: "a/b" }, /previewId/],
    ["commit", { previewId: "" }, /previewId/],
    ["commit", { previewId: long(129) }, /previewId/],
    ["commit", { previewId: 5 }, /previewId/],
    ["commit", { agentId: "" }, /agentId/],
    ["commit", { agentId: "a b" }, /agentId/],
    ["commit", { agentId: "a\nb" }, /agentId/],
    ["commit", { agentId: "../x" }, /agentId/],
    ["commit", { agentId: long(129) }, /agentId/],
    ["commit", { agentId: long(10_240) }, /agentId/],
    ["commit", { agentId: "\u001b[31m" }, /agentId/],
    ["commit", { idempotencyKey: "a b" }, /idempotencyKey/],
    ["commit", { idempotencyKey: long(1_048_576) }, /idempotencyKey/],
    ["commit", { operationType: "push" }, /operationType/],
    ["commit", { operationType: "Commit" }, /operationType/],
    ["commit", { repoPath: "relative" }, /repoPath/],
    ["commit", { repoPath: "/nowhere/at/all" }, /repoPath/],
    ["commit", { repoPath: `${lab.repo}/../repo` }, /repoPath/],
    ["commit", { repoPath: lab.box.home }, /repoPath/],
    ["commit", { repoPath: "/a\0b" }, /repoPath/],
    ["commit", { reason: "" }, /reason/],
    ["commit", { reason: "   " }, /reason/],
    ["commit", { reason: long(4_097) }, /reason/],
    ["commit", { requestedAt: 5 }, /requestedAt/],
    ["commit", { unknown: 1 }, /unknown/],
    ["commit", { amend: true }, /amend/],
    ["commit", { repoId: "x" }, /repoId/],
    ["commit", { message: long(65_537) }, /message/],
    ["commit", { message: "" }, /message/],
    ["commit", { stageAll: "yes" }, /stageAll/],
    ["commit", { paths: "a" }, /paths/],
    ["commit", { paths: ["../x"] }, /paths\[0\]/],
    ["commit", { paths: ["a", "/abs"] }, /paths\[1\]/],
    ["commit", { paths: ["C:\\x"] }, /paths/],
    ["commit", { paths: ["a/../../b"] }, /paths/],
    ["commit", { paths: [".git/config"] }, /git directory/],
    ["commit", { paths: [".GIT/hooks/x"] }, /git directory/],
    ["commit", { paths: ["sub/.git "] }, /git directory/],
    ["commit", { paths: ["GIT~1"] }, /git directory/],
    ["commit", { paths: [".g\u200cit/x"] }, /git directory/],
    ["commit", { paths: ["a\0b"] }, /NUL/],
    ["commit", { paths: [""] }, /empty/],
    ["commit", { paths: Array(10_001).fill("a") }, /paths has 10001/],
    ["discard", { paths: [] }, /paths/],
    ["discard", { paths: undefined }, /paths/],
    ["merge", { sourceRef: "-x" }, /sourceRef/],
    ["merge", { sourceRef: "a\nb" }, /sourceRef/],
    ["merge", { sourceRef: "a\u0007b" }, /sourceRef/],
    ["merge", { sourceRef: long(4_097) }, /sourceRef/],
    ["merge", { targetRef: undefined }, /targetRef/],
    ["merge", { strategy: "rebase" }, /strategy/],
    ["rebase", { interactive: true }, /interactive/],
    ["rebase", { interactive: "true" }, /interactive/],
    ["rebase", { ontoRef: undefined }, /ontoRef/],
    ["reset", { mode: "keep" }, /mode/],
    ["reset", { targetRef: "--hard" }, /targetRef/],
    ["patch", { patchContent: "" }, /patchContent/],
    ["patch", { applyToIndex: 1 }, /applyToIndex/],
    ["plan", { steps: [] }, /steps/],
    ["plan", { steps: Array(11).fill({ operationType: "reset", targetRef: "x" }) }, /steps has 11/],
    ["plan", { steps: [{ operationType: "commit", message: "x" }] }, /steps\[0\]\.operationType/],
    ["plan", { steps: [{ operationType: "merge", sourceRef: "a" }] }, /steps\[0\]\.targetRef/],
    [
      "plan",
      { steps: [{ operationType: "rebase", ontoRef: "a", interactive: true }] },
      /interactive/,
    ],
    ["plan", { steps: [{ operationType: "reset", targetRef: "a", paths: ["x"] }] }, /unknown/],
    ["plan", { steps: [{ operationType: "discard", paths: ["../x"] }] }, /steps\[0\]\.paths/],
    ["worktree", { branch: "refs/heads/x" }, /branch/],
    ["worktree", { branch: "a..b" }, /branch/],
    ["worktree", { path: "relative" }, /path/],
    ["worktree", { path: "/a/../b" }, /path/],
    ["push", { branch: "refs/heads/x" }, /branch/],
    ["push", { remote: "--receive-pack=x" }, /remote/],
    ["push", { branch: "a:b" }, /branch/],
    ["push", { force: true }, /force/],
    ["branch", { name: "HEAD" }, /name/],
    ["branch", { name: "@" }, /name/],
    ["branch", { name: "a.lock" }, /name/],
    ["branch", { name: ".a" }, /name/],
    ["branch", { name: "a b" }, /name/],
    ["branch", { startPoint: "-x" }, /startPoint/],
    ["branch", { checkout: null }, /checkout/],
    ["branchDelete", { targets: [] }, /targets/],
    ["branchDelete", { targets: [{ repoPath: lab.repo, branches: ["a", "a"] }] }, /twice/],
    ["branchDelete", { targets: [{ repoPath: lab.repo, branches: ["a"], force: 1 }] }, /force/],
    ["branchDelete", { targets: [{ repoPath: "/tmp", branches: ["a"] }] }, /must be one of/],
    [
      "branchDelete",
      { targets: [1, 2].map(() => ({ repoPath: lab.repo, branches: ["a"] })) },
      /twice/,
    ],
    [
      "branchDelete",
      {
        targets: [
          lab.repo,
          ...Array.from({ length: 5 }, (_, i) => `/r${i}`),
        ].map((repoPath) => ({
          repoPath,
          branches: Array.from({ length: 20 }, (_, i) => `b${i}`),
        })),
      },
      /100 branches/,
    ],
    ["submodulePointer", { direction: "record" }, /message/],
    ["submodulePointer", { message: "x" }, /message/],
    ["submodulePointer", { direction: undefined }, /direction/],
    ["submodulePointer", { direction: "record", message: long(2_001) }, /message/],
    ["submodulePointer", { expectedRecordedOid: "A".repeat(40) }, /expectedRecordedOid/],
    ["submodulePointer", { expectedCheckedOutOid: "a".repeat(39) }, /expectedCheckedOutOid/],
    ["submodulePointer", { relativePath: "../x" }, /relativePath/],
    ["submodulePointer", { parentPath: "/x" }, /parentPath/],
  ];
  for (const [type, more, where] of wrong) {
    const answer = await lab.propose(type, more);
    const shown = `${type} ${JSON.stringify(more).slice(0, 100)}: ${JSON.stringify(answer.body)}`;
    assert.equal(answer.status, 422, shown);
    assert.equal(answer.body.error, "validation_failed");
    assert.match(answer.body.message, where, shown);
    assert(answer.body.message.length < 500, shown);
    assert.match(JSON.stringify(answer.body), /^[\x20-\x7e]*$/, "refusals are printable ASCII");
  }
  assert.equal(lab.gateway.service.list(["pending"]).total, 0);
  // Nothing that was refused left the repository registered.
  assert.equal(await Deno.stat(`${lab.runDir}/repos`).then(() => true, () => false), false);
});

Deno.test("types of the path are case-sensitive and must equal the body's", () => {
  const parse = (suffix: string, type: string) => {
    try {
      parseBody({ operationType: type }, suffix);
      return "accepted";
    } catch (error) {
      return (error as Refusal).message;
    }
  };
  assert.match(parse("commit", "push"), /path says commit/);
  assert.match(parse("Commit", "commit"), /path says Commit/);
  assert.match(parse("../x", "commit"), /path says/);
  assert.match(parse("commit", "undo"), /must be one of/);
});

Deno.test("a 64-digit pin is accepted, and lengths count characters", async () => {
  await using lab = await Lab.create();
  const pin = "a".repeat(64);
  assert.equal((await lab.propose("submodulePointer", { expectedRecordedOid: pin })).status, 202);
  assert.equal((await lab.propose("commit", { reason: "😀".repeat(4_096) })).status, 202);
  assert.equal((await lab.propose("commit", { reason: "😀".repeat(4_097) })).status, 422);
  assert.equal((await lab.propose("commit", { reason: "\ud800" })).status, 422);
});

Deno.test("names that some file system reads as .git are all found", () => {
  for (
    const name of [
      ".git",
      ".GIT",
      ".git.",
      ".git ",
      ".git. .",
      "git~1",
      "GIT~2",
      ".git:x",
      "a\\.git",
    ]
  ) {
    assert(isDotGit(name), name);
  }
  for (const name of [".gitignore", "git", ".github", "x.git", "git~", "agit~1"]) {
    assert(!isDotGit(name), name);
  }
});

Deno.test("a repeated request resolves to the first proposal, whatever became of it", async () => {
  await using lab = await Lab.create();
  const body = lab.body("commit", { idempotencyKey: "commit:client:k" });
  const send = (more: Json = {}) =>
    lab.send("POST", "/v1/mcp/operation/preview/commit", { ...body, ...more });
  const first = await send();
  assert.equal(first.status, 202);
  const again = await send({ previewId: "another-id", requestedAt: "2031-01-01T00:00:00.000Z" });
  assert.equal(again.status, 202);
  assert.equal(again.body.previewId, body.previewId);
  // The lost answer: the very same request once more.
  assert.equal((await send()).body.previewId, body.previewId);
  const person = await lab.person();
  await person.post(`proposals/${body.previewId}/reject`, { reason: "no" });
  const rejected = await send({ previewId: "yet-another" });
  assert.deepEqual(rejected.body.status, "rejected");
  assert.equal(rejected.body.rejectionReason, "no");
  await lab.restart();
  assert.equal((await send({ previewId: "x-1" })).body.status, "rejected");
  // An hour later the record is gone and the key free.
  lab.clock += PROPOSAL_LIMITS.memoryMs + 1;
  lab.gateway.service.parts.proposals.prune();
  assert.equal((await send({ previewId: "x-2" })).body.status, "pending");
});

Deno.test("a key or an id that stands for something else is a conflict, never the old proposal", async () => {
  await using lab = await Lab.create();
  const other = await lab.box.repo("other");
  await lab.box.commit(other, "first", { a: "1" });
  const body = lab.body("commit", { idempotencyKey: "commit:client:k" });
  const send = (more: Json) =>
    lab.send("POST", "/v1/mcp/operation/preview/commit", { ...body, ...more });
  assert.equal((await send({})).status, 202);
  const fresh = () => ({ previewId: crypto.randomUUID() });
  for (
    const change of [
      { ...fresh(), message: "Another change" },
      { ...fresh(), reason: "another reason" },
      { ...fresh(), stageAll: false },
      // The id of the first, for another intent, repository or agent (P-04).
      { idempotencyKey: "commit:client:other", message: "Another change" },
      { idempotencyKey: "commit:client:other", repoPath: other },
      { idempotencyKey: "commit:client:other", agentId: "somebody-else" },
    ]
  ) {
    const answer = await send(change);
    assert.equal(answer.status, 409, JSON.stringify(change));
    assert.equal(answer.body.error, "idempotency_conflict");
  }
  // The scope: another agent or repository may use the same key for its own.
  assert.equal((await send({ ...fresh(), agentId: "somebody-else" })).status, 202);
  assert.equal((await send({ ...fresh(), repoPath: other })).status, 202);
  assert.equal(lab.gateway.service.list(["pending"]).total, 3);
});

Deno.test("the same request many times at once makes one card", async () => {
  await using lab = await Lab.create();
  const body = lab.body("commit", { idempotencyKey: "commit:client:k" });
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      lab.send("POST", "/v1/mcp/operation/preview/commit", {
        ...body,
        previewId: i % 2 === 0 ? body.previewId : `id-${i}`,
      })),
  );
  assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [202]);
  assert.equal(new Set(answers.map((answer) => answer.body.previewId)).size, 1);
  assert.equal(lab.gateway.service.list(["pending"]).total, 1);
});

Deno.test("an agent may have ten proposals open, also when it asks for more at once", async () => {
  await using lab = await Lab.create();
  const answers = await Promise.all(Array.from({ length: 25 }, () => lab.propose()));
  const admitted = answers.filter((answer) => answer.status === 202);
  assert.equal(admitted.length, PROPOSAL_LIMITS.pendingPerAgent);
  for (const answer of answers) {
    if (answer.status === 202) continue;
    assert.equal(answer.status, 429);
    assert.equal(answer.body.error, "agent_pending_cap_exceeded");
  }
  // Another agent is not starved, and a withdrawn one makes room.
  assert.equal((await lab.propose("commit", { agentId: "another" })).status, 202);
  await lab.cancel(admitted[0]!.body.previewId);
  assert.equal((await lab.propose()).status, 202);
  assert.equal((await lab.propose()).status, 429);
});

Deno.test("all agents together have a ceiling of count and of size", async () => {
  await using lab = await Lab.create();
  await Promise.all(
    Array.from({ length: PROPOSAL_LIMITS.pendingInAll }, async (_, i) => {
      assert.equal((await lab.propose("commit", { agentId: `agent-${i % 20}` })).status, 202);
    }),
  );
  const full = await lab.propose("commit", { agentId: "one-more" });
  assert.equal(full.status, 429);
  assert.equal(full.body.error, "pending_cap_exceeded");
  lab.clock += PROPOSAL_LIMITS.lifeMs;
  assert.equal((await lab.propose("commit", { agentId: "one-more" })).status, 202);
  const patchContent = "--- a/a.txt\n".padEnd(4_194_304, "x");
  let large = 0, status = 202;
  for (; status === 202 && large < 40; large++) {
    ({ status } = await lab.propose("patch", { agentId: `large-${large % 5}`, patchContent }));
  }
  assert.equal(status, 429);
  assert.equal(large, PROPOSAL_LIMITS.pendingCharacters / 4_194_304);
});

Deno.test("expiry counts from the gateway's clock; what the sender says of time is information only", async () => {
  await using lab = await Lab.create();
  for (const requestedAt of ["1970-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "never"]) {
    const { body } = await lab.propose("commit", { requestedAt });
    assert.equal(Date.parse(body.expiresAt), lab.clock + PROPOSAL_LIMITS.lifeMs);
  }
  const { body } = await lab.propose("commit", { requestedAt: undefined });
  assert.equal(body.status, "pending");
  lab.clock += PROPOSAL_LIMITS.lifeMs - 1;
  assert.equal((await lab.status(body.previewId)).body.status, "pending");
  lab.clock += 1;
  assert.equal((await lab.status(body.previewId)).body.status, "expired");
});

Deno.test("a sender without an idempotency key, as in older descriptions, is served", async () => {
  await using lab = await Lab.create();
  const first = lab.body("merge", { idempotencyKey: undefined });
  const path = "/v1/mcp/operation/preview/merge";
  assert.equal((await lab.send("POST", path, first)).status, 202);
  assert.equal((await lab.send("POST", path, first)).body.previewId, first.previewId);
  const second = { ...first, previewId: crypto.randomUUID() };
  assert.equal((await lab.send("POST", path, second)).body.previewId, second.previewId);
});

Deno.test("every place is kept in its canonical form: subfolders, links, targets, work trees", async () => {
  await using lab = await Lab.create();
  await Deno.mkdir(`${lab.repo}/deep/er`, { recursive: true });
  await Deno.symlink(lab.repo, `${lab.box.root}/alias`);
  const record = (id: string) => lab.gateway.service.record(id);
  for (const repoPath of [`${lab.repo}/deep/er`, `${lab.box.root}/alias`, `${lab.repo}/`]) {
    assert.equal(record(await lab.proposed("commit", { repoPath })).repoPath, lab.repo);
  }
  const alias = `${lab.box.root}/alias`;
  const targets = [{ repoPath: alias, branches: ["old"] }];
  const id = await lab.proposed("branchDelete", { repoPath: alias, targets });
  const { action } = record(id);
  assert.deepEqual(action.operationType === "branchDelete" && action.targets, [
    { repoPath: lab.repo, branches: ["old"] },
  ]);
  const twice = await lab.propose("branchDelete", {
    targets: [{ repoPath: lab.repo, branches: ["a"] }, { repoPath: alias, branches: ["b"] }],
  });
  assert.equal(twice.status, 422);
  const place = async (path?: string) => {
    const { action } = record(await lab.proposed("worktree", { branch: "x/y", path }));
    return action.operationType === "worktree" ? action.path : "";
  };
  assert.equal(await place(), `${lab.box.root}/repo-x-y`);
  assert.equal(await place("  "), `${lab.box.root}/repo-x-y`);
  assert.equal(await place(`${alias}/new/tree`), `${lab.repo}/new/tree`);
});

Deno.test("a proposal from a linked work tree stands beside the main one by default", async () => {
  await using lab = await Lab.create();
  await lab.box.git(lab.repo, "worktree", "add", "-q", "../linked", "-b", "linked");
  const repoPath = `${lab.box.root}/linked`;
  const id = await lab.proposed("worktree", { repoPath, branch: "z" });
  const record = lab.gateway.service.record(id);
  assert.equal(record.repoPath, repoPath);
  assert.equal(
    record.action.operationType === "worktree" && record.action.path,
    `${lab.box.root}/repo-z`,
  );
});

Deno.test("the first admission registers the repository, once", async () => {
  await using lab = await Lab.create();
  await lab.proposed();
  await lab.proposed();
  const files = [...Deno.readDirSync(`${lab.runDir}/repos`)].map((entry) => entry.name);
  assert.equal(files.length, 1);
  assert.equal(await Deno.readTextFile(`${lab.runDir}/repos/${files[0]}`), `${lab.repo}\n`);
});
