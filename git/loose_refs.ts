import { type Ref, shortRef } from "./ref_names.ts";
import type { Repository } from "./repository.ts";

/**
 * Loose ref files. Git's listings leave out symbolic refs that lead nowhere without a word, so what
 * lies in the folders and was not listed is looked at (`git-inputs.md` row 32).
 */
export interface LooseRefs {
  /** Full names of the files found; callers remove what git lists. */
  readonly names: Set<string>;
  /** False when there are more than are looked at. */
  readonly complete: boolean;
}

const MAX_LOOSE = 50_000;
const MAX_DEPTH = 64;
const MAX_BROKEN = 1_000;

/** Names below `refs/heads`, `refs/remotes` and `refs/tags`. Empty where refs are not files. */
export function looseRefs(repo: Repository): LooseRefs {
  const names = new Set<string>();
  if (repo.facts.config.get("extensions.refstorage")?.startsWith("reftable")) {
    return { names, complete: true };
  }
  let complete = true;
  const walk = (folder: string, depth: number): void => {
    let entries: Iterable<Deno.DirEntry>;
    try {
      entries = Deno.readDirSync(`${repo.facts.commonDir}/${folder}`);
      for (const entry of entries) {
        const name = `${folder}/${entry.name}`;
        if (entry.isDirectory) {
          if (depth < MAX_DEPTH) walk(name, depth + 1);
          else complete = false;
        } else if (!entry.name.endsWith(".lock") && !linksToFolder(repo, entry, name)) {
          if (names.size >= MAX_LOOSE) complete = false;
          else names.add(name);
        }
      }
    } catch { /* a folder that is not there, or vanished, holds no ref */ }
  };
  for (const space of ["refs/heads", "refs/remotes", "refs/tags"]) walk(space, 0);
  return { names, complete };
}

/** Git lists what lies behind such a link; the link itself is no ref. */
function linksToFolder(repo: Repository, entry: Deno.DirEntry, name: string): boolean {
  if (!entry.isSymlink) return false;
  try {
    return Deno.statSync(`${repo.facts.commonDir}/${name}`).isDirectory;
  } catch {
    return false;
  }
}

/** Broken refs among the names that git did not list. */
export function findBrokenLoose(repo: Repository, loose: LooseRefs): Ref[] {
  const found: Ref[] = [];
  for (const ref of loose.names) {
    if (found.length >= MAX_BROKEN) break;
    const text = readStart(`${repo.facts.commonDir}/${ref}`);
    // Gone again, or written since git looked: neither is broken.
    if (text === null || /^[0-9a-f]{40}(?:[0-9a-f]{24})?\s*$/.test(text)) continue;
    const symref = /^ref:[ \t]*([^\n]*?)\s*$/.exec(text)?.[1];
    found.push({
      name: shortRef(ref),
      ref,
      oid: null,
      ...(symref ? { symref } : {}),
      broken: true,
    });
  }
  return found;
}

const MAX_REF_FILE = 4_200;

function readStart(path: string): string | null {
  try {
    if (!Deno.lstatSync(path).isFile) return "";
    using file = Deno.openSync(path);
    const buffer = new Uint8Array(MAX_REF_FILE);
    const n = file.readSync(buffer) ?? 0;
    return new TextDecoder().decode(buffer.subarray(0, n));
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? null : "";
  }
}
