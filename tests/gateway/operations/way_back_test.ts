import assert from "node:assert/strict";
import type { Overrides } from "../../../gateway/server/types.ts";
import { GatewayLab } from "../harness.ts";

/**
 * Every operation on a repository with a bit of everything in it, and the way back: files with modes
 * and links, the index byte for byte, HEAD, refs, the stash.
 */

async function everything(lab: GatewayLab, format: string): Promise<string> {
  const { box } = lab;
  const path = await box.repo("repo", `--object-format=${format}`);
  await box.commit(path, "First", {
    "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
    "b.txt": "b\n",
    "dir/deep/c.bin": new Uint8Array([0, 1, 2, 255, 254, 13, 10]),
    "run.sh": "#!/bin/sh\n",
    "gone.txt": "g\n",
    ".gitignore": "*.log\n",
  });
  await Deno.chmod(`${path}/run.sh`, 0o755);
  await Deno.symlink("a.txt", `${path}/link`);
  await Deno.symlink("/nowhere/at/all", `${path}/dangling`);
  await box.commit(path, "Second");
  await box.git(path, "switch", "-q", "-c", "feature");
  await box.commit(path, "Feature", {
    "f.txt": "f\n",
    "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n",
  });
  await box.git(path, "switch", "-q", "main");
  await box.git(path, "branch", "merged", "HEAD~1");
  await box.git(path, "tag", "-a", "-m", "A tag", "v1");
  await box.commit(path, "Third", { "m.txt": "m\n" });
  await box.write(path, { "stashed.txt": "s\n" });
  await box.git(path, "stash", "push", "-q", "-u", "-m", "a stash");
  await Deno.chmod(`${path}/dir/deep/c.bin`, 0o640);
  return path;
}

async function disorder(lab: GatewayLab, path: string): Promise<void> {
  const { box } = lab;
  await box.write(path, {
    "b.txt": "staged\n",
    "dir/new file.txt": "untracked\n",
    "x.log": "log\n",
  });
  await box.git(path, "add", "b.txt");
  await box.write(path, { "b.txt": "staged and changed\n", "intent.txt": "i\n", "secret": "s\n" });
  await Deno.chmod(`${path}/secret`, 0o600);
  await box.git(path, "add", "-N", "intent.txt");
  await Deno.remove(`${path}/gone.txt`);
  await Deno.remove(`${path}/link`);
  await Deno.symlink("b.txt", `${path}/link`);
  await box.git(path, "update-index", "--assume-unchanged", "run.sh");
  await box.write(path, { "run.sh": "#!/bin/sh\nhidden by a flag\n" });
}

interface Case {
  readonly type: string;
  readonly members: (path: string) => Record<string, unknown>;
  readonly clean?: true;
  readonly overrides?: Overrides;
}

const patchContent = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n" +
  "diff --git a/p.txt b/p.txt\nnew file mode 100644\n--- /dev/null\n+++ b/p.txt\n@@ -0,0 +1 @@\n+p\n";

const CASES: readonly Case[] = [
  { type: "reset", members: () => ({ targetRef: "HEAD~1", mode: "soft" }) },
  { type: "reset", members: () => ({ targetRef: "HEAD~2", mode: "mixed" }) },
  { type: "reset", members: () => ({ targetRef: "feature", mode: "hard" }) },
  { type: "discard", members: () => ({ paths: ["."] }) },
  { type: "discard", members: () => ({ paths: ["dir", "link", "secret"] }) },
  { type: "commit", members: () => ({ message: "m" }) },
  { type: "commit", members: () => ({ message: "m", stageAll: true }) },
  { type: "commit", members: () => ({ message: "m", paths: ["dir", "link", "gone.txt"] }) },
  { type: "patch", members: () => ({ patchContent }) },
  { type: "patch", members: () => ({ patchContent, applyToIndex: true }) },
  { type: "branch", members: () => ({ name: "topic" }) },
  { type: "merge", members: () => ({ sourceRef: "feature", targetRef: "main" }), clean: true },
  {
    type: "merge",
    members: () => ({ sourceRef: "feature", targetRef: "main", strategy: "squash" }),
    clean: true,
  },
  { type: "merge", members: () => ({ sourceRef: "main", targetRef: "merged" }) },
  { type: "rebase", members: () => ({ ontoRef: "feature" }), clean: true },
  {
    type: "branchDelete",
    members: (path) => ({ targets: [{ repoPath: path, branches: ["merged"] }] }),
  },
  {
    type: "plan",
    members: () => ({
      steps: [
        { operationType: "reset", targetRef: "HEAD", mode: "hard" },
        { operationType: "merge", sourceRef: "feature", targetRef: "main" },
        { operationType: "patch", patchContent, applyToIndex: true },
      ],
    }),
    overrides: { confirmedSteps: [0] },
  },
];

/** Those that differ by the length of ids, if any do. */
const LONG_IDS = new Set(["commit", "merge", "rebase", "plan"]);

for (const format of ["sha1", "sha256"]) {
  for (const { type, members, clean, overrides } of CASES) {
    if (format === "sha256" && !LONG_IDS.has(type)) continue;
    const words = JSON.stringify(members("R")).replace(/"patchContent":"[^"]*"/, "a patch");
    Deno.test(`${type} ${words} and the way back, ${format}`, async () => {
      await using lab = await GatewayLab.create();
      const path = await everything(lab, format);
      if (!clean) await disorder(lab, path);
      const before = await lab.exactState(path);
      const record = await lab.run(path, type, members(path), overrides);
      assert.equal(record.status, "completed", JSON.stringify(record.result));
      assert.notDeepEqual(await lab.exactState(path), before);
      await lab.applyPoint(path, String(record.result!["restorePointId"]));
      assert.deepEqual(await lab.exactState(path), before);
    });
  }
}

Deno.test("a file that a flag hides is said to be hidden, and a reset that git then refuses leaves all as it was", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await everything(lab, "sha1");
  await box.commit(path, "Other run", { "run.sh": "#!/bin/sh\nexit\n" });
  await box.git(path, "update-index", "--assume-unchanged", "run.sh");
  await box.write(path, { "run.sh": "#!/bin/sh\nprecious\n" });
  assert.equal(await box.git(path, "status", "--porcelain"), "");
  const before = await lab.exactState(path);
  const card = await lab.show(path, "reset", { targetRef: "HEAD~1", mode: "hard" });
  assert(card.warnings.some(({ code }) => code === "hidden_by_flag"));
  const record = await lab.approve(card);
  assert.equal(record.status, "failed");
  assert.match(String(record.result!["message"]), /run\.sh/);
  assert.deepEqual(await lab.exactState(path), before);
});
