import assert from "node:assert/strict";
import { Refusal } from "../../../gateway/server/refusal.ts";
import { GatewayLab } from "../harness.ts";

async function start(lab: GatewayLab): Promise<{ path: string; first: string }> {
  const path = await lab.box.repo();
  const first = await lab.box.commit(path, "First", {
    "a.txt": "a\n",
    "b.txt": "b\n",
    "dir/c.txt": "c\n",
  });
  return { path, first };
}

const filesOf = async (lab: GatewayLab, path: string, rev = "HEAD") =>
  (await lab.box.git(path, "show", "--format=", "--name-status", "--no-renames", rev)).split("\n")
    .filter(Boolean).map((line) => line.replace("\t", " "));

Deno.test("without paths a commit takes what is staged and nothing else", async () => {
  await using lab = await GatewayLab.create();
  const { path, first } = await start(lab);
  await lab.box.write(path, { "a.txt": "staged\n", "b.txt": "not staged\n", "new.txt": "n\n" });
  await lab.box.git(path, "add", "a.txt");
  await lab.box.write(path, { "a.txt": "staged, then changed\n" });
  const before = await lab.state(path);
  const card = await lab.show(path, "commit", { message: "Staged only\n" });
  assert.deepEqual(card.effect!.files.map((file) => file.path), ["a.txt"]);
  assert.match(card.effect!.diff!, /\+staged\n/);
  assert.equal(card.effect!.details["author"], "Test Author <author@example.org>");
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  const commit = record.result!["commitSha"];
  assert.equal(commit, (await lab.box.git(path, "rev-parse", "HEAD")).trim());
  assert.equal(
    record.result!["treeSha"],
    (await lab.box.git(path, "rev-parse", "HEAD^{tree}")).trim(),
  );
  assert.deepEqual(record.result!["restorePoint"], {
    operation: "commit",
    branchRef: "refs/heads/main",
    beforeCommit: first,
    afterCommit: commit,
    canUndo: true,
  });
  assert.deepEqual(await filesOf(lab, path), ["M a.txt"]);
  assert.equal(await lab.box.git(path, "show", "HEAD:a.txt"), "staged\n");
  assert.equal(
    await lab.box.git(path, "status", "--porcelain"),
    " M a.txt\n M b.txt\n?? new.txt\n",
  );
  const after = await lab.state(path);
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
  await lab.redo(path);
  assert.deepEqual(await lab.state(path), after);
});

Deno.test("named paths are committed as they are on disk, untracked ones too, and other staged work stays staged", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await start(lab);
  await lab.box.write(path, {
    "a.txt": "named\n",
    "b.txt": "staged elsewhere\n",
    "dir/new one.txt": "new\n",
    "run.sh": "#!/bin/sh\n",
  });
  await lab.box.git(path, "add", "b.txt");
  await Deno.remove(`${path}/dir/c.txt`);
  await Deno.chmod(`${path}/run.sh`, 0o755);
  await Deno.symlink("a.txt", `${path}/dir/link`);
  const before = await lab.state(path);
  const card = await lab.show(path, "commit", {
    message: "Named",
    paths: ["a.txt", "dir", "run.sh"],
    stageAll: true,
  });
  assert.deepEqual(card.effect!.files.map(({ path, status }) => `${status} ${path}`).sort(), [
    "A dir/link",
    "A dir/new one.txt",
    "A run.sh",
    "D dir/c.txt",
    "M a.txt",
  ]);
  assert.match(card.effect!.diff!, /\+\+\+ b\/dir\/new one\.txt\n@@ -0,0 \+1,1 @@\n\+new/);
  assert(card.warnings.some(({ message }) => message === "makes symbolic links"));
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.deepEqual(await filesOf(lab, path), [
    "M a.txt",
    "D dir/c.txt",
    "A dir/link",
    "A dir/new one.txt",
    "A run.sh",
  ]);
  assert.match(await lab.box.git(path, "ls-tree", "HEAD", "run.sh"), /^100755/);
  assert.equal(await lab.box.git(path, "status", "--porcelain"), "M  b.txt\n");
  await lab.undo(path);
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("stageAll takes every change and leaves ignored files out; an empty list of paths means none", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await start(lab);
  await lab.box.write(path, { ".gitignore": "*.log\n", "x.log": "x\n", "a.txt": "changed\n" });
  assert.deepEqual(
    await lab.refused(path, "commit", { message: "m", paths: [], stageAll: true }),
    ["nothing_to_commit"],
  );
  const card = await lab.show(path, "commit", { message: "All", stageAll: true });
  assert.equal(card.effect!.filesTotal, 2);
  assert.equal((await lab.approve(card)).status, "completed");
  assert.deepEqual(await filesOf(lab, path), ["A .gitignore", "M a.txt"]);
  assert.equal(await lab.box.git(path, "status", "--porcelain"), "");
});

Deno.test("the message is kept as given, whatever the settings for people's editors say", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await start(lab);
  await lab.box.write(lab.box.root, { "template": "# heading, not a comment\n\nbody\n" });
  for (
    const [key, value] of [
      ["commit.template", `${lab.box.root}/template`],
      ["commit.verbose", "true"],
      ["commit.cleanup", "strip"],
      ["core.commentChar", "s"],
      ["i18n.commitEncoding", "ISO-8859-1"],
    ] as const
  ) await lab.box.git(path, "config", key, value);
  const messages = [
    "# heading, not a comment\n\nbody\n",
    "subject\n\n# ------------------------ >8 ------------------------\nbelow the scissors\n",
    "s begins with the comment character\n",
    'Grüße, 世界 — "quoted" $(not run) `nor this`\n',
    "--amend\n",
  ];
  for (const [i, message] of messages.entries()) {
    await lab.box.write(path, { "a.txt": `${i}\n` });
    await lab.done(path, "commit", { message, stageAll: true });
    assert.equal(await lab.box.git(path, "log", "-1", "--format=%B"), `${message}\n`);
    assert.equal((await lab.box.git(path, "log", "-1", "--format=%e")).trim(), "");
  }
  assert.equal((await lab.box.git(path, "rev-list", "--count", "HEAD")).trim(), "6");
});

Deno.test("a message of the full length goes with named paths", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await start(lab);
  // More than one word of a command line can hold.
  const message = "é".repeat(65_535) + "x";
  assert(new TextEncoder().encode(message).length > 128 * 1024 - 10);
  await lab.box.write(path, { "a.txt": "long\n", "new.txt": "n\n" });
  const card = await lab.show(path, "commit", { message, paths: ["a.txt", "new.txt"] });
  assert.equal(card.effect!.details["messageLength"], 65_536);
  await lab.approve(card);
  assert.equal((await lab.box.git(path, "log", "-1", "--format=%B")).trimEnd(), message);
  // Nothing of it is left behind.
  assert.deepEqual([...Deno.readDirSync(`${lab.runDir}/tmp`)], []);
});

Deno.test("the first commit of a repository shows its files and can be undone", async () => {
  await using lab = await GatewayLab.create();
  const path = await lab.box.repo();
  await lab.box.write(path, { "a.txt": "a\n", "dir/b.txt": "b\n", "c.txt": "c\n" });
  await lab.box.git(path, "add", "c.txt");
  const before = await lab.state(path);
  const card = await lab.show(path, "commit", { message: "Root", paths: ["a.txt", "dir"] });
  assert.match(card.effect!.diff!, /\+\+\+ b\/a\.txt/);
  assert.deepEqual(card.effect!.refs, [{ ref: "refs/heads/main", before: null, after: "new" }]);
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.deepEqual(await filesOf(lab, path), ["A a.txt", "A dir/b.txt"]);
  assert.equal(await lab.box.git(path, "status", "--porcelain"), "A  c.txt\n");
  await lab.applyPoint(path, String(record.result!["restorePointId"]));
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("a commit on a detached HEAD says that it will be on no branch", async () => {
  await using lab = await GatewayLab.create();
  const { path, first } = await start(lab);
  await lab.box.git(path, "switch", "-q", "--detach");
  await lab.box.write(path, { "a.txt": "detached\n" });
  const card = await lab.show(path, "commit", { message: "Detached", stageAll: true });
  assert(card.warnings.some(({ code }) => code === "detached"));
  const record = await lab.approve(card);
  assert.equal(record.status, "completed");
  assert.equal((await lab.box.git(path, "rev-parse", "main")).trim(), first);
  assert.equal(record.result!["restorePoint"], undefined);
});

Deno.test("a merge that was resolved by hand is concluded with both parents, but not by parts of it", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await start(lab);
  await box.git(path, "switch", "-q", "-c", "side");
  const side = await box.commit(path, "Side", { "a.txt": "side\n" });
  await box.git(path, "switch", "-q", "main");
  const main = await box.commit(path, "Main", { "a.txt": "main\n" });
  await box.tryGit(path, ["merge", "side"]);
  assert.deepEqual(await lab.refused(path, "commit", { message: "m" }), ["conflicted"]);
  await box.write(path, { "a.txt": "both\n" });
  await box.git(path, "add", "a.txt");
  assert.deepEqual(
    await lab.refused(path, "commit", { message: "m", paths: ["a.txt"] }),
    ["operation_in_progress"],
  );
  const card = await lab.show(path, "commit", { message: "Merged by hand" });
  assert.equal(card.effect!.details["concludes"], "merge");
  const record = await lab.approve(card);
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.equal(
    (await box.git(path, "log", "-1", "--format=%P")).trim(),
    `${main} ${side}`,
  );
});

Deno.test("a commit is refused while nothing is to commit, nobody is known, the index is locked or a rebase stands", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await start(lab);
  assert.deepEqual(await lab.refused(path, "commit", { message: "m" }), ["nothing_to_commit"]);
  assert.deepEqual(await lab.refused(path, "commit", { message: "m", stageAll: true }), [
    "nothing_to_commit",
  ]);
  await box.write(path, { "a.txt": "x\n" });
  const codes = await lab.refused(path, "commit", { message: "m", paths: ["a.txt", "b.txt"] });
  assert.deepEqual(codes, ["nothing_to_commit"]);
  const nested = await box.repo("repo/nested");
  await box.commit(nested, "Inside", { "n.txt": "n\n" });
  assert.deepEqual(await lab.refused(path, "commit", { message: "m", stageAll: true }), [
    "nested_repository",
  ]);
  await Deno.remove(nested, { recursive: true });
  await Deno.writeTextFile(`${path}/.git/index.lock`, "");
  assert.deepEqual(await lab.refused(path, "commit", { message: "m", stageAll: true }), [
    "index_locked",
  ]);
  await Deno.remove(`${path}/.git/index.lock`);
  const global = await Deno.readTextFile(`${box.home}/.gitconfig`);
  await Deno.writeTextFile(`${box.home}/.gitconfig`, "[user]\n\tuseConfigOnly = true\n");
  assert.deepEqual(await lab.refused(path, "commit", { message: "m", stageAll: true }), [
    "no_identity",
  ]);
  await Deno.writeTextFile(`${box.home}/.gitconfig`, global);
  for (const bad of ["../x", "/abs", "sub/../../x", ".git/config", ".GIT/hooks/x", "git~1"]) {
    await assert.rejects(
      () => lab.propose(path, "commit", { message: "m", paths: [bad] }),
      Refusal,
    );
  }
  assert.deepEqual(await lab.refused(path, "commit", { message: "a\0b", stageAll: true }), [
    "bad_message",
  ]);
  await box.git(path, "switch", "-q", "-c", "side");
  await box.git(path, "commit", "-q", "-a", "-m", "Side");
  await box.git(path, "switch", "-q", "main");
  await box.commit(path, "Main", { "a.txt": "main\n" });
  await box.tryGit(path, ["rebase", "side"]);
  assert((await lab.refused(path, "commit", { message: "m" })).includes("operation_in_progress"));
  const bare = await box.repo("bare.git", "--bare");
  assert.deepEqual(await lab.refused(bare, "commit", { message: "m" }), ["bare_repository"]);
});

Deno.test("a path behind a link is not committed through it", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await start(lab);
  const outside = `${lab.box.root}/outside`;
  await lab.box.write(outside, { "secret.txt": "s\n" });
  await Deno.symlink(outside, `${path}/out`);
  assert.deepEqual(await lab.refused(path, "commit", { message: "m", paths: ["out/secret.txt"] }), [
    "nothing_to_commit",
  ]);
  await lab.done(path, "commit", { message: "The link itself", paths: ["out"] });
  assert.match(await lab.box.git(path, "ls-tree", "HEAD", "out"), /^120000/);
});

Deno.test("what only changed inside a submodule is not for this commit; its new commits are", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await start(lab);
  const inner = await box.repo("inner");
  await box.commit(inner, "Inner", { "i.txt": "i\n" });
  await box.git(path, "submodule", "add", "-q", inner, "sub");
  await box.commit(path, "With submodule");
  await box.write(`${path}/sub`, { "i.txt": "changed inside\n" });
  assert.deepEqual(await lab.refused(path, "commit", { message: "m", stageAll: true }), [
    "nothing_to_commit",
  ]);
  assert.deepEqual(await lab.refused(path, "commit", { message: "m", paths: ["sub"] }), [
    "nothing_to_commit",
  ]);
  await box.commit(`${path}/sub`, "Ahead");
  await box.write(`${path}/sub`, { "u.txt": "u\n" });
  const card = await lab.show(path, "commit", { message: "Pointer", paths: ["sub"] });
  assert.match(card.effect!.diff!, /\+Subproject commit/);
  assert.equal((await lab.approve(card)).status, "completed");
  assert.deepEqual(await filesOf(lab, path), ["M sub"]);
  assert.equal(await Deno.readTextFile(`${path}/sub/u.txt`), "u\n");
});

Deno.test("thousands of files below a named folder are committed, and nothing beside it", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await start(lab);
  const files: Record<string, string> = { "beside.txt": "x\n", "many[1]/x": "literal\n" };
  for (let i = 0; i < 1_500; i++) files[`many/${i}.txt`] = `${i}\n`;
  await lab.box.write(path, files);
  const record = await lab.run(path, "commit", { message: "Many", paths: ["many/", "dir"] })
    .catch((error) => error);
  // A folder without a change is named as idle, not passed over.
  assert(record instanceof Refusal && record.code === "nothing_to_commit");
  const card = await lab.show(path, "commit", { message: "Many", paths: ["many/"] });
  assert.equal(card.effect!.filesTotal, 1_500);
  assert.equal((await lab.approve(card)).status, "completed");
  assert.equal((await filesOf(lab, path)).length, 1_500);
  assert.equal(await lab.box.git(path, "status", "--porcelain"), "?? beside.txt\n?? many[1]/\n");
});

Deno.test("an edit beside the named paths leaves the card good, one in them does not", async () => {
  await using lab = await GatewayLab.create();
  const { path } = await start(lab);
  await lab.box.write(path, { "a.txt": "x\n" });
  const card = await lab.show(path, "commit", { message: "m", paths: ["a.txt"] });
  await lab.box.write(path, { "b.txt": "somebody works here\n" });
  assert.equal((await lab.card(card.previewId)).digest, card.digest);
  await lab.box.write(path, { "a.txt": "y\n" });
  const before = await lab.state(path);
  await assert.rejects(
    () => lab.approve(card),
    (error) => error instanceof Refusal && error.code === "card_changed",
  );
  assert.deepEqual(await lab.state(path), before);
});

Deno.test("signing and author settings are on the card and bound to it", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await start(lab);
  const gpg = `${box.root}/gpg.sh`;
  // Just enough of gpg for git: a status line and something that looks like a signature.
  await Deno.writeTextFile(
    gpg,
    `#!/bin/sh\ncat >/dev/null\necho "[GNUPG:] SIG_CREATED D 1 8 00 0 0" >&2\n` +
      `printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nabc\\n-----END PGP SIGNATURE-----\\n'\n`,
    { mode: 0o755 },
  );
  await box.git(path, "config", "commit.gpgSign", "true");
  await box.git(path, "config", "gpg.program", gpg);
  await box.write(path, { "a.txt": "x\n" });
  const card = await lab.show(path, "commit", { message: "Signed", stageAll: true });
  const codes = card.warnings.map(({ code }) => code);
  assert(codes.includes("commit_signed") && codes.includes("repository_programs"), String(codes));
  await box.git(path, "config", "user.signingKey", "another");
  await assert.rejects(
    () => lab.approve(card),
    (error) => error instanceof Refusal && error.code === "card_changed",
  );
  const record = await lab.approve(await lab.card(card.previewId));
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.match(
    await box.git(path, "cat-file", "commit", "HEAD"),
    /gpgsig -----BEGIN PGP SIGNATURE/,
  );
});

Deno.test("a commit in a linked work tree, and one with files whose names are not UTF-8", async () => {
  await using lab = await GatewayLab.create();
  const { box } = lab;
  const { path } = await start(lab);
  const linked = `${box.root}/linked`;
  await box.git(path, "worktree", "add", "-q", "-b", "side", linked);
  await box.write(linked, { "a.txt": "linked\n" });
  const main = await lab.state(path);
  const before = await lab.state(linked);
  const record = await lab.run(linked, "commit", { message: "Linked", stageAll: true });
  assert.equal(record.status, "completed", JSON.stringify(record.result));
  assert.deepEqual((await lab.state(path)).files, main.files);
  await lab.undo(linked);
  assert.deepEqual(await lab.state(linked), before);

  const odd = await box.tryGit(path, ["update-index", "--add", "--index-info"], {
    stdin: new Uint8Array([
      ...new TextEncoder().encode(
        `100644 ${(await box.git(path, "rev-parse", "HEAD:a.txt")).trim()} 0\t`,
      ),
      0x66,
      0xff,
      0x0a,
    ]),
  });
  assert.equal(odd.code, 0, odd.stderr);
  const card = await lab.show(path, "commit", { message: "Odd" });
  assert.equal(card.effect!.files[0]!.pathBytes, btoa("f\xff"));
  assert.equal((await lab.approve(card)).status, "completed");
});
