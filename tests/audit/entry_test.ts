import assert from "node:assert/strict";
import { callEntry, type CallRecord, repoScope } from "../../audit/entry.ts";
import { labelsOf } from "../../audit/labels.ts";
import { parseJson } from "../../common/json.ts";
import type { FinishedCall } from "../../protocol/types.ts";
import { Place } from "./support.ts";

function call(change: Partial<CallRecord> = {}): CallRecord {
  return {
    name: "repo.status",
    args: { repoPath: "/srv/repos/api" },
    context: { agentId: "my-agent" },
    outcome: { kind: "result", isError: false },
    startedAtMs: 1_700_000_000_000,
    durationMs: 12.4,
    ...change,
  };
}

Deno.test("a read call has all members of the contract, and only those", () => {
  assert.deepEqual(callEntry(call()), {
    timestamp: 1_700_000_000_012,
    tool: "repo.status",
    repo_scope: "repoPath:sha256:002e4a23dcf2441631b7404267954caa869ba096ab7db09252d5ca75e0a548ad",
    args_fingerprint: "sha256:07f29c9b2bb42b3cadf12e5246c271eb84d4d8a7f636a56b6fad2eb12bcb6613",
    event_type: "tool_call",
    approval: "not_required",
    risk: "none",
    readOnly: true,
    result: "success",
    session_id: "my-agent",
    duration_ms: 12,
    summary: "read-only repo.status: success",
    sidecarReadOnly: true,
  });
});

Deno.test("what the protocol tells about a finished call can be recorded as it is", () => {
  const finished: FinishedCall = {
    name: "repo.refs",
    args: undefined,
    context: { era: { kind: "modern" }, agentId: "a", clientVersion: null },
    outcome: { kind: "rpcError", code: -32602, message: "no" },
    cancelled: false,
    startedAtMs: 1,
    durationMs: 2,
  };
  assert.equal(callEntry(finished).event_type, "write_block");
});

Deno.test("labels follow the tool and how the call ended", () => {
  const labels = (tool: string, blocked = false) => Object.values(labelsOf(tool, blocked));
  assert.deepEqual(labels("operation.status"), ["tool_call", "not_required", "none", true]);
  assert.deepEqual(labels("operation.cancel"), ["proposal_cancel", "not_required", "none", false]);
  const proposals = {
    high: ["reset", "discard"],
    medium: ["merge", "rebase", "patch", "plan", "push", "branchDelete", "submodulePointer"],
    low: ["worktree", "commit", "branch"],
  };
  for (const [risk, names] of Object.entries(proposals)) {
    for (const name of names) {
      const tool = `operation.preview.${name}`;
      assert.deepEqual(labels(tool), ["write_proposal", "ui_handshake", risk, false]);
      assert.deepEqual(labels(tool, true), ["write_block", "denied", risk, false]);
    }
  }
  assert.deepEqual(labels("repo.refs", true), ["write_block", "denied", "none", true]);
  assert.deepEqual(labels("no.such", true), ["write_block", "denied", "none", false]);
  // A tool that the contract does not name is judged by whoever knows it.
  assert.equal(callEntry(call({ name: "house.own" }), () => true).readOnly, true);
  assert.equal(callEntry(call({ name: "house.own" })).readOnly, false);
});

Deno.test("results, errors and refusals are told apart", () => {
  const result = (outcome: CallRecord["outcome"]) => callEntry(call({ outcome }));
  assert.equal(result({ kind: "result", isError: true }).result, "error");
  const blocked = result({ kind: "rpcError", code: -32602 });
  assert.deepEqual([blocked.result, blocked.approval], ["blocked", "denied"]);
  assert.equal(blocked.summary, "blocked repo.status: error -32602 (invalid arguments)");
  assert.match(callEntry(call({ cancelled: true })).summary as string, /cancelled by the client/);
  assert.equal(callEntry(call({ context: { agentId: "" } })).session_id, "external-mcp-sidecar");
});

Deno.test("the scope of a repository never names its place", () => {
  assert.equal(repoScope({ repoId: "api-1", repoPath: "/x" }), "api-1");
  assert.equal(repoScope({ repo_id: "api-2" }), "api-2");
  assert.match(repoScope({ repoId: "/srv/secret" }), /^repoId:sha256:[0-9a-f]{64}$/);
  assert.equal(repoScope({ repoId: 5, repoPaths: ["/a", "/b"] }), "fleet:2");
  assert.equal(repoScope({ repositories: [] }), "fleet:0");
  for (const args of [undefined, null, 5, "x", [], {}]) assert.equal(repoScope(args), "unknown");
});

Deno.test("arguments are fingerprinted as they came, and absent ones are null", () => {
  const print = (args: unknown) => callEntry(call({ args })).args_fingerprint;
  assert.equal(print(undefined), null);
  assert.equal(print(null), null);
  assert.notEqual(print({}), print([]));
  assert.equal(print(parseJson('{"a":1,"b":2}')), print(parseJson('{"b":2,"a":1}')));
  const kinds = ["1", "1.0", "9007199254740993", "9007199254740992", "-0", "0"];
  const prints = kinds.map((token) => print(parseJson(`{"n":${token}}`)));
  assert.equal(new Set(prints).size, kinds.length, "no two number tokens look the same");
  // What was sent through a worker's message gives the same fingerprint.
  for (const token of kinds) {
    const args = parseJson(`{"n":${token}}`);
    assert.equal(print(structuredClone(args)), print(args));
  }
});

Deno.test("nothing of the arguments, the answer or an error gets into the ledger", async () => {
  await using place = await Place.create();
  const secret = "topsecret";
  const ledger = place.open();
  for (
    const outcome of [
      { kind: "result", isError: false, payload: { data: secret, previewId: `../${secret}` } },
      { kind: "result", isError: true, payload: { error: { message: secret } } },
      { kind: "rpcError", code: -32602, message: secret, data: { value: secret } },
      { kind: "rpcError", code: 12345, message: secret },
    ] as CallRecord["outcome"][]
  ) {
    for (const name of ["repo.history", "operation.preview.commit"]) {
      await ledger.append(callEntry(call({
        name,
        args: {
          repoPath: `/home/${secret}`,
          ref: secret,
          message: `${secret} words`,
          repoId: `a/${secret}`,
        },
        outcome,
      })));
    }
  }
  await ledger.close();
  assert.equal(place.lines().length, 8);
  assert.doesNotMatch(Deno.readTextFileSync(place.ledger), new RegExp(secret));
});

Deno.test("the id of a proposal ties its entries together", () => {
  const entry = (name: string, previewId: unknown) =>
    callEntry(call({ name, outcome: { kind: "result", isError: false, payload: { previewId } } }));
  const id = "prv_0b8e-7";
  assert.equal(entry("operation.preview.merge", id).previewId, id);
  assert.equal(entry("operation.cancel", id).previewId, id);
  for (const odd of [5, "a b", "x".repeat(65), "a/b", ""]) {
    assert.equal("previewId" in entry("operation.preview.merge", odd), false);
  }
  assert.equal("previewId" in entry("repo.status", id), false);
});

Deno.test("hostile names are bounded before they are recorded", () => {
  const entry = callEntry(call({
    name: `${"x".repeat(300_000)}\ud800`,
    context: { agentId: "agent\n\u0000".repeat(1_000) },
    durationMs: -5,
  }));
  assert.match(entry.tool as string, /^x{1024} \[cut: 300001 characters\]$/);
  assert.ok((entry.session_id as string).length < 1_100);
  assert.equal(entry.duration_ms, 0);
});
