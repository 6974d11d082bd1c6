import { compareBytes, decodePath, decodeText, encodeText } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import { type Field, FieldRecords } from "./fields.ts";
import { findBrokenLoose, looseRefs } from "./loose_refs.ts";
import { type Ref, REF_NAMESPACES, shortRef } from "./ref_names.ts";
import type { Repository } from "./repository.ts";

/** A page of refs in byte order of their full names. */
export interface RefPage {
  readonly refs: Ref[];
  readonly more: boolean;
  /** All refs, broken ones too. */
  readonly total: number;
  /** Whether the branch that HEAD names is among them (on this page or not). */
  readonly headExists: boolean;
  /** False when loose refs were too many to look for broken ones among all of them. */
  readonly brokenComplete: boolean;
  /** Tags whose object could not be read, so that `peeled` is null. */
  readonly unpeeled: number;
}

export interface RefOptions {
  readonly limit: number;
  /** Full name of the last ref given, as bytes. */
  readonly after?: Uint8Array | undefined;
}

const NAME = 4_200;
const FIELDS: readonly (readonly [atom: string, keep: number])[] = [
  ["%(refname)", NAME],
  ["%(objectname)", 64],
  ["%(symref)", NAME],
  ["%(upstream)", NAME],
  ["%(worktreepath)", NAME],
  ["%(HEAD)", 1],
];

/**
 * Reads branches, remote-tracking branches and tags in one pass of `for-each-ref`, keeping only the
 * page. Broken refs, which git leaves out, are found in its warnings and among the loose files.
 */
export async function readRefs(repo: Repository, options: RefOptions): Promise<RefPage> {
  const loose = looseRefs(repo);
  const page: KeptRef[] = [];
  const absentUpstreams = new Map<string, Ref[]>();
  let total = 0, more = false, headExists = false;
  const records = new FieldRecords(FIELDS.map(([, keep]) => keep));
  const { stderr } = await streamGit(
    repo,
    [
      "for-each-ref",
      `--format=${FIELDS.map(([atom]) => atom + "%00").join("")}`,
      ...REF_NAMESPACES,
    ],
    { signal: repo.signal },
    (chunk) =>
      records.push(chunk, (fields) => {
        const key = refName(fields[0]!);
        total++;
        const name = decodeText(key);
        loose.names.delete(name);
        absentUpstreams.delete(name);
        if (fields[5]!.bytes[0] === 0x2a) headExists = true;
        if (options.after && compareBytes(key, options.after) <= 0) return true;
        if (page.length >= options.limit) {
          more = true;
          return true;
        }
        const ref = parseRef(key, fields);
        page.push({ key, ref });
        if (ref.upstream !== undefined) {
          const waiting = absentUpstreams.get(ref.upstream);
          if (waiting) waiting.push(ref);
          else absentUpstreams.set(ref.upstream, [ref]);
        }
        return true;
      }),
  );
  const broken = [...brokenRefs(stderr), ...findBrokenLoose(repo, loose)];
  for (const ref of distinct(broken)) {
    total++;
    const key = encodeText(ref.ref);
    if (options.after && compareBytes(key, options.after) <= 0) continue;
    page.push({ key, ref });
  }
  page.sort((a, b) => compareBytes(a.key, b.key));
  if (page.length > options.limit) {
    more = true;
    page.length = options.limit;
  }
  const refs = page.map(({ ref }) => ref);
  await markGone(repo, absentUpstreams);
  const unpeeled = await peelTags(repo, refs);
  return { refs, more, total, headExists, brokenComplete: loose.complete, unpeeled };
}

interface KeptRef {
  readonly key: Uint8Array;
  readonly ref: Ref;
}

/** `for-each-ref` ends each line with LF, which lands at the front of the next record. */
function refName(field: Field): Uint8Array {
  return field.bytes[0] === 0x0a ? field.bytes.slice(1) : field.bytes;
}

function parseRef(key: Uint8Array, fields: readonly Field[]): Ref {
  const { path: ref, pathBytes } = decodePath(key);
  const [, oid, symref, upstream, worktree] = fields.map((field) => decodeText(field.bytes));
  return {
    name: shortRef(ref),
    ref,
    ...(pathBytes ? { refBytes: pathBytes } : {}),
    oid: oid!,
    ...(symref ? { symref } : {}),
    ...(upstream ? { upstream } : {}),
    ...(worktree ? { worktree } : {}),
  };
}

/** Refs that git says it leaves out; sound because every child runs with LC_ALL=C. */
function brokenRefs(stderr: string): Ref[] {
  const found: Ref[] = [];
  const line =
    /^warning: ignoring (?:broken ref|dangling symref|ref with broken name) (refs\/.*)$/gm;
  for (const [, ref] of stderr.matchAll(line)) {
    found.push({ name: shortRef(ref!), ref: ref!, oid: null, broken: true });
  }
  return found;
}

function distinct(refs: readonly Ref[]): Iterable<Ref> {
  const byName = new Map<string, Ref>();
  // The later one knows more: what a symbolic ref names.
  for (const ref of refs) byName.set(ref.ref, { ...byName.get(ref.ref), ...ref });
  return byName.values();
}

/** Marks refs whose upstream did not come by; one that sorts before its branch is asked for. */
async function markGone(repo: Repository, waiting: ReadonlyMap<string, Ref[]>): Promise<void> {
  if (waiting.size === 0) return;
  const found = await existingRefs(repo, [...waiting.keys()]);
  for (const [upstream, refs] of waiting) {
    if (!found.has(upstream)) { for (const ref of refs) ref.upstreamGone = true; }
  }
}

/** Those of the full names that exist, with their ids. */
export async function existingRefs(
  repo: Repository,
  names: readonly string[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  if (names.length === 0) return found;
  const wanted = new Set(names);
  const records = new FieldRecords([NAME, 64]);
  // The names are patterns to git, which may match more: only exact ones count.
  await streamGit(
    repo,
    ["for-each-ref", "--format=%(refname)%00%(objectname)%00", ...names],
    { signal: repo.signal },
    (chunk) =>
      records.push(chunk, (fields) => {
        const name = decodeText(refName(fields[0]!));
        if (wanted.has(name)) found.set(name, decodeText(fields[1]!.bytes));
        return true;
      }),
  );
  return found;
}

/** Adds `peeled` to annotated tags; gives how many could not be peeled. */
async function peelTags(repo: Repository, refs: readonly Ref[]): Promise<number> {
  const tags = refs.filter((ref) => ref.oid !== null && ref.ref.startsWith("refs/tags/"));
  if (tags.length === 0) return 0;
  const out = await repo.run(["cat-file", "--batch-check=%(objectname)"], {
    stdin: tags.map((tag) => `${tag.oid}^{}\n`).join(""),
    // An object that a partial clone only promises ends the command; what came before it is right.
    okCodes: "any",
  });
  const lines = decodeText(out.stdout).split("\n");
  let unpeeled = 0;
  tags.forEach((tag, i) => {
    const oid = lines[i];
    if (oid !== undefined && /^[0-9a-f]{40,64}$/.test(oid)) {
      if (oid !== tag.oid) tag.peeled = oid;
    } else {
      tag.peeled = null;
      unpeeled++;
    }
  });
  return unpeeled;
}
