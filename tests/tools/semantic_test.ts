import assert from "node:assert/strict";
import { call, data, refusal } from "../fixtures/call.ts";
import { hashTree, Sandbox, useSandbox } from "../fixtures/sandbox.ts";

async function repository() {
  const box = await Sandbox.create();
  useSandbox(box);
  const repo = await box.repo();
  await box.commit(repo, "one", { "src/a.ts": "1\n" });
  return { box, repo };
}

Deno.test("diff.semantic says that it is not supported, and with which arguments diff.text shows the change", async () => {
  const { box, repo } = await repository();
  await using _ = box;
  const whole = await call("diff.semantic", { repoPath: repo });
  assert.equal(whole.source, "local-git");
  assert.deepEqual(whole.data, {
    supported: false,
    fallback: "diff.text",
    reason: whole.data.reason,
    textDiffArguments: { repoPath: repo },
  });
  assert.match(whole.data.reason, /no syntax-tree engine/);
  const part = await data("diff.semantic", {
    repoPath: repo,
    base: "HEAD",
    head: "",
    path: `${repo}/src/a.ts`,
  });
  assert.deepEqual(part.textDiffArguments, { repoPath: repo, base: "HEAD", path: "src/a.ts" });
});

Deno.test("with a gateway configured the reason names it, and it is still not supported", async () => {
  const { box, repo } = await repository();
  await using _ = box;
  const answer = await data("diff.semantic", { repoPath: repo }, {
    env: { FLUXGIT_GATEWAY_ADDR: "127.0.0.1:1" },
  });
  assert.equal(answer.supported, false);
  assert.match(answer.reason, /127\.0\.0\.1:1/);
});

Deno.test("diff.semanticFallbacks gives one record for the whole call", async () => {
  const { box, repo } = await repository();
  await using _ = box;
  const answer = await data("diff.semanticFallbacks", { repoPath: repo, path: "src" });
  assert.deepEqual(answer, {
    fallbacks: [{
      from: "diff.semantic",
      to: "diff.text",
      supported: false,
      reason: answer.fallbacks[0].reason,
      repoPath: repo,
      path: "src",
    }],
  });
  assert.equal((await data("diff.semanticFallbacks", { repoPath: repo })).fallbacks[0].path, null);
});

Deno.test("revisions that look like options and paths outside are refused, and a plain folder is no repository", async () => {
  const { box, repo } = await repository();
  await using _ = box;
  const before = await hashTree(repo);
  for (const name of ["diff.semantic", "diff.semanticFallbacks"]) {
    for (
      const wrong of [
        { base: "--output=/tmp/pwned" },
        { head: "-O/tmp/x" },
        { path: "../x" },
        { path: "/etc/passwd" },
        { pathBytes: "not base64!" },
      ]
    ) {
      const error = await refusal(name, { repoPath: repo, ...wrong });
      assert.deepEqual([error.form, error.code], ["result", -32602], JSON.stringify(wrong));
      assert.match(error.data.details, /arguments\.(base|head|path)/);
    }
    assert.equal((await refusal(name, { repoPath: box.root })).code, 10010);
  }
  assert.equal(await hashTree(repo), before);
});

Deno.test("a path that is not UTF-8 is handed on with its bytes", async () => {
  const { box, repo } = await repository();
  await using _ = box;
  const bytes = btoa("latin\xe9.txt");
  const answer = await data("diff.semantic", { repoPath: repo, pathBytes: bytes });
  assert.deepEqual(answer.textDiffArguments, {
    repoPath: repo,
    path: "latin\ufffd.txt",
    pathBytes: bytes,
  });
});
