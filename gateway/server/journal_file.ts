import { DatabaseSync } from "node:sqlite";

/**
 * The journal's file: private, a file of its own kind and version, sound, and nobody else's. Whatever
 * is wrong with it stops the start; nothing is repaired, moved away or begun anew by itself
 * (`operations.md` D6).
 */

/** `FxGw` in the header of the file: says whose database it is. */
const APPLICATION_ID = 0x46784777;
const VERSION = 1;
const MAGIC = "SQLite format 3\0";
/** How long another process may hold the file before the start is given up. Milliseconds. */
const BUSY_MS = 2_000;

const SCHEMA = `
CREATE TABLE proposals (
  preview_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, owner_hash TEXT, idempotency_key TEXT NOT NULL,
  body_hash TEXT NOT NULL, group_hash TEXT NOT NULL, repo_path TEXT NOT NULL, repo_id TEXT NOT NULL,
  operation_type TEXT NOT NULL, action TEXT NOT NULL, bytes INTEGER NOT NULL, reason TEXT NOT NULL,
  requested_at TEXT, status TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
  ended_ms INTEGER, digest TEXT, overrides TEXT NOT NULL DEFAULT '{}', progress TEXT, result TEXT,
  rejection_reason TEXT) STRICT;
CREATE UNIQUE INDEX proposals_key ON proposals (agent_id, repo_path, idempotency_key);
CREATE INDEX proposals_status ON proposals (status, expires_ms);
CREATE INDEX proposals_ended ON proposals (ended_ms) WHERE ended_ms IS NOT NULL;
CREATE TABLE transitions (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, preview_id TEXT NOT NULL, old_status TEXT, new_status TEXT NOT NULL,
  at_ms INTEGER NOT NULL) STRICT;
CREATE INDEX transitions_of ON transitions (preview_id);
`;

/** Why a journal cannot be used; `message` is for the person who starts the gateway. */
export class JournalError extends Error {
  override name = "JournalError";
}

/**
 * Opens the journal or makes a new one. WAL, every commit synced, and locked for this process alone
 * until it is closed.
 *
 * @param path in an existing private folder
 * @throws {JournalError} a link or another kind of file, foreign, damaged, of another version, in use
 */
export function openJournalFile(path: string): DatabaseSync {
  for (const side of ["-wal", "-shm", "-journal"]) refuseOddFile(path + side);
  const existed = refuseOddFile(path);
  // SQLite itself would make it readable for everybody; its side files take over the mode.
  if (!existed) Deno.openSync(path, { write: true, createNew: true, mode: 0o600 }).close();
  else narrow(path);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path);
    db.exec(
      `PRAGMA locking_mode=EXCLUSIVE; PRAGMA busy_timeout=${BUSY_MS}; PRAGMA trusted_schema=OFF;`,
    );
    const fresh = checkKind(db, path);
    checkSound(db, path);
    if (fresh) db.exec("PRAGMA auto_vacuum=INCREMENTAL");
    const mode = pragma(db, "journal_mode=WAL");
    if (mode !== "wal") throw new JournalError(`the journal ${shown(path)} cannot be kept in WAL`);
    db.exec("PRAGMA synchronous=FULL; PRAGMA journal_size_limit=16777216;");
    if (fresh) {
      db.exec(
        `BEGIN EXCLUSIVE; ${SCHEMA} PRAGMA application_id=${APPLICATION_ID}; PRAGMA user_version=${VERSION}; COMMIT;`,
      );
    } else {
      // The first write takes the lock; nobody else may write from here on.
      db.exec("BEGIN EXCLUSIVE; COMMIT;");
    }
    return db;
  } catch (error) {
    try {
      db?.close();
    } catch { /* it never was open */ }
    throw error instanceof JournalError ? error : explained(error, path);
  }
}

/** Whose file it is. True for one with nothing in it. */
function checkKind(db: DatabaseSync, path: string): boolean {
  const id = Number(pragma(db, "application_id"));
  const version = Number(pragma(db, "user_version"));
  const { n } = db.prepare("SELECT count(*) AS n FROM sqlite_schema").get() as { n: number };
  if (id === 0 && version === 0 && n === 0) return true;
  if (id !== APPLICATION_ID) {
    throw new JournalError(
      `${
        shown(path)
      } is the database of another program; move it away, or use another run directory`,
    );
  }
  if (version !== VERSION) {
    throw new JournalError(
      `the journal ${
        shown(path)
      } has version ${version}, this program knows version ${VERSION}: use the program that wrote it, or move it away`,
    );
  }
  return false;
}

function checkSound(db: DatabaseSync, path: string): void {
  const verdict = pragma(db, "quick_check(1)");
  if (verdict !== "ok") throw damaged(path, String(verdict));
}

/** For whatever shows that the journal cannot be trusted. */
export function damaged(path: string, details: string): JournalError {
  return new JournalError(
    `the journal ${shown(path)} is damaged (${
      details.slice(0, 200)
    }). Nothing was changed. Move it away to start anew: open proposals are lost with it, and whether one ` +
      "was being carried out can only be seen in the repositories",
  );
}

function explained(error: unknown, path: string): JournalError {
  const text = error instanceof Error ? error.message : String(error);
  if (/locked|busy/i.test(text)) {
    return new JournalError(`the journal ${shown(path)} is in use by another program`);
  }
  if (/not a database|malformed|corrupt|disk image/i.test(text)) return damaged(path, text);
  return new JournalError(`the journal ${shown(path)} cannot be used: ${text.slice(0, 300)}`);
}

/** True when it exists. Throws for anything but a regular file, and for one that is no SQLite file. */
function refuseOddFile(path: string): boolean {
  let info: Deno.FileInfo;
  try {
    info = Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  if (!info.isFile) {
    throw new JournalError(`${shown(path)} is not a regular file (a link is not followed)`);
  }
  if (path.endsWith(".sqlite") && info.size > 0 && head(path) !== MAGIC) {
    throw damaged(path, "it is no database");
  }
  return true;
}

function head(path: string): string {
  using file = Deno.openSync(path, { read: true });
  const bytes = new Uint8Array(MAGIC.length);
  const n = file.readSync(bytes) ?? 0;
  return String.fromCharCode(...bytes.subarray(0, n));
}

function narrow(path: string): void {
  const mode = Deno.lstatSync(path).mode;
  if (mode !== null && Deno.build.os !== "windows" && (mode & 0o077) !== 0) {
    Deno.chmodSync(path, 0o600);
  }
}

function pragma(db: DatabaseSync, text: string): unknown {
  const row = db.prepare(`PRAGMA ${text}`).get() as Record<string, unknown> | undefined;
  return row === undefined ? undefined : Object.values(row)[0];
}

function shown(path: string): string {
  return JSON.stringify(path.slice(0, 300));
}
