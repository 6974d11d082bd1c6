/** Numbers of the contract (`presence.md` section 0). Times in milliseconds, sizes in bytes. */

/** What is older says nothing about now; the bound itself still counts. */
export const FRESH_MS = 15 * 60_000;
/** Activity this young makes an agent `working`. */
export const WORKING_MS = 120_000;
/** A child process this young is work, not a server that was left running. */
export const YOUNG_CHILD_MS = 10 * 60_000;
/** So far ahead of our clock a time may lie. */
export const FUTURE_SLACK_MS = 60_000;
/** The pid of a record was given to another process when their starts differ by more. */
export const SAME_START_MS = 10_000;

export const LOG_TAIL_BYTES = 256 * 1024;
export const CODEX_HEAD_BYTES = 512 * 1024;
export const FIRST_LINE_BYTES = 64 * 1024;
export const SMALL_FILE_BYTES = 64 * 1024;
export const JSON_FILE_BYTES = 16 * 1024 * 1024;
export const GEMINI_PROJECTS_BYTES = 1024 * 1024;
export const GEMINI_ROOT_BYTES = 4_096;

export const MAX_FILES = 8;
export const MAX_ROOTS = 600;
export const MAX_FOLDER_ENTRIES = 4_096;
/** Entries that one walk through a store looks at, all folders together. */
export const MAX_WALKED = 40_000;
/** Fresh files of one store whose content is read, the newest first. */
export const MAX_READ_FILES = 64;
export const MAX_RECORDS = 256;
export const MAX_RECORD_REPOS = 16;
export const MAX_ANCESTORS = 16;
export const MAX_OWN_ANCESTORS = 8;
export const MAX_NAME_CHARS = 64;
export const MAX_BRANCH_CHARS = 256;
export const MAX_PATH_CHARS = 1_024;
export const MAX_UNKNOWN_CLIENTS = 32;
export const MAX_LISTED_AGENTS = 32;

export const SQL_ROWS = 256;
/** Rows that one table is looked at for the newest ones. */
export const SQL_SCANNED_ROWS = 100_000;
export const SQL_BUSY_MS = 250;
/** A database that nobody has open is read into memory; a larger one is left out. */
export const SQL_COPY_BYTES = 64 * 1024 * 1024;

/** The whole look around may take so long; what is not done by then is said. */
export const SCAN_MS = 2_000;
/** A finished look is used again for so long. */
export const KEEP_MS = 2_000;
/** A proposal waits at most 50 ms; a slice of work that is under way may delay the timer by the rest. */
export const HINT_WAIT_MS = 40;
