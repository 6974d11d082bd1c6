import assert from "node:assert/strict";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { GatewayLab } from "../harness.ts";

/**
 * Somebody moves a ref after the last look, right before git is run (`security.md` P-02). Git itself
 * refuses, or what was done is taken off again; what the other one did stays in any case.
 */

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

/** Moves a branch by a commit with the same files, as another program would. */
async function sneak(lab: GatewayLab, path: string, branch: string): Promise<string> {
  const { box } = lab;
  const old = (await box.git(path, "rev-parse", branch)).trim();
  const oid =
    (await box.git(path, "commit-tree", "-p", old, "-m", "Sneaked in", `${branch}^{tree}`))
      .trim();
  await box.git(path, "update-ref", `refs/heads/${branch}`, oid, old);
  return oid;
}

const rev = async (lab: GatewayLab, path: string, name: string) =>
  (await lab.box.git(path, "rev-parse", name)).trim();

const cases: {
  name: string;
  type: string;
  members: Record<string, unknown>;
  moved: string;
  before?: (lab: GatewayLab, path: string) => Promise<unknown>;
}[] = [
  {
    name: "a soft reset",
    type: "reset",
    members: { targetRef: "HEAD~1", mode: "soft" },
    moved: "main",
  },
  {
    name: "a hard reset",
    type: "reset",
    members: { targetRef: "HEAD~1", mode: "hard" },
    moved: "main",
  },
  {
    name: "a merge in the work tree",
    type: "merge",
    members: { sourceRef: "feature", targetRef: "main" },
    moved: "main",
  },
  {
    name: "a squash in the work tree",
    type: "merge",
    members: { sourceRef: "feature", targetRef: "main", strategy: "squash" },
    moved: "main",
  },
  {
    name: "a merge beside the work tree",
    type: "merge",
    members: { sourceRef: "main", targetRef: "feature" },
    moved: "feature",
  },
  {
    name: "a commit of what is staged",
    type: "commit",
    members: { message: "Mine" },
    moved: "main",
    before: async (lab, path) => {
      await lab.box.write(path, { "a.txt": "staged\n" });
      await lab.box.git(path, "add", "a.txt");
    },
  },
  {
    name: "a commit of named paths",
    type: "commit",
    members: { message: "Mine", paths: ["n.txt"] },
    moved: "main",
    before: (lab, path) => lab.box.write(path, { "n.txt": "n\n" }),
  },
  {
    name: "a rebase",
    type: "rebase",
    members: { ontoRef: "feature" },
    moved: "main",
  },
];

for (const { name, type, members, moved, before } of cases) {
  Deno.test(`${name} that is overtaken changes nothing and leaves the other's commit`, async () => {
    await using lab = await GatewayLab.create();
    const path = await start(lab);
    await before?.(lab, path);
    const state = await lab.state(path);
    const card = await lab.show(path, type, members);
    let sneaked = "";
    lab.meanwhile = async () => sneaked = await sneak(lab, path, moved);
    const record = await lab.approve(card);
    assert.equal(record.status, "failed", JSON.stringify(record.result));
    assert.equal(await rev(lab, path, moved), sneaked, "the other's commit was lost");
    const after = await lab.state(path);
    assert.deepEqual(after.files, state.files);
    assert.deepEqual(after.inProgress, []);
    const others = (refs: readonly string[]) =>
      refs.filter((line) => !line.startsWith(`refs/heads/${moved} `));
    assert.deepEqual(others(after.refs), others(state.refs));
    assert.equal(after.head, state.head);
    // The work tree is clean again relative to what was uncommitted before.
    const dirty = (await lab.box.git(path, "status", "--porcelain")).split("\n").filter(Boolean);
    assert(dirty.length <= 1, String(dirty));
  });
}

Deno.test("a branch that somebody else makes at the same moment is not overwritten", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  const feature = await rev(lab, path, "feature");
  const card = await lab.show(path, "branch", { name: "new" });
  lab.meanwhile = () => lab.box.git(path, "branch", "new", "feature");
  const record = await lab.approve(card);
  assert.equal(record.status, "failed");
  assert.match(String(record.result!["message"]), /not created/);
  assert.equal(await rev(lab, path, "new"), feature);
});

Deno.test("a new branch that is overtaken before its work tree is added stays the other's", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  const feature = await rev(lab, path, "feature");
  const card = await lab.show(path, "worktree", { branch: "new" });
  lab.meanwhile = () => lab.box.git(path, "branch", "new", "feature");
  const record = await lab.approve(card);
  assert.equal(record.status, "failed");
  assert.equal(await rev(lab, path, "new"), feature);
  await assert.rejects(() => Deno.lstat(`${path}-new`), Deno.errors.NotFound);
});

const overwritten: [type: string, members: Record<string, unknown>][] = [
  ["patch", { patchContent: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-changed\n+patched\n" }],
  ["discard", { paths: ["a.txt"] }],
  ["reset", { targetRef: "HEAD~1", mode: "hard" }],
  ["commit", { message: "m", paths: ["a.txt"] }],
  ["commit", { message: "m", stageAll: true }],
];
for (const [type, members] of overwritten) {
  Deno.test(`what somebody writes right before a ${type} is neither lost nor taken (${Object.keys(members)})`, async () => {
    await using lab = await GatewayLab.create();
    const { box } = lab;
    const path = await start(lab);
    await box.write(path, { "a.txt": "changed\n" });
    const before = await lab.state(path);
    const card = await lab.show(path, type, members);
    lab.meanwhile = () => box.write(path, { "a.txt": "written at the last moment\n" });
    const record = await lab.approve(card);
    assert.equal(record.status, "failed", JSON.stringify(record.result));
    assert.equal(record.result!["stale"], true);
    assert.equal(await Deno.readTextFile(`${path}/a.txt`), "written at the last moment\n");
    await box.write(path, { "a.txt": "changed\n" });
    assert.deepEqual(await lab.state(path), before);
  });
}

Deno.test("a link that appears right before a patch is not written through", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  const outside = `${box.root}/outside`;
  await Deno.mkdir(outside);
  const patchContent =
    "diff --git a/later/x b/later/x\nnew file mode 100644\n--- /dev/null\n+++ b/later/x\n@@ -0,0 +1 @@\n+x\n";
  const card = await lab.show(path, "patch", { patchContent });
  lab.meanwhile = () => Deno.symlink(outside, `${path}/later`);
  const record = await lab.approve(card);
  assert.equal(record.status, "failed", JSON.stringify(record.result));
  assert.match(String(record.result!["message"]), /beyond a symbolic link/);
  assert.deepEqual([...Deno.readDirSync(outside)], []);
});

Deno.test("an index lock that appears at the last moment is a clear refusal", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  await lab.box.write(path, { "a.txt": "x\n" });
  const before = await lab.state(path);
  const card = await lab.show(path, "commit", { message: "m", stageAll: true });
  lab.meanwhile = () => Deno.writeTextFile(`${path}/.git/index.lock`, "");
  const record = await lab.approve(card);
  assert.equal(record.status, "failed");
  assert.match(String(record.result!["message"]), /index\.lock/);
  await Deno.remove(`${path}/.git/index.lock`);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("while a loop moves refs, what completes is always what the card said", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  const tree = await rev(lab, path, "feature^{tree}");
  const one = await rev(lab, path, "feature");
  const two = (await box.git(path, "commit-tree", "-p", one, "-m", "Two", tree)).trim();
  const loop = new Deno.Command("sh", {
    args: [
      "-c",
      `while :; do git update-ref refs/heads/feature ${two}; sleep 0.05; git update-ref refs/heads/feature ${one}; sleep 0.05; done`,
    ],
    cwd: path,
    clearEnv: true,
    env: box.env,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let completed = 0, refused = 0;
  try {
    for (let i = 0; i < 8; i++) {
      const main = await rev(lab, path, "main");
      const card = await lab.show(path, "merge", { sourceRef: "feature", targetRef: "main" });
      const source = card.effect?.commits[0]?.oid;
      try {
        const record = await lab.approve(card);
        if (record.status === "completed") {
          completed++;
          const parents = (await box.git(path, "log", "-1", "--format=%P", "main")).trim();
          assert.equal(parents, `${main} ${source}`);
          await box.git(path, "reset", "-q", "--hard", main);
        } else refused++;
      } catch (error) {
        assert(error instanceof Refusal, String(error));
        refused++;
        if (lab.status(card.previewId).status === "pending") {
          lab.service.cancel(card.previewId, "test-agent", null);
        }
      }
      assert.equal(await rev(lab, path, "main"), main);
    }
  } finally {
    loop.kill("SIGTERM");
    await loop.status;
  }
  assert.equal(completed + refused, 8);
});

Deno.test("a linked work tree that is swapped for a link after the card is not touched", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  const linked = `${box.root}/linked`;
  await box.git(path, "worktree", "add", "-q", "-b", "side", linked);
  await box.write(linked, { "a.txt": "changed\n" });
  const card = await lab.show(linked, "discard", { paths: ["a.txt"] });
  const victim = `${box.root}/victim`;
  await box.git(box.root, "clone", "-q", path, victim);
  await box.write(victim, { "a.txt": "precious\n" });
  await Deno.rename(linked, `${box.root}/aside`);
  await Deno.symlink(victim, linked);
  const before = await lab.state(victim);
  await assert.rejects(() => lab.approve(card), Refusal);
  assert.deepEqual(await lab.state(victim), before);
  // A copy of the same files in its place is not the work tree of the card either.
  await Deno.remove(linked);
  await box.git(box.root, "clone", "-q", path, linked);
  await box.write(linked, { "a.txt": "changed\n" });
  await assert.rejects(() => lab.approve(card), Refusal);
  assert.equal(await Deno.readTextFile(`${linked}/a.txt`), "changed\n");
});
