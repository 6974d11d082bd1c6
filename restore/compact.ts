import type { Repository } from "../git/repository.ts";
import { readIndexNeeds } from "../git/index_file.ts";
import { reasonOf } from "./errors.ts";
import type { HiddenRepository } from "./hidden.ts";
import {
  estimateLoose,
  holdObjects,
  list,
  ownPacks,
  packNames,
  readHoldState,
  writeHoldState,
} from "./hold.ts";
import { RESTORE_LIMITS } from "./limits.ts";
import { readRefState, type RefState } from "./refs.ts";
import { readSnapshot } from "./snapshot.ts";
import { forgetIndex } from "./work_tree.ts";

/**
 * Takes back the space of dropped points and of packs that the repository has replaced. What points
 * need and the repository no longer has goes into one pack; every other object here is either a link
 * into the repository or garbage.
 */

/** Remembers that points were dropped from the list. */
export function countDropped(hidden: HiddenRepository, count: number): void {
  const state = readHoldState(hidden);
  writeHoldState(hidden, { ...state, dropped: state.dropped + count });
}

/** Compacts when enough has gathered. Never throws: points stay good without it. */
export async function compactIfDue(
  repo: Repository,
  hidden: HiddenRepository,
  log: ((line: string) => void) | undefined,
): Promise<boolean> {
  try {
    const { vanishedPacks, supported } = await holdObjects(hidden);
    const { dropped, packed } = readHoldState(hidden);
    const due = packed || dropped >= RESTORE_LIMITS.droppedPoints ||
      estimateLoose(hidden) >= RESTORE_LIMITS.looseObjects ||
      (supported && vanishedPacks.length > 0);
    if (due) await compact(repo, hidden);
    return due;
  } catch (error) {
    log?.(`the space of old restore points could not be taken back: ${reasonOf(error)}`);
    return false;
  }
}

/**
 * Does it now. The caller holds the lock. Safe to be killed at any moment: the new pack is whole
 * before anything is removed.
 *
 * @throws when git cannot walk what the points need; then nothing was removed
 */
export async function compact(repo: Repository, hidden: HiddenRepository): Promise<void> {
  await holdObjects(hidden);
  const { roots, objects } = await neededRoots(repo, hidden);
  const current = await readRefState(repo);
  const input = [
    ...roots,
    ...objects,
    ...[...refIds(current)].map((oid) => `^${oid}`),
  ].join("\n") + "\n";
  const before = new Set(ownPacks(hidden));
  const packs = (await hidden.text([
    "pack-objects",
    "-q",
    "--revs",
    // Only what the repository around it does not have at this moment.
    "--local",
    "--non-empty",
    "--missing=allow-any",
    "--delta-base-offset",
    `${hidden.objects}/pack/pack`,
  ], { stdin: input })).split("\n").filter((line) => /^[0-9a-f]{40,64}$/.test(line))
    .map((hash) => `pack-${hash}`);
  const keep = new Set(packs);
  for (const name of keep) {
    Deno.writeTextFileSync(`${hidden.objects}/pack/${name}.own`, "", { mode: 0o600 });
  }
  const theirs = packNames(hidden.mainObjects);
  for (const file of list(`${hidden.objects}/pack`)) {
    const name = file.replace(/\.[a-z]+$/, "");
    if (!keep.has(name) && (before.has(name) || !theirs.has(name))) {
      Deno.removeSync(`${hidden.objects}/pack/${file}`);
    }
  }
  for (let i = 0; i < 256; i++) {
    const folder = i.toString(16).padStart(2, "0");
    const linked = new Set(list(`${hidden.mainObjects}/${folder}`));
    for (const file of list(`${hidden.objects}/${folder}`)) {
      if (!linked.has(file)) Deno.removeSync(`${hidden.objects}/${folder}/${file}`);
    }
  }
  for (const file of list(`${hidden.path}/info`)) {
    if (file.includes(".tmp-")) Deno.removeSync(`${hidden.path}/info/${file}`);
  }
  for (const file of list(`${hidden.path}/tmp`)) {
    Deno.removeSync(`${hidden.path}/tmp/${file}`, { recursive: true });
  }
  await holdObjects(hidden);
  writeHoldState(hidden, { folders: {}, dropped: 0, packed: false });
}

/** Everything that the points and kept tips lead to: snapshots, commits, and what indexes name. */
async function neededRoots(
  repo: Repository,
  hidden: HiddenRepository,
): Promise<{ roots: Set<string>; objects: Set<string> }> {
  const roots = new Set<string>(), objects = new Set<string>();
  const text = await hidden.text(["for-each-ref", "--format=%(objectname) %(refname)"]);
  const hashBytes = repo.facts.objectFormat === "sha256" ? 32 : 20;
  for (const line of text.split("\n")) {
    const [oid, ref] = line.split(" ");
    if (!oid || !ref) continue;
    roots.add(oid);
    if (!/^refs\/restore\/[^/]+\/before$/.test(ref)) continue;
    const snapshot = await readSnapshot(hidden, oid);
    for (const id of refIds(snapshot.refs)) roots.add(id);
    for (const id of stashIds(snapshot.stash)) roots.add(id);
    for (const id of stateIds(snapshot.state)) roots.add(id);
    for (const file of [snapshot.index, snapshot.sharedIndex?.content]) {
      if (!file) continue;
      const needs = readIndexNeeds(file, hashBytes);
      for (const id of needs.objects) objects.add(id);
      for (const id of needs.remembered) objects.add(id);
    }
  }
  // Private indexes name objects too; one whose tree cannot be written is begun anew.
  try {
    if (Deno.lstatSync(hidden.indexPath).isFile) roots.add(await hidden.text(["write-tree"]));
  } catch {
    forgetIndex(hidden);
  }
  for (const file of list(`${hidden.path}/trees`)) {
    if (!file.startsWith(`${hidden.workTreeKey}.`) || file.includes(".tmp-")) {
      Deno.removeSync(`${hidden.path}/trees/${file}`);
    }
  }
  const present = await presentIn(hidden, [...roots, ...objects]);
  for (const set of [roots, objects]) {
    for (const oid of set) if (!present.has(oid)) set.delete(oid);
  }
  return { roots, objects };
}

/** Which of the objects exist here or in the repository. */
async function presentIn(hidden: HiddenRepository, oids: readonly string[]): Promise<Set<string>> {
  const { stdout } = await hidden.run(["cat-file", "--batch-check=%(objectname)"], {
    stdin: oids.join("\n") + "\n",
    maxBytes: 1024 * 1024 * 1024,
  });
  return new Set(
    new TextDecoder().decode(stdout).split("\n").filter((line) => /^[0-9a-f]+$/.test(line)),
  );
}

function refIds(state: RefState): Set<string> {
  const ids = new Set([...state.refs.values()].map((value) => value.oid));
  if (state.headOid !== null) ids.add(state.headOid);
  return ids;
}

/** Commits that the log of the stash names. */
export function stashIds(log: Uint8Array | null): string[] {
  if (log === null) return [];
  return new TextDecoder().decode(log).split("\n").flatMap((line) =>
    /^[0-9a-f]+ ([0-9a-f]{40,64}) /.exec(line)?.[1] ?? []
  ).filter((oid) => !/^0+$/.test(oid));
}

/** Commits that files of an operation in progress name. */
export function stateIds(state: ReadonlyMap<string, Uint8Array>): string[] {
  const ids: string[] = [];
  for (const content of state.values()) {
    if (content.length > 1024 * 1024) continue;
    ids.push(
      ...(new TextDecoder().decode(content).match(/\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b/g) ?? []),
    );
  }
  return ids.filter((oid) => !/^0+$/.test(oid));
}
