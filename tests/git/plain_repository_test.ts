import assert from "node:assert/strict";
import {
  acceptedPlainRepository,
  isPlainConfig,
  mayHoldSubmodules,
  plainRepository,
} from "../../git/plain_repository.ts";
import { Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function fresh() {
  const box = await Sandbox.create();
  useSandbox(box);
  return box;
}

Deno.test("an ordinary repository and an ordinary clone are opened without asking git", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n" });
  await box.git(box.root, "clone", "-q", repo, "clone");
  await box.git(repo, "config", "user.name", "Somebody");
  await box.git(repo, "config", "alias.st", "!evil");
  for (const path of [repo, `${box.root}/clone`]) {
    const plain = plainRepository(path);
    assert.equal(plain?.repo.path, path);
    assert.equal(plain?.env["GIT_CEILING_DIRECTORIES"], box.root);
  }
});

Deno.test("whatever is unusual is left to the thorough way", async () => {
  await using box = await fresh();
  const made = async (name: string, change: (repo: string) => Promise<unknown>) => {
    const repo = await box.repo(name);
    await box.commit(repo, "one", { "d/a": "1\n" });
    assert.notEqual(plainRepository(repo), null, `control: ${name} is plain before`);
    await change(repo);
    assert.equal(plainRepository(repo), null, name);
  };
  const set = (key: string, value: string) => (repo: string) => box.git(repo, "config", key, value);
  await made("filter", set("filter.x.clean", "evil"));
  await made(
    "FILTER",
    (repo) =>
      Deno.writeTextFile(`${repo}/.git/config`, '[FiLtEr "x"]clean=evil\n', { append: true }),
  );
  await made("include", set("include.path", "more"));
  await made("includeif", set("includeIf.gitdir:/.path", "more"));
  await made("worktree", set("core.worktree", "/etc"));
  await made("bare", set("core.bare", "true"));
  await made(
    "bare-without-value",
    (repo) => Deno.writeTextFile(`${repo}/.git/config`, "[core]\n\tbare\n", { append: true }),
  );
  await made("extensions", set("extensions.worktreeConfig", "true"));
  await made(
    "large",
    (repo) => Deno.writeTextFile(`${repo}/.git/config`, "# x\n".repeat(20_000), { append: true }),
  );
  await made(
    "alternates",
    (repo) => Deno.writeTextFile(`${repo}/.git/objects/info/alternates`, "/elsewhere\n"),
  );
  await made("no-config", (repo) => Deno.remove(`${repo}/.git/config`));
  await made("pipe", async (repo) => {
    await Deno.remove(`${repo}/.git/config`);
    await new Deno.Command("mkfifo", { args: [`${repo}/.git/config`] }).output();
  });
  await made("linked-config", async (repo) => {
    await Deno.rename(`${repo}/.git/config`, `${repo}/elsewhere`);
    await Deno.symlink(`${repo}/elsewhere`, `${repo}/.git/config`);
  });
  await made("linked-folder", async (repo) => {
    await Deno.rename(`${repo}/.git`, `${repo}-git`);
    await Deno.symlink(`${repo}-git`, `${repo}/.git`);
  });
  await made("split-index", (repo) => box.git(repo, "update-index", "--split-index"));
  await made(
    "gitlink",
    (repo) => box.git(repo, "update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},sub`),
  );
  const repo = await box.repo("outer");
  await box.commit(repo, "one", { "sub/a": "1\n" });
  assert.equal(plainRepository(`${repo}/sub`), null);
  assert.equal(plainRepository(box.root), null);
  assert.equal(plainRepository(`${box.root}/none`), null);
  assert.equal(plainRepository("/"), null);
  const colon = await box.repo("a:b");
  assert.equal(plainRepository(colon), null);
  await box.git(repo, "worktree", "add", "-q", `${box.root}/linked`);
  assert.equal(plainRepository(`${box.root}/linked`), null);
  assert.equal(plainRepository(await box.repo("bare.git", "--bare")), null);
  assert.equal(plainRepository(await box.repo("sha256", "--object-format=sha256")), null);
});

Deno.test("a sparse index is not taken for one without submodules", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { "in/a": "1\n", "out/b": "1\n" });
  assert.equal(mayHoldSubmodules(`${repo}/.git/index`), false);
  await box.git(repo, "sparse-checkout", "set", "--cone", "--sparse-index", "in");
  assert.equal(mayHoldSubmodules(`${repo}/.git/index`), true);
});

Deno.test("no index that git writes hides a submodule, in any version of the format and any order", async () => {
  await using box = await fresh();
  for (const version of ["2", "3", "4"]) {
    const repo = await box.repo(`v${version}`);
    await box.git(repo, "config", "index.version", version);
    const files = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`f${"x".repeat(i)}`, `${i}\n`]),
    );
    await box.commit(repo, "one", files);
    assert.equal(mayHoldSubmodules(`${repo}/.git/index`), false, `control: version ${version}`);
    for (let i = 0; i < 12; i++) {
      const other = `${repo}/.git/index.${i}`;
      await Deno.copyFile(`${repo}/.git/index`, other);
      const out = await box.tryGit(repo, [
        "update-index",
        "--add",
        "--cacheinfo",
        `160000,${"a".repeat(40)},${"fxg0z"[i % 5]}${"s".repeat(i)}`,
      ], { env: { GIT_INDEX_FILE: other } });
      assert.equal(out.code, 0, out.stderr);
      assert.equal(mayHoldSubmodules(other), true, `version ${version}, ${i}`);
    }
  }
});

Deno.test("an absent index holds no submodule; one that is no regular file cannot be judged", async () => {
  await using box = await fresh();
  assert.equal(mayHoldSubmodules(`${box.root}/none`), false);
  assert.throws(() => mayHoldSubmodules(box.root));
});

Deno.test("words that matter are found in a configuration wherever they stand", () => {
  assert.equal(isPlainConfig('[core]\n\tbare = false\n[remote "origin"]\n\turl = /x\n'), true);
  assert.equal(isPlainConfig("[core]bare=false"), true);
  for (
    const text of [
      "[filter]",
      '[core][filter "x"]clean=y',
      "[a] b = \\\n[include]\npath = x",
      "[Extensions]\nx = y",
      "[core]\nWorkTree = /",
      "[core]\nbare",
      "[core]\nbare = yes",
      "[core]\nbare = falsey",
      "[core]\nbare =",
    ]
  ) {
    assert.equal(isPlainConfig(text), false, text);
  }
});

Deno.test("git is asked once whether it accepts the repository, and again when its folder is another", async () => {
  await using box = await fresh();
  const repo = await box.repo();
  await box.commit(repo, "one", { a: "1\n" });
  assert.notEqual(await acceptedPlainRepository(repo), null);
  // Known now: not even a damaged HEAD makes it ask again.
  await Deno.rename(`${repo}/.git/HEAD`, `${repo}/.git/HEAD.away`);
  assert.notEqual(await acceptedPlainRepository(repo), null);
  const other = await box.repo("other");
  await Deno.remove(`${other}/.git/HEAD`);
  assert.equal(await acceptedPlainRepository(other), null);
  await Deno.rename(`${repo}/.git`, `${repo}/away`);
  await new Deno.Command("cp", { args: ["-r", `${repo}/away`, `${repo}/.git`] }).output();
  assert.equal(await acceptedPlainRepository(repo), null);
});
