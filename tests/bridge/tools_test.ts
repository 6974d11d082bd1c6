import assert from "node:assert/strict";
import fc from "fast-check";
import { type CallOptions, callRaw, type Payload } from "../fixtures/call.ts";
import { Sandbox } from "../fixtures/sandbox.ts";
import { answer, closedAddress, gatewayWith, HANG_UP, MockGateway } from "./mock_gateway.ts";

/** The tools as a client calls them; every answer is held to its output schema by `callRaw`. */

const REPO = "/tmp";
const reason = "because the tests say so";
/** Looking for other agents is another matter; nothing of it is wanted here. */
const QUIET = { FLUXGIT_MCP_AGENT_DETECTION_DISABLED: "1" };
const OID = "a".repeat(40);
const LONG_OID = "b".repeat(64);

async function payload(name: string, args: unknown, address: string, more: CallOptions = {}) {
  const outcome = await callRaw(name, args, {
    ...more,
    env: { ...QUIET, FLUXGIT_MCP_HANDSHAKE_ADDR: address, ...more.env },
  });
  assert(outcome.kind === "result", JSON.stringify(outcome));
  assert.equal(outcome.isError, Object.hasOwn(outcome.payload, "error"));
  return { isError: outcome.isError, ...outcome.payload } as Payload;
}

/** Arguments of each operation and the members that go to the gateway (`operations.md` 4.4). */
const OPERATIONS: [type: string, given: Record<string, unknown>, sent: Record<string, unknown>][] =
  [
    [
      "merge",
      { sourceRef: "feature", targetRef: "main" },
      { sourceRef: "feature", targetRef: "main", strategy: "merge" },
    ],
    [
      "merge",
      { sourceRef: "feature", targetRef: "main", strategy: "squash" },
      { sourceRef: "feature", targetRef: "main", strategy: "squash" },
    ],
    ["rebase", { ontoRef: "main" }, { currentRef: "HEAD", ontoRef: "main", interactive: false }],
    [
      "rebase",
      { ontoRef: "main", currentRef: "topic", interactive: false },
      { currentRef: "topic", ontoRef: "main", interactive: false },
    ],
    ["discard", { paths: ["src/a b.txt", "é"] }, { paths: ["src/a b.txt", "é"] }],
    ["reset", { targetRef: "HEAD~1" }, { targetRef: "HEAD~1", mode: "mixed" }],
    ["reset", { targetRef: "HEAD~1", mode: "hard" }, { targetRef: "HEAD~1", mode: "hard" }],
    ["patch", { patchContent: "--- a/x\n" }, { patchContent: "--- a/x\n", applyToIndex: false }],
    [
      "plan",
      {
        steps: [
          { operationType: "merge", sourceRef: "a", targetRef: "b" },
          { operationType: "rebase", ontoRef: "main" },
          { operationType: "discard", paths: ["x"] },
          { operationType: "reset", targetRef: "HEAD" },
          { operationType: "patch", patchContent: "x" },
          { operationType: "patch", patchContent: "y", applyToIndex: true },
        ],
      },
      {
        steps: [
          { operationType: "merge", sourceRef: "a", targetRef: "b", strategy: "merge" },
          { operationType: "rebase", currentRef: "HEAD", ontoRef: "main", interactive: false },
          { operationType: "discard", paths: ["x"] },
          { operationType: "reset", targetRef: "HEAD", mode: "mixed" },
          { operationType: "patch", patchContent: "x", applyToIndex: false },
          { operationType: "patch", patchContent: "y", applyToIndex: true },
        ],
      },
    ],
    ["worktree", { branch: "side" }, { branch: "side" }],
    ["worktree", { branch: "side", path: " " }, { branch: "side" }],
    ["worktree", { branch: "side", path: "/srv/side" }, { branch: "side", path: "/srv/side" }],
    ["worktree", { branch: "side", path: ".wt/side" }, {
      branch: "side",
      path: `${REPO}/.wt/side`,
    }],
    ["commit", { message: "one\n\ntwo" }, { message: "one\n\ntwo", stageAll: false }],
    ["commit", { message: "m", paths: [] }, { message: "m", stageAll: false, paths: [] }],
    [
      "commit",
      { message: "m", paths: ["a"], stageAll: true },
      { message: "m", stageAll: true, paths: ["a"] },
    ],
    ["push", {}, { remote: "origin", setUpstream: false, forceWithLease: false }],
    [
      "push",
      { remote: " ", branch: "" },
      { remote: "origin", setUpstream: false, forceWithLease: false },
    ],
    [
      "push",
      { remote: "fork", branch: "b", setUpstream: true, forceWithLease: true },
      { remote: "fork", branch: "b", setUpstream: true, forceWithLease: true },
    ],
    ["branch", { name: "b" }, { name: "b", checkout: true }],
    ["branch", { name: "b", startPoint: " ", checkout: false }, { name: "b", checkout: false }],
    ["branch", { name: "b", startPoint: "v1" }, { name: "b", startPoint: "v1", checkout: true }],
    [
      "branchDelete",
      { targets: [{ repoPath: REPO, branches: ["old", "older"] }] },
      { targets: [{ repoPath: REPO, branches: ["old", "older"] }] },
    ],
    [
      "submodulePointer",
      { relativePath: "libs/x", direction: "record", message: "Move x", expectedRecordedOid: OID },
      {
        parentPath: "",
        relativePath: "libs/x",
        direction: "record",
        message: "Move x",
        expectedRecordedOid: OID,
      },
    ],
    [
      "submodulePointer",
      {
        parentPath: "libs",
        relativePath: "x",
        direction: "return",
        expectedRecordedOid: LONG_OID,
        expectedCheckedOutOid: LONG_OID,
      },
      {
        parentPath: "libs",
        relativePath: "x",
        direction: "return",
        expectedRecordedOid: LONG_OID,
        expectedCheckedOutOid: LONG_OID,
      },
    ],
  ];

const COMMON = [
  "agentId",
  "idempotencyKey",
  "operationType",
  "previewId",
  "reason",
  "repoPath",
  "requestedAt",
];

Deno.test("each operation sends its own members with the contract's defaults, and only those", async () => {
  for (const [type, given, sent] of OPERATIONS) {
    await using gateway = gatewayWith(answer(202, { status: "pending" }));
    const args = { repoPath: REPO, repoId: "never forwarded", reason, ...given };
    const told = await payload(`operation.preview.${type}`, args, gateway.address);
    assert.deepEqual([told.isError, told.accepted, told.readOnly], [false, true, false]);
    assert.deepEqual([told.source, told.tier], ["fluxgit-app", "fluxgit-write-handshake"]);
    const [post] = gateway.of("POST");
    assert.equal(post!.path, `/v1/mcp/operation/preview/${type}`);
    const own = { ...post!.json };
    for (const name of COMMON) {
      assert.equal(typeof own[name], "string", name);
      delete own[name];
    }
    assert.deepEqual(own, sent);
    assert.deepEqual(
      [post!.json.operationType, post!.json.repoPath, post!.json.reason],
      [type, REPO, reason],
    );
  }
  assert.equal(new Set(OPERATIONS.map(([type]) => type)).size, 12);
});

Deno.test("what is wrong with the arguments is said before any request is made", async () => {
  await using gateway = gatewayWith(answer(202, {}));
  const pointer = { relativePath: "x", direction: "record", message: "m" };
  const wrong: [string, Record<string, unknown>][] = [
    ["rebase", { ontoRef: "a", interactive: true }],
    ["plan", { steps: [{ operationType: "rebase", ontoRef: "a", interactive: true }] }],
    ["merge", { sourceRef: "a", targetRef: "b", strategy: "rebase" }],
    ["plan", { steps: [{ operationType: "merge", sourceRef: "a" }] }],
    ["plan", { steps: [{ operationType: "reset", targetRef: "a", paths: ["x"] }] }],
    ["branchDelete", { targets: [{ repoPath: REPO, branches: ["a", "a"] }] }],
    ["branchDelete", { targets: [{ repoPath: REPO, branches: ["a"], force: true }] }],
    ["branchDelete", { targets: [{ repoPath: "relative", branches: ["a"] }] }],
    ["branchDelete", { targets: [{ repoPath: "/", branches: ["a"] }] }],
    ["submodulePointer", { ...pointer, message: undefined }],
    ["submodulePointer", { ...pointer, direction: "return" }],
    ["submodulePointer", { ...pointer, expectedRecordedOid: OID.toUpperCase() }],
    ["submodulePointer", { ...pointer, expectedRecordedOid: "abc123" }],
    ["submodulePointer", { ...pointer, message: "m".repeat(2_001) }],
    ["merge", { sourceRef: "--x", targetRef: "b" }],
    ["discard", { paths: ["../x"] }],
    ["push", { remote: "ext::sh -c x" }],
    ["push", { idempotencyKey: "k".repeat(1_000_000) }],
    ["push", { idempotencyKey: "a:b" }],
    ["push", { idempotencyKey: "" }],
    ["push", { reason: " " }],
  ];
  for (const [type, given] of wrong) {
    const args: Record<string, unknown> = { repoPath: REPO, reason, ...given };
    for (const name of Object.keys(args)) if (args[name] === undefined) delete args[name];
    const outcome = await callRaw(`operation.preview.${type}`, args, {
      env: { ...QUIET, FLUXGIT_GATEWAY_ADDR: gateway.address },
    });
    const code = outcome.kind === "rpcError"
      ? outcome.code
      : (outcome.payload["error"] as { code: number } | undefined)?.code;
    assert.equal(code, -32602, `${type} ${JSON.stringify(given).slice(0, 100)}`);
  }
  for (const previewId of ["", "../status", "a/b", "a?x=1", "two words", "x".repeat(129), 5]) {
    for (const name of ["operation.status", "operation.cancel"]) {
      const outcome = await callRaw(name, { previewId }, {
        env: { ...QUIET, FLUXGIT_GATEWAY_ADDR: gateway.address },
      });
      assert.equal(outcome.kind === "rpcError" && outcome.code, -32602);
    }
  }
  for (const waitMs of [-1, 30_001, 1.5, "5"]) {
    const outcome = await callRaw("operation.status", { previewId: "p", waitMs }, {
      env: { ...QUIET, FLUXGIT_GATEWAY_ADDR: gateway.address },
    });
    assert.equal(outcome.kind === "rpcError" && outcome.code, -32602, String(waitMs));
  }
  assert.equal(gateway.connections, 0);
});

Deno.test("with nothing listening every preview, status and cancel is 10003, whatever else is configured", async () => {
  const address = closedAddress();
  for (const at of [address, "nonsense"]) {
    for (const [type, given] of OPERATIONS) {
      const told = await payload(
        `operation.preview.${type}`,
        { repoPath: REPO, reason, ...given },
        at,
      );
      assert.deepEqual([told.error.code, told.readOnly, told.tier, told.source], [
        10003,
        false,
        "fluxgit-write-handshake",
        undefined,
      ]);
    }
    const status = await payload("operation.status", { previewId: "p" }, at);
    assert.deepEqual([status.error.code, status.readOnly], [10003, true]);
    const cancel = await payload("operation.cancel", { previewId: "p" }, at);
    assert.deepEqual([cancel.error.code, cancel.readOnly], [10003, false]);
  }
});

Deno.test("a link to a repository that is turned elsewhere after the check sends the path that was checked", async () => {
  await using box = await Sandbox.create();
  const one = `${box.root}/one`, two = `${box.root}/two`, alias = `${box.root}/alias`;
  await Deno.mkdir(one);
  await Deno.mkdir(two);
  await Deno.symlink(one, alias);
  await using gateway = gatewayWith(answer(202, {}));
  const call = payload(
    "operation.preview.branchDelete",
    { repoPath: alias, reason, targets: [{ repoPath: alias, branches: ["a"] }] },
    gateway.address,
    {
      // The gateway's address is looked up after the paths were made canonical.
      env: new Proxy({ ...QUIET, FLUXGIT_GATEWAY_URL: "" }, {
        get(target, name) {
          if (name === "FLUXGIT_GATEWAY_ADDR") {
            Deno.removeSync(alias);
            Deno.symlinkSync(two, alias);
          }
          return Reflect.get(target, name);
        },
      }),
    },
  );
  await call;
  const sent = gateway.of("POST")[0]!.json;
  assert.deepEqual([sent.repoPath, sent.targets[0].repoPath], [one, one]);
});

Deno.test("a completed operation is an answer with its result; other ends are errors with the gateway's words", async () => {
  const result = { status: "completed", mergeCommit: OID, summary: "1 commit" };
  await using done = gatewayWith(
    answer(202, { previewId: "p-1" }),
    answer(200, { previewId: "p-1", operationType: "merge", status: "completed", result }),
  );
  const args = { repoPath: REPO, reason, sourceRef: "a", targetRef: "b" };
  const told = await payload("operation.preview.merge", args, done.address);
  assert.deepEqual(told, {
    isError: false,
    tool: "operation.preview.merge",
    readOnly: false,
    source: "fluxgit-app",
    tier: "fluxgit-write-handshake",
    previewId: "p-1",
    status: "completed",
    data: { previewId: "p-1", operationType: "merge", status: "completed", result },
  });
  await using refused = gatewayWith(answer(429, { error: "agent_pending_cap_exceeded" }));
  const no = await payload("operation.preview.merge", args, refused.address);
  assert.deepEqual([no.isError, no.status, no.error.code, no.error.data], [true, "refused", 10006, {
    httpStatus: 429,
    gateway: { error: "agent_pending_cap_exceeded" },
  }]);
});

Deno.test("status tells terminal and ok at the top, and cancel answers once more when repeated", async () => {
  await using gateway = gatewayWith(
    answer(409, { error: "not_pending" }),
    answer(200, { previewId: "p-1", status: "cancelled" }),
  );
  const status = await payload("operation.status", { previewId: "p-1" }, gateway.address);
  assert.deepEqual(Object.keys(status).sort(), [
    "data",
    "error",
    "isError",
    "ok",
    "previewId",
    "readOnly",
    "source",
    "status",
    "terminal",
    "tier",
    "tool",
  ]);
  assert.deepEqual([status.terminal, status.ok, status.isError, status.error.code], [
    true,
    false,
    true,
    10004,
  ]);
  for (let i = 0; i < 2; i++) {
    const cancel = await payload("operation.cancel", { previewId: "p-1" }, gateway.address);
    assert.deepEqual([cancel.isError, cancel.status, cancel.data.status], [
      false,
      "cancelled",
      "cancelled",
    ]);
  }
});

Deno.test("whatever JSON a gateway answers, the answers of the tools keep to their schemas", async () => {
  const word = fc.constantFrom(
    "pending",
    "completed",
    "rejected",
    "cancelled",
    "executing",
    "merge",
    "p-1",
    "../x",
    "",
    "DONE",
  );
  const value = fc.oneof(word, fc.jsonValue({ maxDepth: 3 }));
  const body = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        previewId: value,
        status: value,
        operationType: value,
        result: value,
        rejectionReason: value,
        expiresAt: value,
        error: value,
      }, { requiredKeys: [] }),
    },
    { weight: 1, arbitrary: value },
  );
  const status = fc.constantFrom(200, 200, 200, 202, 302, 403, 404, 409, 429, 500);
  let post = "", get = "";
  await using gateway = new MockGateway((received) => received.method === "POST" ? post : get);
  const merge = { repoPath: REPO, reason, sourceRef: "a", targetRef: "b" };
  await fc.assert(
    fc.asyncProperty(status, body, status, body, async (postCode, posted, getCode, got) => {
      post = answer(postCode, JSON.stringify(posted));
      get = answer(getCode, JSON.stringify(got));
      await payload("operation.preview.merge", merge, gateway.address);
      await payload("operation.status", { previewId: "p-1" }, gateway.address);
      await payload("operation.cancel", { previewId: "p-1" }, gateway.address);
    }),
    { numRuns: 150 },
  );
});

Deno.test("an answer that is lost after the gateway took the proposal does not open a second card", async () => {
  const cards: string[] = [];
  await using gateway = gatewayWith((received) => {
    cards.push(received.json.previewId);
    return HANG_UP;
  }, (received) => {
    const previewId = received.path.split("/").at(-1)!;
    return cards.includes(previewId)
      ? answer(200, { previewId, status: "pending" })
      : answer(404, { error: "unknown_preview" });
  });
  const told = await payload("operation.preview.push", { repoPath: REPO, reason }, gateway.address);
  assert.deepEqual([told.isError, told.status, told.previewId], [false, "pending", cards[0]]);
  assert.equal(cards.length, 1);
});
