import { readPrivateFile } from "../common/private_file.ts";
import type { Repository } from "../git/repository.ts";
import { RestoreError } from "./errors.ts";
import { RESTORE_LIMITS } from "./limits.ts";
import { fromRaw, textOf, toRaw } from "./raw.ts";
import type { HeadState } from "./types.ts";

/** HEAD and every ref of a repository. Names are raw text (`raw.ts`). */
export interface RefState {
  /** Full ref that HEAD names; null when detached. */
  readonly headRef: string | null;
  /** Commit of HEAD; null while unborn. */
  readonly headOid: string | null;
  readonly refs: ReadonlyMap<string, RefValue>;
  /** Refs that git says are broken: nobody can bring them back. */
  readonly broken: readonly string[];
}

export interface RefValue {
  readonly oid: string;
  /** What a symbolic ref names. */
  readonly symref: string | null;
}

/** Namespaces that are no work of anybody: our own, and what background fetches keep. */
const LEFT_OUT = /^refs\/(?:fluxgit|prefetch)\//;

/** Reads HEAD and all refs. Throws `RestoreError` `cannot_make` when they cannot all be read. */
export async function readRefState(repo: Repository): Promise<RefState> {
  const out = await repo.run(
    ["for-each-ref", "--format=%(objectname) %(refname) %(symref)"],
    { maxBytes: RESTORE_LIMITS.refsBytes, overflow: "cut" },
  );
  if (out.cut) {
    throw new RestoreError("cannot_make", "the repository has more refs than a point can hold");
  }
  const broken = [...out.stderr.matchAll(/ignoring (?:broken ref|ref with broken name) (.*)/g)]
    .map((match) => match[1]!);
  const refs = parseRefLines(toRaw(out.stdout));
  return { ...await readHeadIn(repo, refs), refs, broken };
}

function parseRefLines(text: string): Map<string, RefValue> {
  const refs = new Map<string, RefValue>();
  for (const line of text.split("\n")) {
    const [oid, name, symref] = line.split(" ");
    if (!oid || !name || LEFT_OUT.test(name)) continue;
    refs.set(name, { oid, symref: symref ? symref : null });
  }
  return refs;
}

async function readHeadIn(
  repo: Repository,
  refs: ReadonlyMap<string, RefValue>,
): Promise<Pick<RefState, "headRef" | "headOid">> {
  const text = readHeadFile(repo);
  const ref = /^ref: (refs\/[^\n]+?)\s*$/.exec(text)?.[1];
  if (ref !== undefined && ref !== "refs/heads/.invalid") {
    const value = refs.get(ref);
    if (value !== undefined || !LEFT_OUT.test(ref)) {
      return { headRef: ref, headOid: value?.oid ?? null };
    }
  }
  const oid = /^([0-9a-f]{40}|[0-9a-f]{64})\s*$/.exec(text)?.[1];
  if (oid !== undefined) return { headRef: null, headOid: oid };
  // No file that says it (reftable, a link): git knows.
  const [name, commit] = await Promise.all([
    repo.optionalText(["symbolic-ref", "-q", "HEAD"]),
    repo.optionalText(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]),
  ]);
  return { headRef: name === null ? null : toRaw(new TextEncoder().encode(name)), headOid: commit };
}

function readHeadFile(repo: Repository): string {
  try {
    const bytes = readPrivateFile(`${repo.facts.gitDir}/HEAD`, 16 * 1024);
    return bytes === null ? "" : toRaw(bytes);
  } catch {
    return "";
  }
}

/** The form in which a snapshot keeps refs: HEAD first, then a line each in order of name. */
export function writeRefState(state: RefState): Uint8Array<ArrayBuffer> {
  const lines = [`HEAD ${state.headOid ?? "-"} ${state.headRef ?? "-"}`];
  for (const name of [...state.refs.keys()].sort()) {
    const { oid, symref } = state.refs.get(name)!;
    lines.push(`${oid} ${name}${symref === null ? "" : ` ${symref}`}`);
  }
  return fromRaw(lines.join("\n") + "\n");
}

/** Reads what {@link writeRefState} wrote. */
export function parseRefState(bytes: Uint8Array): RefState {
  const text = toRaw(bytes);
  const end = text.indexOf("\n");
  const [word, oid, ref] = text.slice(0, end).split(" ");
  if (word !== "HEAD" || !oid || !ref) {
    throw new RestoreError("objects_missing", "the refs of the restore point cannot be read");
  }
  return {
    headOid: oid === "-" ? null : oid,
    headRef: ref === "-" ? null : ref,
    refs: parseRefLines(text.slice(end + 1)),
    broken: [],
  };
}

/** HEAD for lists and answers. */
export function headState(state: RefState): HeadState {
  return { ref: state.headRef === null ? null : textOf(state.headRef), oid: state.headOid };
}

/** A ref whose value differs between two states; null where it does not exist. */
export interface RawRefChange {
  readonly name: string;
  readonly from: RefValue | null;
  readonly to: RefValue | null;
}

/** Refs that differ, in order of name. */
export function refChanges(from: RefState, to: RefState): RawRefChange[] {
  const changes: RawRefChange[] = [];
  for (const name of new Set([...from.refs.keys(), ...to.refs.keys()])) {
    const [a, b] = [from.refs.get(name) ?? null, to.refs.get(name) ?? null];
    // What a symbolic ref leads to moves by itself.
    const equal = a !== null && b !== null && a.symref === b.symref &&
      (a.symref !== null || a.oid === b.oid);
    if (!equal) changes.push({ name, from: a, to: b });
  }
  return changes.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The log of the stash, whose older entries no ref names; null where there is none or it is no file. */
export function readStashLog(repo: Repository): Uint8Array | null {
  try {
    return readPrivateFile(`${repo.facts.commonDir}/logs/refs/stash`, RESTORE_LIMITS.stateBytes);
  } catch {
    return null;
  }
}
