import assert from "node:assert/strict";
import { data, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

const lines = (n: number, word = "line") =>
  Array.from({ length: n }, (_, i) => `${word} ${i}\n`).join("");

/** Plain git's diff with the settings that the tool promises. */
function plainDiff(box: Sandbox, repo: string, ...args: string[]): Promise<string> {
  return box.git(repo, "-c", "core.quotePath=false", "diff", "--no-ext-diff", ...args);
}

// deno-lint-ignore no-explicit-any
type Answer = any;

/** Reads all pages of a diff. */
async function allPages(args: Record<string, unknown>): Promise<Answer[]> {
  const answers: Answer[] = [];
  let cursor: string | undefined;
  do {
    const answer = await data("diff.text", { ...args, ...(cursor ? { cursor } : {}) });
    answers.push(answer);
    cursor = answer.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return answers;
}

Deno.test("diff.text compares index and work tree, a revision and the work tree, two revisions, and what is staged", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "a b.txt": "one\n" });
  await box.commit(repo, "two", { "a b.txt": "two\n" });
  await box.write(repo, { "a b.txt": "three\n" });
  await box.git(repo, "add", "-A");
  await box.write(repo, { "a b.txt": "four\n", untracked: "never shown\n" });
  const cases: [Record<string, unknown>, string[]][] = [
    [{}, []],
    [{ base: "HEAD~1" }, ["HEAD~1"]],
    [{ head: "HEAD~1" }, ["HEAD~1"]],
    [{ base: "HEAD~1", head: "HEAD" }, ["HEAD~1", "HEAD"]],
    [{ staged: true }, ["--cached"]],
    [{ staged: true, base: "HEAD~1" }, ["--cached", "HEAD~1"]],
    [{ base: "HEAD~1", head: "main", contextLines: 0 }, ["-U0", "HEAD~1", "HEAD"]],
  ];
  for (const [args, plain] of cases) {
    const answer = await data("diff.text", { repoPath: repo, ...args });
    const expected = await plainDiff(box, repo, ...plain);
    assert.equal(answer.diff, expected, JSON.stringify(args));
    assert.notEqual(expected, "");
    assert.equal(answer.truncated, false);
    assert.equal(answer.totalBytes, new TextEncoder().encode(expected).length);
    assert.equal(answer.totalLines, expected.split("\n").length - 1);
    assert.deepEqual(answer.files, [{ status: "M", path: "a b.txt", added: 1, deleted: 1 }]);
    assert.equal(answer.counts, undefined, "one file says the same");
    assert.equal(answer.base, args["base"] ?? null);
    assert.equal(answer.head, args["head"] ?? null);
  }
  const wrong = await refusal("diff.text", { repoPath: repo, staged: true, head: "HEAD" });
  assert.equal(wrong.code, -32602);
});

Deno.test("what is staged on an unborn branch is compared with nothing", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.write(repo, { a: "1\n", "empty file": "" });
  await box.git(repo, "add", "-A");
  const staged = await data("diff.text", { repoPath: repo, staged: true });
  assert.deepEqual(staged.files, [
    { status: "A", path: "a", added: 1, deleted: 0 },
    { status: "A", path: "empty file", added: 0, deleted: 0 },
  ]);
  assert.match(staged.diff, /^diff --git a\/a b\/a\nnew file mode 100644\n/);
  const clean = await data("diff.text", { repoPath: repo });
  assert.equal(clean.diff, "");
  assert.deepEqual(clean.files, []);
  assert.equal((await refusal("diff.text", { repoPath: repo, base: "HEAD" })).code, 10010);
});

Deno.test("a bare repository compares two revisions, and says what it needs for anything else", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n" });
  await box.commit(repo, "two", { a: "2\n" });
  await box.git(box.root, "clone", "-q", "--bare", repo, `${box.root}/bare.git`);
  const bare = `${box.root}/bare.git`;
  const both = await data("diff.text", { repoPath: bare, base: "HEAD~1", head: "HEAD", path: "a" });
  assert.equal(both.files[0].path, "a");
  for (const args of [{}, { base: "HEAD" }, { staged: true }]) {
    const error = await refusal("diff.text", { repoPath: bare, ...args });
    assert.equal(error.code, 10010);
    assert.match(error.data.hint, /both base and head/);
  }
});

Deno.test("files that were touched but did not change are not listed, and the index is not written", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { touched: lines(5), also: "x\n", changed: lines(5), exec: "x\n" });
  for (const name of ["touched", "also", "changed"]) await Deno.utime(`${repo}/${name}`, 1, 1);
  await Deno.writeTextFile(`${repo}/changed`, "more\n", { append: true });
  await Deno.chmod(`${repo}/exec`, 0o755);
  const control = await box.git(repo, "-c", "diff.autoRefreshIndex=false", "diff", "--name-only");
  assert.match(control, /touched/, "control: without refreshing, plain git lists them");
  const before = await hashTree(repo);
  for (const args of [{}, { base: "HEAD" }]) {
    const answer = await data("diff.text", { repoPath: repo, ...args });
    assert.deepEqual(answer.files, [
      { status: "M", path: "changed", added: 1, deleted: 0 },
      {
        status: "M",
        path: "exec",
        modes: { old: "100644", new: "100755" },
        added: 0,
        deleted: 0,
      },
    ]);
    assert.equal(answer.counts.files, 2);
    assert.doesNotMatch(answer.diff, /touched|also/);
  }
  assert.equal(await hashTree(repo), before);
});

Deno.test("renames, binaries, types and names of every kind are read off the raw list, not the headers", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", {
    "a/x b/x": new Uint8Array([0, 1, 2]),
    "src/{a => b}.ts": lines(30, "x"),
    "emoji 😀": lines(30, "y"),
    typ: "target\n",
  });
  await box.git(repo, "mv", "src/{a => b}.ts", "src/c -> d.ts");
  await box.git(repo, "mv", "emoji 😀", "new 😀");
  await Deno.writeTextFile(`${repo}/new 😀`, "more\n", { append: true });
  await Deno.writeFile(`${repo}/a/x b/x`, new Uint8Array([0, 1, 3]));
  await Deno.remove(`${repo}/typ`);
  await Deno.symlink("target", `${repo}/typ`);
  const answer = await data("diff.text", { repoPath: repo, base: "HEAD" });
  assert.deepEqual(answer.files.map(({ score: _, ...file }: Answer) => file), [
    { status: "M", path: "a/x b/x", added: null, deleted: null, binary: true },
    { status: "R", path: "new 😀", origPath: "emoji 😀", added: 1, deleted: 0 },
    { status: "R", path: "src/c -> d.ts", origPath: "src/{a => b}.ts", added: 0, deleted: 0 },
    { status: "T", path: "typ", modes: { old: "100644", new: "120000" }, added: 1, deleted: 1 },
  ]);
  assert.deepEqual(answer.counts, { files: 4, added: 2, deleted: 1, binary: 1 });
});

Deno.test("conflicted files are listed as unmerged, once each, without counts that mean nothing", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "base", { du: lines(5), ud: lines(5), uu: lines(5), z: lines(5) });
  await box.git(repo, "checkout", "-q", "-b", "side");
  await Deno.remove(`${repo}/du`);
  await box.commit(repo, "side", { aa: "s\n", ud: lines(6), uu: lines(5) + "side\n" });
  await box.git(repo, "checkout", "-q", "main");
  await Deno.remove(`${repo}/ud`);
  await box.commit(repo, "main", { aa: "m\n", du: lines(7), uu: lines(5) + "main\n" });
  assert.notEqual((await box.tryGit(repo, ["merge", "side"])).code, 0);
  await Deno.writeTextFile(`${repo}/z`, "changed\n", { append: true });
  const answer = await data("diff.text", { repoPath: repo });
  assert.deepEqual(
    answer.files.map((f: Answer) => [f.status, f.path, f.added]),
    [["U", "aa", null], ["U", "du", null], ["U", "ud", null], ["U", "uu", null], ["M", "z", 1]],
  );
  assert.equal(answer.counts.files, 5);
  assert.match(answer.diff, /diff --cc uu/);
  const staged = await data("diff.text", { repoPath: repo, staged: true });
  assert.deepEqual(staged.files.map((f: Answer) => f.status), ["U", "U", "U", "U"]);
});

Deno.test("a cut diff continues exactly: pages put together are the whole, files sum up all of it", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const before: Record<string, string> = {}, after: Record<string, string> = {};
  for (let i = 0; i < 12; i++) {
    before[`f${i}.txt`] = lines(40, `old é${i}`);
    after[`f${i}.txt`] = lines(40, `new 日${i}`);
  }
  await box.commit(repo, "one", before);
  const odd = { 'q"uo\tte\n': lines(60), "café sp": lines(60) };
  await box.commit(repo, "two", { ...after, ...odd, long: "😀".repeat(4000) });
  const whole = await plainDiff(box, repo, "HEAD~1", "HEAD");
  const args = { repoPath: repo, base: "HEAD~1", head: "HEAD", maxBytes: 3001 };
  const answers = await allPages(args);
  assert.ok(answers.length > 8);
  assert.equal(answers.map((answer) => answer.diff).join(""), whole);
  for (const [i, answer] of answers.entries()) {
    assert.ok(new TextEncoder().encode(answer.diff).length <= 3001);
    assert.equal(answer.truncated, i < answers.length - 1);
    assert.equal(answer.totalBytes, new TextEncoder().encode(whole).length);
    assert.equal(answer.files === undefined, i > 0, "files come with the first page");
  }
  assert.equal(answers[0].files.length, 15);
  assert.deepEqual(answers[0].counts, { files: 15, added: 601, deleted: 480, binary: 0 });
  const byLines = await allPages({ ...args, maxBytes: 1_000_000, maxLines: 100 });
  assert.equal(byLines.map((answer) => answer.diff).join(""), whole);
  assert.equal(byLines[0].diff.split("\n").length - 1, 100);
});

Deno.test("a cursor is refused once the diff changed, and with other arguments", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: lines(100) });
  await box.write(repo, { a: lines(100, "other") });
  const args = { repoPath: repo, maxBytes: 500 };
  const { nextCursor } = await data("diff.text", args);
  assert.ok((await data("diff.text", { ...args, cursor: nextCursor })).diff.length > 0);
  const other = await refusal("diff.text", { ...args, base: "HEAD", cursor: nextCursor });
  assert.match(other.data.details, /other arguments/);
  // The same length, so only the content tells.
  await box.write(repo, { a: lines(100, "0ther") });
  const changed = await refusal("diff.text", { ...args, cursor: nextCursor });
  assert.equal(changed.code, -32602);
  assert.equal(changed.data.reason, "diff_changed");
  assert.equal((await refusal("diff.text", { ...args, cursor: "x" })).code, -32602);
});

Deno.test("two lines of 3 MB are cut on a character and the numbers stay right", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { big: "é".repeat(1_500_000) });
  await box.write(repo, { big: "ü".repeat(1_500_000) });
  const answer = await data("diff.text", { repoPath: repo, maxBytes: 10_000 });
  const size = new TextEncoder().encode(answer.diff).length;
  assert.ok(size <= 10_000);
  assert.doesNotMatch(answer.diff, /\uFFFD/);
  assert.equal(answer.truncated, true);
  assert.deepEqual(answer.files, [{ status: "M", path: "big", added: 1, deleted: 1 }]);
  assert.ok(answer.totalBytes > 6_000_000);
  const next = await data("diff.text", {
    repoPath: repo,
    maxBytes: 10_000,
    cursor: answer.nextCursor,
  });
  assert.match(next.diff, /^-?é+$/);
});

Deno.test("a diff over the ceiling is read with bounded memory and its totals are unknown", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { big: "" });
  const line = "y".repeat(1023) + "\n";
  await Deno.writeTextFile(`${repo}/big`, line.repeat(66 * 1024));
  const answer = await data("diff.text", { repoPath: repo, maxBytes: 2_000 });
  assert.equal(answer.scanCeiling, 64 * 1024 * 1024);
  assert.equal(answer.totalBytes, null);
  assert.equal(answer.totalLines, null);
  assert.equal(answer.truncated, true);
  assert.equal(answer.files[0].added, 67_584);
  const next = await data("diff.text", {
    repoPath: repo,
    maxBytes: 2_000,
    cursor: answer.nextCursor,
  });
  assert.match(next.diff, /^\+y+\n/);
});

Deno.test("the list of files is bounded while its counts are not", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const files = Object.fromEntries(Array.from({ length: 230 }, (_, i) => [`f${1000 + i}`, "1\n"]));
  await box.commit(repo, "many", files);
  const answer = await data("diff.text", {
    repoPath: repo,
    base: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    head: "HEAD",
    maxBytes: 100,
  });
  assert.equal(answer.files.length, 200);
  assert.equal(answer.filesTruncated, true);
  assert.equal(answer.files[199].path, "f1199");
  assert.deepEqual(answer.counts, { files: 230, added: 230, deleted: 0, binary: 0 });
});

Deno.test("maxTokens keeps some files and fills up with text, and the cursor continues after it", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const files = Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [`folder/file-${i}.ts`, lines(10)]),
  );
  await box.commit(repo, "one", files);
  await box.git(repo, "commit", "-q", "--allow-empty", "-m", "two");
  const args = { repoPath: repo, base: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", head: "HEAD" };
  const first = await data("diff.text", { ...args, maxTokens: 1500 });
  assert.ok(first.files.length > 3 && first.files.length < 60);
  assert.equal(first.filesTruncated, true);
  assert.equal(first.counts.files, 60);
  assert.ok(first.diff.length > 500);
  assert.deepEqual(first.cut.map((c: Answer) => [c.list, c.of > c.kept]), [
    ["files", true],
    ["diff", true],
  ]);
  const whole = await plainDiff(box, repo, args.base, "HEAD");
  const rest = await allPages({ ...args, maxBytes: 1_048_576 });
  assert.equal(rest[0].diff, whole);
  const second = await data("diff.text", { ...args, cursor: first.nextCursor });
  assert.equal(whole.startsWith(first.diff + second.diff), true);
});

Deno.test("paths are literal and may be several; a name that is not UTF-8 is found by its bytes", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "*": "1\n", ab: "1\n", "d/x": "1\n", "-": "1\n" });
  const odd = new Uint8Array([...new TextEncoder().encode("latin"), 0xe9]);
  const oddPath = btoa(String.fromCharCode(...odd));
  const blob = (await box.git(repo, "rev-parse", "HEAD:ab")).trim();
  const added = await box.tryGit(repo, ["update-index", "-z", "--index-info"], {
    stdin: new Uint8Array([...new TextEncoder().encode(`100644 ${blob} 0\t`), ...odd, 0]),
  });
  assert.equal(added.code, 0, added.stderr);
  await box.write(repo, { "*": "2\n", ab: "2\n", "d/x": "2\n", "-": "2\n" });
  const paths = async (args: Record<string, unknown>) =>
    (await data("diff.text", { repoPath: repo, ...args })).files.map((f: Answer) => f.path);
  assert.deepEqual(await paths({ path: "*" }), ["*"]);
  assert.deepEqual(await paths({ path: "-" }), ["-"]);
  assert.deepEqual(await paths({ path: "d" }), ["d/x"]);
  assert.deepEqual(await paths({ path: "./d//x" }), ["d/x"]);
  assert.deepEqual(await paths({ paths: ["ab", "d/x"] }), ["ab", "d/x"]);
  assert.deepEqual(await paths({ path: "ab", paths: ["d"] }), ["ab", "d/x"]);
  assert.deepEqual(await paths({ path: `${repo}/ab` }), ["ab"]);
  for (const path of [":(top)ab", ":(exclude)*", ":!ab", "a[b]"]) {
    assert.deepEqual(await paths({ path }), [], path);
  }
  assert.deepEqual((await paths({ path: repo })).length, 5, "the repository itself is no filter");
  const answer = await data("diff.text", {
    repoPath: repo,
    path: "latin\uFFFD",
    pathBytes: oddPath,
  });
  assert.deepEqual(answer.files, [{
    status: "D",
    path: "latin\uFFFD",
    pathBytes: oddPath,
    added: 0,
    deleted: 1,
  }]);
  assert.match(answer.diff, /deleted file mode/);
  const long = Array.from({ length: 900 }, (_, i) => `${"deep/".repeat(20)}${i}`);
  assert.deepEqual(
    await paths({ paths: [...long, "ab"] }),
    ["ab"],
    "a list too long for arguments",
  );
  for (const path of ["../x", "d/../../x", "/etc/passwd", "a\0"]) {
    assert.equal((await refusal("diff.text", { repoPath: repo, path })).code, -32602, path);
  }
  for (const odd of ["latin\xe9\nx", "latin\xe9\r"]) {
    const error = await refusal("diff.text", { repoPath: repo, pathBytes: btoa(odd) });
    assert.match(error.data.details, /line end/);
  }
  const many = await refusal("diff.text", { repoPath: repo, paths: ["ab", "../x"] });
  assert.match(many.data.details, /paths\[1\]/);
});

Deno.test("no argument of diff.text can become an option or be read as a path", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n" });
  await box.write(repo, { a: "2\n" });
  const file = `${box.root}/pwned`;
  const exists = () => Deno.stat(file).then(() => true, () => false);
  await box.git(repo, "diff", `--output=${file}`);
  assert.equal(await exists(), true, "control: plain git writes the file");
  await Deno.remove(file);
  for (const field of ["base", "head", "path"]) {
    for (const evil of [`--output=${file}`, "--no-index", "-O/etc/passwd", "--ext-diff"]) {
      await data("diff.text", { repoPath: repo, [field]: evil }).catch(() => {});
      assert.equal(await exists(), false, field);
    }
  }
  assert.equal((await refusal("diff.text", { repoPath: repo, base: "--no-index" })).code, -32602);
  assert.notEqual(await box.git(repo, "diff", "a"), "", "control: plain git takes it for a path");
  assert.equal((await refusal("diff.text", { repoPath: repo, base: "a" })).code, 10010);
  assert.equal((await refusal("diff.text", { repoPath: repo, base: "HEAD..HEAD" })).code, 10010);
});

Deno.test("diff.text runs no program that the repository names and writes nothing, where plain git runs them", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", {
    ".gitattributes": "*.txt diff=evil filter=evil\n",
    "a.txt": "one\n",
  });
  await box.commit(repo, "two", { "a.txt": "two\n" });
  const evil = await box.evil();
  const settings: [string, string][] = [
    ["core.fsmonitor", evil.script],
    ["diff.external", evil.script],
    ["diff.evil.command", evil.script],
    ["diff.evil.textconv", evil.cat],
    ["filter.evil.clean", evil.cat],
    ["filter.evil.required", "true"],
  ];
  const hook = `${repo}/.git/hooks/post-index-change`;
  for (const [key, value] of settings) {
    await Deno.writeTextFile(`${repo}/a.txt`, "TWO\n");
    await box.git(repo, "config", key, value);
    if (key === "filter.evil.required") continue;
    await box.tryGit(repo, ["diff"]);
    assert.equal(await evil.ran(), true, `control: plain git runs ${key}`);
    await evil.reset();
    await box.git(repo, "config", "--unset", key);
  }
  await box.git(repo, "config", "--unset", "filter.evil.required");
  await Deno.copyFile(evil.script, hook);
  await Deno.chmod(hook, 0o755);
  await Deno.writeTextFile(`${repo}/a.txt`, "two\n");
  await Deno.utime(`${repo}/a.txt`, 5, 5);
  await box.git(repo, "--no-optional-locks", "diff", "--stat");
  assert.equal(await evil.ran(), true, "control: plain git runs the hook");
  await evil.reset();
  for (const [key, value] of settings) await box.git(repo, "config", key, value);
  await Deno.writeTextFile(`${repo}/a.txt`, "TWO\n");
  await Deno.utime(`${repo}/a.txt`, 9, 9);
  await evil.reset();
  const before = await hashTree(repo);
  for (const args of [{}, { base: "HEAD" }, { staged: true }, { base: "HEAD~1", head: "HEAD" }]) {
    const answer = await data("diff.text", { repoPath: repo, ...args });
    assert.equal(await evil.ran(), false, JSON.stringify(args));
    if (!("staged" in args)) assert.equal(answer.files[0].path, "a.txt");
    const looksAtFiles = !("staged" in args) && !("head" in args);
    assert.equal(answer.warnings?.[0]?.code, looksAtFiles ? "filter_not_run" : undefined);
  }
  assert.match((await data("diff.text", { repoPath: repo })).diff, /-two\n\+TWO\n/);
  assert.equal(await hashTree(repo), before);
});

Deno.test("programs that a submodule names are not run, and its changes are shown in short form", async () => {
  await using box = await fresh();
  const inner = await box.repo("inner");
  await box.commit(inner, "one", { f: "1\n" });
  const repo = await box.repo();
  await box.commit(repo, "base", { a: "1\n" });
  await box.git(repo, "submodule", "add", "-q", inner, "sub mod");
  await box.commit(repo, "with sub");
  const sub = `${repo}/sub mod`;
  const evil = await box.evil();
  await box.git(sub, "config", "filter.evil.clean", evil.cat);
  await box.write(sub, { ".gitattributes": "f filter=evil\n", f: "2\n" });
  await box.git(repo, "diff");
  assert.equal(await evil.ran(), true, "control: plain git runs it");
  await evil.reset();
  const before = await hashTree(repo);
  const answer = await data("diff.text", { repoPath: repo });
  assert.equal(await evil.ran(), false);
  assert.equal(await hashTree(repo), before);
  assert.deepEqual(answer.files.map((f: Answer) => [f.path, f.submodule]), [["sub mod", true]]);
  assert.match(answer.diff, /\+Subproject commit [0-9a-f]{40}-dirty/);
});

Deno.test("a blobless clone shows what it has, says what is missing and fetches nothing", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: lines(9), b: "b\n" });
  await box.commit(repo, "two", { a: lines(10), n: "n\n" });
  await box.commit(repo, "three", { c: "c\n" });
  await box.git(repo, "config", "uploadpack.allowFilter", "true");
  const clone = `${box.root}/blobless`;
  await box.git(box.root, "clone", "-q", "--filter=blob:none", `file://${repo}`, clone);
  const evil = await box.evil();
  await box.git(clone, "config", "remote.origin.uploadpack", evil.script);
  await box.tryGit(clone, ["diff", "HEAD~2", "HEAD"]);
  assert.equal(await evil.ran(), true, "control: plain git fetches");
  await evil.reset();
  const before = await hashTree(clone);
  const answer = await data("diff.text", { repoPath: clone, base: "HEAD~2", head: "HEAD" });
  assert.equal(await evil.ran(), false);
  assert.equal(await hashTree(clone), before);
  assert.deepEqual(answer.files, [
    { status: "M", path: "a", added: null, deleted: null },
    { status: "A", path: "c", added: 1, deleted: 0 },
    { status: "A", path: "n", added: 1, deleted: 0 },
  ]);
  assert.equal(answer.warnings[0].code, "missing_objects");
  assert.equal(answer.warnings[0].count, 1);
  assert.match(answer.diff, /\+c\n/);
  assert.doesNotMatch(answer.diff, /line/);
  assert.equal(answer.truncated, true);
  assert.equal(answer.totalBytes, null);
  const pages = await allPages({ repoPath: clone, base: "HEAD~2", head: "HEAD", maxBytes: 60 });
  assert.equal(pages.map((page) => page.diff).join(""), answer.diff);
  const sound = await data("diff.text", { repoPath: clone, base: "HEAD~1", head: "HEAD" });
  assert.equal(sound.warnings, undefined);
});

Deno.test("settings of the user and the repository do not change the form of a diff", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: lines(40), "d/b": lines(30, "b"), old: lines(20, "o") });
  await box.git(repo, "mv", "old", "new");
  await box.write(repo, { a: lines(20) + "\n" + lines(20), "d/b": lines(31, "b") });
  const args = { repoPath: repo, base: "HEAD" };
  const plain = await data("diff.text", args);
  for (
    const [key, value] of [
      ["diff.noprefix", "true"],
      ["diff.mnemonicPrefix", "true"],
      ["diff.context", "9"],
      ["diff.interHunkContext", "9"],
      ["diff.renames", "false"],
      ["diff.algorithm", "patience"],
      ["diff.relative", "true"],
      ["diff.suppressBlankEmpty", "true"],
      ["diff.indentHeuristic", "false"],
      ["diff.orderFile", "order"],
      ["diff.colorMoved", "zebra"],
      ["color.diff", "always"],
      ["color.ui", "always"],
      ["diff.submodule", "log"],
      ["core.quotePath", "true"],
      ["core.pager", "false"],
    ]
  ) {
    await box.git(box.root, "config", "--global", key!, value!);
    await box.git(repo, "config", key!, value!);
  }
  await box.write(repo, { order: "new\nd/*\na\n" });
  assert.deepEqual(await data("diff.text", args), plain);
  assert.deepEqual(await data("diff.text", { ...args, repoPath: `${repo}/d` }), plain);
});

Deno.test("line ends that git converts make no difference, hidden and sparse files neither", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.git(repo, "config", "core.autocrlf", "true");
  await box.commit(repo, "one", {
    crlf: "1\r\n2\r\n",
    hidden: "h\n",
    "d1/a": "1\n",
    "d2/b": "1\n",
  });
  await Deno.utime(`${repo}/crlf`, 1, 1);
  await box.git(repo, "update-index", "--assume-unchanged", "hidden");
  await box.write(repo, { hidden: "changed\n" });
  await box.git(repo, "sparse-checkout", "set", "d1");
  const answer = await data("diff.text", { repoPath: repo });
  assert.deepEqual(answer.files, []);
  assert.equal(answer.diff, "");
});

Deno.test("an intent to add, a linked worktree, a subfolder, ids of 64 digits and trees as revisions work", async () => {
  await using box = await fresh();
  const repo = await box.repo("sha256", "--object-format=sha256");
  const one = await box.commit(repo, "one", { "d/a": "1\n" });
  await box.commit(repo, "two", { "d/a": "2\n" });
  await box.git(repo, "tag", "-a", "-m", "x", "v1", one);
  await box.git(repo, "worktree", "add", "-q", "--detach", `${box.root}/linked`, one);
  const linked = `${box.root}/linked`;
  await box.write(linked, { "d/a": "3\n", "new file": "n\n" });
  await box.git(linked, "add", "-N", "new file");
  const answer = await data("diff.text", { repoPath: `${linked}/d` });
  assert.deepEqual(answer.files.map((f: Answer) => [f.status, f.path]), [
    ["M", "d/a"],
    ["A", "new file"],
  ]);
  for (const base of ["v1", one, "HEAD~1^{tree}"]) {
    const both = await data("diff.text", { repoPath: repo, base, head: "HEAD" });
    assert.match(both.diff, /-1\n\+2\n/, base);
  }
});

Deno.test("bytes that are not UTF-8 in a file come as replacement characters within maxBytes", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { latin: "x\n" });
  const odd = new Uint8Array(3_000).fill(0xe9);
  for (let i = 79; i < odd.length; i += 80) odd[i] = 0x0a;
  await Deno.writeFile(`${repo}/latin`, odd);
  const args = { repoPath: repo, maxBytes: 1000 };
  const answers = await allPages(args);
  for (const answer of answers) {
    assert.ok(new TextEncoder().encode(answer.diff).length <= 1000);
  }
  const text = answers.map((answer) => answer.diff).join("");
  assert.equal([...text].filter((c) => c === "\uFFFD").length, 3_000 - 37);
});

Deno.test("another program's lock, and a loop of its writes, neither disturb a diff nor are disturbed by it", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n", b: "1\n" });
  await box.write(repo, { a: "2\n" });
  await Deno.writeTextFile(`${repo}/.git/index.lock`, "");
  const before = await hashTree(repo);
  assert.equal((await data("diff.text", { repoPath: repo })).files.length, 1);
  assert.equal(await hashTree(repo), before);
  await Deno.remove(`${repo}/.git/index.lock`);
  let writing = true;
  const writer = (async () => {
    for (let i = 0; i < 25; i++) {
      await box.write(repo, { b: `${i}\n` });
      await box.git(repo, "add", "b");
    }
    writing = false;
  })();
  let reads = 0;
  while (writing) {
    await data("diff.text", { repoPath: repo });
    reads++;
  }
  await writer;
  assert.ok(reads > 0);
});
