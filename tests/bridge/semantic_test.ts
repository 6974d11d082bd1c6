import assert from "node:assert/strict";
import { registerRepository } from "../../restore/mod.ts";
import { askSemantic, type SemanticRequest } from "../../gateway/bridge.ts";
import { call, type CallOptions, type Payload } from "../fixtures/call.ts";
import { Sandbox, useSandbox } from "../fixtures/sandbox.ts";
import {
  answer,
  caller,
  closedAddress,
  drip,
  HANG_UP,
  MockGateway,
  quickIo,
  raw,
  type Reply,
} from "./mock_gateway.ts";

const LINE = {
  type: "modified",
  oldLine: 3,
  newLine: 3,
  content: "x = 2",
  oldContent: "x = 1",
  changedTokens: ["2"],
  oldChangedTokens: ["1"],
};
const PARSED = {
  path: "src/app.ts",
  fallbackToText: false,
  linesTruncated: false,
  hunks: [{ header: "function total", lines: [LINE] }],
};
const BINARY = { path: "logo.bin", fallbackToText: true, hunks: [], reason: "not parsable" };
const REQUEST: SemanticRequest = {
  repoId: "shop",
  repoPath: "/srv/shop",
  baseRef: "HEAD~1",
  headRef: "HEAD",
  paths: ["src/app.ts"],
};

const gatewayWith = (reply: Reply) => new MockGateway(() => reply);
const filesOf = async (files: unknown, more: Record<string, unknown> = {}) => {
  await using gateway = gatewayWith(answer(200, { repoId: "shop", files, ...more }));
  const told = await askSemantic(gateway.address, REQUEST, caller(null));
  assert(told.files !== undefined, told.reason);
  return told;
};

Deno.test("the request and the answer are the contract's", async () => {
  await using gateway = gatewayWith(
    answer(200, { repoId: "shop", files: [PARSED, BINARY], pathsTruncated: false }),
  );
  assert.deepEqual(await askSemantic(gateway.address, REQUEST, caller(null)), {
    files: [PARSED, BINARY],
    truncated: false,
    malformed: 0,
  });
  const [post] = gateway.received;
  assert.equal(`${post!.method} ${post!.path}`, "POST /v1/mcp/diff/semantic");
  assert.deepEqual(post!.json, REQUEST);
  assert.equal(post!.headers["x-fluxgit-sidecar-secret"], undefined);
});

Deno.test("every failure is a reason, and none holds anybody up", async () => {
  const ask = async (reply: Reply) => {
    await using gateway = gatewayWith(reply);
    return (await askSemantic(
      gateway.address,
      REQUEST,
      caller(null),
      quickIo({ semanticMs: 1_000 }),
    ))
      .reason ?? "";
  };
  assert.match(await ask(answer(404, {})), /no engine/);
  assert.match(await ask(answer(501, { error: "no_semantic_engine" })), /no engine/);
  assert.match(await ask(answer(500, {})), /HTTP status 500/);
  assert.match(await ask(answer(302, {}, ["Location: http://127.0.0.1:1/"])), /HTTP status 302/);
  assert.match(await ask(answer(200, "<html>")), /not JSON/);
  assert.match(await ask(answer(200, JSON.stringify("x".repeat(5_000_000)))), /more than 2796202/);
  for (const body of ["null", "[]", "{}", '{"files":{}}', '{"files":null}']) {
    assert.match(await ask(answer(200, body)), /no list of files/);
  }
  for (const reply of [null, drip(raw(200, "{", [])), HANG_UP]) {
    assert.match(await ask(reply), /gave no semantic diff/);
  }
  const dead = await askSemantic(closedAddress(), REQUEST, caller(null));
  assert.match(dead.reason ?? "", /nothing listens there/);
});

Deno.test("an engine has twice the time of other requests", async () => {
  const slow = new MockGateway(async () => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    return answer(200, { files: [] });
  });
  await using gateway = slow;
  const io = quickIo({ wholeMs: 100, semanticMs: 10_000 });
  assert.deepEqual((await askSemantic(gateway.address, REQUEST, caller(null), io)).files, []);
});

Deno.test("files, lines and texts are bounded, and malformed entries harm nobody", async () => {
  const many = await filesOf(Array(40).fill(BINARY));
  assert.equal(many.files.length, 25);
  assert.equal(many.truncated, true);
  assert.equal((await filesOf([BINARY], { pathsTruncated: true })).truncated, true);
  const long = await filesOf([{
    ...PARSED,
    hunks: Array(4).fill({
      header: "h".repeat(5_000),
      lines: Array(1_000).fill(LINE),
    }),
  }]);
  const [file] = long.files;
  assert(file && !file.fallbackToText);
  assert.equal(file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0), 1_500);
  assert.deepEqual([file.linesTruncated, file.hunks.length, file.hunks[0]!.header.length], [
    true,
    2,
    1_000,
  ]);
  const huge = {
    ...PARSED,
    hunks: [{ header: "", lines: [{ ...LINE, content: "y".repeat(700_000) }] }],
  };
  const two = await filesOf([huge, { ...huge, path: "second.ts" }]);
  assert.deepEqual(two.files.map((one) => one.fallbackToText), [false, true]);
  assert.ok(JSON.stringify(two).length < 1_100_000);
  const odd = await filesOf([
    null,
    "text",
    {},
    { path: 5 },
    { path: "" },
    { path: "a", fallbackToText: "yes" },
    { path: "b", fallbackToText: false, hunks: {} },
    { path: "c", fallbackToText: false, hunks: [{ header: 1, lines: [] }] },
    {
      path: "d",
      fallbackToText: false,
      hunks: [{ header: "", lines: [{ type: "evil", content: "" }] }],
    },
    { path: "e", fallbackToText: true, hunks: [{}], reason: 5 },
    { path: "f", fallbackToText: true, reason: "r".repeat(5_000) + "\u001b[31m" },
  ]);
  assert.equal(odd.malformed, 5);
  assert.deepEqual(odd.files.map((one) => [one.path, one.fallbackToText]), [
    ["a", true],
    ["b", true],
    ["c", true],
    ["d", true],
    ["e", true],
    ["f", true],
  ]);
  for (const one of odd.files) {
    assert(one.fallbackToText);
    assert.deepEqual(one.hunks, []);
    // deno-lint-ignore no-control-regex
    assert.match(one.reason, /^[^\u0000-\u001f]{1,510}$/);
  }
  const extra = await filesOf([{
    ...PARSED,
    evil: 1,
    hunks: [{
      header: "",
      more: 2,
      lines: [
        { ...LINE, oldLine: 0, newLine: 1.5, changedTokens: [5], html: "<script>" },
      ],
    }],
  }]);
  assert.deepEqual(extra.files[0], {
    ...PARSED,
    hunks: [{
      header: "",
      lines: [{ type: "modified", content: "x = 2", oldContent: "x = 1", oldChangedTokens: ["1"] }],
    }],
  });
});

/** A repository with two commits, an edit and an untracked file, and a gateway that knows it. */
async function story(reply: (paths: string[]) => Reply, registered = true) {
  const box = await Sandbox.create();
  useSandbox(box);
  const repo = await box.repo();
  await box.commit(repo, "one", {
    "src/app.ts": "x = 1\n",
    "logo.bin": "\u0000a",
    "a b.txt": "1\n",
  });
  await box.commit(repo, "two", { "src/app.ts": "x = 2\n", "logo.bin": "\u0000b" });
  await box.write(repo, { "a b.txt": "2\n", "untracked.txt": "x\n" });
  const runDir = `${box.root}/run`;
  const repoId = registered ? await registerRepository(runDir, repo) : null;
  const gateway = new MockGateway((received) => reply(received.json?.paths ?? []));
  const options: CallOptions = { runDir, env: { FLUXGIT_GATEWAY_ADDR: gateway.address } };
  return {
    repo,
    repoId,
    gateway,
    runDir,
    box,
    options,
    ask: (name: string, more: Record<string, unknown> = {}): Promise<Payload> =>
      call(name, { repoPath: repo, ...more }, options),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await box[Symbol.asyncDispose]();
    },
  };
}

Deno.test("diff.semantic gives the gateway's files, and the arguments for diff.text where it has none", async () => {
  await using at = await story(() => answer(200, { files: [PARSED, BINARY] }));
  const told = await at.ask("diff.semantic", { base: "HEAD~1", head: "HEAD" });
  assert.equal(told.source, "fluxgit-gateway");
  assert.deepEqual(told.data, {
    supported: true,
    engine: "fluxgit-diff-engine",
    base: "HEAD~1",
    head: "HEAD",
    path: null,
    files: [PARSED, {
      ...BINARY,
      textDiffArguments: { repoPath: at.repo, base: "HEAD~1", head: "HEAD", path: "logo.bin" },
    }],
    changedFiles: 2,
    filesTruncated: false,
  });
  assert.deepEqual(at.gateway.received[0]!.json, {
    repoId: at.repoId,
    repoPath: at.repo,
    baseRef: "HEAD~1",
    headRef: "HEAD",
    paths: ["logo.bin", "src/app.ts"],
  });
});

Deno.test("what is compared follows the revisions that are given, and only changed tracked files are sent", async () => {
  await using at = await story(() => answer(200, { files: [] }));
  const cases: [Record<string, unknown>, unknown[]][] = [
    [{}, ["", "", ["a b.txt"]]],
    [{ base: "HEAD~1" }, ["HEAD~1", "", ["a b.txt", "logo.bin", "src/app.ts"]]],
    [{ head: "HEAD~1" }, ["HEAD~1", "", ["a b.txt", "logo.bin", "src/app.ts"]]],
    [{ base: "HEAD", head: "HEAD~1" }, ["HEAD", "HEAD~1", ["logo.bin", "src/app.ts"]]],
    [{ base: "HEAD~1", head: "HEAD", path: "src" }, ["HEAD~1", "HEAD", ["src/app.ts"]]],
    [{ path: "untracked.txt" }, ["", "", []]],
  ];
  for (const [args, [baseRef, headRef, paths]] of cases) {
    const { data } = await at.ask("diff.semantic", args);
    const sent = at.gateway.received.at(-1)!.json;
    assert.deepEqual([sent.baseRef, sent.headRef, sent.paths], [baseRef, headRef, paths]);
    assert.equal(data.changedFiles, (paths as string[]).length);
    const untold = (paths as string[]).length;
    assert.deepEqual(
      data.warnings?.map((one: { count: number }) => one.count),
      untold ? [untold] : undefined,
    );
  }
});

Deno.test("diff.semanticFallbacks lists only the files that fell back", async () => {
  await using at = await story(() => answer(200, { files: [PARSED, BINARY] }));
  const told = await at.ask("diff.semanticFallbacks", { base: "HEAD~1", head: "HEAD" });
  assert.equal(told.source, "fluxgit-gateway");
  assert.deepEqual(told.data, {
    fallbacks: [{
      from: "diff.semantic",
      to: "diff.text",
      supported: false,
      reason: "not parsable",
      repoPath: at.repo,
      path: "logo.bin",
    }],
    engine: "fluxgit-diff-engine",
    analyzedFiles: 2,
    filesTruncated: false,
  });
});

Deno.test("at most 25 files are sent, and names that JSON cannot carry are told", async () => {
  await using at = await story((paths) =>
    answer(200, { files: paths.map((path) => ({ ...PARSED, path })) })
  );
  const files = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`n/${i}.ts`, `${i}\n`]));
  await at.box.commit(at.repo, "many", files);
  const { data } = await at.ask("diff.semantic", { base: "HEAD~1", head: "HEAD" });
  assert.deepEqual([data.files.length, data.changedFiles, data.filesTruncated], [25, 25, true]);
  if (Deno.build.os !== "linux") return;
  const name = new TextDecoder("latin1").decode(Uint8Array.of(0x6c, 0xe9));
  await at.box.git(at.repo, "reset", "-q", "--hard");
  const shell = new Deno.Command("sh", {
    args: ["-c", `cd "$1" && printf x > "$(printf 'l\\351.ts')"`, "sh", at.repo],
  });
  assert.equal((await shell.output()).code, 0);
  await at.box.commit(at.repo, `odd ${name.length}`);
  const odd = await at.ask("diff.semantic", { base: "HEAD~1", head: "HEAD" });
  assert.deepEqual(at.gateway.received.at(-1)!.json.paths, []);
  assert.deepEqual(odd.data.warnings, [{
    code: "path_not_utf8",
    message: "files whose names are not UTF-8 were left out; diff.text shows them",
    count: 1,
  }]);
});

Deno.test("whatever stands in the way is said, and text is offered instead", async () => {
  await using at = await story(() => answer(501, { error: "no_semantic_engine" }));
  const reason = async (more: Record<string, unknown> = {}) => {
    const { source, data } = await at.ask("diff.semantic", more);
    assert.deepEqual([source, data.supported, data.fallback], ["local-git", false, "diff.text"]);
    return data.reason as string;
  };
  assert.match(await reason(), /gave no semantic diff: it has no engine for one/);
  const asked = at.gateway.connections;
  assert.match(await reason({ base: "nowhere" }), /was not asked: base "nowhere" does not name/);
  assert.match(await reason({ repoId: "other", path: "." }), /no engine/);
  const other = await at.box.repo("other");
  const otherId = await registerRepository(at.runDir, other);
  assert.match(await reason({ repoId: otherId }), /repoId belongs to another repository/);
  assert.equal(at.gateway.connections, asked + 1);
  await using unknown = await story(() => answer(200, { files: [] }), false);
  const told = await unknown.ask("diff.semantic");
  assert.match(told.data.reason, /has not registered this repository/);
  assert.equal(unknown.gateway.connections, 0);
  assert.equal((await unknown.ask("diff.semantic", { repoId: "by-hand" })).data.supported, true);
  assert.equal(unknown.gateway.received[0]!.json.repoId, "by-hand");
});
