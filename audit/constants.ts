/** Numbers and names of the ledger format (`audit.md` section 1). Sizes are bytes. */

/** Longest line of a ledger, its LF included. */
export const MAX_LINE_BYTES = 262_144;
/** The active file is rotated before it would grow beyond this. */
export const SEGMENT_LIMIT_BYTES = 4_194_304;
/** No ledger file may be larger: the segment limit and one line. */
export const MAX_FILE_BYTES = SEGMENT_LIMIT_BYTES + MAX_LINE_BYTES;
/** Rotated segments kept beside the active file. */
export const KEPT_SEGMENTS = 4;
/** A fifth one is tolerated until the next append prunes it. */
export const TOLERATED_SEGMENTS = KEPT_SEGMENTS + 1;
export const MAX_CHECKPOINTS = 16;
export const MAX_CHECKPOINT_BYTES = 16_384;
export const MAX_FOLDER_ENTRIES = 4_096;
/** An archive grows without end; a verifier reads names of at most this many entries. */
export const MAX_ARCHIVE_ENTRIES = 65_536;
export const MAX_KEY_FILE_BYTES = 65_536;
/** UTF-16 units of a `summary`. */
export const MAX_SUMMARY = 512;

export const CHAIN_VERSION = 1;
export const SCHEMA_VERSION = 1;
export const CHECKPOINT_VERSION = 1;
export const SIGNATURE_VERSION = 3;

/** `previousHash` of the very first entry. */
export const GENESIS = "genesis";
/** `previousHash` of the first chained entry behind records without a chain is this and hex. */
export const LEGACY_ANCHOR_PREFIX = "legacy-sha256:";
export const DEFAULT_LEDGER_NAME = "mcp.jsonl";

/** The members that the chain writer sets; a caller's own values of them are dropped. */
export const CHAIN_MEMBERS: ReadonlySet<string> = new Set([
  "id",
  "auditSchemaVersion",
  "auditChainVersion",
  "sequence",
  "segmentId",
  "previousHash",
  "signatureKeyId",
  "signatureVersion",
  "entryHash",
  "signature",
]);
