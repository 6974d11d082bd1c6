/** Why something about restore points was refused; one word a cause, for code that must tell them apart. */
export type RestoreFailure =
  /** A complete point cannot be made; nothing may be executed. */
  | "cannot_make"
  /** Files of the hidden repository are not what they should be. */
  | "store_altered"
  /** The list of points cannot be read. */
  | "store_unreadable"
  /** Another process changes this repository. */
  | "busy"
  /** No such point or branch tip. */
  | "not_found"
  /** The repository is no longer as it was when the preview was made. */
  | "stale"
  /** Going on would lose something that no point can keep. */
  | "would_lose"
  /** Nothing to undo or redo, or HEAD has moved past it. */
  | "not_undoable"
  /** Objects that the point needs are gone. */
  | "objects_missing"
  /** It was begun and failed; the message says how the repository was left. */
  | "failed";

/** A refusal of this room. `message` is one bounded sentence with what to do next. */
export class RestoreError extends Error {
  override name = "RestoreError";
  /** @param data bounded details: counts and first names */
  constructor(
    readonly kind: RestoreFailure,
    message: string,
    readonly data: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}

/** What an error tells a person, bounded: git's own words where there are any. */
export function reasonOf(error: unknown): string {
  const details = (error as { data?: { details?: unknown } } | null)?.data?.details;
  const text = typeof details === "string"
    ? details
    : error instanceof Error
    ? error.message
    : String(error);
  return text.length > 600 ? text.slice(0, 600) + "…" : text;
}
