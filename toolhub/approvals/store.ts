/**
 * `approvals.json`: every change is one step under a lock between processes: read, look at the clock,
 * check, write whole. Readers need no lock. A damaged store is an error; it is never overwritten.
 */

import { parseStrictJsonBytes } from "../../audit/strict_json.ts";
import { JsonError } from "../../common/json.ts";
import { PrivateFileError, readPrivateFile } from "../../common/private_file.ts";
import { isoTime, type MicroClock, parseTime } from "../clock.ts";
import { HubError, shown } from "../errors.ts";
import { join } from "../platform.ts";
import { randomHex } from "../random.ts";
import { LOCK_WAIT_MS, withLock } from "../state/lock.ts";
import { replaceFile } from "../state/replace.ts";
import {
  type ApprovalRecord,
  isExpired,
  newRecord,
  readRecord,
  type RequestInput,
  type Status,
} from "./record.ts";

export const STORE_NAME = "approvals.json";
/** Most requests that are kept, and most bytes of the file. */
export const MAX_RECORDS = 10_000;
export const MAX_STORE_BYTES = 16 * 1_048_576;

/** What became of a wanted change. */
export type Transition =
  | { readonly done: true; readonly record: ApprovalRecord }
  /** `record` as it is now; null when the id is not known. */
  | { readonly done: false; readonly record: ApprovalRecord | null };

type Records = Map<string, ApprovalRecord>;

/** The approvals of one state folder. */
export class ApprovalStore {
  readonly #state: string;
  readonly #path: string;
  readonly #clock: MicroClock;
  readonly #lockWaitMs: number;

  constructor(state: string, clock: MicroClock, lockWaitMs = LOCK_WAIT_MS) {
    this.#state = state;
    this.#path = join(state, STORE_NAME);
    this.#clock = clock;
    this.#lockWaitMs = lockWaitMs;
  }

  /**
   * Stores a new pending request.
   *
   * @throws {HubError} the store is full, damaged or cannot be written
   */
  create(input: RequestInput, ttlSeconds: number): Promise<ApprovalRecord> {
    return this.#change((records, now) => {
      if (records.size >= MAX_RECORDS) throw full();
      const record = newRecord(input, now, ttlSeconds);
      if (records.has(record.request_id)) {
        throw new HubError("ApprovalStoreError", "the new request id exists already; try again");
      }
      records.set(record.request_id, record);
      return { result: record, changed: true };
    });
  }

  /** One request as it is now; expiry that is noticed is stored. Null for an unknown id. */
  async get(id: string): Promise<ApprovalRecord | null> {
    const found = this.#read().get(id) ?? null;
    if (found === null || !isExpired(found, this.#clock())) return found;
    return (await this.#move(id, null, () => false)).record;
  }

  /** All requests, oldest first, expiry shown but not stored. */
  list(): ApprovalRecord[] {
    const now = this.#clock();
    const seen = (record: ApprovalRecord): ApprovalRecord =>
      isExpired(record, now) ? { ...record, status: "EXPIRED" } : record;
    return [...this.#read().values()].map(seen).sort((a, b) =>
      (parseTime(a.created_at) ?? 0) - (parseTime(b.created_at) ?? 0)
    );
  }

  /**
   * `PENDING` to `APPROVED`.
   *
   * @param asShown the record that the person saw; a request that is no longer that one is refused
   */
  approve(id: string, asShown?: ApprovalRecord): Promise<Transition> {
    return this.#move(id, "APPROVED", (record) => {
      if (asShown !== undefined && fixedPart(record) !== fixedPart(asShown)) {
        throw new HubError(
          "ApprovalStateError",
          `the stored request ${shown(id)} is not the one that was shown; nothing was approved`,
        );
      }
      return record.status === "PENDING";
    });
  }

  /** `PENDING` to `REJECTED`. */
  reject(id: string): Promise<Transition> {
    return this.#move(id, "REJECTED", (record) => record.status === "PENDING");
  }

  /**
   * `APPROVED` to `CONSUMED`: only the caller that gets `done` may act, and only on the record given
   * here. A request of another kind stays as it is.
   */
  consume(id: string, kind: ApprovalRecord["kind"]): Promise<Transition> {
    return this.#move(
      id,
      "CONSUMED",
      (record) => record.status === "APPROVED" && record.kind === kind,
    );
  }

  /**
   * Removes ended requests whose last change is at or before a moment.
   *
   * @param apply false only counts
   */
  prune(beforeMicros: number, apply: boolean): Promise<{ removed: number; kept: number }> {
    return this.#change((records, now) => {
      let removed = 0;
      for (const [id, record] of records) {
        const ended = isExpired(record, now) ||
          (record.status !== "PENDING" && record.status !== "APPROVED");
        const last = parseTime(record.decided_at ?? record.expires_at) ?? 0;
        if (!ended || last > beforeMicros) continue;
        records.delete(id);
        removed++;
      }
      return { result: { removed, kept: records.size }, changed: apply && removed > 0 };
    });
  }

  #move(
    id: string,
    to: Status | null,
    allowed: (record: ApprovalRecord) => boolean,
  ): Promise<Transition> {
    return this.#change<Transition>((records, now) => {
      const record = records.get(id) ?? null;
      if (record === null) return { result: { done: false, record }, changed: false };
      const at = isoTime(now, "Z");
      if (isExpired(record, now)) {
        const expired: ApprovalRecord = { ...record, status: "EXPIRED", decided_at: at };
        records.set(id, expired);
        return { result: { done: false, record: expired }, changed: true };
      }
      if (to === null || !allowed(record)) {
        return { result: { done: false, record }, changed: false };
      }
      const moved: ApprovalRecord = { ...record, status: to, decided_at: at };
      records.set(id, moved);
      return { result: { done: true, record: moved }, changed: true };
    });
  }

  async #change<T>(
    step: (records: Records, nowMicros: number) => { result: T; changed: boolean },
  ): Promise<T> {
    return await withLock(`${this.#path}.lock`, () => {
      const records = this.#read();
      const { result, changed } = step(records, this.#clock());
      if (changed) this.#write(records);
      return result;
    }, this.#lockWaitMs);
  }

  #read(): Records {
    let bytes: Uint8Array | null;
    try {
      bytes = readPrivateFile(this.#path, MAX_STORE_BYTES);
    } catch (error) {
      throw damaged(
        error instanceof PrivateFileError ? "not a readable regular file" : "unreadable",
      );
    }
    if (bytes === null) return new Map();
    let value: { version?: unknown; requests?: unknown };
    try {
      value = parseStrictJsonBytes(bytes) as typeof value;
    } catch (error) {
      throw damaged(`not sound JSON (${error instanceof JsonError ? error.message : "unknown"})`);
    }
    const { version, requests } = value ?? {};
    if (version !== 1 && version !== 2) throw damaged("of an unknown version");
    if (typeof requests !== "object" || requests === null || Array.isArray(requests)) {
      throw damaged("without requests");
    }
    const records: Records = new Map();
    for (const [id, stored] of Object.entries(requests)) {
      const record = readRecord(id, stored, version);
      if ("problem" in record) throw damaged(record.problem);
      records.set(id, record);
    }
    return records;
  }

  #write(records: Records): void {
    const sorted = [...records].sort(([a], [b]) => (a < b ? -1 : 1));
    const text = JSON.stringify({ version: 2, requests: Object.fromEntries(sorted) }, null, 2);
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > MAX_STORE_BYTES) throw full();
    replaceFile({
      folder: this.#state,
      target: this.#path,
      temporary: join(this.#state, `.approvals-${randomHex(8)}.tmp`),
      bytes,
      mode: 0o600,
      publish: "over",
    });
  }
}

/** Everything of a record that never changes. */
function fixedPart({ status: _status, decided_at: _decided, ...fixed }: ApprovalRecord): string {
  return JSON.stringify(fixed);
}

function full(): HubError {
  return new HubError(
    "ApprovalStoreError",
    "The approval store is full; a person can remove ended requests with: " +
      "mcp-toolhub-admin prune --older-than-days N --apply",
  );
}

function damaged(why: string): HubError {
  return new HubError(
    "ApprovalStoreError",
    `The approval store (approvals.json) is damaged: ${why}. Nothing was changed; a person has to look at it`,
  );
}
