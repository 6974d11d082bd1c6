import assert from "node:assert/strict";
import { callRaw, type Payload, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

const REPO = "/tmp";
const reason = "because the tests say so";

/** A call of each proposal tool that nothing is wrong with, but that there is no gateway. */
const GOOD: Record<string, Record<string, unknown>> = {
  merge: { sourceRef: "feature", targetRef: "main" },
  rebase: { ontoRef: "origin/main" },
  discard: { paths: ["src/a b.txt"] },
  reset: { targetRef: "HEAD~1" },
  patch: { patchContent: "--- a/x\n+++ b/x\n" },
  plan: {
    steps: [
      { operationType: "merge", sourceRef: "a", targetRef: "b", strategy: "squash" },
      { operationType: "rebase", ontoRef: "main", interactive: false },
      { operationType: "discard", paths: ["x"] },
      { operationType: "reset", targetRef: "HEAD", mode: "soft" },
      { operationType: "patch", patchContent: "x", applyToIndex: true },
    ],
  },
  worktree: { branch: "side" },
  commit: { message: "one line\n\nand more" },
  push: {},
  branch: { name: "side/new" },
  branchDelete: { targets: [{ repoPath: REPO, branches: ["old"] }] },
  submodulePointer: { relativePath: "libs/x", direction: "record", message: "Move x" },
};

/** Looking for other agents is another matter; nothing of it is wanted here. */
const QUIET = { FLUXGIT_MCP_AGENT_DETECTION_DISABLED: "1" };

function preview(type: string, more: Record<string, unknown> = {}) {
  const args = { repoPath: REPO, reason, ...GOOD[type], ...more };
  return refusal(`operation.preview.${type}`, args, { env: QUIET });
}

async function payload(name: string, args: unknown, env: Record<string, string> = {}) {
  const outcome = await callRaw(name, args, { env: { ...QUIET, ...env } });
  assert(outcome.kind === "result", JSON.stringify(outcome));
  assert.equal(outcome.isError, true);
  return outcome.payload as Payload;
}

Deno.test("every proposal tool, status and cancel answer 10003 when no gateway is configured", async () => {
  const calls: [string, Record<string, unknown>, boolean][] = [
    ...Object.entries(GOOD).map(([type, own]): [string, Record<string, unknown>, boolean] => [
      `operation.preview.${type}`,
      { repoPath: REPO, reason, ...own },
      false,
    ]),
    ["operation.status", { previewId: "p-1" }, true],
    ["operation.cancel", { previewId: "p-1" }, false],
  ];
  assert.equal(calls.length, 14);
  for (const [name, args, readOnly] of calls) {
    const answer = await payload(name, args);
    assert.deepEqual(Object.keys(answer).sort(), ["error", "readOnly", "tier", "tool"], name);
    assert.deepEqual([answer.tool, answer.readOnly, answer.tier], [
      name,
      readOnly,
      "fluxgit-write-handshake",
    ]);
    assert.equal(answer.error.code, 10003);
    const { data } = answer.error;
    assert.deepEqual(Object.keys(data).sort(), [
      "agentRecommendation",
      "gatewayConfigured",
      "learnMore",
      "reason",
      "tier",
      "tool",
    ]);
    assert.deepEqual([data.tool, data.tier, data.gatewayConfigured], [
      name,
      "fluxgit-write-handshake",
      false,
    ]);
    assert.match(data.reason, /FLUXGIT_MCP_HANDSHAKE_ADDR/);
    assert.match(data.agentRecommendation, /Do not assume that a proposal exists/);
  }
});

Deno.test("an address that is unusable, out of reach or not connected to is told as what it is", async () => {
  const ask = async (value: string) =>
    (await payload("operation.status", { previewId: "p" }, { FLUXGIT_GATEWAY_URL: value })).error;
  const unusable = await ask("http://localhost:5000");
  assert.equal(unusable.code, 10003);
  assert.match(unusable.data.reason, /FLUXGIT_GATEWAY_URL is set, but not to a loopback IP/);
  assert.ok(!unusable.data.reason.includes("localhost"));
  const configured = await ask("http://127.0.0.1:1/");
  assert.equal(configured.code, 10003);
  assert.match(configured.data.reason, /127\.0\.0\.1:1\b.*nothing listens there/);
});

Deno.test({
  name: "an address that the permissions do not cover is 10003 with that reason",
  permissions: { read: true, net: ["127.0.0.1"], env: true },
  async fn() {
    const { error } = await payload("operation.status", { previewId: "p" }, {
      FLUXGIT_MCP_HANDSHAKE_ADDR: "[::1]:59647",
    });
    assert.equal(error.code, 10003);
    assert.match(error.data.reason, /\[::1\]:59647.*only permitted to reach 127\.0\.0\.1/);
  },
});

Deno.test("what the schemas forbid is a JSON-RPC error that names the place", async () => {
  const wrong: [string, Record<string, unknown>, RegExp][] = [
    ["rebase", { interactive: true }, /arguments\.interactive must be false/],
    ["merge", { strategy: "rebase" }, /arguments\.strategy must be one of merge, squash/],
    ["reset", { mode: "keep" }, /arguments\.mode/],
    ["discard", { paths: [] }, /arguments\.paths needs at least 1/],
    ["discard", { paths: Array(10_001).fill("x") }, /at most 10000/],
    ["plan", { steps: [] }, /arguments\.steps needs at least 1/],
    ["plan", { steps: Array(11).fill({ operationType: "reset", targetRef: "x" }) }, /at most 10/],
    ["plan", { steps: [{ operationType: "merge", sourceRef: "a" }] }, /steps\[0\].*exactly one/],
    ["plan", { steps: [{ operationType: "discard" }] }, /steps\[0\].*exactly one/],
    [
      "plan",
      { steps: [{ operationType: "rebase", ontoRef: "a", interactive: true }] },
      /steps\[0\]\.interactive must be false/,
    ],
    [
      "plan",
      { steps: [{ operationType: "merge", sourceRef: "a", targetRef: "b", strategy: "rebase" }] },
      /steps\[0\]\.strategy/,
    ],
    ["plan", { steps: [{ operationType: "push" }] }, /steps\[0\].*exactly one/],
    [
      "plan",
      { steps: [{ operationType: "reset", targetRef: "x", extra: 1 }] },
      /steps\[0\]\.extra is not an argument/,
    ],
    [
      "branchDelete",
      { targets: [{ repoPath: REPO, branches: ["a", "a"] }] },
      /targets\[0\]\.branches holds the same item twice/,
    ],
    [
      "branchDelete",
      { targets: [{ repoPath: REPO, branches: ["a"], force: true }] },
      /targets\[0\]\.force is not an argument/,
    ],
    [
      "branchDelete",
      { targets: [{ repoPath: REPO, branches: Array.from({ length: 21 }, (_, i) => `b${i}`) }] },
      /at most 20/,
    ],
    ["branchDelete", { targets: [{ repoPath: "x", branches: ["a"] }] }, /targets\[0\]\.repoPath/],
    ["submodulePointer", { message: undefined }, /arguments\.message is required/],
    ["submodulePointer", { direction: "return" }, /must not have message/],
    ["submodulePointer", { message: "m".repeat(2_001) }, /more than 2000 characters/],
    ["submodulePointer", { expectedRecordedOid: "A".repeat(40) }, /full lower-case object id/],
    ["submodulePointer", { expectedRecordedOid: "a".repeat(39) }, /full lower-case object id/],
    ["commit", { amend: true }, /arguments\.amend is not an argument/],
    ["commit", { reason: "" }, /arguments\.reason must not be empty/],
    ["commit", { reason: undefined }, /arguments\.reason is required/],
    ["commit", { idempotencyKey: "a b" }, /ASCII/],
    ["commit", { idempotencyKey: "k".repeat(129) }, /more than 128/],
    ["patch", { patchContent: "" }, /arguments\.patchContent must not be empty/],
  ];
  for (const [type, more, details] of wrong) {
    const args = JSON.parse(JSON.stringify(more));
    const base: Record<string, unknown> = { repoPath: REPO, reason, ...GOOD[type], ...args };
    for (const [name, value] of Object.entries(more)) if (value === undefined) delete base[name];
    const error = await refusal(`operation.preview.${type}`, base);
    assert.deepEqual([error.form, error.code], ["rpc", -32602], `${type} ${details}`);
    assert.match(error.data.details, details);
  }
  for (const id of ["", "../status", "a/b", "a?x=1", "two words", "é", "x".repeat(129)]) {
    for (const name of ["operation.status", "operation.cancel"]) {
      const error = await refusal(name, { previewId: id });
      assert.deepEqual([error.form, error.code], ["rpc", -32602], JSON.stringify(id));
    }
  }
});

Deno.test("what no schema can say is refused before anybody is asked, with the field and the value", async () => {
  const wrong: [string, Record<string, unknown>, RegExp][] = [
    ["merge", { sourceRef: "--output=/tmp/x" }, /sourceRef .*begins with "-"/],
    ["merge", { targetRef: "a\nb" }, /targetRef .*control characters/],
    ["merge", { targetRef: "  " }, /targetRef .*blank/],
    ["rebase", { ontoRef: "-i" }, /ontoRef/],
    ["rebase", { currentRef: "--exec=x" }, /currentRef/],
    ["reset", { targetRef: "--hard" }, /targetRef/],
    ["branch", { name: "-f" }, /name/],
    ["branch", { name: "refs/heads/x" }, /name .*full ref/],
    ["branch", { startPoint: "--orphan" }, /startPoint/],
    ["push", { remote: "--receive-pack=evil" }, /remote/],
    ["push", { remote: "ext::sh -c evil" }, /remote .*address/],
    ["push", { remote: "https://example.org/x.git" }, /remote .*address/],
    ["push", { remote: "../other" }, /remote .*address/],
    ["push", { remote: "/srv/x.git" }, /remote .*address/],
    ["push", { branch: "--all" }, /branch/],
    ["worktree", { branch: "--detach" }, /branch/],
    ["worktree", { path: "../../etc/x" }, /path .*"\.\."/],
    ["worktree", { path: "/srv/../etc" }, /path .*"\.\."/],
    ["worktree", { path: ".git/x" }, /path .*own directory/],
    ["discard", { paths: ["ok", "/etc/passwd"] }, /paths\[1\] .*absolute/],
    ["discard", { paths: ["C:\\x"] }, /paths\[0\] .*absolute/],
    ["discard", { paths: ["../x"] }, /paths\[0\] .*"\.\."/],
    ["discard", { paths: ["sub/../../x"] }, /paths\[0\] .*"\.\."/],
    ["discard", { paths: ["a\\..\\b"] }, /paths\[0\] .*"\.\."/],
    ["discard", { paths: ["a\0b"] }, /paths\[0\] .*NUL/],
    ["discard", { paths: [".git/config"] }, /paths\[0\] .*own directory/],
    ["discard", { paths: [".GIT/hooks/x"] }, /own directory/],
    ["discard", { paths: [".git /x"] }, /own directory/],
    ["discard", { paths: ["GIT~1/x"] }, /own directory/],
    ["discard", { paths: [".g\u200cit/x"] }, /own directory/],
    ["discard", { paths: [".git::$INDEX_ALLOCATION/x"] }, /own directory/],
    ["discard", { paths: ["sub/.git/hooks/x"] }, /own directory/],
    ["commit", { paths: ["../x"] }, /paths\[0\]/],
    ["commit", { message: " \n " }, /message .*blank/],
    ["commit", { message: "a\0b" }, /message .*NUL/],
    ["commit", { reason: " " }, /reason .*blank/],
    ["patch", { patchContent: " \n" }, /patchContent .*blank/],
    [
      "plan",
      { steps: [{ operationType: "reset", targetRef: "-x" }] },
      /steps\[0\]\.targetRef .*begins/,
    ],
    [
      "plan",
      { steps: [{ operationType: "discard", paths: ["a", "../b"] }] },
      /steps\[0\]\.paths\[1\]/,
    ],
    [
      "plan",
      { steps: [{ operationType: "reset", targetRef: "x", patchContent: "y" }] },
      /steps\[0\]\.patchContent .*does not belong to a reset step/,
    ],
    ["submodulePointer", { relativePath: "../x" }, /relativePath/],
    ["submodulePointer", { relativePath: "/abs" }, /relativePath/],
    ["submodulePointer", { parentPath: "a/../.." }, /parentPath/],
    [
      "branchDelete",
      { targets: [{ repoPath: REPO, branches: ["--force"] }] },
      /targets\[0\]\.branches\[0\]/,
    ],
    [
      "branchDelete",
      { targets: [{ repoPath: REPO, branches: ["refs/heads/x"] }] },
      /full ref/,
    ],
    ["branchDelete", { targets: [{ repoPath: "/", branches: ["x"] }] }, /repoPath .*not among/],
    [
      "branchDelete",
      {
        targets: Array.from({ length: 6 }, (_, t) => ({
          repoPath: REPO,
          branches: Array.from({ length: 17 }, (_, b) => `b${t}-${b}`),
        })),
      },
      /"102" branches in all; at most 100/,
    ],
  ];
  for (const [type, more, details] of wrong) {
    const error = await preview(type, more);
    assert.deepEqual(
      [error.form, error.code],
      ["result", -32602],
      `${type} ${JSON.stringify(more).slice(0, 100)}: ${JSON.stringify(error).slice(0, 300)}`,
    );
    assert.match(error.data.details, details);
    // deno-lint-ignore no-control-regex
    assert.ok(!/[\u0000-\u001f]/.test(error.data.details));
  }
});

Deno.test("what only looks odd passes the checks and reaches the question who is to approve", async () => {
  const odd: [string, Record<string, unknown>][] = [
    ["discard", { paths: ["a -> b", ":(top)x", "-n", "café/日本", "..x/y", ".gitignore"] }],
    ["discard", { paths: ["."] }],
    ["commit", { paths: [] }],
    ["commit", { reason: "line\nline\t\u001b[31m" }],
    ["push", { remote: " ", branch: "" }],
    ["push", { remote: "team/fork" }],
    ["rebase", { currentRef: "" }],
    ["worktree", { path: " " }],
    ["worktree", { path: "/srv/shop-side" }],
    ["worktree", { path: ".worktrees/side" }],
    ["branch", { startPoint: "" }],
    ["merge", { sourceRef: "a".repeat(40), targetRef: "HEAD@{1}" }],
    ["submodulePointer", { parentPath: "", expectedRecordedOid: "0".repeat(64) }],
    ["submodulePointer", { parentPath: "libs/outer" }],
  ];
  for (const [type, more] of odd) {
    const error = await preview(type, more);
    assert.equal(error.code, 10003, `${type} ${JSON.stringify(more)}: ${JSON.stringify(error)}`);
  }
  const returning = await refusal("operation.preview.submodulePointer", {
    repoPath: REPO,
    reason,
    relativePath: "x",
    direction: "return",
  }, { env: QUIET });
  assert.equal(returning.code, 10003);
});

Deno.test("a worktree that would lie outside the allowed roots is refused, through a link too", async () => {
  await using box = await Sandbox.create();
  useSandbox(box);
  const repo = await box.repo("in/repo");
  await box.write(box.root, { "out/x": "" });
  await Deno.symlink(`${box.root}/out`, `${box.root}/in/link`);
  const env = { ...QUIET, FLUXGIT_MCP_ALLOWED_ROOTS: `${box.root}/in` };
  const ask = (path: string) =>
    refusal("operation.preview.worktree", { repoPath: repo, reason, branch: "b", path }, { env });
  for (const path of [`${box.root}/out/wt`, `${box.root}/in/link/wt`, "/wt"]) {
    const error = await ask(path);
    assert.deepEqual([error.form, error.code], ["rpc", -32011], path);
  }
  assert.equal((await ask(`${box.root}/in/wt/deeper`)).code, 10003);
  const other = await refusal("operation.preview.branchDelete", {
    repoPath: repo,
    reason,
    targets: [{ repoPath: repo, branches: ["a"] }, {
      repoPath: `${box.root}/out`,
      branches: ["a"],
    }],
  }, { env });
  assert.deepEqual([other.form, other.code], ["rpc", -32011]);
});

Deno.test("proposals change nothing in the repository", async () => {
  await using box = await Sandbox.create();
  useSandbox(box);
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n" });
  const before = await hashTree(repo);
  for (const [type, own] of Object.entries(GOOD)) {
    const more = type === "branchDelete"
      ? { targets: [{ repoPath: repo, branches: ["main"] }] }
      : {};
    const error = await refusal(`operation.preview.${type}`, {
      repoPath: repo,
      reason,
      ...own,
      ...more,
    }, { env: QUIET });
    assert.equal(error.code, 10003);
  }
  assert.equal(await hashTree(repo), before);
});
