import { makePrivateFolder } from "../private_file.ts";

/** One call as the record keeps it: nothing else of a call is ever stored (`presence.md` 1.1). */
export interface RecordedCall {
  /** Cleaned, self-declared name and version; null when the client gave none. */
  readonly client: { readonly name: string | null; readonly version: string | null };
  /** Canonical path that the call was checked against. */
  readonly repoPath: string;
  /** Unix milliseconds. */
  readonly lastCallMs: number;
  readonly lastTool: string;
}

type Entry = Omit<RecordedCall, "client">;

const MAX_REPOS = 16;
const MAX_NAME_CHARS = 128;
const STALE_MS = 24 * 60 * 60 * 1_000;
const MAX_SWEPT = 512;
/** Calls that come this close together are written as one. */
const GATHER_MS = 200;

/**
 * The presence record of this process, `<run_dir>/presence/mcp/<pid>.json`: which client used which
 * repositories last. Other sidecars and the desktop app read it.
 */
export class PresenceRecord {
  #repos: Entry[] = [];
  #client: RecordedCall["client"] = { name: null, version: null };
  #swept = false;
  #left = false;
  #writtenAt = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param runDir canonical run directory
   * @param startedAtMs start of the process, so that a later process with its pid is not taken for it
   * @param failed told when the record cannot be written
   */
  constructor(
    readonly runDir: string,
    readonly pid: number,
    readonly startedAtMs: number,
    readonly failed: (error: unknown) => void,
  ) {}

  /** Takes a call; the file follows at once, or a moment later when one has just been written. */
  add({ client, ...entry }: RecordedCall): void {
    if (this.#left) return;
    this.#client = { name: cleanText(client.name), version: cleanText(client.version) };
    const others = this.#repos.filter((one) => one.repoPath !== entry.repoPath);
    this.#repos = [entry, ...others].slice(0, MAX_REPOS);
    const wait = this.#writtenAt + GATHER_MS - performance.now();
    if (wait <= 0) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), wait);
  }

  /** Removes the file; nothing is written after that. Throws when it cannot be removed. */
  leave(): void {
    this.#left = true;
    clearTimeout(this.#timer);
    if (this.#writtenAt === -Infinity) return;
    try {
      Deno.removeSync(`${this.#folder()}/${this.pid}.json`);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writtenAt = performance.now();
    try {
      // Checked before anything in it is touched: a link could lead anywhere.
      const folder = this.#folder();
      if (!this.#swept) {
        this.#swept = true;
        sweep(folder, `${this.pid}.json`);
      }
      replace(folder, this.pid, this.#text());
    } catch (error) {
      this.failed(error);
    }
  }

  #folder(): string {
    return makePrivateFolder(this.runDir, "presence", "mcp");
  }

  #text(): string {
    return JSON.stringify({
      schemaVersion: 1,
      pid: this.pid,
      startedAtMs: this.startedAtMs,
      client: this.#client,
      repos: this.#repos.map(({ repoPath, lastCallMs, lastTool }) => ({
        repoPath,
        lastCallMs,
        lastTool,
      })),
    });
  }
}

/** A new file beside it, renamed over it: a link in its place is replaced, not followed. */
function replace(folder: string, pid: number, text: string): void {
  const temporary = `${folder}/.${pid}.${crypto.randomUUID()}.tmp`;
  try {
    Deno.writeTextFileSync(temporary, text, { createNew: true, mode: 0o600 });
    Deno.renameSync(temporary, `${folder}/${pid}.json`);
  } catch (error) {
    try {
      Deno.removeSync(temporary);
    } catch { /* it was never made */ }
    throw error;
  }
}

/** Removes what killed processes left behind a day ago. Errors are of no account. */
function sweep(folder: string, own: string): void {
  let looked = 0;
  try {
    for (const { name, isFile } of Deno.readDirSync(folder)) {
      if (++looked > MAX_SWEPT) return;
      if (!isFile || name === own || !/\.(?:json|tmp)$/.test(name)) continue;
      try {
        const changed = Deno.lstatSync(`${folder}/${name}`).mtime?.getTime() ?? Infinity;
        if (Date.now() - changed >= STALE_MS) Deno.removeSync(`${folder}/${name}`);
      } catch { /* another sidecar was faster */ }
    }
  } catch { /* nothing to sweep */ }
}

function cleanText(text: string | null): string | null {
  if (text === null) return null;
  const plain = text.trim().replace(/\p{Cc}/gu, "");
  const cut = [...plain].slice(0, MAX_NAME_CHARS).join("").toWellFormed();
  return cut === "" ? null : cut;
}
