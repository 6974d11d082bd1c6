import assert from "node:assert/strict";
import { parsePolicy, type Policy } from "../../../gateway/server/policy.ts";
import { OPERATION_TYPES, type OperationType } from "../../../gateway/server/types.ts";
import { Lab } from "./lab.ts";

/** The guide's examples, as they stand in it. */
async function examples(): Promise<string[]> {
  const guide = await Deno.readTextFile(
    new URL("../../../docs/agent-policy.md", import.meta.url),
  );
  return [...guide.matchAll(/```jsonc\n([\s\S]*?)```/g)].map((match) => match[1]!);
}

async function admits(
  policy: Policy,
  checkedOut: string,
  asks: [type: OperationType, more: Record<string, unknown>, admitted: boolean][],
): Promise<void> {
  await using lab = await Lab.create({ policy });
  await lab.box.git(lab.repo, "checkout", "-q", "-B", checkedOut);
  for (const [type, more, admitted] of asks) {
    const { status, body } = await lab.propose(type, more);
    assert.equal(status, admitted ? 202 : 403, `${type} ${JSON.stringify(more)}: ${body.message}`);
    if (admitted) await lab.cancel(body.previewId, String(more["agentId"] ?? "tester"));
  }
}

Deno.test("every example of the policy guide is a policy, and every type is named in it", async () => {
  const texts = await examples();
  assert.equal(texts.length, 4);
  for (const text of texts) parsePolicy(text);
  const guide = await Deno.readTextFile(
    new URL("../../../docs/agent-policy.md", import.meta.url),
  );
  for (const type of OPERATION_TYPES) assert(guide.includes(`\`${type}\``), type);
});

Deno.test("the guide's recipes do what the guide says", async () => {
  const [form, first, second, third] = (await examples()).map((text) => parsePolicy(text));
  const nameless = { agentId: "external-mcp-sidecar" };
  await admits(
    { rules: form!.rules.map((rule) => ({ ...rule, repositories: null, worktrees: null })) },
    "agent/x",
    [
      ["commit", { agentId: "claude-code" }, true],
      ["push", { agentId: "claude-code" }, false],
      ["branch", { agentId: "claude-code", name: "agent/keep", startPoint: "agent/x" }, false],
      ["branch", { agentId: "claude-code", name: "agent/new", startPoint: "agent/x" }, true],
      ["branch", { agentId: "claude-code", name: "agent/new", startPoint: "main" }, false],
      ["commit", nameless, false],
      ["push", {}, true],
    ],
  );
  await admits(first!, "main", [
    ["commit", {}, true],
    ["push", {}, false],
    ["reset", {}, false],
    ["discard", {}, false],
    ["plan", { steps: [{ operationType: "discard", paths: ["a.txt"] }] }, false],
  ]);
  await admits(second!, "agent/x", [["commit", {}, false]]);
  await admits(
    { rules: second!.rules.map((rule) => ({ ...rule, repositories: null, worktrees: null })) },
    "agent/x",
    [
      ["commit", {}, true],
      ["push", {}, true],
      ["merge", { sourceRef: "agent/x", targetRef: "main" }, false],
    ],
  );
  await admits(third!, "side", [
    ["commit", {}, true],
    ["push", {}, true],
    ["push", { branch: "main" }, false],
    ["push", { branch: "release/1/x" }, false],
    ["merge", { sourceRef: "side", targetRef: "release/1" }, false],
    ["branch", { name: "release/2" }, false],
  ]);
});
