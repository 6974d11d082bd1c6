import assert from "node:assert/strict";
import { readRegistry } from "../../common/repository_registry.ts";
import {
  findRepoId,
  hasRestoreStore,
  isRepoId,
  listPath,
  lockRepository,
  readList,
  registeredPath,
  registerRepository,
  RESTORE_LIMITS,
  RestoreError,
  type RestoreList,
  type RestorePoint,
  withRepositoryLock,
} from "../../restore/mod.ts";
import { newPointId } from "../../restore/points.ts";
import { prune, writeList } from "../../restore/store.ts";

async function folder(): Promise<string> {
  return await Deno.realPath(await Deno.makeTempDir({ prefix: "fluxgit-test-" }));
}

function point(id: string, createdAtMs: number, more: Partial<RestorePoint> = {}): RestorePoint {
  return {
    id,
    kind: "operation",
    operation: "merge",
    previewId: null,
    agentId: null,
    createdAtMs,
    state: "finished",
    head: { ref: "refs/heads/main", oid: "1".repeat(40) },
    headAfter: null,
    refs: [],
    refsTotal: 0,
    snapshot: "2".repeat(40),
    snapshotAfter: null,
    files: 1,
    copiedFiles: 0,
    copiedBytes: 0,
    notCovered: {},
    undone: false,
    undoPoint: null,
    restores: null,
    direction: null,
    resetMode: null,
    plan: null,
    ...more,
  };
}

Deno.test("a repository gets one id, which both readers of the registry find", async () => {
  const dir = await folder();
  try {
    const path = `${dir}/my shop (new)`;
    await Deno.mkdir(path);
    const runDir = `${dir}/run`;
    const id = await registerRepository(runDir, path);
    assert.match(id, /^my-shop-new-[0-9a-f]{8}$/);
    assert.equal(await registerRepository(runDir, path), id);
    assert.equal(findRepoId(runDir, path), id);
    assert.equal(registeredPath(runDir, id), path);
    assert.deepEqual(readRegistry(runDir).repositories, [{ repoId: id, repoPath: path }]);
    assert.equal((await Deno.readTextFile(`${runDir}/repos/${id}.path`)).trim(), path);
    assert.equal((await Deno.stat(`${runDir}/repos/${id}.path`)).mode! & 0o777, 0o600);
    assert.equal((await Deno.stat(`${runDir}/repos`)).mode! & 0o777, 0o700);
    // Registered before by somebody else, under a name of its own.
    await Deno.rename(`${runDir}/repos/${id}.path`, `${runDir}/repos/shop.path`);
    assert.equal(await registerRepository(runDir, path), "shop");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("the registry follows no link, takes no large file, and no path that is not canonical", async () => {
  const dir = await folder();
  try {
    const [runDir, path, other] = [`${dir}/run`, `${dir}/repo`, `${dir}/other`];
    await Deno.mkdir(path);
    await Deno.mkdir(other);
    await Deno.mkdir(`${runDir}/repos`, { recursive: true });
    await Deno.writeTextFile(`${dir}/planted`, path);
    await Deno.symlink(`${dir}/planted`, `${runDir}/repos/linked.path`);
    await Deno.writeTextFile(`${runDir}/repos/large.path`, path + " ".repeat(40_000));
    await Deno.writeTextFile(`${runDir}/repos/..odd.path`, path);
    assert.equal(findRepoId(runDir, path), null);
    assert.equal(registeredPath(runDir, "linked"), null);
    assert.equal(registeredPath(runDir, "../repos/large"), null);
    await Deno.symlink(path, `${dir}/alias`);
    await assert.rejects(registerRepository(runDir, `${dir}/alias`), /not a canonical path/);
    // A file of the id to come that belongs to another path is not overwritten.
    const id = await registerRepository(`${dir}/elsewhere`, path);
    await Deno.writeTextFile(`${runDir}/repos/${id}.path`, other);
    const longer = await registerRepository(runDir, path);
    assert.notEqual(longer, id);
    assert.equal(registeredPath(runDir, id), other);
    // A link in the place of the folder is refused.
    await Deno.rename(`${runDir}/repos`, `${dir}/moved`);
    await Deno.symlink(`${dir}/moved`, `${runDir}/repos`);
    await Deno.mkdir(`${dir}/third`);
    await assert.rejects(registerRepository(runDir, `${dir}/third`), /link is not followed/);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("ids are plain file names", () => {
  for (const id of ["shop", "a", "a.b-c_D", "x".repeat(128)]) assert.equal(isRepoId(id), true, id);
  for (
    const id of [
      "",
      ".",
      "..",
      "a/b",
      "a\\b",
      "a\0b",
      "a..b",
      ".hidden",
      "a.lock",
      "-a",
      "ä",
      "a b",
    ]
  ) {
    assert.equal(isRepoId(id), false, id);
  }
});

Deno.test("a list is written whole and privately, and read only with its own path and checksum", async () => {
  const dir = await folder();
  try {
    assert.equal(hasRestoreStore(dir), false);
    assert.equal((await readList(dir, "shop", "/shop")).kind, "none");
    const list: RestoreList = {
      repoPath: "/shop",
      points: [point("000000001-aaaaaaaa", 1)],
      branchTips: [],
    };
    const { dropped } = await writeList(dir, "shop", list, 2);
    assert.deepEqual(dropped, []);
    assert.equal(hasRestoreStore(dir), true);
    assert.deepEqual(await readList(dir, "shop", "/shop"), { kind: "ok", list });
    const file = listPath(dir, "shop");
    assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
    assert.equal((await Deno.stat(`${dir}/restore`)).mode! & 0o777, 0o700);
    assert.deepEqual([...Deno.readDirSync(`${dir}/restore`)].map((entry) => entry.name), [
      "shop.json",
    ]);
    const corrupt = async (repoId = "shop", repoPath = "/shop") => {
      const state = await readList(dir, repoId, repoPath);
      assert.equal(state.kind, "corrupt", JSON.stringify(state));
      return state.kind === "corrupt" ? state.reason : "";
    };
    assert.match(await corrupt("shop", "/another"), /another repository/);
    assert.match(await corrupt("../restore/shop"), /not a plain name/);
    const text = await Deno.readTextFile(file);
    await Deno.writeTextFile(file, text.slice(0, text.length / 2));
    assert.match(await corrupt(), /checksum/);
    await Deno.writeTextFile(file, "");
    await corrupt();
    await Deno.writeTextFile(file, "x".repeat(RESTORE_LIMITS.listBytes + 1));
    assert.match(await corrupt(), /more than/);
    await Deno.remove(file);
    await Deno.writeTextFile(`${dir}/real`, text);
    await Deno.symlink(`${dir}/real`, file);
    assert.match(await corrupt(), /link is not followed/);
    await Deno.remove(file);
    await Deno.mkdir(file);
    await corrupt();
    await Deno.rename(`${dir}/restore`, `${dir}/moved`);
    await Deno.symlink(`${dir}/moved`, `${dir}/restore`);
    assert.match(await corrupt(), /link or a file/);
    await assert.rejects(writeList(dir, "shop", list, 2), /link is not followed/);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("of 1,000 points in a list the bounds leave the newest, and tell which fell out", async () => {
  const dir = await folder();
  try {
    const day = 24 * 60 * 60 * 1_000;
    const now = 100 * day;
    let newest = "";
    const points = Array.from({ length: 1_000 }, (_, i) => {
      newest = newPointId(now - (999 - i) * day / 10, newest);
      return point(newest, now - (999 - i) * day / 10);
    });
    const list = { repoPath: "/shop", points, branchTips: [] };
    const { list: written, dropped } = await writeList(dir, "shop", list, now);
    assert.equal(written.points.length, RESTORE_LIMITS.points);
    assert.equal(dropped.length, 900);
    assert.equal(written.points.at(-1)!.id, newest);
    assert.deepEqual((await readList(dir, "shop", "/shop")).kind, "ok");
    // By age: ten points a day, thirty days.
    assert.equal(prune(list, now, { ...RESTORE_LIMITS, points: 5_000 }).points.length, 301);
    assert.deepEqual(prune(list, now + 400 * day).points.map((p) => p.id), [newest]);
    // A list that would grow past what is read loses its oldest points, not its readability.
    const large = points.slice(-100).map((p) => ({ ...p, plan: "x".repeat(200_000) }));
    const small = await writeList(dir, "shop", { ...list, points: large }, now);
    assert(small.list.points.length < 100 && small.list.points.length > 10);
    assert.equal(small.list.points.at(-1)!.id, newest);
    assert.equal((await readList(dir, "shop", "/shop")).kind, "ok");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("ids of points sort by time even when the clock stands still or goes back", () => {
  let last = "";
  for (const now of [1_790_000_000_000, 1_790_000_000_000, 1_789_999_999_000, 1_790_000_000_001]) {
    const id = newPointId(now, last);
    assert.match(id, /^[0-9a-z]{9}-[0-9a-z]{8}$/);
    assert(id > last, `${id} after ${last}`);
    last = id;
  }
});

Deno.test("the lock of a repository lets one in at a time, in this process and across processes", async () => {
  const dir = await folder();
  try {
    const order: string[] = [];
    const first = await lockRepository(dir);
    const second = withRepositoryLock(dir, () => {
      order.push("second");
      return Promise.resolve();
    });
    await assert.rejects(lockRepository(dir, { waitMs: 20 }), (error: RestoreError) => {
      assert.equal(error.kind, "busy");
      return true;
    });
    order.push("first");
    first.release();
    first.release();
    await second;
    assert.deepEqual(order, ["first", "second"]);
    assert.throws(() => first.check(), /released/);

    // Another process holds it until its input ends.
    const script = `import { lockRepository } from ${
      JSON.stringify(new URL("../../restore/lock.ts", import.meta.url).href)
    };
await lockRepository(${JSON.stringify(dir)});
Deno.stdout.writeSync(new TextEncoder().encode("held\\n"));
await Deno.stdin.read(new Uint8Array(1));`;
    await Deno.writeTextFile(`${dir}/holder.ts`, script);
    const holder = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "-q", "--no-check", `${dir}/holder.ts`],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const reader = holder.stdout.getReader();
    await reader.read();
    await assert.rejects(lockRepository(dir, { waitMs: 50 }), /another process/);
    const abort = new AbortController();
    const waiting = lockRepository(dir, { signal: abort.signal });
    abort.abort();
    await assert.rejects(waiting, /cancelled/);
    // Killed without a word: the lock is free again.
    holder.kill("SIGKILL");
    await holder.status;
    await reader.cancel();
    await holder.stdin.close().catch(() => {});
    (await lockRepository(dir, { waitMs: 60_000 })).release();
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("a lock file that is a link or was replaced is not a lock", async () => {
  const dir = await folder();
  try {
    const held = await lockRepository(dir);
    await Deno.remove(`${dir}/fluxgit/lock`);
    assert.throws(() => held.check(), /replaced/);
    held.release();
    await Deno.writeTextFile(`${dir}/elsewhere`, "");
    await Deno.symlink(`${dir}/elsewhere`, `${dir}/fluxgit/lock`);
    await assert.rejects(lockRepository(dir), /is not a file/);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
