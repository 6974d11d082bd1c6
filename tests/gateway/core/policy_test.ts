import assert from "node:assert/strict";
import {
  checkRules,
  matchesGlob,
  type Named,
  parsePolicy,
  rulesFor,
} from "../../../gateway/server/policy.ts";
import type { Refusal } from "../../../gateway/server/refusal.ts";
import type { OperationType } from "../../../gateway/server/types.ts";
import { type Json, Lab } from "./lab.ts";

const policy = (rules: Json[]) => parsePolicy(JSON.stringify({ version: 1, rules }));

function denied(rules: Json[], agentId: string, named: Partial<Named>): string | null {
  try {
    checkRules(rulesFor(policy(rules), agentId), {
      operations: ["commit"],
      refs: [],
      repositories: ["/code/repo"],
      worktrees: [],
      ...named,
    });
    return null;
  } catch (error) {
    assert.equal((error as Refusal).status, 403);
    assert.equal((error as Refusal).code, "agent_policy_violation");
    return (error as Refusal).message;
  }
}

Deno.test("rules hold for the agents that they name, all of them at once", () => {
  const rules = [
    { agentId: "cautious", operations: { allow: ["commit", "branch"] } },
    { agentId: "team-*", operations: { deny: ["push"] } },
    { agentId: "*", operations: { deny: ["reset"] } },
  ];
  const ask = (agentId: string, type: OperationType) =>
    denied(rules, agentId, { operations: [type] });
  assert.equal(ask("cautious", "commit"), null);
  assert.match(ask("cautious", "merge")!, /the operation merge/);
  assert.match(ask("cautious", "reset")!, /the operation reset/);
  assert.equal(ask("cautious2", "merge"), null);
  assert.match(ask("team-a", "push")!, /the operation push/);
  assert.equal(ask("team", "push"), null);
  assert.match(ask("anybody", "reset")!, /the operation reset/);
  assert.equal(ask("anybody", "push"), null);
  const all = [{ agentId: "x", operations: { deny: ["*"] } }];
  assert.match(denied(all, "x", {})!, /the operation commit/);
  // A plan needs itself and each of its steps.
  const plan = { operations: ["plan", "reset"] as OperationType[] };
  assert.match(denied(rules, "anybody", plan)!, /reset/);
});

Deno.test("patterns of refs: a star stays in one part, two stars do not, everything else is literal", () => {
  const yes: [string, string][] = [
    ["main", "main"],
    ["feature/*", "feature/x"],
    ["feature/**", "feature/x/y"],
    ["**", "a/b/c"],
    ["*", "main"],
    ["release-*", "release-"],
    ["*-x-*", "a-x-b"],
    ["a**b", "a/x/b"],
    ["**/x", "a/b/x"],
    ["feature/*😀", "feature/a😀"],
    ["é*", "éa"],
    ["(a+)+$", "(a+)+$"],
    ["[a-z]?", "[a-z]?"],
    ["***", "a/b"],
  ];
  const no: [string, string][] = [
    ["main", "Main"],
    ["main", "main2"],
    ["feature/*", "feature/x/y"],
    ["*", "a/b"],
    ["[a-z]", "b"],
    ["a?c", "abc"],
    ["a.c", "abc"],
    ["", "a"],
    ["😀", "\ud83d"],
  ];
  for (const [glob, text] of yes) assert(matchesGlob(glob, text), `${glob} ${text}`);
  for (const [glob, text] of no) assert(!matchesGlob(glob, text), `${glob} ${text}`);
});

Deno.test("no pattern makes the matcher work longer than the product of both lengths", () => {
  const glob = "*a".repeat(16) + "b";
  const text = "a".repeat(4_096);
  const started = performance.now();
  for (let i = 0; i < 20; i++) assert(!matchesGlob(glob, text));
  // A backtracking matcher would need longer than the universe is old.
  assert(performance.now() - started < 20_000);
});

Deno.test("prefixes of paths are compared by whole components", () => {
  const rules = (repositories: string[], worktrees?: string[]) => [{
    agentId: "*",
    pathConstraints: { repositories, ...(worktrees ? { worktrees } : {}) },
  }];
  assert.equal(denied(rules(["/nowhere/a"]), "x", { repositories: ["/nowhere/a"] }), null);
  assert.equal(denied(rules(["/nowhere/a/"]), "x", { repositories: ["/nowhere/a/b"] }), null);
  assert.match(
    denied(rules(["/nowhere/a"]), "x", { repositories: ["/nowhere/ab"] })!,
    /repository/,
  );
  const two = { repositories: ["/nowhere/a", "/nowhere/c"] };
  assert.match(denied(rules(["/nowhere/a"]), "x", two)!, /repository/);
  assert.match(denied(rules([]), "x", {})!, /repository/);
  const tree = { repositories: ["/nowhere/a"], worktrees: ["/nowhere/t/x"] };
  assert.equal(denied(rules(["/nowhere/a"], ["/nowhere/t"]), "x", tree), null);
  assert.match(denied(rules(["/nowhere/a"], ["/nowhere/u"]), "x", tree)!, /work tree/);
  // Without a list of its own a work tree has to lie where repositories may.
  assert.match(denied(rules(["/nowhere/a"]), "x", tree)!, /work tree/);
});

/** Asks a gateway with these rules; true when the proposal is admitted. */
async function admits(
  lab: Lab,
  type: OperationType,
  more: Record<string, unknown> = {},
): Promise<boolean> {
  const answer = await lab.propose(type, more);
  if (answer.status === 202) {
    await lab.cancel(answer.body.previewId);
    return true;
  }
  assert.equal(answer.status, 403, JSON.stringify(answer.body));
  assert.equal(answer.body.error, "agent_policy_violation");
  assert(answer.body.agentRecommendation.length > 0);
  return false;
}

Deno.test("a denied branch is denied by every spelling, as HEAD and wherever it is worked on", async () => {
  await using lab = await Lab.create({
    policy: policy([{
      agentId: "*",
      refs: { deny: ["main", "refs/tags/v*", "origin/secret", "origin/main"] },
    }]),
  });
  const { box, repo } = lab;
  await box.git(repo, "branch", "side");
  await box.git(repo, "tag", "v1");
  await box.git(repo, "remote", "add", "origin", repo);
  await box.git(repo, "fetch", "-q", "origin");
  await box.git(repo, "branch", "-q", "--set-upstream-to=origin/main", "side");
  // main is checked out: all of these name it.
  for (
    const spelling of [
      "main",
      "heads/main",
      "refs/heads/main",
      "main~0",
      "main^{commit}",
      "main@{0}",
      "MAIN",
      "HEAD",
      "@",
      "HEAD~0",
      "@{0}",
      "side@{upstream}",
      "side@{u}~0",
      "v1",
      "tags/v1",
      "refs/tags/v1^0",
    ]
  ) {
    assert.equal(
      await admits(lab, "merge", { sourceRef: spelling, targetRef: "side" }),
      false,
      spelling,
    );
  }
  assert.equal(await admits(lab, "merge", { sourceRef: "side", targetRef: "side" }), true);
  assert.equal(await admits(lab, "commit"), false);
  assert.equal(await admits(lab, "discard"), false);
  assert.equal(await admits(lab, "patch"), false);
  assert.equal(await admits(lab, "reset", { targetRef: "side" }), false);
  assert.equal(await admits(lab, "rebase", { currentRef: "HEAD", ontoRef: "side" }), false);
  assert.equal(await admits(lab, "push"), false);
  assert.equal(await admits(lab, "push", { branch: "main" }), false);
  assert.equal(await admits(lab, "push", { branch: "secret" }), false);
  assert.equal(await admits(lab, "push", { branch: "secret", remote: "other" }), true);
  assert.equal(await admits(lab, "branch", { name: "x", startPoint: "main" }), false);
  assert.equal(await admits(lab, "branch", { name: "x", startPoint: "HEAD" }), false);
  assert.equal(await admits(lab, "worktree", { branch: "main" }), false);
  assert.equal(
    await admits(lab, "branchDelete", {
      targets: [{ repoPath: repo, branches: ["side", "main"] }],
    }),
    false,
  );
  for (
    const step of [
      { operationType: "discard", paths: ["a.txt"] },
      { operationType: "patch", patchContent: "x" },
      { operationType: "reset", targetRef: "side" },
      { operationType: "merge", sourceRef: "main", targetRef: "side" },
      { operationType: "rebase", ontoRef: "side" },
    ]
  ) {
    const steps = [{ operationType: "merge", sourceRef: "side", targetRef: "side" }, step];
    assert.equal(await admits(lab, "plan", { steps }), false, step.operationType);
  }
  await box.git(repo, "checkout", "-q", "side");
  assert.equal(await admits(lab, "commit"), true);
  assert.equal(await admits(lab, "push"), true);
  assert.equal(await admits(lab, "merge", { sourceRef: "HEAD", targetRef: "side" }), true);
});

Deno.test("an allowed name must be named: ids and detached heads pass no list", async () => {
  await using lab = await Lab.create({
    policy: policy([{ agentId: "*", refs: { allow: ["agent/**"] } }]),
  });
  const { box, repo } = lab;
  const oid = (await box.git(repo, "rev-parse", "HEAD")).trim();
  await box.git(repo, "branch", "agent/one");
  assert.equal(await admits(lab, "merge", { sourceRef: "agent/one", targetRef: "main" }), false);
  assert.equal(await admits(lab, "merge", { sourceRef: oid, targetRef: "agent/one" }), false);
  assert.equal(
    await admits(lab, "merge", { sourceRef: "agent/one~0", targetRef: "refs/heads/agent/one" }),
    true,
  );
  assert.equal(await admits(lab, "commit"), false);
  assert.equal(await admits(lab, "branch", { name: "agent/new", startPoint: "agent/one" }), true);
  assert.equal(await admits(lab, "branch", { name: "Agent/new", startPoint: "agent/one" }), false);
  await box.git(repo, "checkout", "-q", "agent/one");
  assert.equal(await admits(lab, "commit"), true);
  assert.equal(await admits(lab, "push", { branch: undefined }), true);
  await box.git(repo, "checkout", "-q", "--detach");
  assert.equal(await admits(lab, "commit"), false);
});

Deno.test("targets of a branch deletion and work trees are held to the allowed places, links resolved", async () => {
  await using outer = await Lab.create();
  const root = outer.box.root;
  await using lab = await Lab.create({
    policy: policy([{
      agentId: "*",
      pathConstraints: { repositories: [root], worktrees: [`${root}/trees`] },
    }]),
  });
  // The lab's own repository lies elsewhere.
  assert.equal(await admits(lab, "commit"), false);
  const inside = { repoPath: outer.repo };
  assert.equal(await admits(lab, "commit", inside), true);
  const targets = [
    { repoPath: outer.repo, branches: ["x"] },
    { repoPath: lab.repo, branches: ["x"] },
  ];
  assert.equal(await admits(lab, "branchDelete", { ...inside, targets }), false);
  const first = targets.slice(0, 1);
  assert.equal(await admits(lab, "branchDelete", { ...inside, targets: first }), true);
  // The default place is beside the repository: the list of places decides.
  assert.equal(await admits(lab, "worktree", { ...inside, branch: "x" }), false);
  await Deno.mkdir(`${root}/trees`);
  const at = (path: string) => admits(lab, "worktree", { ...inside, branch: "x", path });
  assert.equal(await at(`${root}/trees/x`), true);
  assert.equal(await at(`${root}/treesx`), false);
  await Deno.symlink(lab.box.root, `${root}/trees/out`);
  assert.equal(await at(`${root}/trees/out/x`), false);
  // Work in a linked work tree needs its place and its repository.
  await outer.box.git(outer.repo, "worktree", "add", "-q", "../trees/in", "-b", "in");
  await outer.box.git(outer.repo, "worktree", "add", "-q", "../beside", "-b", "beside");
  assert.equal(await admits(lab, "commit", { repoPath: `${root}/trees/in` }), true);
  assert.equal(await admits(lab, "commit", { repoPath: `${root}/beside` }), false);
});

Deno.test("a .git file inside an allowed place does not open a repository outside of it", async () => {
  await using outer = await Lab.create();
  const { box } = outer;
  const root = await Deno.realPath(box.root);
  await Deno.mkdir(`${root}/allowed/trap`, { recursive: true });
  await Deno.writeTextFile(`${root}/allowed/trap/.git`, `gitdir: ${root}/repo/.git\n`);
  // The control: git takes it for a repository, with the branches of the other one.
  const own = await box.git(outer.repo, "rev-parse", "HEAD");
  assert.equal(await box.git(`${root}/allowed/trap`, "rev-parse", "HEAD"), own);
  await using lab = await Lab.create({
    policy: policy([{ agentId: "*", pathConstraints: { repositories: [`${root}/allowed`] } }]),
  });
  assert.equal(await admits(lab, "branch", { repoPath: `${root}/allowed/trap`, name: "x" }), false);
  // A git directory of its own that lies in an allowed place is as good as a plain one.
  await box.git(root, "init", "-q", "--separate-git-dir", "allowed/apart.git", "allowed/apart");
  assert.equal(await admits(lab, "commit", { repoPath: `${root}/allowed/apart` }), true);
});

Deno.test("a denied proposal makes no card, registers nothing and takes no quota", async () => {
  await using lab = await Lab.create({
    policy: policy([{ agentId: "*", operations: { deny: ["push"] } }]),
  });
  for (let i = 0; i < 15; i++) assert.equal((await lab.propose("push")).status, 403);
  assert.equal(lab.gateway.service.list(["pending"]).total, 0);
  assert.equal(await Deno.stat(`${lab.runDir}/repos`).then(() => true, () => false), false);
  assert.equal((await lab.propose("commit")).status, 202);
});

Deno.test("a policy never approves, and without one everything may be proposed", async () => {
  await using lab = await Lab.create({
    policy: policy([{ agentId: "*", operations: { allow: ["*"] }, refs: { allow: ["**"] } }]),
  });
  const id = await lab.proposed("commit");
  assert.equal((await lab.status(id)).body.status, "pending");
  assert.equal(lab.operation.executed.length, 0);
  await using open = await Lab.create();
  assert.equal((await open.propose("reset", { mode: "hard" })).status, 202);
});
