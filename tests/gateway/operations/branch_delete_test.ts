import assert from "node:assert/strict";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { readList, registerRepository } from "../../../restore/mod.ts";
import { GatewayLab, hook } from "../harness.ts";

/** A repository with merged, unmerged, checked-out and followed branches. */
async function branches(lab: GatewayLab, name = "repo"): Promise<string> {
  const { box } = lab;
  const path = await box.repo(name);
  await box.commit(path, "First", { "a.txt": "a\n" });
  await box.git(path, "switch", "-q", "-c", "merged");
  await box.commit(path, "Merged", { "m.txt": "m\n" });
  await box.git(path, "switch", "-q", "main");
  await box.git(path, "merge", "-q", "--no-ff", "--no-edit", "merged");
  await box.git(path, "switch", "-q", "-c", "unmerged");
  await box.commit(path, "Unmerged", { "u.txt": "u\n" });
  await box.git(path, "switch", "-q", "main");
  return path;
}

// deno-lint-ignore no-explicit-any
const outcomes = (result: any, repo = 0) =>
  Object.fromEntries(
    // deno-lint-ignore no-explicit-any
    result.branchDelete.repositories[repo].branches.map((one: any) => [
      one.branch,
      one.reason ?? one.status,
    ]),
  );

const has = async (lab: GatewayLab, path: string, branch: string) =>
  (await lab.box.tryGit(path, ["show-ref", "--verify", "-q", `refs/heads/${branch}`])).code === 0;

Deno.test("each branch is inspected: merged ones go, others stay with the reason, and all of it comes back", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await branches(lab);
  await box.git(path, "worktree", "add", "-q", "-b", "busy", `${box.root}/busy`);
  // Merged into its upstream though not into HEAD.
  await box.git(path, "branch", "pushed", "unmerged");
  await box.git(path, "update-ref", "refs/remotes/origin/pushed", "unmerged");
  await box.git(path, "config", "remote.origin.url", "/nowhere");
  await box.git(path, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*");
  await box.git(path, "branch", "-q", "--set-upstream-to=origin/pushed", "pushed");
  await box.git(path, "branch", "folder/inner", "unmerged");
  const tips = {
    merged: (await box.git(path, "rev-parse", "merged")).trim(),
    pushed: (await box.git(path, "rev-parse", "pushed")).trim(),
  };
  const before = await lab.state(path);
  const card = await lab.show(path, "branchDelete", {
    targets: [{
      repoPath: path,
      branches: ["merged", "unmerged", "busy", "main", "nowhere", "pushed", "folder"],
    }],
  });
  const looks = card.effect!.details["branches"] as {
    branch: string;
    skip: string | null;
    mergedInto: string | null;
  }[];
  assert.deepEqual(looks.map(({ branch, skip }) => [branch, skip]), [
    ["merged", null],
    ["unmerged", "unmerged"],
    ["busy", "checked_out"],
    ["main", "checked_out"],
    ["nowhere", "unknown"],
    ["pushed", null],
    ["folder", "unknown"],
  ]);
  assert.equal(looks[5]!.mergedInto, "refs/remotes/origin/pushed");
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.deepEqual(outcomes(record.result), {
    merged: "deleted",
    unmerged: "unmerged",
    busy: "checked_out",
    main: "checked_out",
    nowhere: "unknown",
    pushed: "deleted",
    folder: "unknown",
  });
  const { deleted, failed, skipped, repositories } = record.result!["branchDelete"] as {
    deleted: number;
    failed: number;
    skipped: number;
    repositories: { branches: { tipOid?: string; restoreOid?: string }[] }[];
  };
  assert.deepEqual([deleted, failed, skipped], [2, 0, 5]);
  assert.equal(repositories[0]!.branches[0]!.tipOid, tips.merged);
  assert.equal(repositories[0]!.branches[0]!.restoreOid, tips.merged);
  assert.equal(await has(lab, path, "merged"), false);
  assert.equal(await has(lab, path, "folder/inner"), true);
  // Remote branches are never touched, and nothing of ours shows among the refs.
  const refs = (await box.git(path, "for-each-ref", "--format=%(refname)")).split("\n");
  assert(refs.includes("refs/remotes/origin/pushed"));
  assert(!refs.some((ref) => ref.includes("fluxgit")));

  // The tips are kept by themselves and outlive a gc.
  const repoId = await registerRepository(lab.runDir, path);
  const list = await readList(lab.runDir, repoId, path);
  assert(list.kind === "ok");
  assert.deepEqual(
    list.list.branchTips.map(({ ref, oid }) => [ref, oid]).sort(),
    [["refs/heads/merged", tips.merged], ["refs/heads/pushed", tips.pushed]],
  );
  await box.git(path, "reflog", "expire", "--expire=now", "--all");
  await box.git(path, "gc", "-q", "--prune=now");
  await lab.applyPoint(path, String(record.result!["restorePointId"]));
  assert.deepEqual((await lab.state(path)).refs, before.refs);
});

Deno.test("other repositories are looked at, locked and kept by themselves, and each is reported", async () => {
  await using lab = await GatewayLab.create();
  const one = await branches(lab, "one"), two = await branches(lab, "two");
  const linked = `${lab.box.root}/linked`;
  await lab.box.git(one, "worktree", "add", "-q", "-b", "side", linked);
  await lab.box.git(one, "branch", "third");
  const before = [await lab.state(one), await lab.state(two)];
  const gone = await lab.box.repo("gone");
  const card = await lab.show(one, "branchDelete", {
    targets: [
      { repoPath: one, branches: ["merged"] },
      { repoPath: two, branches: ["merged", "unmerged"] },
      // The same repository by another of its work trees.
      { repoPath: linked, branches: ["third"] },
      { repoPath: gone, branches: ["x"] },
    ],
  });
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.deepEqual(outcomes(record.result, 0), { merged: "deleted" });
  assert.deepEqual(outcomes(record.result, 1), { merged: "deleted", unmerged: "unmerged" });
  assert.deepEqual(outcomes(record.result, 2), { third: "deleted" });
  assert.deepEqual(outcomes(record.result, 3), { x: "unknown" });
  assert.equal(await has(lab, two, "merged"), false);
  const points = record.result!["restorePoints"] as { repoPath: string; restorePointId: string }[];
  for (const { repoPath, restorePointId } of points) await lab.applyPoint(repoPath, restorePointId);
  assert.deepEqual(await lab.state(one), before[0]);
  assert.deepEqual(await lab.state(two), before[1]);
});

Deno.test("a tip that moves after the card, there or in another repository, makes it stale", async () => {
  await using lab = await GatewayLab.create();
  const one = await branches(lab, "one"), two = await branches(lab, "two");
  for (const moved of [one, two]) {
    const card = await lab.show(one, "branchDelete", {
      targets: [{ repoPath: one, branches: ["merged"] }, { repoPath: two, branches: ["merged"] }],
    });
    await lab.box.git(moved, "update-ref", "refs/heads/merged", "main~1");
    await assert.rejects(
      () => lab.approve(card),
      (error) => error instanceof Refusal && error.code === "card_changed",
    );
    assert(await has(lab, one, "merged") && await has(lab, two, "merged"));
  }
});

Deno.test("a tip that moves while branches are deleted is kept by git itself", async () => {
  await using lab = await GatewayLab.create();
  const path = await branches(lab);
  await lab.box.git(path, "branch", "second", "merged");
  const moved = (await lab.box.git(path, "rev-parse", "main~1")).trim();
  // The first deletion's own hook moves the second branch.
  await hook(
    path,
    "reference-transaction",
    `[ "$1" = committed ] && [ -z "$INNER" ] && INNER=1 git update-ref refs/heads/second ${moved} 2>/dev/null; exit 0`,
  );
  const record = await lab.run(path, "branchDelete", {
    targets: [{ repoPath: path, branches: ["merged", "second"] }],
  });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  const found = outcomes(record.result);
  assert.equal(found["merged"], "deleted");
  assert.match(found["second"], /cannot lock ref|but expected/);
  assert.equal((await lab.box.git(path, "rev-parse", "second")).trim(), moved);
  assert.match(String(record.result!["error"]), /cannot lock ref|but expected/);
});

Deno.test("branches that are another name, being rebased, or all to be kept are not deleted", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await branches(lab);
  assert.deepEqual(
    await lab.refused(path, "branchDelete", {
      targets: [{ repoPath: path, branches: ["unmerged", "main", "nowhere"] }],
    }),
    ["nothing_to_delete"],
  );
  await box.git(path, "symbolic-ref", "refs/heads/alias", "refs/heads/merged");
  await box.git(path, "switch", "-q", "unmerged");
  await box.commit(path, "Clash", { "a.txt": "clash\n" });
  await box.git(path, "switch", "-q", "main");
  await box.commit(path, "Main", { "a.txt": "main\n" });
  await box.git(path, "worktree", "add", "-q", `${box.root}/rebasing`, "unmerged");
  await box.tryGit(`${box.root}/rebasing`, ["rebase", "main"]);
  const card = await lab.show(path, "branchDelete", {
    targets: [{ repoPath: path, branches: ["alias", "unmerged", "merged"] }],
  });
  const looks = card.effect!.details["branches"] as { branch: string; skip: string | null }[];
  assert.deepEqual(looks.map(({ skip }) => skip), ["not_a_branch", "checked_out", null]);
});

Deno.test("what is not a proposal for local branches of named repositories is refused at admission", async () => {
  await using lab = await GatewayLab.create();
  const path = await branches(lab);
  const other = await branches(lab, "other");
  const bad = [
    [{ repoPath: other, branches: ["merged"] }],
    [{ repoPath: path, branches: ["refs/heads/merged"] }],
    [{ repoPath: path, branches: ["merged", "merged"] }],
    [{ repoPath: path, branches: [] }],
    [{ repoPath: path, branches: ["-D"] }],
    [{ repoPath: "relative", branches: ["x"] }],
    [{ repoPath: path, branches: ["x"], force: true }],
  ];
  for (const targets of bad) {
    await assert.rejects(() => lab.propose(path, "branchDelete", { targets }), Refusal);
  }
});
