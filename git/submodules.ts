import {
  compareBytes,
  type DecodedPath,
  decodePath,
  encodeText,
  fromBase64,
  latin1,
  splitNul,
} from "../common/bytes.ts";
import { type Gitlink, guardSubmodules, openSubmodule, scanIndex } from "./index_scan.ts";
import type { Repository } from "./repository.ts";
import { readStatus } from "./status.ts";

/** One submodule at any depth. Members that could not be determined are null. */
export interface Submodule extends DecodedPath {
  /** As `git submodule status` marks it: the same commit, not checked out, another commit, unmerged. */
  readonly state: " " | "-" | "+" | "U" | null;
  /** What the index of the repository around it records; in a conflict ours, else theirs, else the base. */
  readonly commit: string;
  /** The same, null when the index holds several or none of ours. */
  readonly recorded: string | null;
  /** Commit of its own HEAD; null when not checked out or unborn. */
  readonly checkedOut: string | null;
  /** It has a repository of its own at its place. */
  readonly initialized: boolean | null;
  /** Named by the `.gitmodules` of the repository around it. */
  readonly declared: boolean | null;
  /** Changes to tracked files (nested submodules included), and untracked files; null when not checked out. */
  readonly dirty: { readonly modified: boolean; readonly untracked: boolean } | null;
  /** Ids of the index stages during a conflict. */
  readonly conflict?: { base: string | null; ours: string | null; theirs: string | null };
  /** Place in the order: the path at each level, for cursors. */
  readonly chain: readonly Uint8Array[];
}

export interface SubmoduleOptions {
  readonly limit: number;
  /** Goes on behind this place. */
  readonly after?: readonly Uint8Array[] | undefined;
  /** Only submodules at or below this path, relative to the top; empty means all. */
  readonly below?: Uint8Array | undefined;
}

export interface SubmoduleList {
  readonly submodules: readonly Submodule[];
  /** More follow. */
  readonly more: boolean;
  /** null when not all were visited. */
  readonly total: number | null;
  /** Those that could not be read, by path. */
  readonly unreadable: readonly DecodedPath[];
  /** Some were too deep or too many to be visited. */
  readonly skipped: boolean;
  /** A `.gitmodules` could not be read. */
  readonly undeclared: boolean;
}

const MAX_DEPTH = 16;
/** Siblings looked at together; the door bounds the processes. */
const TOGETHER = 8;

interface Visit {
  readonly chain: readonly Uint8Array[];
  readonly path: Uint8Array;
  readonly links: readonly Gitlink[];
  readonly declared: boolean | null;
  readonly repository: Repository | "uninitialised" | "unreadable";
}

interface Walk {
  readonly below: string;
  skipped: boolean;
  undeclared: boolean;
}

/** Lists submodules depth first, each before its own; at most `limit`. */
export async function readSubmodules(
  repo: Repository,
  options: SubmoduleOptions,
): Promise<SubmoduleList> {
  const walk: Walk = {
    below: latin1(options.below ?? new Uint8Array()),
    skipped: false,
    undeclared: false,
  };
  const found = await visitAll(repo, [], options.after, options.limit + 1, walk);
  const kept = found.slice(0, options.limit);
  const submodules = await Promise.all(kept.map(describe));
  const more = found.length > kept.length;
  return {
    submodules,
    more,
    total: more || options.after !== undefined || walk.skipped ? null : kept.length,
    unreadable: submodules.filter((s) => s.initialized === null).map(({ path, pathBytes }) => ({
      path,
      ...(pathBytes === undefined ? {} : { pathBytes }),
    })),
    skipped: walk.skipped,
    undeclared: walk.undeclared,
  };
}

async function visitAll(
  repo: Repository,
  parents: readonly Uint8Array[],
  after: readonly Uint8Array[] | undefined,
  budget: number,
  walk: Walk,
): Promise<Visit[]> {
  const scan = await scanIndex(repo);
  if (scan.gitlinks.length === 0) return [];
  if (parents.length >= MAX_DEPTH) {
    walk.skipped = true;
    return [];
  }
  if (scan.gitlinksCut) walk.skipped = true;
  const from = after?.[0];
  const groups = byPath(scan.gitlinks).filter(({ bytes }) => {
    const path = latin1(join([...parents, bytes]));
    return (from === undefined || compareBytes(bytes, from) >= 0) && related(path, walk.below);
  });
  if (groups.length === 0) return [];
  const declared = await declaredPaths(repo);
  if (declared === null) walk.undeclared = true;
  const visits: Visit[] = [];
  for (let i = 0; i < groups.length && visits.length < budget; i += TOGETHER) {
    const left = budget - visits.length;
    const some = await Promise.all(
      groups.slice(i, i + TOGETHER).map(async ({ bytes, links }) => {
        const chain = [...parents, bytes];
        const path = join(chain);
        const repository = await openSubmodule(repo, links[0]!);
        const passed = from !== undefined && compareBytes(bytes, from) === 0;
        const isDeclared = declared?.has(latin1(bytes)) ?? null;
        const own: Visit = { chain, path, links, declared: isDeclared, repository };
        const listed = !passed && within(latin1(path), walk.below);
        const inner = typeof repository === "string"
          ? []
          : await visitAll(repository, chain, passed ? after?.slice(1) : undefined, left, walk);
        return listed ? [own, ...inner] : inner;
      }),
    );
    visits.push(...some.flat());
  }
  return visits.slice(0, budget);
}

/** Stages of one path together; the index is sorted, so they follow each other. */
function byPath(gitlinks: readonly Gitlink[]): { bytes: Uint8Array; links: Gitlink[] }[] {
  const groups: { bytes: Uint8Array; links: Gitlink[] }[] = [];
  for (const link of gitlinks) {
    const bytes = link.pathBytes ? fromBase64(link.pathBytes) : encodeText(link.path);
    const last = groups.at(-1);
    if (last && compareBytes(last.bytes, bytes) === 0) last.links.push(link);
    else groups.push({ bytes, links: [link] });
  }
  return groups;
}

async function describe(visit: Visit): Promise<Submodule> {
  const { repository, links } = visit;
  const at = (stage: number) => links.find((l) => l.stage === stage)?.oid ?? null;
  const unmerged = links.some((l) => l.stage !== 0);
  const recorded = unmerged ? at(2) : at(0);
  const common = {
    ...decodePath(visit.path),
    commit: recorded ?? at(3) ?? at(1) ?? links[0]!.oid,
    recorded,
    declared: visit.declared,
    chain: visit.chain,
    ...(unmerged ? { conflict: { base: at(1), ours: at(2), theirs: at(3) } } : {}),
  };
  const unknown = {
    ...common,
    state: unmerged ? "U" as const : null,
    checkedOut: null,
    initialized: null,
    dirty: null,
  };
  if (repository === "unreadable") return unknown;
  if (repository === "uninitialised") {
    return { ...unknown, state: unmerged ? "U" : "-", initialized: false };
  }
  try {
    const { head, dirty } = await readDirt(repository);
    const state = unmerged ? "U" : head === recorded ? " " : "+";
    return { ...common, state, checkedOut: head, initialized: true, dirty };
  } catch (error) {
    if (repository.signal?.aborted) throw error;
    return unknown;
  }
}

/** HEAD and dirt of one submodule by one `git status` in it, its own submodules looked into as git does. */
async function readDirt(
  sub: Repository,
): Promise<{ head: string | null; dirty: { modified: boolean; untracked: boolean } }> {
  const guard = await guardSubmodules(sub);
  let modified = false, untracked = false;
  const status = await readStatus(
    sub.with(guard.overrides),
    { ignoreDirtySubmodules: !guard.complete },
    (_key, make, kind) => {
      if (kind === "untracked") untracked = true;
      else if (!modified || !untracked) {
        const { status, submodule } = make();
        // Only untracked files inside a nested one count as that and no more.
        if (submodule && status === " M" && !submodule.newCommits && !submodule.modified) {
          untracked = true;
        } else modified = true;
      }
    },
  );
  return { head: status.head, dirty: { modified, untracked } };
}

/** Paths that `.gitmodules` names, as text of one character a byte; null when it cannot be read. */
async function declaredPaths(repo: Repository): Promise<Set<string> | null> {
  const args = ["config", "-z", "--no-includes", "--get-regexp", "^submodule\\..*\\.path$"];
  try {
    // Git itself reads no `.gitmodules` that is a link; without a file it looks into the index.
    let from = "--blob=:.gitmodules";
    try {
      if (!Deno.lstatSync(`${repo.facts.topLevel}/.gitmodules`).isFile) return null;
      from = "--file=.gitmodules";
    } catch { /* not in the work tree */ }
    const out = await repo.run([...args.slice(0, 1), from, ...args.slice(1)], {
      okCodes: from.startsWith("--file") ? [0, 1] : [0, 1, 128],
    });
    const paths = new Set<string>();
    for (const record of splitNul(out.stdout)) {
      const at = record.indexOf(0x0a);
      if (at !== -1) paths.add(latin1(record.subarray(at + 1)).replace(/\/+$/, ""));
    }
    return paths;
  } catch (error) {
    if (repo.signal?.aborted) throw error;
    return null;
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.map(latin1).join("/"), (c) => c.charCodeAt(0));
}

function within(path: string, below: string): boolean {
  return below === "" || path === below || path.startsWith(below + "/");
}

/** Also true for what lies around `below`, whose own submodules may lie within it. */
function related(path: string, below: string): boolean {
  return within(path, below) || below.startsWith(path + "/");
}
