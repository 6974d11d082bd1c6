import type { Repository } from "./repository.ts";

/** Kinds of unfinished operation; `am` is not a rebase although both use `rebase-apply`. */
export type OperationKind = "rebase" | "am" | "merge" | "cherry-pick" | "revert" | "bisect";

/** An operation in progress (`additions.md` section 2). Members that could not be read are left out. */
export interface Operation {
  readonly kind: OperationKind;
  readonly backend?: "merge" | "apply";
  /** Branch being rebased, or the one a bisect started from. */
  readonly branch?: string;
  readonly onto?: string;
  readonly step?: number;
  readonly total?: number;
  /** Commit at which it stopped, or that is being merged, picked or reverted. */
  readonly oid?: string;
  readonly paused?: "conflict" | "edit" | "unknown";
  /** Operations around this one, which is the innermost. */
  readonly also?: readonly OperationKind[];
}

/**
 * Looks for unfinished operations in the git directory of this work tree. Reads a few small files
 * and, where refs are not files, asks git.
 *
 * @param conflicted whether unmerged entries exist, when the caller knows; else `paused` is left out
 */
export async function readOperation(
  repo: Repository,
  conflicted?: boolean,
): Promise<Operation | null> {
  const dir = repo.facts.gitDir;
  const reftable = repo.facts.config.get("extensions.refstorage") === "reftable";
  const head = async (name: string): Promise<string | undefined> => {
    const fromFile = oidOf(readSmall(`${dir}/${name}`));
    if (fromFile || !reftable) return fromFile;
    return oidOf(await repo.optionalText(["rev-parse", "--verify", "--quiet", name]));
  };
  const rebase = rebaseOperation(dir);
  const found: Operation[] = [];
  const merge = oidOf(readSmall(`${dir}/MERGE_HEAD`));
  if (merge) found.push({ kind: "merge", oid: merge });
  const picked = await head("CHERRY_PICK_HEAD");
  // A stopped rebase leaves CHERRY_PICK_HEAD for its own step; that is not a second operation.
  if (picked && !(rebase && (picked === rebase.oid || picked === await head("REBASE_HEAD")))) {
    found.push({ kind: "cherry-pick", oid: picked });
  }
  const reverted = await head("REVERT_HEAD");
  if (reverted) found.push({ kind: "revert", oid: reverted });
  if (!picked && !reverted) {
    const sequenced = sequencerOnly(dir);
    if (sequenced) found.push(sequenced);
  }
  if (rebase) found.push(rebase);
  if (exists(`${dir}/BISECT_LOG`)) {
    const start = readSmall(`${dir}/BISECT_START`)?.trim();
    found.push({ kind: "bisect", ...(start ? { branch: start } : {}) });
  }
  const [innermost, ...outer] = found;
  if (!innermost) return null;
  return {
    ...innermost,
    ...(conflicted === undefined || innermost.kind === "bisect"
      ? {}
      : { paused: pauseReason(dir, innermost, conflicted) }),
    ...(outer.length > 0 ? { also: outer.map((o) => o.kind) } : {}),
  };
}

function pauseReason(
  dir: string,
  operation: Operation,
  conflicted: boolean,
): "conflict" | "edit" | "unknown" {
  if (conflicted) return "conflict";
  return operation.kind === "rebase" && exists(`${dir}/rebase-merge/amend`) ? "edit" : "unknown";
}

function rebaseOperation(dir: string): Operation | null {
  for (const [folder, backend] of [["rebase-merge", "merge"], ["rebase-apply", "apply"]] as const) {
    const at = `${dir}/${folder}`;
    if (!exists(at)) continue;
    const read = (name: string) => readSmall(`${at}/${name}`)?.trim() || undefined;
    const branch = read("head-name")?.replace(/^refs\/heads\//, "");
    const step = natural(read(backend === "merge" ? "msgnum" : "next"));
    const total = natural(read(backend === "merge" ? "end" : "last"));
    const oid = oidOf(
      read("stopped-sha") ?? read("original-commit") ?? readSmall(`${dir}/REBASE_HEAD`),
    );
    const am = backend === "apply" && exists(`${at}/applying`);
    return {
      kind: am ? "am" : "rebase",
      ...(am ? {} : { backend }),
      ...(branch && branch !== "detached HEAD" ? { branch } : {}),
      ...optional("onto", oidOf(read("onto"))),
      ...optional("step", step),
      ...optional("total", total),
      ...optional("oid", oid),
    };
  }
  return null;
}

/** Between two picks no `*_HEAD` exists, only the list of what is left. */
function sequencerOnly(dir: string): Operation | null {
  const todo = readSmall(`${dir}/sequencer/todo`);
  if (todo === undefined) return null;
  const [verb, oid] = todo.trimStart().split(/\s+/);
  return {
    kind: verb === "revert" ? "revert" : "cherry-pick",
    ...(oid && /^[0-9a-f]{40,64}$/.test(oid) ? { oid } : {}),
  };
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : { [key]: value } as { [P in K]?: V };
}

function natural(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function oidOf(text: string | null | undefined): string | undefined {
  return /^(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])/.exec(text?.trimStart() ?? "")?.[0];
}

const MAX_STATE_FILE = 16 * 1024;

/** First bytes of a state file; undefined when it is not there or not a regular file. */
function readSmall(path: string): string | undefined {
  try {
    if (!Deno.statSync(path).isFile) return undefined;
    using file = Deno.openSync(path);
    const buffer = new Uint8Array(MAX_STATE_FILE);
    const n = file.readSync(buffer) ?? 0;
    return new TextDecoder().decode(buffer.subarray(0, n));
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
