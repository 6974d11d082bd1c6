import assert from "node:assert/strict";
import { data } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

// deno-lint-ignore no-explicit-any
type Answer = any;

const read = async (repoPath: string, args: Record<string, unknown> = {}): Promise<Answer> => {
  const before = await hashTree(repoPath);
  const answer = await data("conflict.read", { repoPath, ...args });
  assert.equal(await hashTree(repoPath), before, "nothing is written");
  return answer;
};

type Files = Record<string, string | Uint8Array | null>;

/** Commits three versions on `main` and `side`; null deletes a file. */
async function versions(box: Sandbox, base: Files, ours: Files, theirs: Files, ...init: string[]) {
  const repo = await box.repo("repo", ...init);
  const put = async (message: string, files: Files) => {
    for (const [name, content] of Object.entries(files)) {
      if (content === null) await box.git(repo, "rm", "-q", name);
    }
    const kept = Object.fromEntries(Object.entries(files).filter(([, c]) => c !== null));
    return await box.commit(repo, message, kept as Record<string, string | Uint8Array>);
  };
  const root = await put("base", base);
  await box.git(repo, "checkout", "-q", "-b", "side");
  const side = await put("side", theirs);
  await box.git(repo, "checkout", "-q", "main");
  const main = await put("main", ours);
  return { repo, root, main, side };
}

const F = { base: { f: "1\n2\n3\n" }, ours: { f: "1\no\n3\n" }, theirs: { f: "1\nt\n3\n" } };

async function merged(box: Sandbox, base: Files, ours: Files, theirs: Files) {
  const made = await versions(box, base, ours, theirs);
  await box.tryGit(made.repo, ["merge", "side"]);
  return made;
}

Deno.test("conflict.read gives both commits, the three sides and where the markers stand", async () => {
  await using box = await fresh();
  const { repo, main, side } = await merged(box, F.base, F.ours, F.theirs);
  const answer = await read(repo);
  assert.equal(answer.inConflict, true);
  assert.equal(answer.operationInProgress, "merge");
  assert.deepEqual(answer.operation, { kind: "merge", oid: side, paused: "conflict" });
  assert.deepEqual(answer.ours, { sha: main, subject: "main" });
  assert.deepEqual(answer.theirs, { sha: side, subject: "side" });
  assert.equal(answer.labels, undefined);
  assert.equal(answer.conflictedFileCount, 1);
  assert.equal(answer.fileListTruncated, false);
  assert.equal(answer.maxBytesPerSide, 16384);
  const oid = async (rev: string) => (await box.git(repo, "rev-parse", rev)).trim();
  const text = async (rev: string, content: string) => ({
    sha: await oid(rev),
    size: 6,
    truncated: false,
    content,
  });
  assert.deepEqual(answer.files, [{
    path: "f",
    kind: "both-modified",
    sides: {
      base: await text(":1:f", "1\n2\n3\n"),
      ours: await text(":2:f", "1\no\n3\n"),
      theirs: await text(":3:f", "1\nt\n3\n"),
    },
    regions: [{ startLine: 2, sepLine: 4, endLine: 6 }],
  }]);
});

Deno.test("no conflict is inConflict false, and a paused operation without unmerged paths is said apart", async () => {
  await using box = await fresh();
  const { repo } = await merged(box, F.base, F.ours, F.theirs);
  await box.git(repo, "checkout", "--ours", "f");
  await box.git(repo, "add", "f");
  const resolved = await read(repo);
  assert.equal(resolved.inConflict, false);
  assert.equal(resolved.operationInProgress, "merge");
  assert.equal(resolved.operation.paused, "unknown");
  assert.equal(resolved.files, undefined);
  await box.git(repo, "commit", "-q", "-m", "done");
  assert.deepEqual(await read(repo), {
    inConflict: false,
    operationInProgress: null,
    conflictedFileCount: 0,
  });
  const empty = await read(await box.repo("empty"));
  assert.equal(empty.inConflict, false);
});

Deno.test("conflict.read works in a bare repository, a linked worktree, a subfolder and with 64-digit ids", async () => {
  await using box = await fresh();
  const { repo } = await versions(box, F.base, F.ours, F.theirs, "--object-format=sha256");
  await box.git(box.root, "clone", "-q", "--bare", repo, "bare.git");
  assert.equal((await read(`${box.root}/bare.git`)).inConflict, false);
  const linked = `${box.root}/linked`;
  await box.git(repo, "worktree", "add", "-q", "-b", "x", linked);
  await box.tryGit(linked, ["merge", "side"]);
  assert.equal((await read(repo)).inConflict, false);
  await Deno.mkdir(`${linked}/folder`);
  const answer = await data("conflict.read", { repoPath: `${linked}/folder` });
  assert.equal(answer.files[0].path, "f");
  assert.equal(answer.files[0].sides.ours.sha.length, 64);
  assert.equal(answer.files[0].regions.length, 1);
});

Deno.test("every kind of conflict is told by the stages that exist", async () => {
  await using box = await fresh();
  const seven = "a\nb\nc\nd\ne\nf\ng\n";
  const { repo } = await merged(
    box,
    { "both": "1\n", "du": "1\n", "ud": "1\n", "moved": seven },
    { "both": "o\n", "du": null, "ud": "o\n", "aa": "o\n", "moved": null, "moved-ours": seven },
    { "both": "t\n", "du": "t\n", "ud": null, "aa": "t\n", "moved": null, "moved-theirs": seven },
  );
  const { files } = await read(repo);
  const kinds = Object.fromEntries(files.map((f: Answer) => [f.path, f.kind]));
  assert.deepEqual(kinds, {
    "aa": "both-added",
    "both": "both-modified",
    "du": "deleted-by-us",
    "moved": "both-deleted",
    "moved-ours": "added-by-us",
    "moved-theirs": "added-by-them",
    "ud": "deleted-by-them",
  });
  const du = files.find((f: Answer) => f.path === "du").sides;
  assert.equal(du.ours, null);
  assert.equal(du.theirs.content, "t\n");
});

Deno.test("a rebase turns the sides around, and says so", async () => {
  await using box = await fresh();
  const { repo, main, side } = await versions(box, F.base, F.ours, F.theirs);
  await box.git(repo, "checkout", "-q", "side");
  for (const backend of ["--merge", "--apply"]) {
    await box.tryGit(repo, ["rebase", backend, "main"]);
    const answer = await read(repo);
    assert.equal(answer.operation.kind, "rebase");
    assert.equal(answer.operation.branch, "side");
    assert.equal(answer.ours.sha, main);
    assert.equal(answer.theirs.sha, side);
    assert.deepEqual(answer.labels, {
      ours: "branch rebased onto",
      theirs: "commit being replayed",
    });
    assert.equal(answer.files[0].sides.ours.content, F.ours.f);
    assert.equal(answer.files[0].sides.theirs.content, F.theirs.f);
    await box.git(repo, "rebase", "--abort");
  }
});

Deno.test("in a revert theirs is the parent of the reverted commit, whose content stage 3 holds", async () => {
  await using box = await fresh();
  const { repo, root } = await versions(box, F.base, F.ours, F.theirs);
  const reverted = (await box.git(repo, "rev-parse", "main")).trim();
  const head = await box.commit(repo, "later", { f: "1\nlater\n3\n" });
  await box.tryGit(repo, ["revert", "--no-edit", reverted]);
  const answer = await read(repo);
  assert.equal(answer.operation.kind, "revert");
  assert.equal(answer.operation.oid, reverted);
  assert.deepEqual(answer.base, { sha: reverted, subject: "main" });
  assert.deepEqual(answer.ours, { sha: head, subject: "later" });
  assert.deepEqual(answer.theirs, { sha: root, subject: "base" });
  assert.equal(answer.labels.theirs, "parent of the reverted commit");
  const { sides } = answer.files[0];
  const at = async (rev: string) => (await box.git(repo, "rev-parse", `${rev}:f`)).trim();
  assert.equal(sides.base.sha, await at(answer.base.sha));
  assert.equal(sides.theirs.sha, await at(answer.theirs.sha));
});

Deno.test("reverting a merge or the first commit leaves theirs unknown, not wrong", async () => {
  await using box = await fresh();
  const { repo, root } = await versions(box, F.base, F.ours, { g: "g\n", f: "1\n2\n3\n4\n" });
  await box.git(repo, "merge", "-q", "-m", "join", "side");
  await box.commit(repo, "later", { f: "1\nlater\n3\n5\n" });
  await box.tryGit(repo, ["revert", "--no-edit", "-m", "1", "HEAD~1"]);
  const merge = await read(repo);
  assert.equal(merge.inConflict, true);
  assert.equal(merge.base.subject, "join");
  assert.equal(merge.theirs, null);
  await box.git(repo, "revert", "--abort");
  await box.tryGit(repo, ["revert", "--no-edit", root]);
  const first = await read(repo);
  assert.equal(first.base.sha, root);
  assert.equal(first.theirs, null);
  assert.equal(first.files[0].kind, "deleted-by-them");
});

Deno.test("cherry-picks, patches and stashes name what they have and no more", async () => {
  await using box = await fresh();
  const { repo, side } = await versions(box, F.base, F.ours, F.theirs);
  await box.tryGit(repo, ["cherry-pick", "side"]);
  const picked = await read(repo);
  assert.equal(picked.theirs.sha, side);
  assert.equal(picked.labels.theirs, "picked commit");
  await box.git(repo, "cherry-pick", "--abort");
  const patch = await box.git(repo, "format-patch", "--stdout", "main..side");
  await box.tryGit(repo, ["am", "-3"], { stdin: patch });
  const patched = await read(repo);
  assert.equal(patched.operationInProgress, "am");
  assert.equal(patched.theirs, null);
  assert.equal(patched.labels.theirs, "patch");
  await box.git(repo, "am", "--abort");
  await box.git(repo, "checkout", "-q", "side");
  await box.write(repo, { f: "1\nstashed\n3\n" });
  await box.git(repo, "stash", "-q");
  await box.git(repo, "checkout", "-q", "main");
  await box.tryGit(repo, ["stash", "apply"]);
  const stashed = await read(repo);
  assert.equal(stashed.inConflict, true);
  assert.equal(stashed.operationInProgress, null);
  assert.equal(stashed.operation, undefined);
  assert.equal(stashed.theirs, null);
});

Deno.test("diff3 base lines and marker sizes set by attributes are found", async () => {
  await using box = await fresh();
  const { repo } = await versions(
    box,
    {
      "f": "1\n2\n3\n",
      "wide.rst": "1\n2\n3\n",
      ".gitattributes": "*.rst conflict-marker-size=12\n",
    },
    { "f": "1\r\no\r\n3\r\n", "wide.rst": "1\nTitle\n=======\n3\n" },
    { "f": "1\r\nt\r\n3\r\n", "wide.rst": "1\nOther\n=======\n3\n" },
  );
  await box.git(repo, "config", "merge.conflictStyle", "diff3");
  await box.tryGit(repo, ["merge", "side"]);
  const { files } = await read(repo);
  const wide = files.find((f: Answer) => f.path === "wide.rst");
  assert.deepEqual(wide.regions, [{ startLine: 2, baseLine: 5, sepLine: 7, endLine: 10 }]);
  const crlf = files.find((f: Answer) => f.path === "f");
  assert.deepEqual(crlf.regions, [{ startLine: 1, baseLine: 5, sepLine: 9, endLine: 13 }]);
});

Deno.test("binary sides have a size and no text, modes are told when they say something, links are not followed", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const link = async (target: string) => {
    await Deno.remove(`${repo}/link`).catch(() => {});
    await Deno.symlink(target, `${repo}/link`);
  };
  await box.write(box.root, { outside: "<<<<<<< a\n=======\n>>>>>>> b\n" });
  await link("base");
  await box.commit(repo, "base", { bin: new Uint8Array([0, 1]), "d/f": "1\n", mode: "1\n" });
  await box.git(repo, "checkout", "-q", "-b", "side");
  await link("theirs");
  await Deno.chmod(`${repo}/mode`, 0o755);
  await box.commit(repo, "side", { bin: new Uint8Array([0, 2]), "d/f": "t\n", mode: "t\n" });
  await box.git(repo, "checkout", "-q", "main");
  await link("../outside");
  await box.commit(repo, "main", { bin: new Uint8Array([0, 3]), "d/f": "o\n", mode: "o\n" });
  await box.tryGit(repo, ["merge", "side"]);
  // The folder of a conflicted file now leads out of the repository.
  await Deno.remove(`${repo}/d`, { recursive: true });
  await box.write(`${box.root}/elsewhere`, { f: "<<<<<<< a\n=======\n>>>>>>> b\n" });
  await Deno.symlink(`${box.root}/elsewhere`, `${repo}/d`);
  const { files } = await read(repo);
  const [bin, behind, linked, mode] = files;
  assert.deepEqual(bin.sides.ours, { sha: bin.sides.ours.sha, size: 2, binary: true });
  assert.equal(behind.path, "d/f");
  assert.deepEqual(behind.regions, []);
  assert.equal(linked.sides.ours.content, "../outside");
  assert.deepEqual(linked.modes, { base: "120000", ours: "120000", theirs: "120000" });
  assert.deepEqual(linked.regions, []);
  assert.deepEqual(mode.modes, { base: "100644", ours: "100644", theirs: "100755" });
  assert.equal(behind.modes, undefined);
});

Deno.test("a conflict of submodules has commits and no text", async () => {
  await using box = await fresh();
  const lib = await box.repo("lib");
  const one = await box.commit(lib, "1", { l: "1\n" });
  await box.git(lib, "checkout", "-q", "-b", "x");
  const two = await box.commit(lib, "2", { l: "2\n" });
  await box.git(lib, "checkout", "-q", "-b", "y", one);
  const three = await box.commit(lib, "3", { l: "3\n" });
  const repo = await box.repo();
  await box.git(repo, "submodule", "--quiet", "add", lib, "sub");
  const pin = async (oid: string) => {
    await box.git(`${repo}/sub`, "checkout", "-q", oid);
    await box.commit(repo, "pin");
  };
  await pin(one);
  await box.git(repo, "checkout", "-q", "-b", "side");
  await pin(two);
  await box.git(repo, "checkout", "-q", "main");
  await pin(three);
  await box.tryGit(repo, ["merge", "side"]);
  const [file] = (await read(repo)).files;
  assert.equal(file.path, "sub");
  assert.deepEqual(Object.values(file.modes), ["160000", "160000", "160000"]);
  assert.deepEqual([file.sides.base.sha, file.sides.ours.sha, file.sides.theirs.sha], [
    one,
    three,
    two,
  ]);
  assert.match(file.sides.ours.error, /submodule/);
});
