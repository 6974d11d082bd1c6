import assert from "node:assert/strict";
import { replaceFile } from "../../toolhub/state/replace.ts";
import { changeFile } from "../../toolhub/workspace/mutate.ts";
import { Lab } from "./lab.ts";

const WRITE = "filesystem.write_file";
const DO_WRITE = "filesystem.write_file_approved";

async function sha256(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text) as BufferSource;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** Names of everything in the workspace. */
function names(lab: Lab): string[] {
  return [...Deno.readDirSync(lab.workspace)].map(({ name }) => name).sort();
}

Deno.test("a write is asked for, approved and done once; before that nothing is there", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const asked = await tools.call(WRITE, { path: "new.txt", content: "täxt\r\n" });
  assert.match(asked.request_id, /^req_[0-9a-f]{32}$/);
  assert.match(asked.trace_id, /^trc_[0-9a-f]{32}$/);
  assert(asked.message.includes(asked.request_id) && !asked.message.includes("täxt"));
  assert.deepEqual({ ...asked, message: "", request_id: "", trace_id: "" }, {
    path: "new.txt",
    executed: false,
    created: false,
    bytes_written: 0,
    previous_hash: null,
    new_hash: null,
    trace_id: "",
    request_id: "",
    approval_status: "PENDING",
    message: "",
  });
  const early = await tools.call(DO_WRITE, { request_id: asked.request_id });
  assert.equal(early.executed, false);
  assert.equal(early.approval_status, "PENDING");
  assert.match(early.message, /Request is PENDING/);
  assert.deepEqual(names(lab), []);
  await tools.hub.approvals.approve(asked.request_id);
  const done = await tools.call(DO_WRITE, { request_id: asked.request_id });
  assert.deepEqual(done, {
    path: "new.txt",
    executed: true,
    created: true,
    bytes_written: 7,
    previous_hash: null,
    new_hash: await sha256("täxt\r\n"),
    trace_id: asked.trace_id,
    request_id: asked.request_id,
    approval_status: "CONSUMED",
    message: "",
  });
  assert.equal(Deno.readTextFileSync(`${lab.workspace}/new.txt`), "täxt\r\n");
  assert.equal(Deno.statSync(`${lab.workspace}/new.txt`).mode! & 0o777, 0o600);
  Deno.writeTextFileSync(`${lab.workspace}/new.txt`, "later");
  const again = await tools.call(DO_WRITE, { request_id: asked.request_id });
  assert.equal(again.executed, false);
  assert.equal(again.approval_status, "CONSUMED");
  assert.match(again.message, /never carried out again.*execute_approved, success/);
  assert.equal(Deno.readTextFileSync(`${lab.workspace}/new.txt`), "later");
  assert.deepEqual(names(lab), ["new.txt"]);
});

Deno.test("overwriting keeps the mode bits and tells both hashes", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const path = lab.write("run.sh", "old");
  Deno.chmodSync(path, 0o4755);
  const id = await tools.approved(WRITE, { path: "run.sh", content: "new" });
  const done = await tools.call(DO_WRITE, { request_id: id });
  assert.equal(done.created, false);
  assert.equal(done.previous_hash, await sha256("old"));
  assert.equal(done.new_hash, await sha256("new"));
  assert.equal(Deno.statSync(path).mode! & 0o7777, 0o755);
});

Deno.test("bad submissions make no request", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  lab.write("file", "x");
  lab.write("dir/x", "");
  Deno.symlinkSync("dir", `${lab.workspace}/link`);
  Deno.symlinkSync("file", `${lab.workspace}/last`);
  Deno.symlinkSync(lab.outside, `${lab.workspace}/out`);
  const cases: [args: Record<string, unknown>, key: RegExp][] = [
    [{ path: "a", content: "x".repeat(262_145) }, /too large/],
    [{ path: "a", content: "ä".repeat(131_073) }, /too large/],
    [{ path: "", content: "" }, /is a directory/],
    [{ path: ".", content: "" }, /is a directory/],
    [{ path: "dir", content: "" }, /is a directory/],
    [{ path: "none/a", content: "" }, /Parent directory/],
    [{ path: "file/a", content: "", create_parents: true }, /goes through a file/],
    [{ path: "link/a", content: "" }, /Symlinks are not allowed/],
    [{ path: "last", content: "" }, /Symlinks are not allowed/],
    [{ path: "out/a", content: "" }, /Symlinks are not allowed/],
    [{ path: "file", content: "", expected_hash: "0".repeat(64) }, /Conflict/],
    [{ path: "none", content: "", expected_hash: "0".repeat(64) }, /Conflict/],
    [{ path: "file", content: "", expected_hash: (await sha256("x")).toUpperCase() }, /Conflict/],
  ];
  for (const [args, key] of cases) assert.match(await tools.error(WRITE, args), key);
  assert.throws(() => lab.stored(), Deno.errors.NotFound);
  const id = await tools.approved(WRITE, { path: "most", content: "x".repeat(262_144) });
  assert.equal((await tools.call(DO_WRITE, { request_id: id })).bytes_written, 262_144);
});

Deno.test("parents are made only at execution, and only when asked for", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const id = await tools.approved(WRITE, { path: "a/b/c.txt", content: "1", create_parents: true });
  assert.deepEqual(names(lab), []);
  await tools.call(DO_WRITE, { request_id: id });
  assert.equal(Deno.readTextFileSync(`${lab.workspace}/a/b/c.txt`), "1");
});

Deno.test("a write that fails leaves none of the folders that were made for it", async () => {
  await using lab = await Lab.create();
  const args = { path: "a/b/c.txt", content: "1", create_parents: true };
  let seen = false;
  const fail = () => {
    seen = Deno.statSync(`${lab.workspace}/a/b`).isDirectory;
    throw new Deno.errors.PermissionDenied("no");
  };
  await using failing = await lab.hub({ hooks: { beforeRename: fail } });
  const id = await failing.approved(WRITE, args);
  assert.match(await failing.error(DO_WRITE, { request_id: id }), /Nothing was changed/);
  assert(seen, "the folders were there before the failure");
  assert.deepEqual(names(lab), []);

  await using tools = await lab.hub();
  lab.write("a/b/c.txt", "0");
  const hash = await sha256("0");
  const gone = await tools.approved(WRITE, { ...args, expected_hash: hash });
  Deno.removeSync(`${lab.workspace}/a`, { recursive: true });
  assert.match(await tools.error(DO_WRITE, { request_id: gone }), /Conflict/);
  assert.deepEqual(names(lab), []);
});

Deno.test("a folder of ours that somebody else uses by then stays", async () => {
  await using lab = await Lab.create();
  const fail = () => {
    Deno.writeTextFileSync(`${lab.workspace}/a/theirs.txt`, "x");
    throw new Deno.errors.PermissionDenied("no");
  };
  await using tools = await lab.hub({ hooks: { beforeRename: fail } });
  const id = await tools.approved(WRITE, { path: "a/b/c.txt", content: "1", create_parents: true });
  await tools.error(DO_WRITE, { request_id: id });
  assert.deepEqual([...Deno.readDirSync(`${lab.workspace}/a`)].map(({ name }) => name), [
    "theirs.txt",
  ]);
});

Deno.test("a file that was replaced counts as replaced, also in a folder that cannot be synced", async () => {
  await using lab = await Lab.create();
  const target = lab.write("a.txt", "old");
  const job = {
    folder: `${lab.workspace}/not-there`,
    target,
    temporary: `${lab.workspace}/.tmp`,
    bytes: new TextEncoder().encode("new"),
    mode: 0o600,
    publish: "over",
  } as const;
  if (Deno.build.os !== "windows") assert.throws(() => replaceFile(job));
  replaceFile({ ...job, durable: "tried" });
  assert.equal(Deno.readTextFileSync(target), "new");
  assert.deepEqual(names(lab), ["a.txt"]);
});

Deno.test("what changed between request and execution is a conflict, and the request is used up", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  lab.write("a.txt", "one");
  const id = await tools.approved(WRITE, {
    path: "a.txt",
    content: "mine",
    expected_hash: await sha256("one"),
  });
  lab.write("a.txt", "two");
  assert.match(await tools.error(DO_WRITE, { request_id: id }), /Conflict.*used up/);
  assert.equal(Deno.readTextFileSync(`${lab.workspace}/a.txt`), "two");
  assert.equal((await tools.call(DO_WRITE, { request_id: id })).approval_status, "CONSUMED");
  const event = lab.audit().find((one) => one.action === "failure");
  assert.equal(event.error_type, "MutationConflictError");
  assert.deepEqual(event.arguments, { path: "a.txt", expected_hash: await sha256("one") });
});

Deno.test("a file that changes just before it is replaced is not replaced", async () => {
  await using lab = await Lab.create();
  const target = lab.write("a.txt", "one");
  const other = () => Deno.writeTextFileSync(target, "somebody else's");
  await using tools = await lab.hub({ hooks: { beforeRename: other } });
  const id = await tools.approved(WRITE, { path: "a.txt", content: "mine" });
  assert.match(await tools.error(DO_WRITE, { request_id: id }), /Conflict/);
  assert.equal(Deno.readTextFileSync(target), "somebody else's");
  Deno.removeSync(target);
  const fresh = await tools.approved(WRITE, { path: "a.txt", content: "mine" });
  assert.match(await tools.error(DO_WRITE, { request_id: fresh }), /Conflict/);
  assert.equal(Deno.readTextFileSync(target), "somebody else's");
  assert.deepEqual(names(lab), ["a.txt"]);
});

Deno.test("two changes within one tick of the file system's clock are told apart", async () => {
  await using lab = await Lab.create();
  const target = lab.write("a.txt", "one");
  const change = {
    path: "a.txt",
    expectedHash: await sha256("one"),
    createParents: false,
    existing: false,
    next: () => new TextEncoder().encode("mine"),
  };
  // Of the same size, so that only the times can tell. Without the pause four in ten are lost.
  const hooks = { beforeRename: () => Deno.writeTextFileSync(target, "two") };
  for (let i = 0; i < 20; i++) {
    Deno.writeTextFileSync(target, "one");
    await assert.rejects(changeFile(lab.workspace, change, hooks), /Conflict/);
    assert.equal(Deno.readTextFileSync(target), "two");
  }
  Deno.writeTextFileSync(target, "one");
  await changeFile(lab.workspace, change);
  assert.equal(Deno.readTextFileSync(target), "mine");
});

Deno.test("a link slipped in before the rename gets nothing written outside", async () => {
  await using lab = await Lab.create();
  lab.write("dir/secret.txt", "inside");
  let swaps = 0;
  const swap = () => {
    if (swaps++ > 0) return;
    Deno.renameSync(`${lab.workspace}/dir`, `${lab.workspace}/aside`);
    Deno.symlinkSync(lab.outside, `${lab.workspace}/dir`);
  };
  await using tools = await lab.hub({ hooks: { beforeRename: swap } });
  const id = await tools.approved(WRITE, { path: "dir/secret.txt", content: "mine" });
  assert.match(
    await tools.error(DO_WRITE, { request_id: id }),
    /Symlinks are not allowed|Conflict/,
  );
  assert.equal(Deno.readTextFileSync(`${lab.outside}/secret.txt`), "SECRET\n");
  assert.deepEqual([...Deno.readDirSync(lab.outside)].map(({ name }) => name), ["secret.txt"]);
});

Deno.test("a new file appears nowhere else even when its temporary file was brought there", async () => {
  await using lab = await Lab.create();
  Deno.mkdirSync(`${lab.workspace}/dir`);
  let swaps = 0;
  const swap = () => {
    if (swaps++ > 0) return;
    const aside = `${lab.workspace}/aside`;
    Deno.renameSync(`${lab.workspace}/dir`, aside);
    const [temporary] = [...Deno.readDirSync(aside)];
    Deno.linkSync(`${aside}/${temporary!.name}`, `${lab.outside}/${temporary!.name}`);
    Deno.symlinkSync(lab.outside, `${lab.workspace}/dir`);
  };
  await using tools = await lab.hub({ hooks: { beforeRename: swap } });
  const id = await tools.approved(WRITE, { path: "dir/new.txt", content: "mine" });
  assert.match(await tools.error(DO_WRITE, { request_id: id }), /Symlinks are not allowed/);
  assert.throws(() => Deno.statSync(`${lab.outside}/new.txt`), Deno.errors.NotFound);
});

Deno.test("a new file never replaces one that appears in the last moment", async () => {
  await using lab = await Lab.create();
  const target = `${lab.workspace}/new.txt`;
  assert.throws(() =>
    replaceFile({
      folder: lab.workspace,
      target,
      temporary: `${lab.workspace}/.tmp`,
      bytes: new TextEncoder().encode("mine"),
      mode: 0o600,
      publish: "new",
      check: () => Deno.writeTextFileSync(target, "somebody else's"),
    }), Deno.errors.AlreadyExists);
  assert.equal(Deno.readTextFileSync(target), "somebody else's");
  assert.deepEqual(names(lab), ["new.txt"]);
});

Deno.test("a hard link to the outside loses its name here and keeps its content there", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  Deno.linkSync(`${lab.outside}/secret.txt`, `${lab.workspace}/hard`);
  const id = await tools.approved(WRITE, { path: "hard", content: "mine" });
  await tools.call(DO_WRITE, { request_id: id });
  assert.equal(Deno.readTextFileSync(`${lab.workspace}/hard`), "mine");
  assert.equal(Deno.readTextFileSync(`${lab.outside}/secret.txt`), "SECRET\n");
});

Deno.test("six bad workspace snapshots are used up and refused", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const path = `${lab.state}/approvals.json`;
  for (const root of [undefined, null, "", "relative", `${lab.root}/none`, lab.outside]) {
    const id = await tools.approved(WRITE, { path: "a", content: "x" });
    const store = JSON.parse(Deno.readTextFileSync(path));
    store.requests[id].payload.workspace_root = root;
    Deno.writeTextFileSync(path, JSON.stringify(store));
    assert.match(await tools.error(DO_WRITE, { request_id: id }), /workspace/);
    assert.equal(lab.stored()[id].status, "CONSUMED");
  }
  assert.deepEqual(names(lab), []);
});

Deno.test("the other tool does not use up an approval of another kind", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const id = await tools.approved(WRITE, { path: "a", content: "x" });
  const text = await tools.error("filesystem.apply_patch_approved", { request_id: id });
  assert.match(text, /kind file_write/);
  const shell = await tools.call("shell.run_approved", { request_id: id });
  assert.equal(shell.executed, false);
  assert.equal(shell.approval_status, "APPROVED");
  assert.equal((await tools.call(DO_WRITE, { request_id: id })).executed, true);
});

Deno.test("a write that fails leaves the file, no temporary file, and a failure in the log", async () => {
  await using lab = await Lab.create();
  const target = lab.write("dir/a.txt", "old");
  const fail = () => {
    assert.equal([...Deno.readDirSync(`${lab.workspace}/dir`)].length, 2, "it is there before");
    throw new Deno.errors.PermissionDenied(`no write access to ${target}`);
  };
  await using tools = await lab.hub({ hooks: { beforeRename: fail } });
  const id = await tools.approved(WRITE, { path: "dir/a.txt", content: "new" });
  const text = await tools.error(DO_WRITE, { request_id: id });
  assert.match(text, /Permission denied/);
  assert(!text.includes(lab.root));
  assert.equal(Deno.readTextFileSync(target), "old");
  assert.deepEqual([...Deno.readDirSync(`${lab.workspace}/dir`)].map(({ name }) => name), [
    "a.txt",
  ]);
  const event = lab.audit().at(-1);
  assert.deepEqual([event.action, event.error_type, event.executed], ["failure", "OSError", false]);
});

Deno.test("a file that decides what runs later is said to be one", async () => {
  await using lab = await Lab.create();
  await using tools = await lab.hub();
  const reason = async (path: string) => {
    const { request_id: id } = await tools.call(WRITE, { path, content: "", create_parents: true });
    return lab.stored()[id].risk_reason;
  };
  for (const path of [".git/hooks/pre-commit", ".GIT/config", "a/.mcp.json", "CLAUDE.md"]) {
    assert.match(await reason(path), /CAREFUL/, path);
  }
  assert.doesNotMatch(await reason("src/git.ts"), /CAREFUL/);
});
