import { CodedError } from "../common/errors.ts";

/** `FLUXGIT_MCP_TOOLSETS`: which families are listed and callable (`additions.md` sections 3 and 6). */
export const TOOLSETS: Readonly<Record<string, readonly string[]>> = {
  read: ["repo", "conflict", "commit", "worktree", "submodule", "diff", "agents"],
  fleet: ["fleet"],
  safety: ["safety", "flux"],
  operations: ["operation"],
};

/** Families that are switched on; null means all. Throws `CodedError` for an unknown or blank name. */
export function readToolsets(value: string | undefined): ReadonlySet<string> | null {
  if (value === undefined) return null;
  const names = value.split(",").map((name) => name.trim());
  const families = new Set<string>();
  for (const name of names) {
    if (name === "all") return null;
    const members = Object.hasOwn(TOOLSETS, name) ? TOOLSETS[name]! : null;
    if (!members) {
      throw new CodedError(
        -32603,
        `FLUXGIT_MCP_TOOLSETS names ${JSON.stringify(name.slice(0, 60))}; known: ${
          Object.keys(TOOLSETS).join(", ")
        }, all`,
      );
    }
    for (const family of members) families.add(family);
  }
  return families;
}
