import type { DatabaseSync, StatementSync } from "node:sqlite";
import { SQL_ROWS, SQL_SCANNED_ROWS } from "./limits.ts";
import { TimeIsUp } from "./look.ts";
import { DatabaseRefused, isLocked, openForReading, whileLocked } from "./sqlite.ts";
import type { StoreContext } from "./store.ts";
import { sqlTime } from "./times.ts";

/** The columns of a table that are asked for; no other is ever read (`presence.md` 2.6). */
export interface SqlTable {
  readonly table: string;
  /** All required; the first that names a folder of ours decides. */
  readonly folders: readonly string[];
  readonly time: string;
  /** Rows with a value here are put away. */
  readonly archived?: string;
  /** A value here means that the session is over. */
  readonly ended?: string;
  readonly pid?: string;
}

interface Row {
  readonly folders: readonly string[];
  readonly at: number | null;
  readonly ended: boolean;
  readonly pid: number | null;
}

/** Rows between two pauses. */
const BATCH = 512;
const MAX_FOLDER_BYTES = 131_072;
const MAX_FOLDER_LINES = 64;

/** Adds what a database of sessions says about the roots. Never throws but for the end of the time. */
export async function readSqlStore(
  context: StoreContext,
  path: string,
  table: SqlTable,
): Promise<void> {
  const { files, found, look } = context;
  const info = files.stat(path);
  if (info === null) return;
  const mtime = info.mtime?.getTime() ?? 0;
  if (!look.isFresh(Math.max(mtime, files.mtime(`${path}-wal`) ?? -Infinity))) return;
  if (!info.isFile) return found.miss("not_regular");
  await look.breathe();
  try {
    const opened = await openForReading(path, look.around);
    try {
      addRows(context, path, await readRows(context, opened.db, table));
    } finally {
      opened.close();
    }
  } catch (error) {
    if (error instanceof TimeIsUp) throw error;
    const name = error instanceof Error ? error.name : "";
    found.miss(
      error instanceof DatabaseRefused
        ? error.reason
        : isLocked(error)
        ? "locked"
        : name === "NotCapable" || name === "PermissionDenied" || /NotCapable/.test(String(error))
        ? "not_permitted"
        : "unknown_shape",
    );
  }
}

async function readRows(
  { look, found }: StoreContext,
  db: DatabaseSync,
  table: SqlTable,
): Promise<Row[]> {
  const statement = await whileLocked(() => prepareQuery(db, table));
  const rows: Row[] = [];
  const byTime = () => rows.sort((a, b) => (b.at ?? 0) - (a.at ?? 0));
  let scanned = 0;
  const iterator = await whileLocked(() => {
    const all = statement.iterate();
    return { first: all.next(), all };
  });
  for (let next = iterator.first; !next.done; next = iterator.all.next()) {
    const values = next.value as Record<string, unknown>;
    const row = values["archived"] === 1n ? null : toRow(values, table, look.now);
    if (row !== null && (look.isFresh(row.at) || (row.pid !== null && !row.ended))) rows.push(row);
    if (rows.length >= 4 * SQL_ROWS) {
      byTime();
      rows.length = SQL_ROWS;
    }
    if (++scanned % BATCH === 0) await look.breathe();
    if (scanned >= SQL_SCANNED_ROWS) {
      found.miss("too_many");
      iterator.all.return?.();
      break;
    }
  }
  return byTime().slice(0, SQL_ROWS);
}

/**
 * Rows come newest inserted first, unsorted by time and with those that were put away: a sort or a
 * condition could read a large table whole before the first row, and nothing could interrupt it. Views and virtual tables could run for ever; only
 * a plain table is read.
 */
function prepareQuery(db: DatabaseSync, table: SqlTable): StatementSync {
  const named = db.prepare(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name = ? COLLATE NOCASE",
  ).get(table.table);
  const name = named?.["name"];
  if (typeof name !== "string") throw new DatabaseRefused("unknown_shape");
  const known = new Map<string, string>();
  for (const row of db.prepare("SELECT name FROM pragma_table_info(?) LIMIT 1000").all(name)) {
    const column = row["name"];
    if (typeof column === "string") known.set(column.toLowerCase(), column);
  }
  const column = (wanted: string) => {
    const real = known.get(wanted);
    return real === undefined ? null : `"${real.replaceAll('"', '""')}"`;
  };
  const required = (wanted: string, maxBytes: number) => {
    const real = column(wanted);
    if (real === null) throw new DatabaseRefused("unknown_shape");
    // The length is known without reading the value.
    return `CASE WHEN octet_length(${real}) <= ${maxBytes} THEN ${real} END`;
  };
  const optional = (wanted: string | undefined) => wanted === undefined ? null : column(wanted);
  const folders = table.folders.map((wanted, i) =>
    `${required(wanted, MAX_FOLDER_BYTES)} AS f${i}`
  );
  const ended = optional(table.ended), pid = optional(table.pid);
  const archived = optional(table.archived);
  const isSet = (column: string | null) => column === null ? "0" : `${column} IS NOT NULL`;
  const select = [
    ...folders,
    `${required(table.time, 64)} AS at`,
    `${isSet(ended)} AS ended`,
    `${isSet(archived)} AS archived`,
    `${pid === null ? "NULL" : `CASE WHEN typeof(${pid}) = 'integer' THEN ${pid} END`} AS pid`,
  ];
  const from = `FROM "${name.replaceAll('"', '""')}"`;
  const prepare = (order: string) => {
    const statement = db.prepare(`SELECT ${select.join(", ")} ${from}${order}`);
    statement.setReadBigInts(true);
    return statement;
  };
  try {
    return prepare(" ORDER BY rowid DESC");
  } catch (error) {
    // A table without row ids has its own order.
    if (!/rowid/.test(String(error))) throw error;
    return prepare("");
  }
}

function toRow(values: Record<string, unknown>, table: SqlTable, now: number): Row {
  const pid = values["pid"];
  return {
    folders: table.folders.map((_, i) => values[`f${i}`]).filter((text) =>
      typeof text === "string"
    ),
    at: sqlTime(values["at"], now),
    ended: values["ended"] === 1n,
    pid: typeof pid === "bigint" && pid > 0n && pid <= 0xffff_ffffn ? Number(pid) : null,
  };
}

function addRows({ look, note }: StoreContext, path: string, rows: readonly Row[]): void {
  rows.forEach((row, i) => {
    const fresh = look.isFresh(row.at);
    const livePid = row.pid !== null && !row.ended && look.isAlive(row.pid) ? row.pid : null;
    if (!fresh && livePid === null) return;
    const root = row.folders.flatMap((text) => text.split(/\r?\n/).slice(0, MAX_FOLDER_LINES))
      .map((line) => look.roots.findFolder(line.trim()))
      .find((one) => one !== null);
    if (root === undefined) return;
    note({
      root,
      lastActivityMs: fresh ? row.at : null,
      idle: row.ended,
      pid: livePid,
      session: `${path}#${i}`,
    });
  });
}
