/** The permission sets of `deno.json`, written out as flags. */

import { ROOT } from "./deno.ts";

type Grant = boolean | readonly string[];

/** One entry of `permissions` in `deno.json`. */
export type PermissionSet = Readonly<Partial<Record<string, Grant>>>;

const KINDS = ["read", "write", "run", "net", "env", "sys", "ffi", "import"];

/**
 * Flags with the meaning of a permission set: `deno compile --no-config` cannot read the set itself.
 * Throws for a kind that is not known, because leaving one out would widen or narrow silently.
 */
export function permissionFlags(set: PermissionSet): string[] {
  const flags: string[] = [];
  for (const [kind, grant] of Object.entries(set)) {
    if (!KINDS.includes(kind)) throw new Error(`permission ${JSON.stringify(kind)} is not known`);
    if (grant === true) flags.push(`--allow-${kind}`);
    else if (grant !== false && grant !== undefined && grant.length > 0) {
      // The flag splits at commas, so a name with one would become two grants.
      const bad = grant.find((name) => name.includes(","));
      if (bad !== undefined) throw new Error(`permission ${kind}: ${JSON.stringify(bad)}`);
      flags.push(`--allow-${kind}=${grant.join(",")}`);
    }
  }
  return flags;
}

/** Reads one set of the project's `deno.json`. Throws when it is not there. */
export async function readPermissionSet(name: string): Promise<PermissionSet> {
  const config = JSON.parse(await Deno.readTextFile(`${ROOT}/deno.json`)) as {
    permissions: Record<string, PermissionSet>;
  };
  const set = config.permissions[name];
  if (set === undefined) throw new Error(`deno.json has no permission set ${name}`);
  return set;
}
