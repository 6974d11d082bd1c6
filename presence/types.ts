/** Where evidence comes from, in the contract's words. */
export type Source = "process" | "session" | "repo-trace" | "ide" | "mcp";

/** One piece of evidence: an agent was seen at work, or at least there, in a root. */
export interface Note {
  /** Stable id, or the cleaned name of an MCP client. */
  readonly agent: string;
  /** Canonical root. */
  readonly root: string;
  readonly source: Source;
  readonly lastActivityMs?: number | null;
  /** The turn is over, so the activity is no sign of work. */
  readonly idle?: boolean;
  /** A sign of work whatever the times say. */
  readonly busy?: boolean;
  readonly branch?: string | null;
  readonly lastTool?: string | null;
  readonly files?: readonly string[];
  readonly pid?: number | null;
  /** Tells sessions of the same agent apart: a pid, a log's place. Never shown. */
  readonly session?: string;
  readonly client?: { readonly name: string; readonly version: string | null };
}

export type State = "working" | "open" | "recent";

/** All evidence about one agent in one root (`presence.md` 2.1). */
export interface Finding {
  readonly agent: string;
  readonly root: string;
  readonly state: State;
  readonly sources: readonly Source[];
  readonly pid: number | null;
  readonly lastActivityMs: number | null;
  readonly branch: string | null;
  readonly lastTool: string | null;
  readonly files: readonly string[];
  readonly mcpClient: { readonly name: string; readonly version: string | null } | null;
  /** How many sessions of this agent are there at least, when more than one. */
  readonly sessions: number;
}

/** Why something could not be looked at. */
export type Reason =
  /** The permissions, of this program or of the file, do not allow it. */
  | "not_permitted"
  | "not_installed"
  /** This system has no way to tell. */
  | "not_supported"
  | "failed"
  | "locked"
  | "too_large"
  | "too_many"
  | "unknown_shape"
  /** A link, a device: nothing that is opened. */
  | "not_regular"
  | "timed_out"
  /** Still being looked at when the answer had to go out. */
  | "late";

/** A source, or part of one, that is missing from an answer. */
export interface Unavailable {
  readonly source: Source;
  readonly reason: Reason;
  /** Agents whose stores it was; absent when it is the whole source. */
  readonly agents?: readonly string[];
  readonly message?: string;
}
