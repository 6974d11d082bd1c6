import type { RecordedCall } from "./presence_record.ts";

/** What the main program and its writer worker say to each other. */

/** Where the worker may write; resolved before it starts. */
export interface WriterPlaces {
  /** Canonical run directory. */
  readonly runDir: string;
  /** Other canonical folders it may write (the ledger's, the archive's). */
  readonly others: readonly string[];
}

/** Where the ledger is and how it is signed: `LedgerConfig` of `audit/config.ts`, which this room does not know. */
export interface LedgerSettings {
  readonly path: string;
  readonly signSeed: Uint8Array | null;
  readonly archive: string | null;
}

export type WriterRequest =
  | {
    readonly op: "start";
    readonly places: WriterPlaces;
    readonly pid: number;
    /** Start of the program, Unix milliseconds. */
    readonly startedAtMs: number;
    readonly ledger: LedgerSettings | null;
  }
  | { readonly op: "record"; readonly call: unknown }
  | { readonly op: "flush" }
  | { readonly op: "presence"; readonly call: RecordedCall }
  /** Removes the presence record; asked for at the end. */
  | { readonly op: "leave" }
  /** Answers with the path of a copy; its folder is removed like a throw-away folder. */
  | { readonly op: "copyDatabase"; readonly path: string }
  | { readonly op: "makeFolder" }
  | { readonly op: "removeFolder"; readonly path: string };

/** One request with its number; the reply carries the same one. */
export type Numbered = { readonly id: number; readonly request: WriterRequest };

export type WriterReply =
  | { readonly id: number; readonly ok: true; readonly value: string | null }
  | { readonly id: number; readonly ok: false; readonly reason: string }
  /** A line for people. */
  | { readonly id: 0; readonly notice: string };
