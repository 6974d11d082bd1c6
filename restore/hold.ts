import { parseJson, stringifyJson } from "../common/json.ts";
import { readPrivateFile, writePrivateFile } from "../common/private_file.ts";
import type { HiddenRepository } from "./hidden.ts";

/**
 * Keeps the objects of the repository alive for its points. A gc of the repository may drop what its
 * own refs no longer reach; packs and loose objects never change once written, so a hard link to each
 * of them in the hidden repository keeps them at no cost in space until the repository packs anew.
 */

/** What the hidden repository remembers between points. */
export interface HoldState {
  /** Times of object folders that were fully linked, by name; unchanged ones need no look. */
  readonly folders: Readonly<Record<string, number>>;
  /** Points dropped since the space was last taken back. */
  readonly dropped: number;
  /** True when a pack came since: then the repository may have packed objects that lie loose here. */
  readonly packed: boolean;
}

/** What linking found. */
export interface HoldResult {
  readonly linked: number;
  /** Packs here that the repository no longer has. */
  readonly vanishedPacks: readonly string[];
  /** False when this file system knows no hard links, or does not allow these. */
  readonly supported: boolean;
}

const FANOUT = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));
const PACK_FILE = /^(pack-[0-9a-f]{40,64})\.(pack|idx|promisor)$/;
const LOOSE_FILE = /^[0-9a-f]{38,62}$/;
/** Folders that changed this shortly ago may change again with the same time. */
const SETTLED_MS = 2_000;
const MAX_PASSES = 20;

/** Reads the state; a missing or damaged one only costs time. */
export function readHoldState(hidden: HiddenRepository): HoldState {
  try {
    const bytes = readPrivateFile(`${hidden.path}/state.json`, 256 * 1024);
    const value = bytes && parseJson(new TextDecoder().decode(bytes)) as Partial<HoldState> | null;
    if (value && typeof value.folders === "object" && typeof value.dropped === "number") {
      return { folders: value.folders, dropped: value.dropped, packed: value.packed === true };
    }
  } catch { /* looked at anew */ }
  return { folders: {}, dropped: 0, packed: false };
}

function hasState(hidden: HiddenRepository): boolean {
  try {
    return Deno.lstatSync(`${hidden.path}/state.json`).isFile;
  } catch {
    return false;
  }
}

export function writeHoldState(hidden: HiddenRepository, state: HoldState): void {
  writePrivateFile(`${hidden.path}/state.json`, stringifyJson(state));
}

/**
 * Links every object file of the repository that is not linked yet. Repeats until a whole pass saw no
 * folder change: an object on its way between loose and packed is then in one of the two.
 */
export async function holdObjects(hidden: HiddenRepository): Promise<HoldResult> {
  const state = readHoldState(hidden);
  const first = !hasState(hidden);
  let packed = state.packed;
  const folders: Record<string, number> = {};
  let done: Readonly<Record<string, number>> = state.folders;
  let linked = 0, supported = true;
  const startedMs = Date.now();
  for (let pass = 0; pass < MAX_PASSES && supported; pass++) {
    const before = stamps(hidden.mainObjects);
    for (const name of [...FANOUT, "pack"]) {
      if (before[name] === undefined || before[name] === done[name]) continue;
      const result = linkFolder(hidden, name);
      // Children that run meanwhile need the loop too.
      if (result.linked > 0) await new Promise((resolve) => setTimeout(resolve, 0));
      linked += result.linked;
      if (name === "pack" && result.linked > 0 && !first) packed = true;
      supported &&= result.supported;
      if (!supported) break;
    }
    const after = stamps(hidden.mainObjects);
    done = before;
    if (same(before, after)) break;
  }
  if (supported) {
    for (const [name, time] of Object.entries(done)) {
      if (time < startedMs - SETTLED_MS) folders[name] = time;
    }
    if (first || packed !== state.packed || !same(folders, state.folders)) {
      writeHoldState(hidden, { ...state, folders, packed });
    }
  }
  const own = packNames(hidden.objects);
  const theirs = packNames(hidden.mainObjects);
  const kept = new Set(ownPacks(hidden));
  const vanishedPacks = [...own].filter((name) => !theirs.has(name) && !kept.has(name));
  return { linked, vanishedPacks, supported };
}

function linkFolder(
  hidden: HiddenRepository,
  name: string,
): { linked: number; supported: boolean } {
  const from = `${hidden.mainObjects}/${name}`, to = `${hidden.objects}/${name}`;
  const wanted = name === "pack" ? PACK_FILE : LOOSE_FILE;
  const files = list(from).filter((file) => wanted.test(file));
  if (files.length === 0) return { linked: 0, supported: true };
  // The index makes a pack visible, so it comes last.
  if (name === "pack") {
    files.sort((a, b) => Number(a.endsWith(".idx")) - Number(b.endsWith(".idx")));
  }
  const have = new Set(list(to));
  if (have.size === 0) Deno.mkdirSync(to, { recursive: true, mode: 0o700 });
  let linked = 0;
  for (const file of files) {
    if (have.has(file)) continue;
    try {
      // A link with several names would be followed: only what is a file itself is linked.
      if (!Deno.lstatSync(`${from}/${file}`).isFile) continue;
      Deno.linkSync(`${from}/${file}`, `${to}/${file}`);
      linked++;
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) continue;
      // Packed or pruned meanwhile: the next pass sees where it went.
      if (error instanceof Deno.errors.NotFound) continue;
      return { linked, supported: false };
    }
  }
  return { linked, supported: true };
}

/** Times of the object folders of a repository; one that is not there is left out. */
function stamps(objects: string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const name of [...FANOUT, "pack"]) {
    try {
      found[name] = Deno.lstatSync(`${objects}/${name}`).mtime?.getTime() ?? 0;
    } catch { /* no such folder */ }
  }
  return found;
}

function same(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

/** Names (without ending) of the packs in an object directory. */
export function packNames(objects: string): Set<string> {
  return new Set(list(`${objects}/pack`).flatMap((file) => PACK_FILE.exec(file)?.[1] ?? []));
}

/** Packs that compaction wrote here: marked by a file beside them. */
export function ownPacks(hidden: HiddenRepository): string[] {
  return list(`${hidden.objects}/pack`).filter((file) => file.endsWith(".own"))
    .map((file) => file.slice(0, -4));
}

/** Names in a folder; none when it is not there. */
export function list(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map((entry) => entry.name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Loose objects here that are not links into the repository, estimated from one folder of 256. */
export function estimateLoose(hidden: HiddenRepository): number {
  const theirs = new Set(list(`${hidden.mainObjects}/17`));
  return list(`${hidden.objects}/17`).filter((file) => !theirs.has(file)).length * 256;
}
