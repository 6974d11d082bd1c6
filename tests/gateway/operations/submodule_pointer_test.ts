import assert from "node:assert/strict";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { GatewayLab, hook } from "../harness.ts";

interface Nest {
  /** Outermost repository. */
  readonly path: string;
  /** `path/sub`, whose commit is one ahead of the recorded one. */
  readonly sub: string;
  /** `path/sub/deep`, a submodule of `sub`. */
  readonly deep: string;
  readonly recorded: string;
  readonly checkedOut: string;
}

async function nest(lab: GatewayLab): Promise<Nest> {
  const { box } = lab;
  const deepSource = await box.repo("deep-source");
  await box.commit(deepSource, "Deep", { "d.txt": "d\n" });
  const subSource = await box.repo("sub-source");
  await box.commit(subSource, "Sub", { "s.txt": "s\n" });
  await box.git(subSource, "submodule", "add", "-q", deepSource, "deep");
  await box.commit(subSource, "Sub with deep");
  const path = await box.repo();
  await box.commit(path, "First", { "a.txt": "a\n" });
  await box.git(path, "submodule", "add", "-q", subSource, "sub");
  await box.git(path, "submodule", "update", "-q", "--init", "--recursive");
  await box.commit(path, "With submodule");
  const sub = `${path}/sub`, deep = `${path}/sub/deep`;
  const recorded = (await box.git(sub, "rev-parse", "HEAD")).trim();
  const checkedOut = await box.commit(sub, "Ahead", { "s.txt": "ahead\n" });
  return { path, sub, deep, recorded, checkedOut };
}

const stateOf = async (lab: GatewayLab, at: Nest) => [
  await lab.state(at.path),
  await lab.state(at.sub),
  await lab.state(at.deep),
];

Deno.test("record commits the pointer alone, says what is in it, and can be undone", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const at = await nest(lab);
  await box.write(at.path, { "a.txt": "staged\n", "u.txt": "u\n" });
  await box.git(at.path, "add", "a.txt");
  const before = await stateOf(lab, at);
  const parent = (await box.git(at.path, "rev-parse", "HEAD")).trim();
  const card = await lab.show(at.path, "submodulePointer", {
    relativePath: "sub",
    direction: "record",
    message: "Move sub forward",
    expectedRecordedOid: at.recorded,
    expectedCheckedOutOid: at.checkedOut,
  });
  assert.deepEqual(card.blockers, []);
  assert.equal(card.effect!.details["recorded"], at.recorded);
  assert.equal(card.effect!.details["checkedOut"], at.checkedOut);
  assert.deepEqual(card.effect!.commits.map(({ subject, fate }) => [subject, fate]), [
    ["Ahead", "merged"],
  ]);
  assert(card.warnings.some(({ code }) => code === "unpublished"));
  assert.match(card.effect!.diff!, new RegExp(`\\+Subproject commit ${at.checkedOut}`));
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  const commit = (await box.git(at.path, "rev-parse", "HEAD")).trim();
  assert.equal(record.result!["commitSha"], commit);
  assert.deepEqual(record.result!["submodulePointer"], {
    direction: "record",
    parentPath: "",
    relativePath: "sub",
    parentHeadRef: "refs/heads/main",
    previousParentOid: parent,
    commitSha: commit,
    pointerOid: at.checkedOut,
  });
  assert.equal(record.result!["restorePoint"], undefined);
  assert.equal(
    await box.git(at.path, "show", "--format=%s", "--name-only", "HEAD"),
    "Move sub forward\n\nsub\n",
  );
  assert.equal(await box.git(at.path, "status", "--porcelain"), "M  a.txt\n?? u.txt\n");
  await lab.applyPoint(at.path, String(record.result!["restorePointId"]));
  assert.deepEqual(await stateOf(lab, at), before);
});

Deno.test("return checks the recorded commit out, on no branch, and tells where it was", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const at = await nest(lab);
  const before = await stateOf(lab, at);
  const record = await lab.run(at.path, "submodulePointer", {
    relativePath: "sub",
    direction: "return",
  });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.deepEqual(record.result!["submodulePointer"], {
    direction: "return",
    parentPath: "",
    relativePath: "sub",
    checkedOutOid: at.recorded,
    restorePoint: { previousRef: "refs/heads/main", previousOid: at.checkedOut },
  });
  assert.equal((await lab.state(at.sub)).head, at.recorded);
  assert.equal((await box.git(at.sub, "rev-parse", "main")).trim(), at.checkedOut);
  const after = await stateOf(lab, at);
  assert.deepEqual(after[0]!.refs, before[0]!.refs);
  assert.deepEqual(after[0]!.index, before[0]!.index);
  // The submodule has a restore point of its own.
  const points = record.result!["restorePoints"] as { repoPath: string; restorePointId: string }[];
  const own = points.find(({ repoPath }) => repoPath === at.sub)!;
  await lab.applyPoint(at.sub, own.restorePointId);
  assert.deepEqual(await stateOf(lab, at), before);
});

Deno.test("commits on no branch are named before a detached submodule goes back", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const at = await nest(lab);
  await box.git(at.sub, "switch", "-q", "--detach");
  const lonely = await box.commit(at.sub, "Lonely", { "l.txt": "l\n" });
  const card = await lab.show(at.path, "submodulePointer", {
    relativePath: "sub",
    direction: "return",
  });
  assert(card.warnings.some(({ code }) => code === "commits_left_behind"));
  assert.deepEqual(card.effect!.commits.map(({ subject, fate }) => [subject, fate])[0], [
    "Lonely",
    "lost",
  ]);
  const record = await lab.approve(card);
  assert.deepEqual(
    (record.result!["submodulePointer"] as { restorePoint: unknown }).restorePoint,
    { previousRef: null, previousOid: lonely },
  );
  await box.git(at.sub, "reflog", "expire", "--expire=now", "--all");
  await box.git(at.sub, "gc", "-q", "--prune=now");
  const points = record.result!["restorePoints"] as { repoPath: string; restorePointId: string }[];
  await lab.applyPoint(at.sub, points.find(({ repoPath }) => repoPath === at.sub)!.restorePointId);
  assert.equal((await lab.state(at.sub)).head, lonely);
});

Deno.test("a nested submodule is recorded in the repository that directly contains it", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const at = await nest(lab);
  const newer = await box.commit(at.deep, "Deeper", { "d.txt": "deeper\n" });
  const outer = await lab.state(at.path);
  const before = await stateOf(lab, at);
  const record = await lab.run(at.path, "submodulePointer", {
    parentPath: "sub",
    relativePath: "deep",
    direction: "record",
    message: "Move deep forward",
  });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  const pointer = record.result!["submodulePointer"] as Record<string, unknown>;
  assert.equal(pointer["parentPath"], "sub");
  assert.equal(pointer["pointerOid"], newer);
  assert.equal(pointer["previousParentOid"], at.checkedOut);
  assert.equal((await box.git(at.sub, "log", "-1", "--format=%s")).trim(), "Move deep forward");
  assert.deepEqual((await lab.state(at.path)).refs, outer.refs);
  const points = record.result!["restorePoints"] as { repoPath: string; restorePointId: string }[];
  await lab.applyPoint(at.sub, points.find(({ repoPath }) => repoPath === at.sub)!.restorePointId);
  assert.deepEqual(await stateOf(lab, at), before);
});

Deno.test("pins, dirt, missing pieces and equal pointers stand in the way", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const at = await nest(lab);
  const refused = (members: Record<string, unknown>) =>
    lab.refused(at.path, "submodulePointer", { relativePath: "sub", ...members });
  const back = { direction: "return" };
  const record = { direction: "record", message: "m" };
  assert.deepEqual(await refused({ ...back, expectedRecordedOid: at.checkedOut }), [
    "pin_mismatch",
  ]);
  assert.deepEqual(await refused({ ...record, expectedCheckedOutOid: at.recorded }), [
    "pin_mismatch",
  ]);
  assert.deepEqual(await refused({ ...back, relativePath: "a.txt" }), ["bad_path"]);
  assert.deepEqual(await refused({ ...back, relativePath: "nowhere" }), ["bad_path"]);
  assert.deepEqual(await refused({ ...back, parentPath: "a.txt", relativePath: "x" }), [
    "bad_path",
  ]);
  await box.write(at.sub, { "s.txt": "dirty\n" });
  assert.deepEqual(await refused(back), ["dirty"]);
  assert.deepEqual(await refused(record), ["dirty"]);
  await box.git(at.sub, "checkout", "-q", "s.txt");
  await box.write(at.sub, { "untracked.txt": "u\n" });
  assert.deepEqual(await refused(back), ["dirty"]);
  await Deno.remove(`${at.sub}/untracked.txt`);
  await Deno.writeTextFile(`${at.path}/.git/index.lock`, "");
  assert.deepEqual(await refused(record), ["index_locked"]);
  await Deno.remove(`${at.path}/.git/index.lock`);
  await box.git(at.path, "add", "sub");
  assert.deepEqual(await refused(record), ["equal"]);
  await box.commit(at.sub, "Further", { "s.txt": "further\n" });
  assert.deepEqual(await refused(record), ["staged_pointer"]);
  await box.git(at.path, "reset", "-q", "sub");
  await box.git(at.sub, "switch", "-q", "--detach", at.recorded);
  assert.deepEqual(await refused(record), ["equal"]);
  await box.git(at.path, "submodule", "deinit", "-q", "-f", "sub");
  assert.deepEqual(await refused(back), ["not_initialized"]);
  const bare = await box.repo("bare.git", "--bare");
  assert((await lab.refused(bare, "submodulePointer", { relativePath: "sub", ...back })).includes(
    "bare_repository",
  ));
  for (
    const bad of [
      { direction: "record" },
      { direction: "return", message: "m" },
      { direction: "return", relativePath: "../x" },
      { direction: "return", parentPath: "/abs" },
      { direction: "return", expectedRecordedOid: "ABC" },
      { direction: "sideways" },
    ]
  ) {
    await assert.rejects(
      () => lab.propose(at.path, "submodulePointer", { relativePath: "sub", ...bad }),
      Refusal,
    );
  }
});

Deno.test("a recorded commit that is not there has to be fetched first", async () => {
  await using lab = await GatewayLab.create();
  const at = await nest(lab);
  const missing = "1234567890123456789012345678901234567890";
  await lab.box.git(at.path, "update-index", "--cacheinfo", `160000,${missing},sub`);
  await lab.box.git(at.path, "commit", "-q", "-m", "Points to nowhere");
  assert.deepEqual(
    await lab.refused(at.path, "submodulePointer", { relativePath: "sub", direction: "return" }),
    ["commit_missing"],
  );
});

Deno.test("an ignored file in the place of a recorded one stops the return", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const at = await nest(lab);
  await box.git(at.sub, "rm", "-q", "s.txt");
  await box.commit(at.sub, "Without", { ".gitignore": "s.txt\n" });
  await box.write(at.sub, { "s.txt": "an ignored file of mine\n" });
  assert.deepEqual(
    await lab.refused(at.path, "submodulePointer", { relativePath: "sub", direction: "return" }),
    ["ignored_in_the_way"],
  );
});

Deno.test("a submodule that is told to be ignored is recorded all the same", async () => {
  await using lab = await GatewayLab.create();
  const at = await nest(lab);
  await lab.box.git(at.path, "config", "-f", ".gitmodules", "submodule.sub.ignore", "all");
  await lab.box.git(at.path, "commit", "-q", "-m", "Ignore it", ".gitmodules");
  const record = await lab.run(at.path, "submodulePointer", {
    relativePath: "sub",
    direction: "record",
    message: "m",
  });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
});

Deno.test("a hook of the parent that says no, and one that changes files, leave everything as it was", async () => {
  await using lab = await GatewayLab.create();
  const at = await nest(lab);
  const newer = await lab.box.commit(at.deep, "Deeper", { "d.txt": "deeper\n" });
  const gitDir = (await lab.box.git(at.sub, "rev-parse", "--absolute-git-dir")).trim();
  await Deno.mkdir(`${gitDir}/hooks`, { recursive: true });
  await Deno.writeTextFile(
    `${gitDir}/hooks/pre-commit`,
    "#!/bin/sh\necho edited > s.txt; echo not in here >&2; exit 1\n",
    { mode: 0o755 },
  );
  const before = await stateOf(lab, at);
  const card = await lab.show(at.path, "submodulePointer", {
    parentPath: "sub",
    relativePath: "deep",
    direction: "record",
    message: "m",
    expectedCheckedOutOid: newer,
  });
  assert(card.warnings.some(({ message }) => message.includes("pre-commit")));
  const record = await lab.approve(card);
  assert.equal(record.status, "failed");
  assert.match(String(record.result!["message"]), /not in here/);
  assert.equal(record.result!["repositoryUnchanged"], true);
  assert.deepEqual(await stateOf(lab, at), before);

  await hook(at.path, "pre-commit", "exit 1");
  const outer = await lab.run(at.path, "submodulePointer", {
    relativePath: "sub",
    direction: "record",
    message: "m",
  }).catch((error) => error);
  // The nested submodule is ahead of what its parent records, so `sub` is not clean.
  assert(outer instanceof Refusal && outer.code === "dirty");
  assert.deepEqual(await stateOf(lab, at), before);
});

Deno.test("a submodule or parent that moves after the card makes it stale", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const at = await nest(lab);
  const moves: (() => Promise<unknown>)[] = [
    () => box.commit(at.sub, "Further", { "s.txt": "further\n" }),
    () => box.git(at.sub, "switch", "-q", "--detach"),
    () => box.git(at.path, "commit", "-q", "--allow-empty", "-m", "Empty"),
  ];
  for (const move of moves) {
    const card = await lab.show(at.path, "submodulePointer", {
      relativePath: "sub",
      direction: "record",
      message: "m",
    });
    await move();
    const before = await stateOf(lab, at);
    await assert.rejects(
      () => lab.approve(card),
      (error) => error instanceof Refusal && error.code === "card_changed",
    );
    assert.deepEqual(await stateOf(lab, at), before);
    lab.service.cancel(card.previewId, "test-agent", null);
  }
});

Deno.test("a submodule replaced by a link to another repository is not followed", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const at = await nest(lab);
  const card = await lab.show(at.path, "submodulePointer", {
    relativePath: "sub",
    direction: "return",
  });
  const victim = await box.repo("victim");
  await box.commit(victim, "Victim", { "v.txt": "v\n" });
  const before = await lab.state(victim);
  await Deno.rename(at.sub, `${box.root}/aside`);
  await Deno.symlink(victim, at.sub);
  await assert.rejects(() => lab.approve(card), Refusal);
  const now = await lab.card(card.previewId);
  assert(now.blockers.length > 0, JSON.stringify(now));
  assert.deepEqual(await lab.state(victim), before);
});
