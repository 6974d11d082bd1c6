import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { Journal, type ProposalRecord } from "../../../gateway/server/journal.ts";
import { boundedResult, MAX_RESULT, slimAction } from "../../../gateway/server/slim.ts";
import type { Action } from "../../../gateway/server/types.ts";
import { Lab } from "./lab.ts";

class Folder implements Disposable {
  readonly path = Deno.makeTempDirSync();
  get file(): string {
    return `${this.path}/journal.sqlite`;
  }
  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

function record(more: Partial<ProposalRecord> = {}): ProposalRecord {
  return {
    previewId: crypto.randomUUID(),
    agentId: "a",
    ownerHash: null,
    idempotencyKey: crypto.randomUUID(),
    bodyHash: "b",
    groupHash: "g",
    repoPath: "/r",
    repoId: "r-1",
    action: { operationType: "commit", message: "m", paths: null, stageAll: true },
    reason: "why",
    requestedAt: null,
    status: "pending",
    createdAtMs: 1,
    expiresAtMs: 100,
    endedAtMs: null,
    digest: null,
    overrides: {},
    progress: null,
    result: null,
    rejectionReason: null,
    ...more,
  };
}

Deno.test("the journal's files are private whatever the umask, and writes are synced in full", () => {
  using folder = new Folder();
  const mask = Deno.umask(0);
  try {
    const journal = new Journal(folder.file);
    journal.insert(record());
    const files = [...Deno.readDirSync(folder.path)].map((entry) => entry.name).sort();
    assert(files.includes("journal.sqlite-wal"), files.join());
    for (const name of files) {
      assert.equal(Deno.statSync(`${folder.path}/${name}`).mode! & 0o777, 0o600, name);
    }
    journal.close();
  } finally {
    Deno.umask(mask);
  }
  Deno.chmodSync(folder.file, 0o644);
  new Journal(folder.file).close();
  assert.equal(Deno.statSync(folder.file).mode! & 0o777, 0o600);
  const db = new DatabaseSync(folder.file);
  assert.equal(Object.values(db.prepare("PRAGMA journal_mode").get()!)[0], "wal");
  db.close();
});

Deno.test("what was written is there again after a close, in every member", () => {
  using folder = new Folder();
  const one = record({ ownerHash: "o", requestedAt: "then", reason: "ü\u0000\n" });
  const first = new Journal(folder.file);
  first.insert(one);
  first.close();
  const journal = new Journal(folder.file);
  assert.deepEqual(journal.get(one.previewId), one);
  assert.deepEqual(journal.byKey(one.agentId, one.repoPath, one.idempotencyKey), one);
  assert.equal(journal.get("absent"), null);
  assert.throws(() => journal.insert(one), /UNIQUE/);
  assert.throws(() => journal.insert({ ...one, previewId: "other" }), /UNIQUE/);
  assert.equal(journal.count(["pending"]), 1);
  assert.equal(journal.countOf("a", ["pending"]), 1);
  assert.equal(journal.countOf("b", ["pending"]), 0);
  assert(journal.size("pending") > 10);
  journal.close();
});

Deno.test("a transition happens once: the second one finds the state gone", () => {
  using folder = new Folder();
  const journal = new Journal(folder.file);
  const { previewId } = record();
  journal.insert(record({ previewId }));
  assert.equal(journal.move(previewId, "pending", "approved", 2, { digest: "d" }), true);
  assert.equal(journal.move(previewId, "pending", "rejected", 3), false);
  assert.equal(journal.move(previewId, "approved", "executing", 4), true);
  assert.equal(journal.move(previewId, "approved", "executing", 5), false);
  journal.progress(previewId, { phase: "acting", repositories: [] });
  const result = { status: "completed", message: "done" };
  assert.equal(
    journal.move(previewId, "executing", "completed", 6, { endedAtMs: 6, result }),
    true,
  );
  const ended = journal.get(previewId)!;
  assert.deepEqual(
    [ended.status, ended.digest, ended.endedAtMs, ended.result, ended.progress?.phase],
    ["completed", "d", 6, result, "acting"],
  );
  assert.deepEqual(journal.transitions(previewId).map(({ from, to }) => `${from}>${to}`), [
    "null>pending",
    "pending>approved",
    "approved>executing",
    "executing>completed",
  ]);
  journal.close();
});

Deno.test("pruning forgets what ended long ago and the surplus that nobody approved, no more", () => {
  using folder = new Folder();
  const journal = new Journal(folder.file);
  const end = (id: string, status: "completed" | "cancelled", at: number) => {
    journal.insert(record({ previewId: id }));
    if (status === "completed") {
      journal.move(id, "pending", "approved", at);
      journal.move(id, "approved", "executing", at);
      journal.move(id, "executing", "completed", at, { endedAtMs: at });
    } else journal.move(id, "pending", "cancelled", at, { endedAtMs: at });
  };
  end("old", "completed", 10);
  end("kept", "completed", 60);
  for (let i = 0; i < 5; i++) end(`gone-${i}`, "cancelled", 60 + i);
  journal.insert(record({ previewId: "open" }));
  assert.equal(journal.prune(50, 2), 4);
  const left = journal.rows(["pending", "completed", "cancelled"], 100).map((row) => row.previewId);
  assert.deepEqual(left.sort(), ["gone-3", "gone-4", "kept", "open"]);
  assert.deepEqual(journal.transitions("old"), []);
  assert.equal(journal.prune(50, 2), 0);
  journal.close();
});

/** Makes a journal file with something wrong, and gives what the start says. */
function startWith(prepare: (file: string) => void): string {
  using folder = new Folder();
  prepare(folder.file);
  const before = Deno.lstatSync(folder.file).isFile ? Deno.readFileSync(folder.file) : null;
  let message = "";
  try {
    new Journal(folder.file).close();
  } catch (error) {
    message = (error as Error).message;
    // Failing closed changes nothing.
    if (before) assert.deepEqual(Deno.readFileSync(folder.file), before);
  }
  assert(message.length < 800);
  return message;
}

function made(file: string): void {
  const journal = new Journal(file);
  for (let i = 0; i < 200; i++) journal.insert(record({ reason: "r".repeat(1_000) }));
  journal.close();
}

Deno.test("a journal that cannot be trusted stops the start with what to do, and is left as it is", () => {
  assert.match(startWith((file) => Deno.writeTextFileSync(file, "not a database")), /damaged/);
  assert.match(
    startWith((file) => {
      made(file);
      const bytes = Deno.readFileSync(file);
      bytes.fill(0x5a, 8_192, 24_000);
      Deno.writeFileSync(file, bytes);
    }),
    /damaged.*Move it away/s,
  );
  assert.match(
    startWith((file) => {
      made(file);
      Deno.truncateSync(file, 10_000);
    }),
    /damaged/,
  );
  assert.match(
    startWith((file) => {
      const db = new DatabaseSync(file);
      db.exec("CREATE TABLE theirs (x)");
      db.close();
    }),
    /database of another program/,
  );
  assert.match(
    startWith((file) => {
      made(file);
      const db = new DatabaseSync(file);
      db.exec("PRAGMA user_version=99");
      db.close();
    }),
    /has version 99, this program knows version 1/,
  );
  assert.match(
    startWith((file) => {
      made(file);
      const db = new DatabaseSync(file);
      db.exec("UPDATE proposals SET status='approved?' WHERE rowid=3");
      db.close();
    }),
    /damaged.*unknown status/,
  );
  assert.match(
    startWith((file) => {
      made(file);
      const db = new DatabaseSync(file);
      db.exec("UPDATE proposals SET action='{' WHERE rowid=3");
      db.close();
    }),
    /damaged/,
  );
  assert.match(
    startWith((file) => {
      made(file);
      const db = new DatabaseSync(file);
      db.exec("DROP TABLE transitions; DROP TABLE proposals");
      db.close();
    }),
    /damaged/,
  );
});

Deno.test("a link, a folder or a pipe in the journal's place is refused, side files too", async () => {
  using folder = new Folder();
  const target = `${folder.path}/target`;
  made(target);
  Deno.symlinkSync(target, folder.file);
  assert.throws(() => new Journal(folder.file), /not a regular file/);
  Deno.removeSync(folder.file);
  Deno.mkdirSync(folder.file);
  assert.throws(() => new Journal(folder.file), /not a regular file/);
  Deno.removeSync(folder.file);
  await new Deno.Command("mkfifo", { args: [folder.file] }).output();
  assert.throws(() => new Journal(folder.file), /not a regular file/);
  Deno.removeSync(folder.file);
  Deno.symlinkSync(target, `${folder.file}-wal`);
  assert.throws(() => new Journal(folder.file), /not a regular file/);
});

Deno.test("while one process has the journal nobody else can write to it", () => {
  using folder = new Folder();
  const journal = new Journal(folder.file);
  journal.insert(record());
  const other = new DatabaseSync(folder.file);
  assert.throws(
    () => other.exec("UPDATE proposals SET status='approved'"),
    /locked/,
  );
  other.close();
  assert.equal(journal.count(["pending"]), 1);
  journal.close();
  const holder = new DatabaseSync(folder.file);
  holder.exec("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE");
  assert.throws(() => new Journal(folder.file), /in use by another program/);
  holder.close();
});

Deno.test("a torn end of the write-ahead log loses only what was torn", () => {
  using folder = new Folder();
  const journal = new Journal(folder.file);
  const one = record();
  journal.insert(one);
  const wal = Deno.readFileSync(`${folder.file}-wal`);
  journal.insert(record());
  const whole = Deno.readFileSync(`${folder.file}-wal`);
  const database = Deno.readFileSync(folder.file);
  journal.close();
  // As a kill in the middle of the second insert would have left it.
  using copy = new Folder();
  Deno.writeFileSync(copy.file, database);
  Deno.writeFileSync(`${copy.file}-wal`, whole.subarray(0, wal.length + 2_000));
  const again = new Journal(copy.file);
  assert.deepEqual(again.get(one.previewId), one);
  assert.equal(again.count(["pending"]), 1);
  again.close();
});

Deno.test("an ended proposal keeps no whole patch, and results are bounded with their real lengths told", () => {
  using folder = new Folder();
  const journal = new Journal(folder.file);
  const patchContent = "p".repeat(4_000_000);
  const id = "large";
  journal.insert(record({
    previewId: id,
    action: { operationType: "patch", patchContent, applyToIndex: false },
  }));
  assert(journal.size("pending") > 4_000_000);
  journal.move(id, "pending", "cancelled", 5, { endedAtMs: 5 });
  assert(JSON.stringify(journal.get(id)!.action).length < 5_000);
  journal.close();
  const plan: Action = {
    operationType: "plan",
    steps: [
      { operationType: "patch", patchContent, applyToIndex: false },
      { operationType: "discard", paths: Array(10_000).fill("x") },
    ],
  };
  assert(JSON.stringify(slimAction(plan)).length < 5_000);
  const bounded = boundedResult({
    status: "completed",
    message: "m".repeat(100_000),
    appliedFiles: Array(10_000).fill("f".repeat(500)),
    nested: { deep: "x".repeat(MAX_RESULT) },
    restorePointId: "r",
  });
  assert(JSON.stringify(bounded).length < MAX_RESULT + 1_000);
  assert.equal(bounded["restorePointId"], "r");
  assert.deepEqual(bounded["truncated"], { nested: 1, appliedFiles: 10_000 });
});

Deno.test("one gateway a run directory, also when its lock is a link or the folder is open to others", async () => {
  await using lab = await Lab.create();
  const first = lab.gateway;
  await assert.rejects(lab.start(), /another gateway runs with the run directory/);
  assert.equal((await lab.send("GET", "/v1/mcp/health")).status, 200);
  assert.equal(lab.gateway, first);
  await lab.stop();
  const lock = `${lab.runDir}/gateway/lock`;
  await Deno.remove(lock);
  await Deno.writeTextFile(`${lab.box.root}/elsewhere`, "untouched");
  await Deno.symlink(`${lab.box.root}/elsewhere`, lock);
  await assert.rejects(lab.start(), /not a regular file/);
  assert.equal(await Deno.readTextFile(`${lab.box.root}/elsewhere`), "untouched");
  await Deno.remove(lock);
  await Deno.chmod(lab.runDir, 0o777);
  await assert.rejects(lab.start(), /others may write/);
  await Deno.chmod(lab.runDir, 0o700);
  await Deno.rename(`${lab.runDir}/gateway`, `${lab.box.root}/moved`);
  await Deno.symlink(`${lab.box.root}/moved`, `${lab.runDir}/gateway`);
  await assert.rejects(lab.start(), /not a folder/);
  await Deno.remove(`${lab.runDir}/gateway`);
  await lab.start();
});

Deno.test("gateway.json speaks of the running gateway, privately, and goes with it", async () => {
  await using lab = await Lab.create();
  const file = `${lab.runDir}/gateway.json`;
  const read = async () => JSON.parse(await Deno.readTextFile(file));
  assert.deepEqual(Object.keys(await read()).sort(), ["address", "pid", "startedAt", "version"]);
  assert.equal((await read()).address, lab.gateway.address);
  assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
  await lab.stop();
  assert.equal(await Deno.stat(file).then(() => true, () => false), false);
  // What a killed gateway left, or a link in its place, is replaced and not followed.
  await Deno.writeTextFile(`${lab.box.root}/elsewhere`, "untouched");
  await Deno.symlink(`${lab.box.root}/elsewhere`, file);
  await lab.start();
  assert.equal((await read()).address, lab.gateway.address);
  assert.equal(await Deno.readTextFile(`${lab.box.root}/elsewhere`), "untouched");
  // A file that speaks of another process is not ours to remove.
  await Deno.writeTextFile(file, JSON.stringify({ version: 1, address: "127.0.0.1:9", pid: 1 }));
  await lab.stop();
  assert.equal((await read()).pid, 1);
});
