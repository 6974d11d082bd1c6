import type { Repository } from "../git/repository.ts";
import { isSparseDirectory, readIndexNeeds } from "../git/index_file.ts";
import { stashIds, stateIds } from "./compact.ts";
import { RestoreError } from "./errors.ts";
import type { HiddenRepository } from "./hidden.ts";
import type { RefState } from "./refs.ts";
import type { StoredSnapshot } from "./snapshot.ts";

/**
 * Brings objects back that the repository has lost since (a gc after a reset or a deleted branch), so
 * that refs and index can name them again. They go in as packs; nothing is written when all are there.
 *
 * @throws {RestoreError} `objects_missing` when the hidden repository does not have them either
 */
export async function bringObjectsBack(
  repo: Repository,
  hidden: HiddenRepository,
  snapshot: StoredSnapshot,
  current: RefState,
): Promise<void> {
  const tips = new Set<string>();
  for (const { oid } of snapshot.refs.refs.values()) tips.add(oid);
  if (snapshot.refs.headOid !== null) tips.add(snapshot.refs.headOid);
  for (const oid of stashIds(snapshot.stash)) tips.add(oid);
  const optional = new Set(stateIds(snapshot.state));
  const single = new Set<string>();
  const hashBytes = repo.facts.objectFormat === "sha256" ? 32 : 20;
  for (const file of [snapshot.index, snapshot.sharedIndex?.content]) {
    if (!file) continue;
    const needs = readIndexNeeds(file, hashBytes, (entry) => {
      if (isSparseDirectory(entry)) optional.add(entry.oid);
    });
    for (const oid of needs.objects) single.add(oid);
    for (const oid of needs.remembered) single.add(oid);
  }
  const known = new Set([...current.refs.values()].map((value) => value.oid));
  if (current.headOid !== null) known.add(current.headOid);
  await bringHistory(repo, hidden, [...tips].filter((oid) => !known.has(oid)), known, true);
  await bringHistory(repo, hidden, [...optional], known, false);
  await bringSingle(repo, hidden, [...single]);
}

/** Makes commits (and trees) whole with everything that they lead to. */
export async function bringHistory(
  repo: Repository,
  hidden: HiddenRepository,
  tips: readonly string[],
  known: ReadonlySet<string>,
  required: boolean,
): Promise<void> {
  if (tips.length === 0) return;
  const here = await missing(repo, tips);
  const wanted = required ? tips : tips.filter((oid) => here.has(oid));
  if (wanted.length === 0) return;
  const except = [...known].map((oid) => `^${oid}`);
  const input = [...wanted, ...except].join("\n") + "\n";
  if (here.size === 0) {
    const whole = await repo.run(
      ["rev-list", "--objects", "--quiet", "--missing=allow-promisor", "--stdin"],
      { stdin: input, okCodes: "any", deadlineMs: hidden.lending().deadlineMs! },
    );
    if (whole.code === 0) return;
  }
  const absent = await missingIn(hidden, wanted);
  if (absent.size > 0) {
    if (required) throw gone(absent);
    return bringHistory(repo, hidden, wanted.filter((oid) => !absent.has(oid)), known, required);
  }
  try {
    await repo.run([
      "pack-objects",
      "-q",
      "--revs",
      "--non-empty",
      "--missing=allow-any",
      "--delta-base-offset",
      `${hidden.mainObjects}/pack/pack`,
    ], hidden.lending({ stdin: input, signal: repo.signal }));
  } catch (error) {
    if (!required) return;
    throw error;
  }
}

/** Blobs and trees one by one. What neither side has was never there (a partial clone). */
async function bringSingle(
  repo: Repository,
  hidden: HiddenRepository,
  oids: readonly string[],
): Promise<void> {
  const lost = [...await missing(repo, oids)];
  if (lost.length === 0) return;
  const absent = await missingIn(hidden, lost);
  const wanted = lost.filter((oid) => !absent.has(oid));
  if (wanted.length === 0) return;
  await repo.run(
    ["pack-objects", "-q", "--non-empty", `${hidden.mainObjects}/pack/pack`],
    hidden.lending({ stdin: wanted.join("\n") + "\n", signal: repo.signal }),
  );
}

/** Those that the repository does not have by itself. */
async function missing(repo: Repository, oids: readonly string[]): Promise<Set<string>> {
  if (oids.length === 0) return new Set();
  const { stdout } = await repo.run(["cat-file", "--batch-check"], batch(oids));
  return missingLines(stdout);
}

async function missingIn(hidden: HiddenRepository, oids: readonly string[]): Promise<Set<string>> {
  if (oids.length === 0) return new Set();
  const { stdout } = await hidden.run(["cat-file", "--batch-check"], batch(oids));
  return missingLines(stdout);
}

function batch(oids: readonly string[]) {
  return { stdin: oids.join("\n") + "\n", maxBytes: 1024 * 1024 * 1024 };
}

function missingLines(stdout: Uint8Array): Set<string> {
  return new Set(
    new TextDecoder().decode(stdout).split("\n").flatMap((line) =>
      line.endsWith(" missing") ? [line.slice(0, line.indexOf(" "))] : []
    ),
  );
}

/** Throws unless every file of a snapshot's tree can be read from the hidden repository. */
export async function checkTree(hidden: HiddenRepository, tree: string): Promise<void> {
  const out = await hidden.run(["rev-list", "--objects", "--quiet", "--no-walk", tree], {
    okCodes: "any",
  });
  if (out.code !== 0) throw gone(new Set([tree]), out.stderr);
}

function gone(oids: ReadonlySet<string>, why = ""): RestoreError {
  const first = [...oids].slice(0, 5).map((oid) => oid.slice(0, 12));
  return new RestoreError(
    "objects_missing",
    `${oids.size} objects that the point needs are gone (${first.join(", ")}${
      why ? `: ${why.trim().slice(0, 200)}` : ""
    }); nothing was changed`,
    { count: oids.size },
  );
}
