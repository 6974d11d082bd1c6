import assert from "node:assert/strict";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { GatewayLab, hook } from "../harness.ts";

const newFile = (name: string, content = "x") =>
  `diff --git a/${name} b/${name}\nnew file mode 100644\n--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+${content}\n`;

async function start(lab: GatewayLab): Promise<string> {
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "a.txt": "a\n", "b.txt": "b\n" });
  await box.git(path, "switch", "-q", "-c", "feature");
  await box.commit(path, "Feature", { "f.txt": "f\n" });
  await box.git(path, "switch", "-q", "main");
  await box.commit(path, "Main", { "m.txt": "m\n" });
  return path;
}

interface Step {
  readonly operationType: string;
  readonly status: string;
  readonly message: string;
  readonly beforeCommit?: string;
  readonly afterCommit?: string;
}

const steps = (result: Record<string, unknown> | null) => result!["steps"] as Step[];

Deno.test("a plan runs its steps in order under one approval, and one undo takes all of them back", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  await lab.box.write(path, { "b.txt": "in the way of nothing\n" });
  const before = await lab.state(path);
  const card = await lab.show(path, "plan", {
    steps: [
      { operationType: "discard", paths: ["b.txt"] },
      { operationType: "merge", sourceRef: "feature", targetRef: "main" },
      { operationType: "patch", patchContent: newFile("p.txt") },
      { operationType: "reset", targetRef: "HEAD", mode: "mixed" },
    ],
  });
  assert.deepEqual(card.blockers, []);
  assert.equal(card.words, "run plan");
  assert.equal(card.risk, "high");
  assert.deepEqual(card.effect!.details["destructiveSteps"], [0]);
  assert.deepEqual(
    (card.effect!.details["steps"] as { operationType: string; destructive: boolean }[])
      .map(({ operationType, destructive }) => [operationType, destructive]),
    [["discard", true], ["merge", false], ["patch", false], ["reset", false]],
  );
  assert(card.warnings.some(({ code }) => code === "one_restore_point"));
  assert.deepEqual(card.effect!.files.map(({ path, note }) => [path, note]), [
    ["b.txt", "step 1"],
    ["f.txt", "step 2"],
    ["p.txt", "step 3"],
  ]);
  await assert.rejects(
    () => lab.approve(card),
    (error) => error instanceof Refusal && error.code === "steps_not_confirmed",
  );
  await assert.rejects(
    () => lab.approve(card, { words: null, overrides: { confirmedSteps: [0] } }),
    (error) => error instanceof Refusal && error.code === "words_missing",
  );
  const record = await lab.approve(card, { overrides: { confirmedSteps: [0] } });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.deepEqual(
    steps(record.result).map(({ operationType, status }) => [operationType, status]),
    [["discard", "completed"], ["merge", "completed"], ["patch", "completed"], [
      "reset",
      "completed",
    ]],
  );
  assert.equal(
    steps(record.result)[1]!.afterCommit,
    (await lab.box.git(path, "rev-parse", "HEAD")).trim(),
  );
  assert.equal((record.result!["restorePoint"] as { operation: string }).operation, "plan");
  assert.equal(await Deno.readTextFile(`${path}/b.txt`), "b\n");
  assert.equal(await Deno.readTextFile(`${path}/f.txt`), "f\n");
  assert.equal(await Deno.readTextFile(`${path}/p.txt`), "x\n");
  const after = await lab.state(path);
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
  await lab.redo(path);
  assert.deepEqual(await lab.state(path), after);
});

Deno.test("the first failure stops the plan, the rest is skipped, and what was done is taken back", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  await lab.box.write(path, { "u.txt": "u\n" });
  const before = await lab.state(path);
  const card = await lab.show(path, "plan", {
    steps: [
      { operationType: "merge", sourceRef: "feature", targetRef: "main" },
      // Good as things are now, in the way of itself after the merge.
      { operationType: "patch", patchContent: newFile("f.txt") },
      { operationType: "reset", targetRef: "HEAD~1" },
    ],
  });
  assert.deepEqual(card.blockers, []);
  const record = await lab.approve(card);
  assert.equal(record.status, "failed");
  const [one, two, three] = steps(record.result);
  assert.equal(one!.status, "completed");
  assert.match(one!.message, /taken back, because step 2 failed/);
  assert.equal(two!.status, "failed");
  assert.match(two!.message, /already exists/);
  assert.equal(three!.status, "skipped");
  assert.match(String(record.result!["message"]), /^step 2 \(patch\) failed: .*brought back/);
  assert.equal(record.result!["repositoryUnchanged"], true);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("what no earlier step can mend stops the card; what one can is a warning", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  const plan = (...steps: unknown[]) => lab.refused(path, "plan", { steps });
  const harmless = { operationType: "reset", targetRef: "HEAD", mode: "soft" };
  assert.deepEqual(await plan(harmless, { operationType: "reset", targetRef: "nowhere" }), [
    "unknown_ref",
  ]);
  assert.deepEqual(
    await plan(harmless, { operationType: "merge", sourceRef: "feature", targetRef: "v1" }),
    ["not_a_branch"],
  );
  assert.deepEqual(
    await plan(harmless, { operationType: "patch", patchContent: newFile("../x") }),
    ["path_outside"],
  );
  assert.deepEqual(await plan({ operationType: "discard", paths: ["a.txt"] }), [
    "nothing_to_discard",
  ]);
  for (
    const step of [
      { operationType: "discard", paths: [".git/config"] },
      { operationType: "discard", paths: ["a.txt"], mode: "hard" },
      { operationType: "rebase", ontoRef: "main", interactive: true },
      { operationType: "commit", message: "m" },
      { operationType: "reset", targetRef: "-x" },
    ]
  ) {
    await assert.rejects(() => lab.propose(path, "plan", { steps: [harmless, step] }), Refusal);
  }
  // Nothing of f.txt is there yet; the patch before brings it.
  const card = await lab.show(path, "plan", {
    steps: [
      { operationType: "patch", patchContent: newFile("n.txt") },
      { operationType: "discard", paths: ["n.txt"] },
    ],
  });
  assert.deepEqual(card.blockers, []);
  assert(
    card.warnings.some(({ message }) =>
      message === "step 2, as things are now: some of the paths have no change to discard"
    ),
  );
  const before = await lab.state(path);
  const record = await lab.approve(card, { overrides: { confirmedSteps: [1] } });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("refs that earlier steps move may move; anybody else's move stops the plan", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  const main = (await box.git(path, "rev-parse", "main")).trim();
  // HEAD~1 means main as it is now, once the merge is done.
  const record = await lab.run(path, "plan", {
    steps: [
      { operationType: "merge", sourceRef: "feature", targetRef: "main" },
      { operationType: "reset", targetRef: "HEAD~1", mode: "soft" },
    ],
  });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal((await box.git(path, "rev-parse", "main")).trim(), main);
  await box.git(path, "reset", "-q", "--hard");

  // A hook of the first step moves what the second one names.
  const sneaky =
    (await box.git(path, "commit-tree", "-p", "feature", "-m", "Sneaky", "feature^{tree}"))
      .trim();
  await hook(path, "post-merge", `git update-ref refs/heads/feature ${sneaky}`);
  const before = await lab.state(path);
  await box.git(path, "branch", "other", "feature~1");
  await box.git(path, "switch", "-q", "other");
  await box.commit(path, "Other", { "o.txt": "o\n" });
  await box.git(path, "switch", "-q", "main");
  const stopped = await lab.run(path, "plan", {
    steps: [
      { operationType: "merge", sourceRef: "other", targetRef: "main" },
      { operationType: "merge", sourceRef: "feature", targetRef: "main" },
      { operationType: "reset", targetRef: "HEAD~1", mode: "soft" },
    ],
  });
  assert.equal(stopped.status, "failed");
  const outcome = steps(stopped.result);
  assert.equal(outcome[0]!.status, "completed");
  // The first step had no business with that ref.
  assert.equal(outcome[1]!.status, "failed");
  assert.match(outcome[1]!.message, /something else moved refs\/heads\/feature/);
  assert.equal(outcome[2]!.status, "skipped");
  assert.equal((await box.git(path, "rev-parse", "main")).trim(), main);
  assert.deepEqual((await lab.state(path)).files, before.files);
});

Deno.test("each step that destroys needs its own box, and no other", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  const card = await lab.show(path, "plan", {
    steps: [
      { operationType: "reset", targetRef: "HEAD", mode: "hard" },
      { operationType: "patch", patchContent: newFile("ok.txt") },
    ],
  });
  assert.deepEqual(card.effect!.details["destructiveSteps"], [0]);
  await assert.rejects(
    () => lab.approve(card, { overrides: { confirmedSteps: [1] } }),
    (error) => error instanceof Refusal && error.code === "steps_not_confirmed",
  );
  await assert.rejects(
    () => lab.approve(card, { overrides: { confirmedSteps: [7] } }),
    Refusal,
  );
  const record = await lab.approve(card, { overrides: { confirmedSteps: [0] } });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
});

Deno.test("a plan that moved nothing yet leaves alone what somebody else changed meanwhile", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  await hook(
    path,
    "reference-transaction",
    `[ "$1" = prepared ] && [ -z "$INNER" ] && { INNER=1 git update-ref refs/heads/elsewhere HEAD; exit 1; }; exit 0`,
  );
  const record = await lab.run(path, "plan", {
    steps: [
      { operationType: "reset", targetRef: "HEAD~1", mode: "soft" },
      { operationType: "reset", targetRef: "HEAD", mode: "soft" },
    ],
  });
  assert.equal(record.status, "failed");
  assert.deepEqual(steps(record.result).map(({ status }) => status), ["failed", "skipped"]);
  // The branch that appeared is not ours to take away.
  assert.equal((await box.tryGit(path, ["show-ref", "refs/heads/elsewhere"])).code, 0);
});
