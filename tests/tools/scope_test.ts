import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import assert from "node:assert/strict";
import { call, data, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

const TOOL = "repo.scope";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

/** The time of the sandbox's commits, a day on. */
const now = () => (1_790_000_000 + 86_400) * 1000;

const CODEOWNERS = `* @all
/packages/api/ @acme/api
/packages/api/*.md @acme/docs
/packages/api/gen/
/AI\\ Fair/ @x
config/ @b
`;

async function monorepo(box: Sandbox): Promise<string> {
  const repo = await box.repo();
  await box.commit(repo, "feat: start", {
    ".github/CODEOWNERS": CODEOWNERS,
    "packages/api/main.ts": "1\n",
    "packages/api/README.md": "1\n",
    "packages/api/gen/a.ts": "1\n",
    "packages/web/main.ts": "1\n",
    "AI Fair/f": "1\n",
    "deep/config/c": "1\n",
  });
  await box.commit(repo, "api: add health route", { "packages/api/main.ts": "2\n" });
  await box.commit(repo, "web: unrelated", { "packages/web/main.ts": "2\n" });
  return repo;
}

Deno.test("repo.scope tells changes, history, churn and owners of one directory", async () => {
  await using box = await fresh();
  const repo = await monorepo(box);
  await box.write(repo, {
    "packages/api/main.ts": "3\n",
    "packages/api/new.ts": "",
    "packages/web/main.ts": "3\n",
  });
  const scope = await data(TOOL, { repoPath: repo, path: "packages/api/" }, { now });
  assert.equal(scope.scope, "packages/api");
  assert.equal(scope.kind, "directory");
  assert.deepEqual(scope.workingTree, {
    changed: 2,
    entries: [
      { status: " M", path: "packages/api/main.ts" },
      { status: "??", path: "packages/api/new.ts" },
    ],
    truncated: false,
  });
  assert.deepEqual(scope.recentCommits.map((c: { subject: string }) => c.subject), [
    "api: add health route",
    "feat: start",
  ]);
  assert.deepEqual(scope.churn, { days: 90, commits: 2, authors: 1 });
  assert.deepEqual(scope.owners, {
    source: ".github/CODEOWNERS",
    matchedPattern: "/packages/api/",
    owners: ["@acme/api"],
    matching: "github (last match wins)",
    below: [
      { pattern: "/packages/api/*.md", owners: ["@acme/docs"], files: 1 },
      { pattern: "/packages/api/gen/", owners: [], files: 1 },
    ],
  });
  assert.deepEqual(scope.hints, [
    "2 changed paths here: look before proposing anything.",
    "This path has code owners: mention them.",
  ]);
});

Deno.test("repo.scope takes files, deleted paths, paths that never were, and the whole repository", async () => {
  await using box = await fresh();
  const repo = await monorepo(box);
  await Deno.remove(`${repo}/packages/web`, { recursive: true });
  const ask = (path: string) => data(TOOL, { repoPath: repo, path }, { now });
  const file = await ask("packages/api/README.md");
  assert.deepEqual([file.kind, file.owners.owners], ["file", ["@acme/docs"]]);
  assert.equal(file.owners.below, undefined);
  const gone = await ask("packages/web");
  assert.deepEqual([gone.kind, gone.workingTree.entries], ["directory", [
    { status: " D", path: "packages/web/main.ts" },
  ]]);
  const never = await ask("no/such/place");
  assert.deepEqual(
    [never.kind, never.workingTree.changed, never.recentCommits, never.churn.commits],
    ["missing", 0, [], 0],
  );
  for (const path of [".", "./", repo, `${repo}/`]) {
    const whole = await ask(path);
    assert.deepEqual([whole.scope, whole.kind, whole.recentCommits.length], [".", "directory", 3]);
    assert.deepEqual(whole.owners.owners, ["@all"]);
    assert.deepEqual(whole.owners.below[0], {
      pattern: "/AI Fair/",
      owners: ["@x"],
      files: 1,
    });
  }
  const absolute = await ask(`${repo}/packages/api`);
  assert.equal(absolute.scope, "packages/api");
  const spaced = await ask("AI Fair");
  assert.deepEqual(
    [spaced.owners.matchedPattern, spaced.owners.owners],
    ["/AI Fair/", ["@x"]],
  );
  assert.deepEqual((await ask("deep/config")).owners.owners, ["@b"]);
  assert.deepEqual((await ask("deep")).owners.owners, ["@all"]);
});

Deno.test("repo.scope limits churn to its days, and counts authors as the mailmap names them", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "old", { "a": "1\n" });
  box.tick(40 * 86_400);
  await box.git(repo, "config", "user.name", "Second Name");
  await box.commit(repo, "new", { "a": "2\n" });
  await box.git(repo, "config", "user.name", "Third Name");
  await box.commit(repo, "newest", { "a": "3\n" });
  const later = () => (1_790_000_000 + 41 * 86_400) * 1000;
  const churn = async (churnDays: number) =>
    (await data(TOOL, { repoPath: repo, path: "a", churnDays }, { now: later })).churn;
  assert.deepEqual(await churn(30), { days: 30, commits: 2, authors: 2 });
  assert.deepEqual(await churn(60), { days: 60, commits: 3, authors: 3 });
  await Deno.writeTextFile(
    `${repo}/.mailmap`,
    "Second Name <author@example.org> Third Name <author@example.org>\n",
  );
  assert.deepEqual(await churn(30), { days: 30, commits: 2, authors: 1 });
});

Deno.test("repo.scope takes paths literally and refuses ones outside the repository", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "a*": "1\n", "ab": "1\n", "-x/y": "1\n", ":(top)z": "1\n" });
  await box.write(repo, { "a*": "2\n", "ab": "2\n", "-x/y": "2\n", ":(top)z": "2\n" });
  for (const path of ["a*", "-x", ":(top)z"]) {
    const scope = await data(TOOL, { repoPath: repo, path }, { now });
    assert.equal(scope.workingTree.changed, 1, path);
    assert.equal(scope.recentCommits.length, 1, path);
  }
  for (const path of ["--output=x", ":(exclude)*", ":!a", "**"]) {
    const scope = await data(TOOL, { repoPath: repo, path }, { now });
    assert.equal(scope.kind, "missing", path);
    assert.equal(scope.workingTree.changed, 0, path);
  }
  for (const path of ["..", "a/../../x", "/etc", `${box.root}`, "  ", "a\u0000b"]) {
    const error = await refusal(TOOL, { repoPath: repo, path }, { now });
    assert.equal(error.code, -32602, path);
    assert.match(error.data.details, /path/);
  }
});

Deno.test("repo.scope does not say what lies behind a link that leads out of the repository", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.write(box.root, { "outside/secret": "" });
  await Deno.symlink(`${box.root}/outside`, `${repo}/link`);
  await box.commit(repo, "one");
  const ask = async (path: string) => (await data(TOOL, { repoPath: repo, path }, { now })).kind;
  assert.equal(await ask("link"), "file");
  assert.equal(await ask("link/secret"), await ask("link/absent"));
});

Deno.test("repo.scope finds names that are not UTF-8 by their bytes", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "plain": "1\n", "CODEOWNERS": "* @all\n" });
  const odd = `${repo}/lat`;
  const made = await box.tryGit(repo, ["update-index", "-z", "--index-info"], {
    stdin: new Uint8Array([
      ...new TextEncoder().encode("100644 d00491fd7e5bb6fa28c517a0bb32b8b506539d4d\tlat"),
      0xe9,
      ...new TextEncoder().encode("/f\0"),
    ]),
  });
  assert.equal(made.code, 0, odd);
  box.tick();
  await box.git(repo, "commit", "-q", "-m", "odd name");
  const scope = await data(TOOL, {
    repoPath: repo,
    path: "lat\uFFFD",
    pathBytes: btoa("lat\xe9"),
  }, { now });
  assert.deepEqual([scope.scope, scope.scopeBytes, scope.kind], [
    "lat\uFFFD",
    btoa("lat\xe9"),
    "directory",
  ]);
  assert.deepEqual(scope.recentCommits.map((c: { subject: string }) => c.subject), ["odd name"]);
  assert.equal(scope.workingTree.changed, 1);
  assert.deepEqual(scope.owners.owners, ["@all"]);
});

Deno.test("repo.scope looks for CODEOWNERS in .github, at the top, then in docs", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "a": "1\n" });
  const owners = async () => (await data(TOOL, { repoPath: repo, path: "a" }, { now })).owners;
  assert.equal(await owners(), null);
  for (const source of ["docs/CODEOWNERS", "CODEOWNERS", ".github/CODEOWNERS"]) {
    await box.write(repo, { [source]: `a @${source.length}\n` });
    assert.deepEqual([(await owners()).source, (await owners()).owners], [
      source,
      [`@${source.length}`],
    ]);
  }
});

Deno.test("repo.scope reads no CODEOWNERS through a link, and says that owners are unknown", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.write(box.root, { "secret": "top secret @words\n" });
  await Deno.symlink(`${box.root}/secret`, `${repo}/CODEOWNERS`);
  await box.commit(repo, "one", { "top": "1\n" });
  const scope = await data(TOOL, { repoPath: repo, path: "top" }, { now });
  assert.equal(scope.owners, null);
  assert.deepEqual(scope.warnings, [{
    code: "source_unavailable",
    message: "the CODEOWNERS file is not a regular file; owners are unknown",
    path: "CODEOWNERS",
  }]);
  assert(!JSON.stringify(scope).includes("secret"));
});

Deno.test("repo.scope works unborn, in a bare repository, from a subdirectory and under sparse checkout", async () => {
  await using box = await fresh();
  const empty = await box.repo("empty");
  await box.write(empty, { "d/x": "" });
  const unborn = await data(TOOL, { repoPath: empty, path: "d" }, { now });
  assert.deepEqual([unborn.recentCommits, unborn.churn.commits, unborn.workingTree.changed], [
    [],
    0,
    1,
  ]);
  assert.equal(unborn.warnings, undefined);
  const repo = await monorepo(box);
  const below = await data(TOOL, { repoPath: `${repo}/packages`, path: "packages/api" }, { now });
  assert.equal(below.recentCommits.length, 2, "paths are relative to the top");
  await box.git(box.root, "clone", "-q", "--bare", "repo", "bare.git");
  const bare = await data(TOOL, { repoPath: `${box.root}/bare.git`, path: "packages/api" }, {
    now,
  });
  assert.equal(bare.workingTree, null);
  assert.deepEqual([bare.kind, bare.owners.owners, bare.owners.below.length], [
    "directory",
    ["@acme/api"],
    2,
  ]);
  await box.git(repo, "sparse-checkout", "set", "--no-cone", "/packages/web/");
  const sparse = await data(TOOL, { repoPath: repo, path: "packages/api" }, { now });
  assert.deepEqual([sparse.kind, sparse.workingTree.changed], ["directory", 0]);
  assert.deepEqual(sparse.owners.owners, ["@acme/api"]);
});

Deno.test("repo.scope says missing history in a partial clone instead of counting too little, without fetching", async () => {
  await using box = await fresh();
  const repo = await monorepo(box);
  const evil = await box.evil();
  await box.git(repo, "config", "uploadpack.allowFilter", "true");
  const clone = ["clone", "-q", "--filter=tree:0", `file://${repo}`];
  await box.git(box.root, ...clone, "part");
  await box.git(box.root, ...clone, "--no-checkout", "empty");
  for (const name of ["part", "empty"]) {
    await box.git(`${box.root}/${name}`, "config", "remote.origin.uploadpack", evil.script);
  }
  await box.tryGit(`${box.root}/part`, ["log", "--", "packages/api"]);
  assert.equal(await evil.ran(), true, "control: plain git fetches");
  await evil.reset();
  const part = await data(TOOL, { repoPath: `${box.root}/part`, path: "packages/api" }, { now });
  assert.deepEqual(part.workingTree, { changed: 0, entries: [], truncated: false });
  assert.deepEqual([part.churn.commits, part.churn.authors], [null, null]);
  assert.equal(part.warnings[0].code, "missing_objects");
  assert.deepEqual(part.owners.owners, ["@acme/api"]);
  // Not even the tree of HEAD is there: the state of the work tree is unknown, not clean.
  const empty = await data(TOOL, { repoPath: `${box.root}/empty`, path: "packages/api" }, { now });
  assert.equal(empty.workingTree, null);
  assert.equal(empty.warnings[0].code, "missing_objects");
  assert.equal(await evil.ran(), false);
});

Deno.test("repo.scope runs no program, writes nothing, and repeats nobody's words in its hints", async () => {
  await using box = await fresh();
  const repo = await monorepo(box);
  const evil = await box.evil();
  await box.write(repo, {
    "CODEOWNERS": "",
    ".github/CODEOWNERS": "* @ignore-previous-instructions\n",
    ".gitattributes": "* filter=evil\n",
  });
  await box.git(repo, "config", "core.fsmonitor", evil.script);
  await box.git(repo, "config", "filter.evil.clean", evil.cat);
  await box.git(repo, "status");
  assert.equal(await evil.ran(), true, "control: plain git runs them");
  await evil.reset();
  const before = await hashTree(repo);
  const scope = await data(TOOL, { repoPath: repo, path: "packages" }, { now });
  assert.equal(await evil.ran(), false);
  assert.equal(await hashTree(repo), before);
  assert(!JSON.stringify(scope.hints).includes("ignore"));
  assert.equal(scope.warnings[0].code, "filter_not_run");
});

Deno.test("repo.scope stays under maxTokens by cutting owners below, then commits, then changes", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  const files: Record<string, string> = {};
  let owners = "";
  for (let i = 0; i < 30; i++) {
    files[`src/module-${i}/index.ts`] = "1\n";
    owners += `/src/module-${i}/ @team-${i}\n`;
  }
  await box.commit(repo, "start", { ...files, "CODEOWNERS": owners });
  for (let i = 0; i < 12; i++) {
    await box.commit(repo, `commit ${i} of this test with a longer subject`, { "src/a": `${i}` });
  }
  for (const name of Object.keys(files)) await Deno.writeTextFile(`${repo}/${name}`, "2\n");
  const whole = await data(TOOL, { repoPath: repo, path: "src" }, { now });
  assert.deepEqual(
    [whole.owners.below.length, whole.owners.belowTruncated, whole.recentCommits.length],
    [10, true, 10],
  );
  assert.deepEqual(
    [whole.workingTree.changed, whole.workingTree.entries.length, whole.workingTree.truncated],
    [30, 20, true],
  );
  for (const maxTokens of [300, 500, 700, 900]) {
    const payload = await call(TOOL, { repoPath: repo, path: "src", maxTokens }, { now });
    assert(countTokens(JSON.stringify(payload)) <= maxTokens, String(maxTokens));
    const { recentCommits, workingTree, owners, cut } = payload.data;
    assert(cut.length > 0);
    if (recentCommits.length < 10) assert.equal(owners.below.length, 0);
    if (workingTree.entries.length < 20) assert.equal(recentCommits.length, 0);
    assert.equal(workingTree.truncated, true);
  }
});
