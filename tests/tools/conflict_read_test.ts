import assert from "node:assert/strict";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { findRegions } from "../../git/conflict_markers.ts";
import { call, data, refusal } from "../fixtures/call.ts";
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

Deno.test("markers are told from text: torn, longer, nested and ambiguous ones", () => {
  const scan = (text: string, size = 7) => findRegions(new TextEncoder().encode(text), size, 10);
  const region = "<<<<<<< a\no\n=======\nt\n>>>>>>> b\n";
  assert.deepEqual(scan("x\n" + region).regions, [{ startLine: 2, sepLine: 4, endLine: 6 }]);
  assert.deepEqual(scan("<<<<<<< a\n" + region).regions, [{
    startLine: 2,
    sepLine: 4,
    endLine: 6,
  }]);
  assert.deepEqual(scan(region.replaceAll(" a", "a")).regions, [], "no space, no marker");
  assert.deepEqual(scan("=======\n>>>>>>> b\n").regions, []);
  assert.deepEqual(scan("<<<<<<< a\n>>>>>>> b\n").regions, []);
  assert.deepEqual(scan("<<<<<<<<< a\n=========\n>>>>>>>>> b\n").regions, [], "nested markers");
  assert.deepEqual(scan("<<<<<<<<< a\n=========\n>>>>>>>>> b\n", 9).count, 1);
  assert.deepEqual(scan("<<<<<<<\n=======\n=======\n>>>>>>>").regions, [{
    startLine: 1,
    sepLine: 2,
    endLine: 4,
    ambiguous: true,
  }]);
  assert.deepEqual(scan("<<<<<<< a\no\n||||||| c\nb\n=======\nt\n>>>>>>> b\n").regions, [{
    startLine: 1,
    baseLine: 3,
    sepLine: 5,
    endLine: 7,
  }]);
  assert.deepEqual(scan(region.repeat(12)).count, 12);
  assert.equal(scan(region.repeat(12)).regions.length, 10);
  assert.equal(scan("").count, 0);
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

Deno.test("content is cut at whole characters, and bytes that are not UTF-8 are said", async () => {
  await using box = await fresh();
  const latin = new Uint8Array([0x63, 0x61, 0x66, 0xe9, 0x0a]);
  const { repo } = await merged(
    box,
    { wide: "base\n", latin: "base\n" },
    { wide: "日本語".repeat(3000), latin: latin },
    { wide: "🦊🦊🦊", latin: "ascii\n" },
  );
  const { files } = await read(repo, { maxBytesPerSide: 7 });
  const [odd, wide] = files;
  assert.equal(wide.sides.ours.content, "日本");
  assert.equal(wide.sides.ours.truncated, true);
  assert.equal(wide.sides.ours.size, 27_000);
  assert.equal(wide.sides.theirs.content, "🦊");
  assert.equal(odd.sides.ours.content, "caf\uFFFD\n");
  assert.equal(odd.sides.ours.notUtf8, true);
  assert.equal(odd.sides.theirs.notUtf8, undefined);
});

Deno.test("many files are counted, cut and continued with the cursor", async () => {
  await using box = await fresh();
  const files = (text: string) =>
    Object.fromEntries(
      Array.from({ length: 45 }, (_, i) => [`f${String(i).padStart(2, "0")}`, text]),
    );
  const { repo } = await merged(box, files("1\n"), files("o\n"), files("t\n"));
  const first = await read(repo);
  assert.equal(first.conflictedFileCount, 45);
  assert.equal(first.files.length, 20);
  assert.equal(first.fileListTruncated, true);
  const second = await read(repo, { maxFiles: 40, cursor: first.nextCursor });
  assert.deepEqual(second.files.map((f: Answer) => f.path), Object.keys(files("")).slice(20));
  assert.equal(second.fileListTruncated, false);
  assert.equal(second.nextCursor, null);
  assert.equal(second.conflictedFileCount, 45);
  const refused = await refusal("conflict.read", { repoPath: repo, cursor: "bogus" });
  assert.equal(refused.code, -32602);
});

Deno.test("the whole answer stays bounded whatever sides hold, and each cut side says so", async () => {
  await using box = await fresh();
  // One character of these takes six in JSON.
  const heavy = (c: string) => ("\u0001".repeat(500) + c + "\n").repeat(2000);
  const names = Array.from({ length: 6 }, (_, i) => `f${i}`);
  const files = (c: string) => Object.fromEntries(names.map((name) => [name, heavy(c)]));
  const { repo } = await merged(box, files("b"), files("o"), files("t"));
  const payload = await call("conflict.read", { repoPath: repo, maxBytesPerSide: 1_048_576 });
  assert(JSON.stringify(payload).length < 3 * 1024 * 1024);
  const sides = payload.data.files.flatMap((f: Answer) => Object.values(f.sides));
  assert.equal(sides.length, 18);
  assert(sides.some((s: Answer) => s.truncated));
  for (const side of sides) {
    assert.equal(side.size, heavy("o").length);
    assert.equal(side.truncated, side.content.length < heavy("o").length);
  }
});

Deno.test("maxTokens cuts the base first, then the sides, then files, and tells what was cut", async () => {
  await using box = await fresh();
  const text = (c: string) => `const ${c} = someFunction("${c}", { value: 1 });\n`.repeat(60);
  const names = ["a.ts", "b.ts", "c.ts"];
  const files = (c: string) => Object.fromEntries(names.map((name) => [name, text(c)]));
  const { repo } = await merged(box, files("b"), files("o"), files("t"));
  for (const maxTokens of [300, 700, 1500, 6000]) {
    const payload = await call("conflict.read", { repoPath: repo, maxTokens });
    const tokens = encode(JSON.stringify(payload)).length;
    assert(tokens <= maxTokens, `${tokens} of ${maxTokens}`);
    assert.equal(payload.data.cut[0].list, "files.sides.base.content");
    const again = await call("conflict.read", { repoPath: repo, maxTokens });
    assert.deepEqual(again, payload);
    for (const file of payload.data.files) {
      for (const side of Object.values(file.sides) as Answer[]) {
        assert.equal(side.truncated, side.content.length < side.size);
      }
    }
    if (payload.data.files.length < 3) {
      assert.equal(payload.data.fileListTruncated, true);
      assert.equal(payload.data.nextCursor === null, payload.data.files.length === 0);
    }
  }
});

Deno.test("names that are not UTF-8 come losslessly, without their markers, and with a warning", async () => {
  await using box = await fresh();
  const { repo } = await merged(box, F.base, F.ours, F.theirs);
  const oid = (await box.git(repo, "rev-parse", ":2:f")).trim();
  const lines = [1, 2, 3].flatMap((stage) => [
    ...new TextEncoder().encode(`100644 ${oid} ${stage}\tlatin`),
    0xe9,
    0x0a,
  ]);
  await box.tryGit(repo, ["update-index", "--index-info"], { stdin: new Uint8Array(lines) });
  const answer = await read(repo);
  const odd = answer.files.find((f: Answer) => f.pathBytes);
  assert.equal(odd.path, "latin\uFFFD");
  assert.equal(atob(odd.pathBytes), "latin\xe9");
  assert.equal(odd.sides.ours.content, F.ours.f);
  assert.deepEqual(answer.warnings.map((w: Answer) => [w.code, w.count]), [["path_not_utf8", 1]]);
});

Deno.test("objects that a partial clone lacks are said, nothing is fetched, and the others are read", async () => {
  await using box = await fresh();
  const { repo: origin } = await versions(box, F.base, F.ours, F.theirs);
  await box.git(origin, "config", "uploadpack.allowFilter", "true");
  const repo = `${box.root}/partial`;
  await box.git(box.root, "clone", "-q", "--filter=blob:none", `file://${origin}`, repo);
  const oid = async (rev: string) => (await box.git(origin, "rev-parse", rev)).trim();
  const stages = [await oid("main~1:f"), await oid("main:f"), await oid("side:f")];
  await box.tryGit(repo, ["update-index", "--index-info"], {
    stdin: `0 ${"0".repeat(40)}\tf\n` +
      stages.map((id, i) => `100644 ${id} ${i + 1}\tf\n`).join(""),
  });
  const evil = await box.evil();
  await box.git(repo, "config", "remote.origin.uploadpack", evil.script);
  const answer = await read(repo);
  const { sides } = answer.files[0];
  assert.equal(sides.ours.content, F.ours.f);
  assert.match(sides.theirs.error, /not here/);
  assert.match(sides.base.error, /not here/);
  assert.deepEqual(answer.warnings.map((w: Answer) => [w.code, w.count]), [["missing_objects", 2]]);
  assert.equal(await evil.ran(), false);
  await box.tryGit(repo, ["cat-file", "blob", stages[2]!]);
  assert.equal(await evil.ran(), true, "control: plain git asks the remote");
});

Deno.test("conflict.read runs no fsmonitor and no signature check, where plain git does", async () => {
  await using box = await fresh();
  const { repo } = await merged(box, F.base, F.ours, F.theirs);
  const evil = await box.evil();
  const commit = (await box.git(repo, "cat-file", "commit", "HEAD")).replace(
    /^(committer .*)$/m,
    "$1\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----",
  );
  const signed = await box.tryGit(repo, ["hash-object", "-t", "commit", "-w", "--stdin"], {
    stdin: commit,
  });
  await box.git(repo, "update-ref", "HEAD", signed.stdout.trim());
  await box.git(repo, "config", "gpg.program", evil.script);
  await box.git(repo, "config", "log.showSignature", "true");
  await box.tryGit(repo, ["log", "-1"]);
  assert.equal(await evil.ran(), true, "control: log checks signatures");
  await evil.reset();
  await box.git(repo, "config", "core.fsmonitor", evil.script);
  await box.git(repo, "ls-files", "-u");
  assert.equal(await evil.ran(), true, "control: ls-files asks the fsmonitor");
  await evil.reset();
  const answer = await read(repo);
  assert.equal(answer.inConflict, true);
  assert.equal(answer.ours.sha, signed.stdout.trim());
  assert.equal(await evil.ran(), false);
});
