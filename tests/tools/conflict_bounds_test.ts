import assert from "node:assert/strict";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
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
