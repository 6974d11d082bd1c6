import assert from "node:assert/strict";
import { RestoreError } from "../../restore/mod.ts";
import { fullRepository, Lab } from "./lab.ts";

async function failure(work: Promise<unknown>): Promise<RestoreError> {
  try {
    await work;
  } catch (error) {
    assert(error instanceof RestoreError, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: "it did not fail" });
}

Deno.test("a ref that git will not move stops a restore before any file is touched", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  const point = await lab.point(path);
  await box.git(path, "reset", "-q", "--hard", "HEAD~1");
  await box.git(path, "branch", "-q", "-f", "feature", "HEAD~1");
  const before = await lab.state(path);
  await Deno.writeTextFile(`${path}/.git/refs/heads/feature.lock`, "");
  const error = await failure(lab.apply(path, point));
  assert.match(error.message, /feature.*the repository is as it was/s);
  assert.deepEqual(await lab.state(path), before);
  assert.equal(await Deno.stat(`${path}/.git/index.lock`).then(() => true, () => false), false);
  await Deno.remove(`${path}/.git/refs/heads/feature.lock`);
  await lab.apply(path, point);
});

Deno.test("a restore that fails after the files were written takes refs and files back", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f": "base\n", "gone": "g\n" });
  await box.git(path, "checkout", "-q", "-b", "side");
  await box.commit(path, "Side", { "f": "side\n" });
  await box.git(path, "checkout", "-q", "main");
  await box.commit(path, "Main", { "f": "main\n" });
  await box.tryGit(path, ["merge", "side"]);
  const point = await lab.point(path);
  await box.git(path, "merge", "--abort");
  await box.git(path, "rm", "-q", "gone");
  await box.commit(path, "Went on", { "more": "m\n" });
  await box.write(path, { "f": "changed since\n", "untracked": "u\n" });
  // The point needs a file where something unexpected stands in the git directory.
  await box.write(path, { ".git/MERGE_MSG/in-the-way": "x\n" });
  const before = await lab.state(path);
  const error = await failure(lab.apply(path, point));
  assert.match(error.message, /the repository is as it was/);
  assert.deepEqual(await lab.state(path), before);
  const [, made] = await lab.points(path);
  assert.equal(made!.state, "failed");
  await Deno.remove(`${path}/.git/MERGE_MSG`, { recursive: true });
  await lab.apply(path, point);
  assert.match(await box.git(path, "ls-files", "-u"), /\tf$/m);
});

Deno.test("killed at any moment, nothing is lost: the next restore brings everything back", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await fullRepository(lab);
  const wanted = await lab.state(path);
  const point = await lab.point(path);
  const script = `${box.root}/apply.ts`;
  const at = (file: string) => JSON.stringify(new URL(`../../${file}`, import.meta.url).href);
  await Deno.writeTextFile(
    script,
    `import { useVariables } from ${at("git/program.ts")};
import { openRepository } from ${at("git/repository.ts")};
import { applyRestore, findRepoId, withRepositoryLock } from ${at("restore/mod.ts")};
const [path, runDir, home, pointId, now] = Deno.args;
useVariables((name) => name === "HOME" ? home : name === "PATH" ? Deno.env.get("PATH") : undefined);
const repo = await openRepository(path);
const repoId = findRepoId(runDir, path);
await withRepositoryLock(repo.facts.commonDir, async (lock) => {
  Deno.stdout.writeSync(new TextEncoder().encode("go\\n"));
  await applyRestore(repo, { runDir, repoId, lock, now: () => Number(now) }, { pointId });
});
`,
  );
  let survived = 0;
  // From one moment to the next, until one run gets through; a slow machine only takes more of them.
  for (let ms = 0; survived < 2 && ms < 4_000; ms += ms < 400 ? 31 : 170) {
    await box.git(path, "checkout", "-q", "-f", "feature");
    await box.git(path, "branch", "-q", "-f", "main", "feature");
    await box.git(path, "clean", "-q", "-fd");
    await box.git(path, "stash", "clear");
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "-q",
        "--no-check",
        script,
        path,
        lab.runDir,
        box.home,
        point.id,
        String(lab.now()),
      ],
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const reader = child.stdout.getReader();
    const { done } = await reader.read();
    assert.equal(done, false);
    const timer = setTimeout(() => {
      try {
        child.kill("SIGKILL");
      } catch { /* it got through just now */ }
    }, ms);
    const { success } = await child.status;
    clearTimeout(timer);
    await reader.cancel();
    if (success) survived++;
    // A git that the killed process had started may still be at work: then it is said, and nothing done.
    let result = await lab.apply(path, point).catch((error: RestoreError) => error);
    for (let i = 0; i < 50 && result instanceof RestoreError; i++) {
      assert(["stale", "would_lose"].includes(result.kind), `${result.kind}: ${result.message}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
      result = await lab.apply(path, point).catch((error: RestoreError) => error);
    }
    assert(!(result instanceof RestoreError), String(result));
    assert.deepEqual(result.differences, [], `killed after ${ms} ms`);
    assert.deepEqual(await lab.state(path), wanted, `killed after ${ms} ms`);
  }
  assert(survived > 0, "one run was long enough");
});

Deno.test("several at once take turns: every point is made, none is lost from the list", async () => {
  await using lab = await Lab.create();
  const { box } = lab;
  const path = await box.repo();
  await box.commit(path, "Base", { "f": "f\n" });
  const made = await Promise.all(
    Array.from({ length: 8 }, (_, i) => lab.point(path, { operation: `step-${i}` })),
  );
  const listed = await lab.points(path);
  assert.equal(listed.length, 8);
  assert.deepEqual(
    new Set(listed.map((point) => point.id)),
    new Set(made.map((point) => point.id)),
  );
});
