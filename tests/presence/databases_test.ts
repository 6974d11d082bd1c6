import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { copyDatabase } from "../../common/writer/database_copy.ts";
import { database, folderState, heldDatabase, quote } from "./databases.ts";
import { brief, Lab, MARKER, processList } from "./lab.ts";

/** Stores that are SQLite databases: opencode, Kilo, Goose, Cline, Zed. */

const SESSION =
  "CREATE TABLE session (id TEXT, title TEXT, directory TEXT, time_updated INTEGER, time_archived INTEGER);";

function session(directory: string, at: number | string, archived: number | null = null): string {
  return `INSERT INTO session VALUES ('x', ${quote(MARKER)}, ${quote(directory)}, ${
    typeof at === "number" ? at : quote(at)
  }, ${archived});`;
}

const DATA = ".local/share";

Deno.test("opencode: a database that its program has open, in write-ahead mode", async () => {
  await using lab = await Lab.create();
  const data = `${lab.root}/data dir`;
  await using _program = await heldDatabase(
    `${data}/opencode/opencode.db`,
    `PRAGMA journal_mode=WAL; ${SESSION}` + session(`${lab.a}/src`, lab.now - 40_000) +
      session(lab.b, lab.now - 5_000, lab.now) + session(lab.c, lab.now - 7_200_000) +
      session(lab.elsewhere, lab.now),
  );
  const before = await folderState(`${data}/opencode`);
  assert.equal(before.length, 3);
  const found = await lab.one({ env: { XDG_DATA_HOME: data } });
  assert.deepEqual(
    [found.agent, found.root, found.state, found.lastActivityMs],
    ["opencode", lab.a, "working", lab.now - 40_000],
  );
  assert.deepEqual(await folderState(`${data}/opencode`), before);
});

Deno.test("opencode: other channels, and a file that OPENCODE_DB names", async () => {
  await using lab = await Lab.create();
  await database(
    `${lab.home}/${DATA}/opencode/opencode-next.db`,
    SESSION + session(lab.b, lab.now),
  );
  await database(`${lab.root}/my.db`, SESSION + session(lab.c, lab.now));
  assert.equal((await lab.one()).root, lab.b);
  const both = await lab.findings({ env: { OPENCODE_DB: `${lab.root}/my.db` } });
  assert.deepEqual(both.map(({ root }) => root).sort(), [lab.b, lab.c]);
});

Deno.test("Kilo: stale files, foreign shapes and text files say nothing and are named as such", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.home}/${DATA}/kilo`;
  const rows = SESSION + session(lab.a, lab.now);
  await database(`${folder}/kilo.db`, rows);
  await lab.age(await database(`${folder}/kilo-aged.db`, SESSION + session(lab.b, lab.now)));
  const other = rows.replaceAll("directory", "folder").replaceAll(lab.a, lab.c);
  await database(`${folder}/kilo-cols.db`, other);
  await database(`${folder}/kilo-none.db`, "CREATE TABLE other (x);");
  await lab.write(`${folder}/kilo-text.db`, `no database ${MARKER}`);
  await lab.write(`${folder}/kilo-empty.db`, "");
  const seen = await lab.seen();
  assert.deepEqual(brief(lab, seen.findings), ["kilo A working"]);
  assert.deepEqual(
    seen.missing.filter((one) => one.source === "session"),
    [{ source: "session", reason: "unknown_shape", agents: ["kilo"] }],
  );
});

Deno.test("Goose: a closed database in write-ahead mode is read and nothing appears beside it", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.home}/${DATA}/goose/sessions`;
  const at = new Date(lab.now - 5_000).toISOString().slice(0, 19).replace("T", " ");
  const path = await database(
    `${folder}/sessions.db`,
    `PRAGMA journal_mode=WAL; CREATE TABLE sessions (description TEXT, working_dir TEXT, updated_at TEXT);
     INSERT INTO sessions VALUES (${quote(MARKER)}, ${quote(lab.b)}, ${quote(at)});`,
  );
  const before = await folderState(folder);
  assert.deepEqual(before.length, 1, "the control: only the database is there");
  const found = await lab.one();
  assert.deepEqual([found.agent, found.root, found.state], ["goose", lab.b, "working"]);
  assert.deepEqual(await folderState(folder), before);
  // The control: opening it in place would have left two files.
  const plain = new DatabaseSync(path, { readOnly: true });
  plain.prepare("SELECT * FROM sessions").all();
  plain.close();
  assert.equal((await folderState(folder)).length, 3);
});

Deno.test("a write-ahead file without its index is left alone, so that none is made", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.home}/${DATA}/kilo`;
  await using _program = await heldDatabase(
    `${lab.root}/live/kilo.db`,
    `PRAGMA journal_mode=WAL; ${SESSION}${session(lab.a, lab.now)}`,
  );
  await Deno.mkdir(folder, { recursive: true });
  for (const name of ["kilo.db", "kilo.db-wal"]) {
    await Deno.copyFile(`${lab.root}/live/${name}`, `${folder}/${name}`);
  }
  const before = await folderState(folder);
  assert.deepEqual(await lab.findings(), []);
  assert.deepEqual(await folderState(folder), before);
});

Deno.test("a locked database is given up after a moment, without holding anybody up", async () => {
  await using lab = await Lab.create();
  await using _program = await heldDatabase(
    `${lab.home}/${DATA}/kilo/kilo.db`,
    `${SESSION}${session(lab.a, lab.now)} BEGIN EXCLUSIVE;`,
  );
  let longest = 0, last = performance.now();
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  const seen = await lab.seen();
  clearInterval(timer);
  assert.deepEqual(seen.findings, []);
  assert(seen.missing.some(({ reason, agents }) => reason === "locked" && agents?.[0] === "kilo"));
  // The runtime's own waiting would be one block of five seconds.
  assert(longest < 2_000, `${longest} ms`);
});

Deno.test("linked databases are not followed, and absent ones not created", async () => {
  await using lab = await Lab.create();
  const real = await database(`${lab.root}/real.db`, SESSION + session(lab.a, lab.now));
  const folder = `${lab.home}/${DATA}/kilo`;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.symlink(real, `${folder}/kilo.db`);
  const env = { CLINE_DIR: `${lab.root}/cline` };
  const seen = await lab.seen({ env });
  assert.deepEqual(seen.findings, []);
  assert(seen.missing.some(({ reason }) => reason === "not_regular"));
  await assert.rejects(Deno.lstat(`${lab.root}/cline`), Deno.errors.NotFound);
  await assert.rejects(Deno.lstat(`${lab.home}/.cline`), Deno.errors.NotFound);
});

Deno.test("Cline: a live session without news is open; an ended one is told without its process", async () => {
  await using lab = await Lab.create();
  await database(
    `${lab.home}/.cline/data/db/sessions.db`,
    `CREATE TABLE sessions (cwd TEXT, workspace_root TEXT, updated_at INTEGER, ended_at INTEGER, pid INTEGER, status TEXT);
     INSERT INTO sessions VALUES (${quote(lab.a)}, NULL, ${lab.now - 360_000}, NULL, 77, ${
      quote(MARKER)
    });
     INSERT INTO sessions VALUES (${quote(lab.elsewhere)}, ${quote(lab.b)}, ${
      lab.now - 10_000
    }, 1, 77, '');
     INSERT INTO sessions VALUES (${quote(lab.c)}, NULL, ${lab.now - 7_200_000}, NULL, 78, '');`,
  );
  const processes = processList(lab.now, [77, 1, "node", "node x", 60]);
  const found = await lab.findings({ processes });
  assert.deepEqual(brief(lab, found), ["cline A open", "cline B recent"]);
  assert.deepEqual(found.map(({ pid }) => pid), [77, null]);
  assert.deepEqual(brief(lab, await lab.findings()), ["cline A recent", "cline B recent"]);
});

Deno.test("Cline: each of its three variables adds a place", async () => {
  await using lab = await Lab.create();
  const rows = (path: string) =>
    `CREATE TABLE sessions (cwd TEXT, workspace_root TEXT, updated_at INTEGER);
     INSERT INTO sessions VALUES (${quote(path)}, NULL, ${lab.now});`;
  await database(`${lab.root}/1/sessions.db`, rows(lab.a));
  await database(`${lab.root}/2/db/sessions.db`, rows(lab.b));
  await database(`${lab.root}/3/data/db/sessions.db`, rows(lab.c));
  const env = {
    CLINE_DB_DATA_DIR: `${lab.root}/1`,
    CLINE_DATA_DIR: `${lab.root}/2`,
    CLINE_DIR: `${lab.root}/3`,
  };
  assert.deepEqual(brief(lab, await lab.findings({ env })), [
    "cline A working",
    "cline B working",
    "cline C working",
  ]);
});

for (
  const [os, folder, env] of [
    ["linux", ".local/share/zed/threads", {}],
    ["darwin", "Library/Application Support/Zed/threads", {}],
    ["windows", "Local/Zed/threads", { LOCALAPPDATA: "Local" }],
  ] as const
) {
  Deno.test(`Zed on ${os}: a thread with several folders, one a line`, async () => {
    await using lab = await Lab.create();
    await database(
      `${lab.home}/${folder}/threads.db`,
      `CREATE TABLE threads (summary TEXT, updated_at TEXT, folder_paths TEXT, data BLOB);
       INSERT INTO threads VALUES (${quote(MARKER)}, ${quote(lab.time())}, ${
        quote(`${lab.elsewhere}\n${lab.c}`)
      }, zeroblob(1000000));
       INSERT INTO threads VALUES (${quote(MARKER)}, ${quote(lab.time())}, NULL, NULL);`,
    );
    const full = Object.fromEntries(
      Object.entries(env).map(([name, path]) => [name, `${lab.home}/${path}`]),
    );
    const found = await lab.one({ os, env: full });
    assert.deepEqual([found.agent, found.root, found.sources], ["zed", lab.c, ["session"]]);
  });
}

Deno.test("Goose on Windows also keeps its database in the roaming profile", async () => {
  await using lab = await Lab.create();
  const sql = `CREATE TABLE sessions (working_dir TEXT, updated_at INTEGER);
    INSERT INTO sessions VALUES (${quote(lab.a)}, ${lab.now});`;
  await database(`${lab.home}/Roaming/Block/goose/data/sessions/sessions.db`, sql);
  const env = { APPDATA: `${lab.home}/Roaming` };
  assert.equal((await lab.one({ os: "windows", env })).root, lab.a);
  assert.deepEqual(await lab.findings({ os: "linux", env }), []);
});

Deno.test("hostile databases: a view that never ends, a value of many megabytes, next year's columns", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.home}/${DATA}/kilo`;
  await database(
    `${folder}/kilo-view.db`,
    `CREATE VIEW session AS WITH RECURSIVE t(directory, time_updated) AS
       (SELECT ${
      quote(lab.a)
    }, 1 UNION ALL SELECT directory, time_updated + 1 FROM t) SELECT * FROM t;`,
  );
  await database(
    `${folder}/kilo-long.db`,
    `${SESSION} INSERT INTO session VALUES ('x', '', CAST(zeroblob(50000000) AS TEXT), ${lab.now}, NULL);
     ${session(lab.b, lab.now)}`,
  );
  await database(
    `${folder}/kilo-new.db`,
    `CREATE TABLE session (directory TEXT, time_updated TEXT, more JSON, "odd ""name" TEXT) WITHOUT ROWID;`
      .replace("directory TEXT", "directory TEXT PRIMARY KEY") +
      `INSERT INTO session VALUES (${quote(lab.c)}, ${quote(lab.time())}, '{', 'x');`,
  );
  await database(
    `${folder}/kilo-text.db`,
    `CREATE TABLE session (directory BLOB, time_updated BLOB);
     INSERT INTO session VALUES (${
      quote(lab.a)
    }, 'soon'), (x'00ff', ${lab.now}), (NULL, 9223372036854775807);`,
  );
  const found = await lab.findings();
  assert.deepEqual(brief(lab, found), ["kilo B working", "kilo C working"]);
});

Deno.test("a damaged database changes nothing but its own part", async () => {
  await using lab = await Lab.create();
  const folder = `${lab.home}/${DATA}/kilo`;
  const path = await database(`${folder}/kilo.db`, SESSION + session(lab.a, lab.now));
  const bytes = await Deno.readFile(path);
  bytes.fill(0xff, 100, 4_000);
  await Deno.writeFile(path, bytes);
  await Deno.writeFile(`${folder}/kilo-cut.db`, bytes.subarray(0, 60));
  await database(`${lab.home}/${DATA}/opencode/opencode.db`, SESSION + session(lab.b, lab.now));
  const seen = await lab.seen();
  assert.deepEqual(brief(lab, seen.findings), ["opencode B working"]);
  assert(seen.missing.some(({ agents }) => agents?.includes("kilo")));
});

Deno.test("a closed database of two gigabytes is not read into memory", async () => {
  await using lab = await Lab.create();
  const path = await database(
    `${lab.home}/${DATA}/kilo/kilo.db`,
    `PRAGMA journal_mode=WAL; ${SESSION}${session(lab.a, lab.now)}`,
  );
  using file = await Deno.open(path, { write: true });
  await file.truncate(2 * 1024 ** 3);
  const seen = await lab.seen();
  assert.deepEqual(seen.findings, []);
  assert(
    seen.missing.some(({ reason, agents }) => reason === "too_large" && agents?.[0] === "kilo"),
  );
});

Deno.test("the private copy of a database holds its rows and needs no files beside it", async () => {
  await using lab = await Lab.create();
  const path = await database(
    `${lab.root}/x.db`,
    `PRAGMA journal_mode=WAL; ${SESSION}${session(lab.a, lab.now)}`,
  );
  const folder = `${lab.root}/copy`;
  await Deno.mkdir(folder);
  const db = new DatabaseSync(await copyDatabase(path, folder), { readOnly: true });
  assert.equal(db.prepare("SELECT directory FROM session").get()?.["directory"], lab.a);
  assert.equal((await folderState(folder)).length, 1);
  db.close();
  await Deno.symlink(path, `${lab.root}/link.db`);
  await assert.rejects(copyDatabase(`${lab.root}/link.db`, `${lab.root}/home`));
});

Deno.test("rows that were put away count for how many are looked at, and that is said", async () => {
  await using lab = await Lab.create();
  const rows = (count: number) =>
    SESSION + session(lab.a, lab.now - 1_000) +
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO session SELECT i, '', ${quote(lab.a)}, ${lab.now}, 1 FROM n;`;
  const folder = `${lab.home}/${DATA}/kilo`;
  await database(`${folder}/kilo.db`, rows(2_000));
  const few = await lab.seen();
  assert.deepEqual(few.findings.map(({ lastActivityMs }) => lastActivityMs), [lab.now - 1_000]);
  assert.deepEqual(few.missing.filter(({ agents }) => agents), []);
  await Deno.remove(`${folder}/kilo.db`);
  await database(`${folder}/kilo.db`, rows(100_000));
  const { findings, missing } = await lab.seen({ limitMs: 60_000 });
  assert.deepEqual(findings, []);
  assert.deepEqual(missing.filter(({ agents }) => agents), [{
    source: "session",
    reason: "too_many",
    agents: ["kilo"],
  }]);
});

Deno.test("the newest of many rows are found wherever they stand", async () => {
  await using lab = await Lab.create();
  await database(
    `${lab.home}/${DATA}/kilo/kilo.db`,
    SESSION + session(lab.a, lab.now - 1_000) +
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
       INSERT INTO session SELECT i, '', ${quote(lab.elsewhere)}, ${
        lab.now - 600_000
      } - i, NULL FROM n;`,
  );
  assert.equal((await lab.one()).lastActivityMs, lab.now - 1_000);
});
