/**
 * The writing side of a ledger. It is made to live in a worker: file work is synchronous, the wait
 * for the lock is not, and nothing here knows of workers. Trouble never throws at the caller: entries
 * stay in memory, in order, until they can be written, and {@link Ledger.state} says so.
 */

import { Appender, type AppendTools } from "./append.ts";
import { type EntryInput, type PreparedEntry, prepareEntry } from "./build.ts";
import type { Head } from "./chain.ts";
import type { LedgerConfig } from "./config.ts";
import { KEPT_SEGMENTS } from "./constants.ts";
import { LedgerError, reasonOf } from "./errors.ts";
import { checkFolder, LedgerNames, type Listing, listLedger } from "./folder.ts";
import { makeFolder, type OpenFile, openSafely } from "./folder.ts";
import { FileLock, type HeldLock } from "./lock.ts";
import { shown } from "./paths.ts";
import { explainGap, prune, writeAll } from "./retention.ts";
import { Signer } from "./signing.ts";
import { snapshotUnderLock } from "./snapshot.ts";
import { identityOf, inspect, listingKey, repairTail, type Tail } from "./tail.ts";
import { type VerifyFailure, verifyLedger, verifySnapshot } from "./verify.ts";

/** How the ledger tells people, and what tests put in place of the world. */
export interface LedgerHooks {
  /** Takes one line for standard error; it begins with the ledger's path. */
  readonly notice?: (text: string) => void;
  /** Wall clock, Unix milliseconds. */
  readonly now?: () => number;
  /** Longest wait for other processes; default 5,000 ms. */
  readonly lockWaitMs?: number;
  /** Writes the bytes of entries at the end of the active file; default writes them. */
  readonly write?: (file: Deno.FsFile, bytes: Uint8Array) => void;
}

/** Outcome of one append. */
export type AppendResult =
  | { readonly written: true; readonly head: Head }
  /** `kept`: it waits in memory for the next append or flush; otherwise it is lost. */
  | { readonly written: false; readonly kept: boolean; readonly reason: string };

/** Health of the ledger, plain data. */
export interface LedgerState {
  readonly status: "ok" | "degraded";
  /** Why it is degraded, one printable line; null when it is not. */
  readonly reason: string | null;
  /** Newest entry that this ledger wrote or found; null before the first append. */
  readonly head: Head | null;
  /** Entries written. */
  readonly written: number;
  /** Entries that could not be written yet. */
  readonly waiting: number;
  /** Entries that never will be. */
  readonly lost: number;
}

interface Waiting {
  readonly entry: PreparedEntry;
  /** Cleared once the caller was told that it has to wait. */
  tell: ((result: AppendResult) => void) | null;
}

/** More entries than this are not kept in memory while nothing can be written. */
const MAX_WAITING = 10_000;
/** One lock, one write and one sync serve up to so many entries. */
const MAX_BATCH = 64;

/**
 * Opens a ledger for appending. Touches no file: folder and file trouble shows at the first append.
 *
 * @example
 * ```ts
 * import { openLedger } from "./mod.ts";
 *
 * const folder = await Deno.makeTempDir();
 * const ledger = openLedger({ path: `${folder}/mcp.jsonl`, signSeed: null, archive: null });
 * await ledger.append({ event_type: "tool_call", tool: "repo.status", result: "success" });
 * await ledger.close();
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export function openLedger(config: LedgerConfig, hooks: LedgerHooks = {}): Ledger {
  return new Ledger(config, hooks);
}

/** See {@link openLedger}. */
export class Ledger {
  readonly #config: LedgerConfig;
  readonly #hooks: LedgerHooks;
  readonly #names: LedgerNames;
  readonly #signer: Signer | null;
  readonly #lock: FileLock;
  readonly #queue: Waiting[] = [];
  #draining: Promise<void> | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #tail: Tail | null = null;
  #written = 0;
  #lost = 0;
  /** Why the last attempt failed; null after one that worked. */
  #failure: string | null = null;
  /** Appending works, but surplus segments cannot be taken away. */
  #surplus: string | null = null;
  /** What a full check found, and the files it was found in. */
  #broken: { reason: string; files: string } | null = null;
  #closed = false;

  constructor(config: LedgerConfig, hooks: LedgerHooks) {
    this.#config = config;
    this.#hooks = hooks;
    this.#names = new LedgerNames(config.path);
    this.#signer = config.signSeed ? new Signer(config.signSeed) : null;
    this.#lock = new FileLock(this.#names.lock, () => {
      if (this.#queue.length > 0 && !this.#closed) this.#drain();
    });
  }

  /**
   * Appends one entry behind all that were given before. Resolves when it is durable, or when it is
   * clear that it has to wait; never rejects.
   *
   * @param entry any members; those of the chain are set here (`audit.md` 4.1)
   */
  append(entry: EntryInput): Promise<AppendResult> {
    let prepared: PreparedEntry;
    try {
      if (this.#closed) throw new LedgerError("entry", "the ledger is closed");
      if (this.#queue.length >= MAX_WAITING) {
        throw new LedgerError("entry", `${MAX_WAITING} entries are waiting already`);
      }
      prepared = prepareEntry(entry, this.#now());
    } catch (error) {
      return Promise.resolve(this.#lose(error));
    }
    return new Promise((tell) => {
      this.#queue.push({ entry: prepared, tell });
      this.#drain();
    });
  }

  /**
   * Waits until every entry is written, trying once more those that had to wait.
   *
   * @returns how many are still not written
   */
  async flush(): Promise<number> {
    await this.#draining;
    if (this.#queue.length > 0) await this.#drain();
    return this.#queue.length;
  }

  /** Flushes and takes no more entries. @returns as {@link flush} */
  async close(): Promise<number> {
    this.#closed = true;
    const left = await this.flush();
    await this.#turn;
    this.#lock.close();
    return left;
  }

  state(): LedgerState {
    const reason = this.#broken?.reason ?? this.#failure ?? this.#surplus;
    return {
      status: reason === null ? "ok" : "degraded",
      reason,
      head: this.#tail?.head ?? null,
      written: this.#written,
      waiting: this.#queue.length,
      lost: this.#lost,
    };
  }

  /**
   * Checks the whole ledger, as the verifier does but for signatures; meant to run once after start.
   * A broken chain stops all appends until the ledger is moved away or put right.
   *
   * @returns false when it is broken
   */
  async check(): Promise<boolean> {
    const report = await verifyLedger(this.#config.path, {
      // Between files, entries that arrive meanwhile are written.
      afterFile: () => new Promise((resolve) => setTimeout(resolve, 0)),
    });
    if (report.ok || report.failure?.kind === "io" || report.failure?.torn) return true;
    return await this.#exclusive(() => this.#confirm());
  }

  /** Looks again while nobody can write, so that no coincidence is taken for a broken chain. */
  async #confirm(): Promise<boolean> {
    let lock: HeldLock | null = null;
    try {
      lock = await this.#lock.acquire(this.#waitMs);
      this.#checkAll();
    } catch (error) {
      this.#failure = reasonOf(error);
      this.#notice(`the check could not be made: ${this.#failure}`);
      return false;
    } finally {
      lock?.release();
    }
    if (this.#broken) this.#notice(`${this.#broken.reason}; ${ADVICE}`);
    return this.#broken === null;
  }

  #now(): number {
    return this.#hooks.now?.() ?? Date.now();
  }

  get #waitMs(): number {
    return this.#hooks.lockWaitMs ?? 5_000;
  }

  #notice(text: string): void {
    this.#hooks.notice?.(`${shown(this.#config.path)}: ${text}`);
  }

  #lose(error: unknown): AppendResult {
    const reason = reasonOf(error);
    this.#lost++;
    this.#notice(`an entry is lost: ${reason}`);
    return { written: false, kept: false, reason };
  }

  /** Runs one at a time whatever uses the lock. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  #drain(): Promise<void> {
    this.#draining ??= this.#exclusive(() => this.#drainQueue());
    return this.#draining;
  }

  async #drainQueue(): Promise<void> {
    // Entries that arrive in the same turn of the event loop share a write.
    await Promise.resolve();
    try {
      while (this.#queue.length > 0) await this.#appendBatch();
    } catch (error) {
      this.#fail(error);
    } finally {
      // In the same turn as the last look at the queue: an entry that arrives now starts anew.
      this.#draining = null;
    }
  }

  #fail(error: unknown): void {
    const broken = error instanceof LedgerError &&
      (error.kind === "integrity" || error.kind === "configuration");
    const reason = reasonOf(error);
    this.#failure = reason;
    const told = this.#queue.filter(({ tell }) => tell !== null);
    for (const waiting of told) {
      waiting.tell!({ written: false, kept: true, reason });
      waiting.tell = null;
    }
    if (told.length === 0) return;
    this.#notice(
      `${told.length} ${told.length === 1 ? "entry" : "entries"} not written: ${reason}; ` +
        `${this.#queue.length} kept in memory` + (broken ? `; ${ADVICE}` : ""),
    );
  }

  async #appendBatch(): Promise<void> {
    makeFolder(this.#names.folder);
    const lock = await this.#lock.acquire(this.#waitMs);
    try {
      checkFolder(this.#names.folder);
      lock.check();
      this.#appendUnderLock();
    } finally {
      lock.release();
    }
    if (this.#failure !== null) {
      this.#failure = null;
      this.#notice("recording again");
    }
  }

  #appendUnderLock(): void {
    if (this.#broken) this.#checkAll();
    if (this.#broken) throw new LedgerError("integrity", this.#broken.reason);
    const listing = listLedger(this.#names);
    let active = listing.hasActive ? openSafely(this.#names.active, { write: true }) : null;
    let appender: Appender;
    try {
      if (active) active = this.#repaired(active);
      const tail = inspect(this.#names, listing, active, this.#tail, (text) => this.#notice(text));
      const pruned = this.#prune(listing, tail);
      appender = new Appender(this.#tools, active, { ...tail, listed: listingKey(pruned) });
    } catch (error) {
      active?.file.close();
      throw error;
    }
    try {
      for (const { entry } of this.#queue.slice(0, MAX_BATCH)) appender.add(entry);
      appender.commit();
    } finally {
      appender.close();
    }
  }

  get #tools(): AppendTools {
    return {
      names: this.#names,
      signer: this.#signer,
      write: this.#hooks.write ?? writeAll,
      rotated: () => this.#prune(listLedger(this.#names)),
      committed: (heads, tail) => {
        this.#tail = tail;
        this.#written += heads.length;
        const done = this.#queue.splice(0, heads.length);
        for (const [at, { tell }] of done.entries()) tell?.({ written: true, head: heads[at]! });
      },
    };
  }

  #repaired(active: OpenFile): OpenFile {
    const repair = repairTail(active);
    if (repair === null) return active;
    this.#notice(repair);
    return { file: active.file, info: active.file.statSync() };
  }

  /** One surplus segment may stay for a while; a second would make every verifier refuse. */
  #prune(listing: Listing, tail?: Tail): Listing {
    const { archive } = this.#config;
    const oldest = listing.segments[0]?.first ?? tail?.fileFirst ?? 1;
    const first = archive !== null && this.#tail === null && oldest > 1;
    if (
      listing.segments.length <= KEPT_SEGMENTS && listing.temporary.length === 0 && !first
    ) {
      this.#surplus = null;
      return listing;
    }
    try {
      if (first) explainGap(this.#names, archive, oldest, listing);
      const left = prune(this.#names, listing, {
        signer: this.#signer,
        archive,
        nowMs: this.#now(),
      });
      this.#surplus = null;
      return left;
    } catch (error) {
      const left = listLedger(this.#names);
      if (error instanceof LedgerError && error.kind === "integrity") throw error;
      const reason = `a rotated segment cannot be taken away: ${reasonOf(error)}`;
      if (this.#surplus !== reason) this.#notice(reason);
      this.#surplus = reason;
      return left;
    }
  }

  /** Sets or clears the broken state; skipped while the files are those it was found in. */
  #checkAll(): void {
    const files = this.#fileStamp();
    if (this.#broken?.files === files) return;
    const snapshot = snapshotUnderLock(this.#names);
    try {
      const { failure } = verifySnapshot(snapshot);
      const found = failure && !failure.torn && failure.kind !== "io" ? failure : null;
      this.#broken = found
        ? { files, reason: `broken in ${shown(found.file ?? "its folder")}, ${placeOf(found)}` }
        : null;
    } finally {
      snapshot.close();
    }
  }

  #fileStamp(): string {
    const { segments, checkpoints, hasActive } = listLedger(this.#names);
    const files = [...segments.map(({ name }) => name), ...checkpoints];
    if (hasActive) files.push(this.#names.base);
    return files.map((name) => {
      const info = Deno.lstatSync(this.#names.path(name));
      return `${name} ${identityOf(info)} ${info.size} ${info.mtime?.getTime()}`;
    }).join("\n");
  }
}

const ADVICE = "nothing is recorded until the ledger is moved away";

function placeOf(failure: VerifyFailure): string {
  return `line ${failure.line}: ${failure.reason}`;
}
