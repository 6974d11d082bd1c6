import { encodeText } from "../common/bytes.ts";
import { indexFingerprint } from "../git/index_file.ts";
import type { Repository } from "../git/repository.ts";
import { stateIds } from "./compact.ts";
import { RestoreError } from "./errors.ts";
import {
  type FileChange,
  type FilePlan,
  hiddenByRules,
  planFiles,
  treeChanges,
} from "./file_plan.ts";
import type { HiddenRepository } from "./hidden.ts";
import { RESTORE_LIMITS } from "./limits.ts";
import { textOf } from "./raw.ts";
import { planStash, type StashPlan } from "./ref_moves.ts";
import { checkedOutElsewhere, countLeftBehind, planRefs, type RefPlan } from "./ref_plan.ts";
import { readRefState, readStashLog, type RefState, writeRefState } from "./refs.ts";
import { readIndexFile, readSnapshot, type StoredSnapshot } from "./snapshot.ts";
import { listStateFiles } from "./state_files.ts";
import type { HeadState, Named, RefChange, RestorePoint } from "./types.ts";
import { captureWorkTree, named, type WorkTreeCapture } from "./work_tree.ts";
import { readPrivateFile } from "../common/private_file.ts";

/** Something that forbids a restore; nothing is changed while one stands. */
export interface RestoreBlocker {
  readonly code:
    | "in_the_way"
    | "index_locked"
    | "branch_checked_out_elsewhere"
    | "branch_exists"
    | "no_work_tree";
  readonly message: string;
  readonly count: number;
  readonly first: readonly string[];
}

/** What a restore will do, before it does it. */
export interface RestorePreview {
  readonly pointId: string;
  /** Binds an approval to exactly this state of the repository and this point. */
  readonly digest: string;
  readonly head: { readonly from: HeadState; readonly to: HeadState };
  /** The first of the refs that move; `refsTotal` counts all. */
  readonly refs: readonly RefChange[];
  readonly refsTotal: number;
  /** Refs that differ and stay, with the reason. */
  readonly refsLeft: readonly { readonly ref: string; readonly reason: string }[];
  readonly refsLeftTotal: number;
  readonly files: {
    readonly created: Named;
    readonly overwritten: Named;
    readonly removed: Named;
    /** Files that the point does not know: they stay. */
    readonly left: Named;
  };
  /** Added and deleted lines over all files that change; null in a bare repository. */
  readonly lines: { readonly added: number; readonly deleted: number } | null;
  readonly index: "same" | "changes";
  /** Files of an operation in progress that are written or removed. */
  readonly operationState: Named;
  /** Stash entries made since: they stay above the point's. */
  readonly stash: { readonly changes: boolean; readonly newerKept: number };
  /** Commits that no ref will lead to any more (the new point keeps them); null when not known. */
  readonly commitsLeftBehind: number | null;
  readonly blockers: readonly RestoreBlocker[];
  /** True when everything is already as in the point. */
  readonly nothingToDo: boolean;
}

/** A plan and all that it was made from. */
export interface RestorePlan {
  readonly preview: RestorePreview;
  readonly target: StoredSnapshot;
  readonly now: {
    readonly refs: RefState;
    readonly workTree: WorkTreeCapture | null;
    readonly index: Uint8Array | null;
    readonly stash: Uint8Array | null;
    readonly state: ReadonlyMap<string, Uint8Array>;
  };
  readonly refs: RefPlan;
  readonly files: FilePlan | null;
  readonly stash: StashPlan | null;
  /** Raw names that the new point must take in although they are ignored. */
  readonly include: readonly string[];
}

/**
 * Looks at the repository and plans the way to a point. Changes nothing but the hidden repository. The
 * caller holds the lock.
 *
 * @throws {RestoreError} `objects_missing`, `cannot_make`
 */
export async function planRestore(
  repo: Repository,
  hidden: HiddenRepository,
  point: RestorePoint,
): Promise<RestorePlan> {
  const target = await readSnapshot(hidden, point.snapshot);
  const after = point.snapshotAfter === null
    ? null
    : await readSnapshot(hidden, point.snapshotAfter).catch(() => null);
  const state = readState(repo);
  const index = readIndexFile(repo);
  const stash = readStashLog(repo);
  const [refsNow, elsewhere] = await Promise.all([readRefState(repo), checkedOutElsewhere(repo)]);
  const stack = target.stash !== null || stash !== null;
  const refs = planRefs(target.refs, refsNow, after?.refs ?? null, elsewhere, stack);
  const { capture, include, files } = await planTree(repo, hidden, target, after, refsNow, state);
  const stashPlan = planStash(target.stash, stash, after?.stash ?? null);
  const now = { refs: refsNow, workTree: capture, index, stash, state };
  const stateChanges = changedState(state, target.state);
  const sameIndex = index === null || target.index === null
    ? index === target.index
    : equal(index, target.index);
  const moves = [...refs.moves, ...refs.symbolic];
  const modes = modeChanges(capture, target, files);
  const preview: Omit<RestorePreview, "digest"> = {
    pointId: point.id,
    head: { from: shownHead(refsNow), to: shownHead(target.refs) },
    refs: moves.slice(0, RESTORE_LIMITS.listedRefs).map(({ name, from, to }) => ({
      ref: textOf(name),
      before: from?.oid ?? null,
      after: to?.oid ?? null,
    })),
    refsTotal: moves.length,
    refsLeft: refs.left.slice(0, RESTORE_LIMITS.listedRefs).map(({ name, reason }) => ({
      ref: textOf(name),
      reason,
    })),
    refsLeftTotal: refs.left.length,
    files: {
      created: namedChanges(files?.created),
      overwritten: namedChanges(files?.overwritten),
      removed: namedChanges(files?.removed),
      left: count(files?.left ?? []),
    },
    lines: files && capture ? await countLines(hidden, capture.tree, files.tree) : null,
    index: sameIndex ? "same" : "changes",
    operationState: count(stateChanges),
    stash: { changes: stashPlan !== null, newerKept: stashPlan?.newer ?? 0 },
    commitsLeftBehind: await countLeftBehind(repo, refs, refsNow, target.refs),
    blockers: blockersOf(repo, refs, files, target, capture),
    nothingToDo: moves.length === 0 && refs.head === null && sameIndex && stashPlan === null &&
      stateChanges.length === 0 && modes === 0 && (files === null || capture?.tree === files.tree),
  };
  const digest = await digestOf(repo, preview, point, now, files);
  return {
    preview: { ...preview, digest },
    target,
    now,
    refs,
    files,
    stash: stashPlan,
    include,
  };
}

async function planTree(
  repo: Repository,
  hidden: HiddenRepository,
  target: StoredSnapshot,
  after: StoredSnapshot | null,
  refs: RefState,
  state: ReadonlyMap<string, Uint8Array>,
): Promise<{ capture: WorkTreeCapture | null; include: string[]; files: FilePlan | null }> {
  if (repo.facts.topLevel === null) return { capture: null, include: [], files: null };
  let capture = await captureWorkTree(repo, hidden);
  if (target.tree === null) return { capture, include: [], files: null };
  const include = hiddenByRules(repo, await treeChanges(hidden, capture.tree, target.tree));
  if (include.length > 0) capture = await captureWorkTree(repo, hidden, { include });
  const commits = [...(refs.headOid === null ? [] : [refs.headOid]), ...stateIds(state)];
  const files = await planFiles(
    repo,
    hidden,
    { now: capture.tree, target: target.tree, after: after?.tree ?? null },
    [...new Set(commits)],
  );
  return { capture, include, files };
}

function blockersOf(
  repo: Repository,
  refs: RefPlan,
  files: FilePlan | null,
  target: StoredSnapshot,
  capture: WorkTreeCapture | null,
): RestoreBlocker[] {
  const found: RestoreBlocker[] = [];
  if (files && files.blocked.length > 0) {
    found.push({
      code: "in_the_way",
      message:
        "something that the point does not know stands where it has a file or a folder; move it away first",
      ...count(files.blocked),
    });
  }
  if (refs.headElsewhere !== null) {
    found.push({
      code: "branch_checked_out_elsewhere",
      message: "HEAD would go to a branch that another work tree has checked out",
      ...count([refs.headElsewhere]),
    });
  }
  if ((target.tree === null) !== (capture === null)) {
    found.push({
      code: "no_work_tree",
      message: "the point and the repository do not both have a work tree",
      count: 1,
      first: [],
    });
  }
  if (exists(`${repo.facts.gitDir}/index.lock`)) {
    found.push({
      code: "index_locked",
      message: "another git process is at work (index.lock); wait, or remove the file if none is",
      count: 1,
      first: ["index.lock"],
    });
  }
  return found;
}

/** Permission bits that differ between now and the point, counted over both lists. */
function modeChanges(
  capture: WorkTreeCapture | null,
  target: StoredSnapshot,
  files: FilePlan | null,
): number {
  if (capture === null) return 0;
  const left = new Set(files?.left);
  let changes = 0;
  for (const [name, mode] of target.modes) if (capture.modes.get(name) !== mode) changes++;
  for (const name of capture.modes.keys()) {
    if (!target.modes.has(name) && !left.has(name)) changes++;
  }
  return changes;
}

async function countLines(
  hidden: HiddenRepository,
  from: string,
  to: string,
): Promise<{ added: number; deleted: number }> {
  if (from === to) return { added: 0, deleted: 0 };
  const { stdout } = await hidden.run(
    ["diff-tree", "-r", "--shortstat", "--no-renames", from, to],
    { maxBytes: 64 * 1024 },
  );
  const text = new TextDecoder().decode(stdout);
  const number = (word: RegExp) => Number(word.exec(text)?.[1] ?? 0);
  return { added: number(/(\d+) insertion/), deleted: number(/(\d+) deletion/) };
}

/** The files of an operation in progress as they are now. */
export function readState(repo: Repository): Map<string, Uint8Array> {
  return new Map(
    listStateFiles(repo).files.map((name) => [
      name,
      readPrivateFile(`${repo.facts.gitDir}/${name}`, RESTORE_LIMITS.stateBytes) ??
        new Uint8Array(),
    ]),
  );
}

/** Names of state files that differ. */
export function changedState(
  now: ReadonlyMap<string, Uint8Array>,
  target: ReadonlyMap<string, Uint8Array>,
): string[] {
  return [...new Set([...now.keys(), ...target.keys()])].filter((name) => {
    const [a, b] = [now.get(name), target.get(name)];
    return !a || !b || !equal(a, b);
  }).sort();
}

async function digestOf(
  repo: Repository,
  preview: Omit<RestorePreview, "digest">,
  point: RestorePoint,
  now: RestorePlan["now"],
  files: FilePlan | null,
): Promise<string> {
  const hash = async (bytes: Uint8Array | null) =>
    bytes === null ? null : (new Uint8Array(
      await crypto.subtle.digest("SHA-256", bytes as BufferSource),
    )).toHex();
  const state = [];
  for (const [name, content] of now.state) state.push([name, await hash(content)]);
  const facts = [
    "fluxgit restore 1",
    point.id,
    point.snapshot,
    await hash(writeRefState(now.refs)),
    now.index === null ? null : indexFingerprint(now.index, repo.facts.objectFormat),
    await hash(now.stash),
    state,
    now.workTree?.tree ?? null,
    [...now.workTree?.modes ?? []],
    files?.tree ?? null,
    preview.refsLeft,
    preview.blockers.map((blocker) => blocker.code),
  ];
  return (await hash(encodeText(JSON.stringify(facts))))!;
}

function shownHead(state: RefState): HeadState {
  return { ref: state.headRef === null ? null : textOf(state.headRef), oid: state.headOid };
}

function namedChanges(changes: readonly FileChange[] | undefined): Named {
  return count((changes ?? []).map((change) => change.name));
}

function count(names: readonly string[]): Named {
  return named("it", names).it ?? { count: 0, first: [] };
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Throws `would_lose` with the counts when something forbids a restore. */
export function refuseBlocked(preview: RestorePreview): void {
  if (preview.blockers.length === 0) return;
  const words = preview.blockers.map((blocker) =>
    `${blocker.message} (${blocker.count}: ${blocker.first.slice(0, 5).join(", ")})`
  );
  throw new RestoreError("would_lose", `nothing was changed: ${words.join("; ")}`, {
    blockers: preview.blockers,
  });
}
