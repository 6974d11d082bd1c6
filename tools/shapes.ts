import type { Z } from "../registry/define.ts";

/** Pieces of output schemas that several tools share. Members that are left out when empty are optional. */

export const nullableString = (z: Z) => z.string().nullable();
export const count = (z: Z) => z.int().min(0);
/** Unknown is null, never 0. */
export const nullableCount = (z: Z) => z.int().min(0).nullable();

/** An object of which only the names are told: its members are plain, and a schema of each costs tokens. */
const named = (z: Z, ...required: string[]) => z.unknown().meta({ type: "object", required });

/** `data.warnings` of `additions.md` section 1; `count` and `path` may stand beside. */
export const warnings = (z: Z) => z.array(named(z, "code", "message")).optional();

/** A status entry; see `git/status.ts`. */
export const statusEntry = (z: Z) =>
  z.object({
    status: z.string(),
    path: z.string(),
    pathBytes: z.string().optional(),
    origPath: z.string().optional(),
    origPathBytes: z.string().optional(),
    score: z.int().optional(),
    modes: z.object({ old: z.string(), new: z.string() }).optional(),
    intentToAdd: z.literal(true).optional(),
    conflict: z.string().optional(),
    submodule: z.object({ newCommits: z.boolean(), modified: z.boolean(), untracked: z.boolean() })
      .optional(),
    nestedRepo: z.literal(true).optional(),
  });

/** `limit`, `total`, `truncated`, `nextCursor` of every list that can grow. */
export const page = (z: Z) => ({
  limit: count(z),
  total: nullableCount(z),
  truncated: z.boolean(),
  nextCursor: nullableString(z),
});

/** Where HEAD stands against its upstream (`additions.md` section 2). */
export const divergence = (z: Z) => ({
  upstream: nullableString(z),
  upstreamGone: z.boolean(),
  ahead: nullableCount(z),
  behind: nullableCount(z),
});

/** Input `maxTokens` of the tools that can be told how much to say. */
export const maxTokens = (z: Z) => z.int().min(200).max(25_000).optional();

/** What `maxTokens` left out, list by list. */
export const cut = (z: Z) => z.array(named(z, "list", "kept", "of")).optional();
