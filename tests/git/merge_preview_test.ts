import assert from "node:assert/strict";
import { openRepository } from "../../git/repository.ts";
import { type MergeScratch, previewMerge, quoteAlternate } from "../../git/merge_preview.ts";
import { tempScratch } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

/** `main` and `side` changed the same line of `f.txt` since `old`. */
async function diverged(box: Sandbox) {
  const repo = await box.repo();
  await box.commit(repo, "base", { "f.txt": "1\n2\n3\n" });
  await box.git(repo, "branch", "old");
  await box.git(repo, "checkout", "-q", "-b", "side");
  await box.commit(repo, "side", { "f.txt": "1\nside\n3\n" });
  await box.git(repo, "checkout", "-q", "main");
  await box.commit(repo, "main", { "f.txt": "1\nmain\n3\n" });
  return repo;
}

Deno.test("repo.conflictPreflight writes nothing into the repository, where plain git stores the merged objects", async () => {
  await using box = await fresh();
  const repo = await diverged(box);
  const before = await hashTree(repo);
  const folders: string[] = [];
  const watched: MergeScratch = {
    makeFolder: async () => {
      const path = await tempScratch.makeFolder();
      folders.push(path);
      return path;
    },
    removeFolder: tempScratch.removeFolder,
  };
  const opened = await openRepository(repo);
  const oids = (await box.git(repo, "rev-parse", "main", "side")).trim().split("\n");
  const preview = await previewMerge(opened, oids[0]!, oids[1]!, watched);
  assert.equal(preview.status, "conflicts");
  assert.equal(await hashTree(repo), before);
  assert.equal(folders.length, 1);
  await assert.rejects(Deno.stat(folders[0]!), "the throw-away folder is gone");
  await box.tryGit(repo, ["merge-tree", "--write-tree", "main", "side"]);
  assert.notEqual(await hashTree(repo), before, "control: plain git writes");
});

Deno.test("without a place for throw-away objects the outcome is unknown, but what needs none is still told", async () => {
  await using box = await fresh();
  const repo = await openRepository(await diverged(box));
  const none = {
    makeFolder: () => Promise.reject(new Error("read-only")),
    removeFolder: () => Promise.resolve(),
  };
  const [main, side, old] = (await box.git(repo.path, "rev-parse", "main", "side", "old")).trim()
    .split("\n");
  const preview = await previewMerge(repo, main!, side!, none);
  assert.equal(preview.status, "unknown");
  assert.equal(preview.notes[0]!.code, "source_unavailable");
  assert.equal((await previewMerge(repo, main!, old!, none)).status, "already-up-to-date");
  const vanished = { ...none, makeFolder: () => Promise.resolve("/proc/nothing/here") };
  const written = await previewMerge(repo, main!, side!, vanished);
  assert.equal(written.status, "unknown");
  assert.equal(written.notes[0]!.code, "source_unavailable");
});

Deno.test("the deadline of a forecast gives unknown, cancellation an error; the folder is removed either way", async () => {
  await using box = await fresh();
  const path = await diverged(box);
  const [main, side] = (await box.git(path, "rev-parse", "main", "side")).trim().split("\n");
  const made: string[] = [];
  const scratch = {
    makeFolder: async () => {
      made.push(await tempScratch.makeFolder());
      return made.at(-1)!;
    },
    removeFolder: tempScratch.removeFolder,
  };
  await box.git(path, "config", "--global", "merge.slow.driver", "exec sleep 5");
  await box.write(path, { ".git/info/attributes": "* merge=slow\n" });
  const late = await previewMerge(await openRepository(path), main!, side!, scratch, {
    deadlineMs: 400,
  });
  assert.equal(late.status, "unknown");
  assert.equal(late.notes[0]!.code, "timed_out");
  const controller = new AbortController();
  const repo = await openRepository(path, { signal: controller.signal });
  const cancelling = {
    ...scratch,
    makeFolder: () => {
      controller.abort();
      return scratch.makeFolder();
    },
  };
  await assert.rejects(previewMerge(repo, main!, side!, cancelling), { kind: "cancelled" });
  for (const folder of made) await assert.rejects(Deno.stat(folder));
});

Deno.test("an alternate's name is quoted as git unquotes it", () => {
  assert.equal(quoteAlternate("/a:b"), '"/a:b"');
  assert.equal(quoteAlternate('/a"b\\c\nd'), '"/a\\042b\\134c\\012d"');
});
