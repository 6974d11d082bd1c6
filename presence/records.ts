import { ANY_CLIENT, cleanClientName, ClientNames } from "./client_names.ts";
import { integerMember, listMember, parseObject, shortText, textMember } from "./json.ts";
import {
  FRESH_MS,
  FUTURE_SLACK_MS,
  MAX_NAME_CHARS,
  MAX_RECORD_REPOS,
  MAX_RECORDS,
  SAME_START_MS,
  SMALL_FILE_BYTES,
  WORKING_MS,
} from "./limits.ts";
import type { Findings, Look } from "./look.ts";
import { StoreFiles } from "./store_files.ts";

const names = new ClientNames();

/** The agent id of a self-declared client name, counted with those of all records read so far. */
export function agentOfClient(name: string | null): string {
  return names.agentOf(name);
}

/** Adds what the records of other sidecars say (`presence.md` 1.5, 2.9). */
export async function readRecords(look: Look, found: Findings): Promise<void> {
  const { runDir, ownPid } = look.around;
  if (runDir === null || runDir === "") return;
  const files = new StoreFiles(look, found);
  const folder = `${runDir}/presence/mcp`;
  for (const { name, isFile } of files.list(folder).slice(0, MAX_RECORDS)) {
    await look.breathe();
    const pid = /^(.+)\.json$/.exec(name)?.[1];
    if (!isFile || pid === undefined || (/^\d{1,10}$/.test(pid) && Number(pid) === ownPid)) {
      continue;
    }
    const path = `${folder}/${name}`;
    const mtime = files.mtime(path);
    if (!look.isFresh(mtime)) continue;
    const record = parseObject(files.text(path, SMALL_FILE_BYTES) ?? "");
    if (record === null || record["schemaVersion"] !== 1) continue;
    const started = integerMember(record, "startedAtMs");
    if (!mayLive(look, pid, started, mtime)) continue;
    addRecord(look, found, record, pid);
  }
}

/**
 * Whether the writer of a record can still be there: a process of that number that is not another,
 * younger one. Where processes cannot be asked for, the record's freshness is all there is.
 */
function mayLive(look: Look, pid: string, startedAtMs: number | null, mtimeMs: number): boolean {
  if (look.table === null || !/^\d{1,10}$/.test(pid)) return true;
  const row = look.table.get(Number(pid));
  if (!row) return false;
  if (row.startedMs === null) return true;
  return startedAtMs === null
    ? row.startedMs - mtimeMs <= SAME_START_MS
    : Math.abs(row.startedMs - startedAtMs) <= SAME_START_MS;
}

function addRecord(
  look: Look,
  found: Findings,
  record: Readonly<Record<string, unknown>>,
  pid: string,
): void {
  const client = textMember(record, "client", "name");
  const agent = names.agentOf(client);
  const version = shortText(textMember(record, "client", "version"), MAX_NAME_CHARS);
  for (const entry of listMember(record, "repos").slice(0, MAX_RECORD_REPOS)) {
    const path = textMember(entry, "repoPath");
    const at = integerMember(entry, "lastCallMs");
    if (path === null || at === null) continue;
    if (look.now - at > FRESH_MS || at - look.now > FUTURE_SLACK_MS) continue;
    const root = look.roots.find(path);
    if (root === null) continue;
    found.notes.push({
      agent,
      root,
      source: "mcp",
      busy: look.now - at <= WORKING_MS,
      lastActivityMs: at,
      lastTool: shortText(textMember(entry, "lastTool"), MAX_NAME_CHARS),
      client: { name: cleanClientName(client) ?? ANY_CLIENT, version },
      session: pid,
    });
  }
}
