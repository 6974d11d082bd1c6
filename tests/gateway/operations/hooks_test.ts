import assert from "node:assert/strict";
import { redact } from "../../../gateway/server/executor/shared/redact.ts";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { GatewayLab, hook } from "../harness.ts";

/** Hooks run for what a person approved, as with the user's own git (`security.md` P-19). */

async function start(lab: GatewayLab): Promise<string> {
  const path = await lab.box.repo();
  await lab.box.commit(path, "First", { "a.txt": "a\n", "b.txt": "b\n" });
  await lab.box.write(path, { "a.txt": "changed\n", "new.txt": "n\n" });
  return path;
}

const MEMBERS: Record<string, unknown>[] = [
  { message: "m", stageAll: true },
  { message: "m", paths: ["a.txt", "new.txt"] },
];

Deno.test("a hook that edits and stages files changes the commit, and the result says so with the new tree", async () => {
  for (const members of MEMBERS) {
    await using lab = await GatewayLab.create();
    const path = await start(lab);
    await hook(path, "pre-commit", "echo formatted > a.txt; git add a.txt");
    const before = await lab.state(path);
    const card = await lab.show(path, "commit", members);
    assert(
      card.warnings.some(({ code, message }) =>
        code === "hooks_run" && message.includes("pre-commit")
      ),
    );
    const record = await lab.approve(card);
    assert.equal(record.status, "completed", JSON.stringify(record.result));
    assert.equal(record.result!["changedByHooks"], true);
    assert.equal(
      record.result!["treeSha"],
      (await lab.box.git(path, "rev-parse", "HEAD^{tree}")).trim(),
    );
    assert.equal(await lab.box.git(path, "show", "HEAD:a.txt"), "formatted\n");
    await lab.undo(path);
    assert.deepEqual(await lab.state(path), before);
  }
});

Deno.test("hooks that change nothing are not said to have changed something", async () => {
  for (const members of MEMBERS) {
    await using lab = await GatewayLab.create();
    const path = await start(lab);
    await hook(path, "pre-commit", "exit 0");
    await hook(path, "commit-msg", `echo "Change-Id: I123" >> "$1"`);
    const record = await lab.run(path, "commit", members);
    assert.equal(record.status, "completed", JSON.stringify(record.result));
    assert.equal(record.result!["changedByHooks"], undefined);
    assert.match(await lab.box.git(path, "log", "-1", "--format=%B"), /^m\nChange-Id: I123$/m);
  }
});

Deno.test("a hook that edits files and then fails leaves files, index and refs as they were", async () => {
  for (const members of [...MEMBERS, { message: "m" }]) {
    await using lab = await GatewayLab.create();
    const path = await start(lab);
    await lab.box.write(path, { "staged.txt": "s\n" });
    await lab.box.git(path, "add", "staged.txt");
    await hook(
      path,
      "pre-commit",
      "echo broken > b.txt; echo more > junk.txt; rm -f a.txt; git add -A; git branch made; echo lint failed >&2; exit 1",
    );
    const before = await lab.state(path);
    const record = await lab.run(path, "commit", members);
    assert.equal(record.status, "failed");
    assert.match(String(record.result!["message"]), /lint failed/);
    const { refs, ...rest } = await lab.state(path);
    const { refs: refsBefore, ...restBefore } = before;
    // A file that nobody knows stays; so does a branch.
    assert.deepEqual(
      { ...rest, files: rest.files.filter((line) => !line.startsWith("junk.txt")) },
      restBefore,
    );
    assert.deepEqual(refs.filter((line) => !line.includes("made")), refsBefore);
  }
});

Deno.test("what a failing hook prints is cut, and what plainly is a secret is left out", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  await hook(
    path,
    "pre-commit",
    `echo "GITHUB_TOKEN=ghp_0123456789abcdefghij0123456789abcdefgh and password: hunter2" >&2
yes "a long line of output that goes on and on" | head -n 100000 >&2
exit 1`,
  );
  const record = await lab.run(path, "commit", { message: "m", stageAll: true });
  assert.equal(record.status, "failed");
  const told = JSON.stringify(lab.status(record.previewId));
  assert(told.length < 5_000, String(told.length));
  assert(!told.includes("ghp_") && !told.includes("hunter2"), told.slice(0, 500));
  assert.match(told, /a long line of output/);
});

Deno.test("a hook that talks without end on both channels breaks nothing", async () => {
  await using lab = await GatewayLab.create();
  const path = await start(lab);
  await hook(
    path,
    "post-commit",
    `yes "much to say" | head -c 3000000; yes "and more" | head -c 3000000 >&2`,
  );
  const record = await lab.run(path, "commit", { message: "m", stageAll: true });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
});

Deno.test("a hook that hangs is ended by the deadline, and nothing of the commit stays", async () => {
  await using lab = await GatewayLab.create({ approvedDeadlineMs: 4_000 });
  const path = await start(lab);
  await hook(path, "pre-commit", "exec sleep 60");
  const before = await lab.state(path);
  const record = await lab.run(path, "commit", { message: "m", paths: ["a.txt", "new.txt"] });
  assert.equal(record.status, "failed");
  assert.match(String(record.result!["message"]), /did not finish within 4000 ms/);
  assert.equal(record.result!["repositoryUnchanged"], true);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("hooks are found where git looks for them: hooksPath relative, below home, in a linked work tree", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  const place = async (folder: string) => {
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(
      `${folder}/pre-commit`,
      `#!/bin/sh\necho from ${folder} >&2\nexit 1\n`,
      {
        mode: 0o755,
      },
    );
  };
  const linked = `${box.root}/linked`;
  await box.git(path, "worktree", "add", "-q", "-b", "side", linked);
  await box.write(linked, { "a.txt": "linked\n" });
  await place(`${path}/.git/hooks`);
  await place(`${box.home}/my hooks`);
  await place(`${linked}/.githooks`);
  const cases: [value: string | null, at: string, folder: string][] = [
    [null, path, `${path}/.git/hooks`],
    [null, linked, `${path}/.git/hooks`],
    ["~/my hooks", path, `${box.home}/my hooks`],
    [".githooks", linked, `${linked}/.githooks`],
    [`${box.home}/my hooks`, linked, `${box.home}/my hooks`],
  ];
  for (const [value, at, folder] of cases) {
    if (value === null) await box.tryGit(path, ["config", "--unset", "core.hooksPath"]);
    else await box.git(path, "config", "core.hooksPath", value);
    const card = await lab.show(at, "commit", { message: "m", paths: ["a.txt"] });
    assert(card.warnings.some(({ code }) => code === "hooks_run"), `${value} at ${at}`);
    const record = await lab.approve(card);
    assert.equal(record.status, "failed");
    assert(String(record.result!["message"]).includes(`from ${folder}`), String(value));
  }
  // Set to a place without hooks, none is named and none runs.
  await box.git(path, "config", "core.hooksPath", "/dev/null");
  const card = await lab.show(path, "commit", { message: "m", paths: ["a.txt"] });
  assert(!card.warnings.some(({ code }) => code === "hooks_run"));
  assert.equal((await lab.approve(card)).status, "completed");
});

Deno.test("hooks are bound to the card: another content, another place, or a new one makes it stale", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  const evil = await box.evil();
  await hook(path, "pre-commit", "exit 0");
  const changes: (() => Promise<unknown>)[] = [
    () => hook(path, "pre-commit", `${evil.script}; exit 0`),
    () => hook(path, "commit-msg", evil.script),
    () => Deno.chmod(`${path}/.git/hooks/commit-msg`, 0o644),
    () => box.git(path, "config", "core.hooksPath", `${box.root}/elsewhere`),
  ];
  for (const change of changes) {
    const card = await lab.show(path, "commit", { message: "m", stageAll: true });
    await change();
    await assert.rejects(
      () => lab.approve(card),
      (error) => error instanceof Refusal && error.code === "card_changed",
    );
    lab.service.cancel(card.previewId, "test-agent", null);
  }
  assert.equal(await evil.ran(), false);
});

Deno.test("looking at a card runs no hook, filter or monitor of the repository", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const path = await start(lab);
  const evil = await box.evil();
  for (
    const name of [
      "pre-commit",
      "post-index-change",
      "reference-transaction",
      "post-checkout",
      "pre-rebase",
      "pre-push",
      "pre-merge-commit",
    ]
  ) await hook(path, name, `${evil.script}; exit 0`);
  await box.git(path, "branch", "side");
  await box.git(path, "config", "core.fsmonitor", evil.script);
  await box.git(path, "config", "filter.evil.clean", evil.cat);
  await box.git(path, "config", "filter.evil.smudge", evil.cat);
  await box.git(path, "config", "diff.external", evil.script);
  await box.git(path, "config", "diff.evil.textconv", evil.cat);
  await box.git(path, "config", "merge.evil.driver", evil.script);
  await box.git(path, "config", "gpg.program", evil.script);
  await Deno.writeTextFile(
    `${path}/.git/info/attributes`,
    "*.txt filter=evil diff=evil merge=evil\n",
  );
  await evil.reset();
  const remote = await box.repo("remote.git", "--bare");
  await box.git(path, "config", "remote.origin.url", remote);
  await evil.reset();
  const patchContent = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+B\n";
  const proposals: [string, Record<string, unknown>][] = [
    ["commit", { message: "m", stageAll: true }],
    ["commit", { message: "m", paths: ["a.txt"] }],
    ["discard", { paths: ["a.txt"] }],
    ["reset", { targetRef: "HEAD", mode: "hard" }],
    ["patch", { patchContent }],
    ["patch", { patchContent, applyToIndex: true }],
    ["branch", { name: "x" }],
    ["worktree", { branch: "y" }],
    ["push", {}],
    ["merge", { sourceRef: "side", targetRef: "main" }],
    ["rebase", { ontoRef: "side" }],
    ["branchDelete", { targets: [{ repoPath: path, branches: ["side"] }] }],
    ["plan", { steps: [{ operationType: "patch", patchContent }] }],
  ];
  for (const [type, members] of proposals) {
    const card = await lab.show(path, type, members);
    assert(!card.blockers.some(({ code }) => code === "cannot_inspect"), type);
    assert.equal(
      await evil.ran(),
      false,
      `${type} ran ${await Deno.readTextFile(evil.mark).catch(() => "")}`,
    );
    lab.service.cancel(card.previewId, "test-agent", null);
  }
  // The control: plain git runs them for the same looks.
  await box.git(path, "status");
  assert.equal(await evil.ran(), true);
  await evil.reset();
  await box.tryGit(path, ["-c", "core.fsmonitor=false", "apply", "--check", "-"], {
    stdin: patchContent,
  });
  assert.equal(await evil.ran(), true);
});

Deno.test("secrets of the common kinds are recognised, other words are left alone", () => {
  const cases: [string, string][] = [
    ["https://me:pw@host/x", "https://…@host/x"],
    ["Authorization: Bearer abcdefghijkl.mno", "Authorization: Bearer (left out)"],
    ['"api_key": "12345"', '"api_key": (left out)'],
    ["AWS AKIA0123456789ABCDEF end", "AWS (token left out) end"],
    ["a passwordless login", "a passwordless login"],
    ["3 tokens: found", "3 tokens: (left out)"],
    [
      "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
      "(private key left out)",
    ],
    ["error: pathspec 'x' did not match", "error: pathspec 'x' did not match"],
  ];
  for (const [text, wanted] of cases) assert.equal(redact(text), wanted);
  // No form of it takes more than linear time.
  const began = performance.now();
  redact("token".repeat(20_000) + "=".repeat(20_000));
  redact("a".repeat(100_000) + "://" + "b".repeat(100_000));
  assert(performance.now() - began < 20_000);
});
