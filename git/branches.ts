import { decodeText } from "../common/bytes.ts";
import { streamGit } from "./command.ts";
import { FieldRecords } from "./fields.ts";
import { readHeadRef } from "./head.ts";
import { existingRefs } from "./refs.ts";
import type { Repository } from "./repository.ts";
import { configuredUpstream } from "./upstream.ts";

/** A local branch, or a remote-tracking one that was asked for. */
export interface Branch {
  readonly ref: string;
  readonly oid: string;
  /** Full name of the configured upstream, which need not exist. */
  readonly upstream: string | null;
}

/** HEAD, its upstream, and the local branches around it. */
export interface BranchSurvey {
  /** Full ref; null when detached. */
  readonly headRef: string | null;
  /** Full id; null while unborn. */
  readonly headOid: string | null;
  /** The configured upstream; `oid` null when it is gone. */
  readonly upstream: { readonly ref: string; readonly oid: string | null } | null;
  /** Existing refs by full name: local branches, and those of `wanted` that exist. */
  readonly branches: ReadonlyMap<string, Branch>;
  /** Local branches that contain HEAD. */
  readonly containing: ReadonlySet<string>;
  /** False when there are more local branches than are kept. */
  readonly complete: boolean;
}

const MAX_BRANCHES = 50_000;
const NAME = 4_200;

/**
 * Lists local branches with their upstreams, and which of them contain HEAD, in two commands that run
 * at the same time; a third one only for an upstream that neither lists.
 *
 * @param wanted further full names to look up
 */
export async function surveyBranches(
  repo: Repository,
  wanted: readonly string[],
): Promise<BranchSurvey> {
  const head = await readHeadRef(repo);
  const headName = head.ref?.replace(/^refs\/heads\//, "") ?? null;
  const configured = headName === null ? null : configuredUpstream(repo, headName);
  const extra = [...new Set([...wanted, ...(configured ? [configured] : [])])].filter(isPlainRef);
  const [{ branches, complete }, containing] = await Promise.all([
    listBranches(repo, extra, head.ref),
    listContaining(repo),
  ]);
  const own = head.ref === null ? undefined : branches.get(head.ref);
  const headOid = head.ref === null ? head.oid : own?.oid ?? null;
  const upstreamRef = own ? own.upstream : configured;
  return {
    headRef: head.ref,
    headOid,
    upstream: upstreamRef === null
      ? null
      : { ref: upstreamRef, oid: await oidOf(repo, branches, upstreamRef) },
    branches,
    containing,
    complete,
  };
}

/** A name that a ref can have; anything else would be a pattern to git. */
export function isPlainRef(name: string): boolean {
  // deno-lint-ignore no-control-regex
  return /^refs\/[^\x00-\x20\x7f*?[\\~^:]+$/.test(name) && name.length < NAME;
}

async function oidOf(
  repo: Repository,
  branches: ReadonlyMap<string, Branch>,
  ref: string,
): Promise<string | null> {
  const known = branches.get(ref);
  if (known) return known.oid;
  if (!isPlainRef(ref)) return null;
  return (await existingRefs(repo, [ref])).get(ref) ?? null;
}

async function listBranches(
  repo: Repository,
  extra: readonly string[],
  headRef: string | null,
): Promise<{ branches: Map<string, Branch>; complete: boolean }> {
  const branches = new Map<string, Branch>();
  const exact = new Set([...extra, ...(headRef ? [headRef] : [])]);
  let complete = true;
  const records = new FieldRecords([NAME, 64, NAME]);
  const patterns = ["refs/heads/", ...[...exact].filter((ref) => !ref.startsWith("refs/heads/"))];
  await streamGit(
    repo,
    ["for-each-ref", "--format=%(refname)%00%(objectname)%00%(upstream)%00", ...patterns],
    { signal: repo.signal },
    (chunk) =>
      records.push(chunk, (fields) => {
        const [name, oid, upstream] = fields.map((field) => decodeText(field.bytes));
        const ref = name!.replace(/^\n/, "");
        const local = ref.startsWith("refs/heads/");
        if (!exact.has(ref) && !local) return true;
        if (!exact.has(ref) && branches.size >= MAX_BRANCHES) complete = false;
        else branches.set(ref, { ref, oid: oid!, upstream: upstream || null });
        return true;
      }),
  );
  return { branches, complete };
}

async function listContaining(repo: Repository): Promise<Set<string>> {
  const names = new Set<string>();
  const records = new FieldRecords([NAME]);
  await streamGit(
    repo,
    ["for-each-ref", "--contains=HEAD", "--format=%(refname)%00", "refs/heads/"],
    // Without a commit there is nothing to contain.
    { signal: repo.signal, okCodes: "any" },
    (chunk) =>
      records.push(chunk, ([name]) => {
        names.add(decodeText(name!.bytes).replace(/^\n/, ""));
        return names.size < MAX_BRANCHES;
      }),
  );
  return names;
}
