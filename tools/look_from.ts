import type { LookFrom } from "../presence/mod.ts";
import type { ToolContext } from "../registry/define.ts";

/** What the detection of other agents needs of a call. */
export function lookFrom(context: ToolContext): LookFrom {
  const { env, runDir, now, roots, scratch } = context;
  return {
    env,
    runDir,
    now,
    roots,
    copyDatabase: scratch.copyDatabase ? (path) => scratch.copyDatabase!(path) : null,
  };
}
