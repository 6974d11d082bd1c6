import type { IndexScan } from "./index_scan.ts";
import type { Repository } from "./repository.ts";

/** What is unusual about a repository (`additions.md` section 2, `repository` of repo.brief). */
export type Peculiarity =
  | "bare"
  | "linked-worktree"
  | "shallow"
  | "partial-clone"
  | "sparse"
  | "sha256"
  | "reftable"
  | "replace-refs"
  | "alternates"
  | "hidden-index-flags";

/**
 * Tells what is unusual, from configuration and a few small files. Under a sparse checkout the
 * skip-worktree flag is what one expects, so it alone is not called hidden.
 *
 * @param scan of the index; null when there is none to speak of (bare)
 */
export async function peculiarities(
  repo: Repository,
  scan: IndexScan | null,
): Promise<Peculiarity[]> {
  const { facts } = repo;
  const { config, commonDir } = facts;
  const reftable = config.get("extensions.refstorage")?.startsWith("reftable") ?? false;
  const sparse = config.bool("core.sparsecheckout", false);
  const partial = config.get("extensions.partialclone") !== undefined ||
    config.subsections("remote", "promisor").some((name) =>
      config.bool(`remote.${name}.promisor`, false)
    );
  const hidden = scan !== null &&
    (scan.assumeUnchanged > 0 || (scan.skipWorktree > 0 && !sparse));
  const found: [boolean, Peculiarity][] = [
    [facts.bare, "bare"],
    [facts.gitDir !== commonDir, "linked-worktree"],
    [fileSize(`${commonDir}/shallow`) > 0, "shallow"],
    [partial, "partial-clone"],
    [sparse, "sparse"],
    [facts.objectFormat === "sha256", "sha256"],
    [reftable, "reftable"],
    [reftable ? await asksReplaceRefs(repo) : hasReplaceRefs(commonDir), "replace-refs"],
    [fileSize(`${commonDir}/objects/info/alternates`) > 0, "alternates"],
    [hidden, "hidden-index-flags"],
  ];
  return found.filter(([is]) => is).map(([, name]) => name);
}

/**
 * Path of the main work tree, as seen from a linked one; null when there is none (bare).
 */
export function mainWorkTree(repo: Repository): string | null {
  const { commonDir, config } = repo.facts;
  if (config.bool("core.bare", false)) return null;
  const set = config.get("core.worktree");
  if (set) return resolve(commonDir, set);
  return commonDir.endsWith("/.git") ? commonDir.slice(0, -"/.git".length) || "/" : null;
}

function resolve(base: string, path: string): string | null {
  try {
    return Deno.realPathSync(path.startsWith("/") ? path : `${base}/${path}`);
  } catch {
    return null;
  }
}

function fileSize(path: string): number {
  try {
    const info = Deno.statSync(path);
    return info.isFile ? info.size : 0;
  } catch {
    return 0;
  }
}

async function asksReplaceRefs(repo: Repository): Promise<boolean> {
  const first = await repo.text([
    "for-each-ref",
    "--count=1",
    "--format=%(refname)",
    "refs/replace/",
  ]);
  return first !== "";
}

function hasReplaceRefs(commonDir: string): boolean {
  try {
    for (const _ of Deno.readDirSync(`${commonDir}/refs/replace`)) return true;
  } catch { /* no such folder */ }
  return packedReplaceRefs(`${commonDir}/packed-refs`);
}

const MAX_PACKED = 64 * 1024 * 1024;
const MAX_KEPT = 256;
const NEEDLE = new TextEncoder().encode(" refs/replace/");
const packed = new Map<string, { stamp: string; found: boolean }>();

/** Looks through a packed-refs file once for each state of it; one over 64 MiB is not looked at. */
function packedReplaceRefs(file: string): boolean {
  try {
    const info = Deno.statSync(file);
    if (!info.isFile || info.size === 0 || info.size > MAX_PACKED) return false;
    const stamp = `${info.dev}:${info.ino}:${info.size}:${info.mtime?.getTime()}`;
    const known = packed.get(file);
    if (known?.stamp === stamp) return known.found;
    const found = includes(Deno.readFileSync(file), NEEDLE);
    packed.delete(file);
    packed.set(file, { stamp, found });
    if (packed.size > MAX_KEPT) packed.delete(packed.keys().next().value!);
    return found;
  } catch {
    return false;
  }
}

function includes(bytes: Uint8Array, needle: Uint8Array): boolean {
  // The names are sorted and begin alike: looking for the rarer "p" of "replace" skips most lines.
  const rare = 8;
  for (
    let at = bytes.indexOf(needle[rare]!);
    at !== -1;
    at = bytes.indexOf(needle[rare]!, at + 1)
  ) {
    if (needle.every((byte, i) => bytes[at - rare + i] === byte)) return true;
  }
  return false;
}
