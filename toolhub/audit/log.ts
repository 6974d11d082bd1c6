/**
 * `audit.jsonl` and, beside it, the hash-chained ledger. Neither ever changes what a tool answers:
 * trouble is told on standard error.
 */

import type { Ledger } from "../../audit/mod.ts";
import type { MicroClock } from "../clock.ts";
import { join } from "../platform.ts";
import { withLock } from "../state/lock.ts";
import { openPrivate } from "../state/private_open.ts";
import { type AuditEvent, eventObject } from "./event.ts";
import { tailEvents } from "./tail.ts";

export const AUDIT_NAME = "audit.jsonl";
export const LEDGER_NAME = "audit-ledger.jsonl";

/** Records events of one state folder; several processes may do so at once. */
export class AuditLog {
  readonly #path: string;
  readonly #ledgerPath: string;
  readonly #clock: MicroClock;
  readonly #complain: (line: string) => void;
  #ledger: Promise<Ledger> | null = null;

  constructor(state: string, clock: MicroClock, complain: (line: string) => void) {
    this.#path = join(state, AUDIT_NAME);
    this.#ledgerPath = join(state, LEDGER_NAME);
    this.#clock = clock;
    this.#complain = complain;
  }

  /** Records one event. @returns false when a part of it could not be written; never rejects */
  async record(event: AuditEvent): Promise<boolean> {
    try {
      const stored = eventObject(event, this.#clock());
      const line = JSON.stringify(stored).toWellFormed();
      const results = await Promise.allSettled([this.#append(line), this.#chain(stored, line)]);
      const failed = results.filter((result) => result.status === "rejected");
      for (const { reason } of failed) {
        this.#complain(
          `an audit event was not recorded: ${
            reason instanceof Error ? reason.message : "unknown"
          }`,
        );
      }
      return failed.length === 0;
    } catch (error) {
      this.#complain(`an audit event was not made: ${error instanceof Error ? error.name : "?"}`);
      return false;
    }
  }

  /** The newest events, oldest first. @param limit 1 to 100 */
  recent(limit: number): Record<string, unknown>[] {
    return tailEvents(this.#path, limit);
  }

  /** Waits for the ledger and closes it. */
  async close(): Promise<void> {
    const ledger = await this.#ledger?.catch(() => null);
    await ledger?.close();
  }

  async #append(line: string): Promise<void> {
    const bytes = new TextEncoder().encode(line + "\n");
    await withLock(`${this.#path}.lock`, () => {
      const file = openPrivate(this.#path);
      try {
        const { size } = file.statSync();
        try {
          for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
          file.syncDataSync();
        } catch (error) {
          // Half a line would swallow the next one.
          file.truncateSync(size);
          throw error;
        }
      } finally {
        file.close();
      }
    });
  }

  /** The ledger's entry carries the hash of the line, so that the log can be held against it. */
  async #chain(stored: Record<string, unknown>, line: string): Promise<void> {
    const [ledger, { sha256 }] = await Promise.all([
      this.#ledger ??= this.#openLedger(),
      import("../workspace/hash.ts"),
    ]);
    const { timestamp: _time, arguments: _arguments, extra: _extra, error: _error, ...plain } =
      stored;
    const result = await ledger.append({
      ...plain,
      event_type: "toolhub_event",
      result: stored["success"] === true ? "success" : "error",
      event_sha256: sha256(line),
      summary: `${stored["tool"]} ${stored["action"]}`,
    });
    if (!result.written) throw new Error(`ledger: ${result.reason}`);
  }

  async #openLedger(): Promise<Ledger> {
    const { openLedger } = await import("../../audit/mod.ts");
    return openLedger({ path: this.#ledgerPath, signSeed: null, archive: null });
  }
}
