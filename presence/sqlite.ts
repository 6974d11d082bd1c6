import type { DatabaseSync } from "node:sqlite";
import { SQL_BUSY_MS, SQL_COPY_BYTES } from "./limits.ts";
import type { Surroundings } from "./surroundings.ts";
import type { Reason } from "./types.ts";

/** Why a database of another program was not read. */
export class DatabaseRefused extends Error {
  override name = "DatabaseRefused";
  constructor(readonly reason: Reason) {
    super(reason);
  }
}

/** An open database and how it is given up. */
export interface OpenedDatabase {
  readonly db: DatabaseSync;
  readonly close: () => void;
}

/** Newer runtimes read a database from memory; the types of older ones do not know of it. */
interface Deserializing {
  deserialize?(bytes: Uint8Array): void;
}

const MAGIC = "SQLite format 3\0";
/** Between two tries at a locked database. */
const RETRY_MS = 25;
const PIECE_BYTES = 1024 * 1024;

/**
 * Opens a database of another program for reading, so that afterwards no file stands beside it that
 * was not there before and its own time is the same (`presence.md` 2.6). A database in write-ahead
 * mode that nobody has open cannot be opened in place without making such files: it is read from
 * memory, or from a private copy on a runtime that cannot do that.
 *
 * @throws {DatabaseRefused}
 */
export async function openForReading(
  path: string,
  around: Pick<Surroundings, "copyDatabase">,
): Promise<OpenedDatabase> {
  const header = readHeader(path);
  const writeAhead = header[18] === 2 || header[19] === 2;
  const wal = lookAt(`${path}-wal`), shm = lookAt(`${path}-shm`);
  if (wal === "odd" || shm === "odd") throw new DatabaseRefused("not_regular");
  if (writeAhead && wal !== "absent" && shm === "absent") throw new DatabaseRefused("failed");
  const { DatabaseSync } = await import("node:sqlite");
  if (!writeAhead || wal !== "absent") {
    return prepare(new DatabaseSync(path, { readOnly: true }));
  }
  if (typeof (DatabaseSync.prototype as Deserializing).deserialize === "function") {
    const bytes = await readWhole(path);
    bytes[18] = bytes[19] = 1;
    const db = new DatabaseSync(":memory:");
    try {
      (db as Deserializing).deserialize!(bytes);
      return prepare(db);
    } catch (error) {
      db.close();
      throw error;
    }
  }
  if (!around.copyDatabase) throw new DatabaseRefused("not_supported");
  if (Deno.statSync(path).size > SQL_COPY_BYTES) throw new DatabaseRefused("too_large");
  const copy = await around.copyDatabase(path);
  try {
    const { db, close } = prepare(new DatabaseSync(copy.path, { readOnly: true }));
    return {
      db,
      close() {
        close();
        copy.done();
      },
    };
  } catch (error) {
    copy.done();
    throw error;
  }
}

function prepare(db: DatabaseSync): OpenedDatabase {
  // The runtime's own option for this has no effect. Waiting is ours to do, without holding up calls.
  db.exec("PRAGMA busy_timeout=0; PRAGMA query_only=ON; PRAGMA trusted_schema=OFF");
  return {
    db,
    close() {
      try {
        db.close();
      } catch { /* it is as good as closed */ }
    },
  };
}

/** Tries again for a quarter of a second while another program holds the database. */
export async function whileLocked<T>(work: () => T): Promise<T> {
  const end = performance.now() + SQL_BUSY_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isLocked(error)) throw error;
      if (performance.now() > end) throw new DatabaseRefused("locked");
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/** Whether another program has the database just now. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && /\b(?:locked|busy)\b/i.test(error.message);
}

function readHeader(path: string): Uint8Array {
  using file = Deno.openSync(path, { read: true });
  const header = new Uint8Array(20);
  let filled = 0;
  while (filled < header.length) {
    const n = file.readSync(header.subarray(filled)) ?? 0;
    if (n === 0) break;
    filled += n;
  }
  const magic = String.fromCharCode(...header.subarray(0, 16));
  if (filled < 20 || magic !== MAGIC) throw new DatabaseRefused("unknown_shape");
  return header;
}

/** In pieces, so that calls are answered meanwhile. */
async function readWhole(path: string): Promise<Uint8Array<ArrayBuffer>> {
  using file = await Deno.open(path, { read: true });
  const { size } = await file.stat();
  if (size > SQL_COPY_BYTES) throw new DatabaseRefused("too_large");
  const bytes = new Uint8Array(size);
  let filled = 0;
  while (filled < size) {
    const n = await file.read(bytes.subarray(filled, filled + PIECE_BYTES)) ?? 0;
    if (n === 0) throw new DatabaseRefused("failed");
    filled += n;
  }
  return bytes;
}

function lookAt(path: string): "absent" | "file" | "odd" {
  try {
    return Deno.lstatSync(path).isFile ? "file" : "odd";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "absent";
    throw error;
  }
}
