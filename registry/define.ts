import type { z as zod } from "zod";

/**
 * What a tool is: schema, annotations, tier, risk and handler in one place. The schemas are functions
 * of `zod`, which only `deno task generate` and the tests load; the server reads plain JSON Schemas.
 */
export type Z = typeof zod;
export type Shape = Record<string, zod.ZodType>;
export type JsonSchema = Record<string, unknown>;

/** Families, in which toolsets are counted (`additions.md` 6, "toolset membership"). */
export type ToolFamily =
  | "repo"
  | "conflict"
  | "commit"
  | "worktree"
  | "submodule"
  | "diff"
  | "agents"
  | "fleet"
  | "safety"
  | "flux"
  | "operation";

export type Tier = "free" | "hybrid" | "fluxgit" | "fluxgit-write-handshake";

/** How a call is told in the ledger: reads, proposals, cancels (`audit.md`). */
export type Risk = "none" | "low" | "medium" | "high";

/** Makes and removes throw-away folders; the one thing that a read may ask to be written. */
export interface ScratchSpace {
  /** Creates an empty folder (0700) outside every repository. Throws when writing is not possible. */
  makeFolder(): Promise<string>;
  /** Removes a folder made by {@link makeFolder}, with everything in it. Never throws. */
  removeFolder(path: string): Promise<void>;
  /**
   * A private copy of another program's database, readable without making files beside the original;
   * `done` removes it. Throws when it cannot be made.
   */
  copyDatabase?(path: string): Promise<{ readonly path: string; readonly done: () => void }>;
}

/** What a handler may use. */
export interface ToolContext {
  readonly signal: AbortSignal;
  /** Self-declared name of the caller. */
  readonly agentId: string;
  readonly clientVersion: string | null;
  /** Canonical allowed roots, null without a restriction. */
  readonly roots: readonly string[] | null;
  /** `FLUXGIT_RUN_DIR` or the platform's default; null when there is none. */
  readonly runDir: string | null;
  /** Reads a variable of the server's environment. */
  readonly env: (name: string) => string | undefined;
  readonly scratch: ScratchSpace;
  /** Wall clock, Unix milliseconds. */
  readonly now: () => number;
  progress(progress: number, total?: number, message?: string): void;
}

/** What a handler gives back; the envelope around it is made by the registry. */
export interface ToolAnswer {
  readonly data?: unknown;
  /** When the tool has more than one. */
  readonly source?: string;
  /** Further members of the payload (`previewId`, `status`, `error` …). */
  readonly members?: Record<string, unknown>;
}

/** Arguments after validation, with declared defaults filled in. */
export type Args<S extends Shape> = zod.output<zod.ZodObject<S>>;

/** The input of tools that look at one repository; `repoPath` is canonical when the handler sees it. */
export interface RepositoryArgs {
  readonly repoPath: string;
  readonly repoId?: string | undefined;
}

interface ToolBase<S extends Shape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly family: ToolFamily;
  readonly tier: Tier;
  /** Declared in the output schema; the first one is what answers carry by default. */
  readonly sources: readonly [string, ...string[]];
  readonly risk: Risk;
  /** Hints of `tool-schemas.md` 2.1. Read tools leave `destructiveHint` out. */
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  /** The tool's own arguments. Repository tools get `repoPath` and `repoId` in front. */
  readonly input: (z: Z) => S;
  /** Rules that a shape cannot say (`anyOf`, `allOf`), added to the finished schema. */
  readonly rules?: JsonSchema;
  /** Schema of `data`. */
  readonly output: (z: Z) => zod.ZodType;
}

export interface RepositoryTool<S extends Shape> extends ToolBase<S> {
  readonly scope: "repository";
  readonly run: (args: Args<S> & RepositoryArgs, context: ToolContext) => Promise<ToolAnswer>;
}

export interface FreeTool<S extends Shape> extends ToolBase<S> {
  /** `fleet`: many repositories; `proposal`: named by a previewId. Neither has a `repoPath` member. */
  readonly scope: "fleet" | "proposal";
  readonly run: (args: Args<S>, context: ToolContext) => Promise<ToolAnswer>;
}

/** A tool as the registry handles it. */
export type AnyTool = ToolBase<Shape> & {
  readonly scope: "repository" | "fleet" | "proposal";
  // deno-lint-ignore no-explicit-any
  readonly run: (args: any, context: ToolContext) => Promise<ToolAnswer>;
};

/** Annotations of every read tool. */
export const READ_HINTS = {
  readOnlyHint: true,
  idempotentHint: true,
  openWorldHint: false,
} as const;

/** Checks the types of a tool's parts against each other and gives the tool back. */
export function defineTool<S extends Shape>(tool: RepositoryTool<S> | FreeTool<S>): AnyTool {
  return tool as unknown as AnyTool;
}
