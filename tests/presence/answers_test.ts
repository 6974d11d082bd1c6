import assert from "node:assert/strict";
import { askerOf, presenceData } from "../../presence/agents.ts";
import { otherAgentsOf } from "../../presence/other_agents.ts";
import { repositoryPlaces } from "../../presence/places.ts";
import { Scanner, type SeenRepository } from "../../presence/scanner.ts";
import type { Finding } from "../../presence/types.ts";
import type { ProcessReader } from "../../presence/process_table.ts";
import { Sandbox } from "../fixtures/sandbox.ts";
import { Lab, processList } from "./lab.ts";

/** What is made of the findings: who is the caller, what overlaps, what is late. */

const finding = (agent: string, more: Partial<Finding> = {}): Finding => ({
  agent,
  root: "/r",
  state: "recent",
  sources: ["session"],
  pid: null,
  lastActivityMs: null,
  branch: null,
  lastTool: null,
  files: [],
  mcpClient: null,
  sessions: 1,
  ...more,
});

const seenWith = (findings: readonly Finding[], ancestors: number[] = []): SeenRepository => ({
  findings,
  missing: [],
  ancestors: new Set(ancestors),
  places: {
    top: "/r",
    branch: "main",
    others: [{ path: "/w", branch: "topic" }, { path: "/r/wt", branch: "inner" }],
  },
  complete: true,
});

Deno.test("the likely caller is the same agent without a pid, or with one above the server", () => {
  const seen = seenWith([
    finding("codex"),
    finding("claude-code", { pid: 5 }),
    finding("goose"),
  ], [5]);
  const flags = (agentId: string) =>
    presenceData("/r", seen, agentId).agents.map((
      one,
    ) => [one.sameAgentAsCaller, one.likelyCaller]);
  assert.deepEqual(flags("codex-mcp-client"), [[true, true], [false, false], [false, false]]);
  assert.deepEqual(flags("claude-code")[1], [true, true]);
  assert.deepEqual(flags("external-mcp-sidecar").flat(), Array(6).fill(false));
  const stranger = seenWith([finding("claude-code", { pid: 6 })], [5]);
  assert.deepEqual(
    presenceData("/r", stranger, "claude-code").agents.map((one) => [
      one.sameAgentAsCaller,
      one.likelyCaller,
    ]),
    [[true, false]],
  );
});

Deno.test("the caller is named as it names itself, and not at all without a name", () => {
  const caller = (agentId: string) => presenceData("/r", seenWith([]), agentId).caller;
  assert.deepEqual(caller("Claude-Code"), {
    clientName: "Claude-Code",
    agent: "claude-code",
    ownMcpPresenceExcluded: true,
  });
  assert.deepEqual(caller("external-mcp-sidecar"), {
    clientName: null,
    agent: null,
    ownMcpPresenceExcluded: true,
  });
});

Deno.test("at most 32 agents are listed, and it is said that there are more", () => {
  const many = Array.from({ length: 40 }, (_, i) => finding(`bot${i}`));
  const data = presenceData("/r", seenWith(many), "x");
  assert.deepEqual([data.agents.length, data.agentCount, data.truncated], [32, 32, true]);
});

Deno.test("an agent has every member of the contract, null where it is unknown", () => {
  const [agent] = presenceData("/r", seenWith([finding("goose")]), "x").agents;
  assert.deepEqual(agent, {
    agent: "goose",
    state: "recent",
    sources: ["session"],
    pid: null,
    lastActivityMs: null,
    branch: null,
    lastTool: null,
    files: [],
    mcpClient: null,
    sameAgentAsCaller: false,
    likelyCaller: false,
  });
});

Deno.test("agents in work trees: those below the repository are its own, others stand apart", () => {
  const data = presenceData(
    "/r",
    seenWith([
      finding("codex", { root: "/w", files: ["a.ts"] }),
      finding("goose", { root: "/r/wt", files: ["a.ts"] }),
    ]),
    "x",
  );
  assert.deepEqual(data.agents.map((one) => [one.agent, one.worktree, one.files]), [
    ["goose", "wt", ["wt/a.ts"]],
  ]);
  assert.deepEqual(data.worktreeAgents?.map((one) => [one.agent, one.worktree, one.files]), [
    ["codex", "/w", ["a.ts"]],
  ]);
});

Deno.test("overlaps: by paths, null where either side is unknown, and the caller is left out", () => {
  const seen = seenWith([
    finding("codex", { files: ["lib/one.ts", "docs/a.md"] }),
    finding("goose"),
    finding("crush", { files: ["other.ts"] }),
    finding("amp"),
  ]);
  const asker = askerOf("amp", true);
  const hint = otherAgentsOf(seen, asker, {
    args: { repoPath: "/r", paths: ["/r/lib", "LICENSE"] },
  });
  assert.deepEqual(hint.agents.map((one) => [one.agent, one.overlappingPaths]), [
    ["codex", ["lib/one.ts"]],
    ["goose", null],
    ["crush", []],
  ]);
  assert.deepEqual(
    [hint.agentCount, hint.overlappingAgentCount, hint.omittedLikelyCaller],
    [3, 1, 1],
  );
  assert.deepEqual([hint.informational, hint.proposalPathsKnown], [true, true]);
  assert.match(hint.note, /never blocks/);
  const unknown = otherAgentsOf(seen, asker, { args: { repoPath: "/r", targetRef: "main" } });
  assert.equal(unknown.proposalPathsKnown, false);
  assert(unknown.agents.every((one) => one.overlappingPaths === null));
  assert(!("likelyCaller" in unknown.agents[0]!));
});

Deno.test("overlaps: branches that the proposal names and an agent works on, also in another work tree", () => {
  const seen = seenWith([
    finding("codex", { branch: "feature" }),
    finding("goose"),
    finding("crush", { root: "/w" }),
  ]);
  const hint = (args: Record<string, unknown>) => {
    const { agents, worktreeAgents } = otherAgentsOf(seen, askerOf("x", true), {
      args: { repoPath: "/r", ...args },
    });
    return [...agents, ...worktreeAgents ?? []].map((one) =>
      [one.agent, ...one.overlappingBranches ?? [], one.overlappingWorktree].filter((x) =>
        x !== undefined
      )
    );
  };
  assert.deepEqual(hint({ sourceRef: "feature", targetRef: "HEAD" }), [
    ["codex", "feature"],
    ["goose", "main"],
    ["crush"],
  ]);
  assert.deepEqual(hint({ targets: [{ repoPath: "/r", branches: ["topic"] }] }), [
    ["codex"],
    ["goose"],
    ["crush", "topic"],
  ]);
  assert.deepEqual(hint({ branch: "new", path: "/w/inside" })[2], ["crush", true]);
});

Deno.test("beside a card every finding of the proposing agent counts as the proposer", () => {
  const seen = seenWith([finding("codex", { pid: 6 }), finding("goose")]);
  const hint = otherAgentsOf(seen, askerOf("codex", false), { args: {}, paths: ["a"] });
  assert.deepEqual([hint.agentCount, hint.omittedLikelyCaller, hint.proposalPathsKnown], [
    1,
    1,
    true,
  ]);
});

Deno.test("work trees and their branches are read from the repository's files", async () => {
  await using box = await Sandbox.create();
  const repo = await box.repo();
  await box.commit(repo, "one", { "sub/a.txt": "1" });
  await box.git(repo, "worktree", "add", "-q", "-b", "topic", "../tree");
  await box.git(repo, "worktree", "add", "-q", "-b", "inner", "wt/inner");
  await box.git(repo, "worktree", "add", "-q", "-b", "gone", "../gone");
  await Deno.remove(`${box.root}/gone`, { recursive: true });
  const tree = `${box.root}/tree`;
  assert.deepEqual(repositoryPlaces(`${repo}/sub`), {
    top: repo,
    branch: "main",
    others: [
      { path: `${repo}/wt/inner`, branch: "inner" },
      { path: tree, branch: "topic" },
    ],
  });
  const fromTree = repositoryPlaces(tree);
  assert.deepEqual([fromTree.top, fromTree.branch], [tree, "topic"]);
  assert.deepEqual(fromTree.others.map(({ path }) => path), [repo, `${repo}/wt/inner`]);
  // Where roots are set, work trees outside them are not spoken of.
  assert.deepEqual(repositoryPlaces(repo, [repo]).others.map(({ path }) => path), [
    `${repo}/wt/inner`,
  ]);
  assert.deepEqual(repositoryPlaces(`${repo}/sub`, [`${repo}/sub`]), {
    top: `${repo}/sub`,
    others: [],
    branch: null,
  });
  assert.deepEqual(repositoryPlaces(box.root).others, []);
});

/** A process list that comes when it is told to. */
function heldProcesses(now: number, directory: string) {
  const ready = Promise.withResolvers<void>();
  const real = processList(now, [10, 1, "codex", "codex", 900, directory]);
  let asked = 0;
  const reader: ProcessReader = {
    async table() {
      asked++;
      await ready.promise;
      return await real.table();
    },
    directories: (pids) => real.directories(pids),
  };
  return { reader, ready, asked: () => asked };
}

Deno.test("a proposal does not wait for what is late: it is left out and said", async () => {
  await using lab = await Lab.create();
  await lab.write(`${lab.a}/.aider.chat.history.md`, "");
  const held = heldProcesses(lab.now, lab.a);
  const scanner = new Scanner(lab.around({ processes: held.reader }));
  const early = await scanner.within(lab.a, 50);
  assert.equal(early.complete, false);
  assert.deepEqual(early.findings.map(({ agent }) => agent), ["aider"]);
  assert.deepEqual(
    early.missing.map(({ source, reason, agents }) => [source, reason, ...agents ?? []]),
    [["process", "late"], ["session", "late", "cline"], ["mcp", "late"]],
  );
  held.ready.resolve();
  const whole = await scanner.whole(lab.a);
  assert.deepEqual([whole.complete, whole.missing], [true, []]);
  assert.deepEqual(whole.findings.map(({ agent }) => agent), ["aider", "codex"]);
  assert.equal(held.asked(), 1, "it is the same look, which went on");
});

Deno.test("a look is kept for two seconds and then taken anew; each repository has its own", async () => {
  await using lab = await Lab.create();
  let clock = 0;
  let asked = 0;
  const empty = processList(lab.now);
  const processes: ProcessReader = {
    table: () => {
      asked++;
      return empty.table();
    },
    directories: (pids) => empty.directories(pids),
  };
  const scanner = new Scanner(lab.around({ processes }), null, () => clock);
  scanner.start(lab.a);
  await scanner.whole(lab.a);
  clock = 2_000;
  await scanner.within(lab.a, 50);
  assert.equal(asked, 1);
  await scanner.whole(lab.b);
  assert.equal(asked, 2);
  clock = 2_001;
  await scanner.whole(lab.a);
  assert.equal(asked, 3);
});

Deno.test("a repository that does not exist has nobody in it", async () => {
  await using lab = await Lab.create();
  const seen = await new Scanner(lab.around()).whole(`${lab.root}/none`);
  assert.deepEqual([seen.findings, seen.missing], [[], []]);
});

Deno.test("a look that takes too long ends, and says which part was not done", async () => {
  await using lab = await Lab.create();
  for (let i = 0; i < 30; i++) {
    await lab.lines(`.claude/projects/${i}/1.jsonl`, { cwd: lab.a, timestamp: lab.time() });
  }
  const seen = await lab.seen({ limitMs: 0 });
  assert(seen.missing.some(({ reason }) => reason === "timed_out"), JSON.stringify(seen));
});
