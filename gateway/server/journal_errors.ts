import { Refusal } from "./refusal.ts";

/** What SQLite says when the file system takes no more: full, read-only, over a quota, broken. */
const NO_ROOM = /disk is full|disk I\/O error|readonly database|unable to open database/i;

/**
 * A 503 {@link Refusal} for a journal that cannot be written: nothing was recorded, so nothing may be
 * done. Null for every other error.
 */
export function unwritable(error: unknown): Refusal | null {
  const text = error instanceof Error ? error.message : "";
  if (!NO_ROOM.test(text)) return null;
  return new Refusal(
    503,
    JOURNAL_UNWRITABLE,
    `the gateway cannot write its journal (${text.slice(0, 100)}); nothing was recorded`,
    "Tell the person that the disk of the gateway's run directory takes no more, and read operation.status before proposing again.",
  );
}

export const JOURNAL_UNWRITABLE = "journal_unwritable";
