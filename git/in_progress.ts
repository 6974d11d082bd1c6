import { decodeText } from "../common/bytes.ts";
import type { Repository } from "./repository.ts";

/** Kinds of unfinished operation; `am` is not a rebase although both use `rebase-apply`. */
export type OperationKind = "rebase" | "am" | "merge" | "cherry-pick" | "revert" | "bisect";

/** An operation in progress (`additions.md` section 2). Members that could not be read are left out. */
export interface Operation {
  readonly kind: OperationKind;
  readonly backend?: "merge" | "apply";
  /** Branch being rebased, or the one a bisect started from; absent when HEAD was detached. */
  readonly branch?: string;
  readonly onto?: string;
  readonly step?: number;
  readonly total?: number;
  /** Commit at which it stopped, that is being merged, picked or reverted, or that bisect has to test. */
  readonly oid?: string;
  readonly paused?: "conflict" | "edit" | "unknown";
  /** Operations around this one, which is the innermost. */
  readonly also?: readonly OperationKind[];
}

/** Gives the id in a ref such as `CHERRY_PICK_HEAD`, undefined when there is none. */
type PseudoRef = (name: string) => string | undefined;

/**
 * Looks for unfinished operations in the git directory of this work tree, as `git status` does but
 * for the whole stack of them. Reads a few small files; asks git only where refs are not files.
 *
 * @param conflicted whether unmerged entries exist, when the caller knows; else `paused` is left out
 */
export async function readOperation(
  repo: Repository,
  conflicted?: boolean,
): Promise<Operation | null> {
  const dir = repo.facts.gitDir;
  const reftable = repo.facts.config.get("extensions.refstorage")?.startsWith("reftable");
  const operation = operationAt(dir, reftable ? await reftablePseudoRefs(repo) : fileRefs(dir));
  if (operation === null) return null;
  const { oid: known, ...rest } = operation;
  // The sequencer's own list shortens ids.
  const oid = known === undefined || isFullId(known)
    ? known
    : oidOf(await repo.optionalText(["rev-parse", "--verify", "--quiet", `${known}^{commit}`]));
  return {
    ...rest,
    ...optional("oid", oid),
    ...(conflicted === undefined || rest.kind === "bisect"
      ? {}
      : { paused: pauseReason(dir, rest, conflicted) }),
  };
}

/**
 * The operation that the files of one git directory speak of, without `paused`. Needs no git; where
 * refs are kept in a reftable, cherry-picks and reverts of a single commit do not show.
 */
export function operationAt(dir: string, ref: PseudoRef = fileRefs(dir)): Operation | null {
  const rebase = rebaseOperation(dir, ref);
  const found: Operation[] = [];
  // A rebase with merges stops in a merge of its own.
  const ownMerge = rebase !== null && lastDone(dir)?.verb === "merge";
  if (!ownMerge && exists(`${dir}/MERGE_HEAD`)) {
    found.push({ kind: "merge", ...optional("oid", oidOf(readSmall(`${dir}/MERGE_HEAD`))) });
  }
  const picked = ref("CHERRY_PICK_HEAD");
  // A stopped rebase leaves CHERRY_PICK_HEAD for its own step; that is not a second operation.
  if (picked && !(rebase && (picked === rebase.oid || picked === ref("REBASE_HEAD")))) {
    found.push({ kind: "cherry-pick", oid: picked });
  }
  const reverted = ref("REVERT_HEAD");
  if (reverted) found.push({ kind: "revert", oid: reverted });
  // Between two picks no `*_HEAD` exists, only the list of what is left.
  const sequenced = sequencerOperation(dir);
  if (sequenced && !found.some((o) => o.kind === sequenced.kind)) found.push(sequenced);
  // Patches can be applied while a rebase waits, not the other way round.
  if (exists(`${dir}/rebase-apply/applying`)) found.push(amOperation(dir));
  if (rebase) found.push(rebase);
  if (exists(`${dir}/BISECT_LOG`)) found.push(bisectOperation(dir, ref));
  const [innermost, ...outer] = found;
  if (!innermost) return null;
  return { ...innermost, ...(outer.length > 0 ? { also: outer.map((o) => o.kind) } : {}) };
}

function fileRefs(dir: string): PseudoRef {
  return (name) => oidOf(readSmall(`${dir}/${name}`));
}

const PSEUDO_REFS = ["CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "BISECT_EXPECTED_REV"];

/** One quick question that is enough when there is nothing; a branch of such a name needs a second. */
async function reftablePseudoRefs(repo: Repository): Promise<PseudoRef> {
  const answer = await repo.run(["cat-file", "--batch-check=%(objectname)"], {
    stdin: PSEUDO_REFS.join("\n") + "\n",
    okCodes: "any",
  });
  const lines = decodeText(answer.stdout).split("\n");
  const refs = new Map<string, string>();
  if (lines.some((line) => isFullId(line))) {
    const list = await repo.text([
      "for-each-ref",
      "--include-root-refs",
      "--format=%(refname) %(objectname)",
      ...PSEUDO_REFS,
    ]);
    for (const line of list.split("\n")) {
      const [name, oid] = line.split(" ");
      if (name && oid) refs.set(name, oid);
    }
  }
  return (name) => refs.get(name);
}

function pauseReason(
  dir: string,
  operation: Operation,
  conflicted: boolean,
): "conflict" | "edit" | "unknown" {
  if (conflicted) return "conflict";
  if (operation.kind !== "rebase") return "unknown";
  const asked = exists(`${dir}/rebase-merge/amend`) || lastDone(dir)?.verb === "break";
  return asked ? "edit" : "unknown";
}

function rebaseOperation(dir: string, ref: PseudoRef): Operation | null {
  const apply = exists(`${dir}/rebase-apply`) && !exists(`${dir}/rebase-apply/applying`);
  if (!apply && !exists(`${dir}/rebase-merge`)) return null;
  const at = apply ? `${dir}/rebase-apply` : `${dir}/rebase-merge`;
  const read = (name: string) => readSmall(`${at}/${name}`)?.trim() || undefined;
  const branch = read("head-name")?.replace(/^refs\/heads\//, "");
  const stopped = oidOf(read(apply ? "original-commit" : "stopped-sha")) ?? ref("REBASE_HEAD");
  return {
    kind: "rebase",
    backend: apply ? "apply" : "merge",
    ...(branch && branch !== "detached HEAD" ? { branch } : {}),
    ...optional("onto", oidOf(read("onto"))),
    ...optional("step", natural(read(apply ? "next" : "msgnum"))),
    ...optional("total", natural(read(apply ? "last" : "end"))),
    ...optional("oid", stopped),
  };
}

function amOperation(dir: string): Operation {
  const read = (name: string) => readSmall(`${dir}/rebase-apply/${name}`)?.trim();
  return {
    kind: "am",
    ...optional("step", natural(read("next"))),
    ...optional("total", natural(read("last"))),
    ...optional("oid", oidOf(read("original-commit"))),
  };
}

function bisectOperation(dir: string, ref: PseudoRef): Operation {
  const start = readSmall(`${dir}/BISECT_START`)?.trim().replace(/^refs\/heads\//, "");
  return {
    kind: "bisect",
    // Started from a detached HEAD, the file holds an id.
    ...(start && !isFullId(start) ? { branch: start } : {}),
    ...optional("oid", ref("BISECT_EXPECTED_REV")),
  };
}

/** The first line left in the sequencer's list is the commit that it stopped at. */
function sequencerOperation(dir: string): Operation | null {
  const todo = readSmall(`${dir}/sequencer/todo`);
  const match = /^\s*(pick|p|revert)[ \t]+([0-9a-f]{4,64})?/.exec(todo ?? "");
  if (!match) return null;
  return {
    kind: match[1] === "revert" ? "revert" : "cherry-pick",
    ...optional("oid", match[2]),
  };
}

/** The last command that an interactive rebase carried out. */
function lastDone(dir: string): { verb: string } | null {
  const line = readTail(`${dir}/rebase-merge/done`)?.trimEnd().split("\n").at(-1)?.trim();
  if (!line) return null;
  const verb = line.split(/\s/, 1)[0]!;
  return { verb: { m: "merge", b: "break" }[verb] ?? verb };
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : { [key]: value } as { [P in K]?: V };
}

function natural(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function isFullId(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

function oidOf(text: string | null | undefined): string | undefined {
  return /^(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])/.exec(text?.trimStart() ?? "")?.[0];
}

const MAX_STATE_FILE = 16 * 1024;

/** First bytes of a state file; undefined when it is not there or not a regular file. */
function readSmall(path: string): string | undefined {
  return readPart(path, () => 0);
}

/** Last bytes of a state file. */
function readTail(path: string): string | undefined {
  return readPart(path, (size) => Math.max(0, size - MAX_STATE_FILE));
}

function readPart(path: string, from: (size: number) => number): string | undefined {
  try {
    const info = Deno.statSync(path);
    if (!info.isFile) return undefined;
    using file = Deno.openSync(path);
    file.seekSync(from(info.size), Deno.SeekMode.Start);
    const buffer = new Uint8Array(MAX_STATE_FILE);
    const n = file.readSync(buffer) ?? 0;
    return decodeText(buffer.subarray(0, n));
  } catch {
    return undefined;
  }
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
