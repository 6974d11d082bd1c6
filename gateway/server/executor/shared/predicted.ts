import { decodeText } from "../../../../common/bytes.ts";
import { armingBetween } from "./arming.ts";
import { CARD_LIMITS, diffEffect, type DiffPart } from "./effect.ts";
import type { Note } from "../../types.ts";
import { gitCapabilities } from "../../../../git/capabilities.ts";
import { quoteAlternate } from "../../../../git/merge_preview.ts";
import type { Repository } from "../../../../git/repository.ts";
import { scratchIn } from "./scratch.ts";

/**
 * Trees that an operation will make, computed by the engine that makes them, with every new object in
 * a throw-away folder: so that a card shows the files as they will be and names the tree.
 */

export interface Predicted {
  readonly tree: string;
  /** From the tree that is checked out or named now to the one to come. */
  readonly diff: DiffPart;
  /** What among the changes runs later. */
  readonly arming: readonly Note[];
  /** What {@link LookAt} found. */
  readonly blockers: readonly Note[];
}

/** Where a prediction is made. */
export interface Lab {
  readonly repo: Repository;
  readonly runDir: string;
  readonly diffBytes?: number | undefined;
}

/** Looks at a tree while it exists; `env` lets git see it. */
export type LookAt = (
  tree: string,
  env: Readonly<Record<string, string>>,
) => Promise<readonly Note[]>;

/** What changes when a tree that exists takes the place of another. */
export async function known(
  lab: Lab,
  from: string,
  to: string,
  look: LookAt,
): Promise<Predicted> {
  const tree = await lab.repo.text(["rev-parse", "--verify", `${to}^{tree}`]);
  return await compare(lab, from, tree, {}, look);
}

/** Looks at nothing: for changes that touch no file here. */
export const NO_LOOK: LookAt = () => Promise.resolve([]);

/**
 * Merges two commits and gives the tree with its difference from `ours`. Null when it cannot be told
 * here (an old git, missing objects, no place to write) or conflicts.
 */
export async function predictMerge(
  lab: Lab,
  ours: string,
  theirs: string,
  look: LookAt,
): Promise<Predicted | null> {
  return await withObjects(lab, async (env) => {
    const tree = await mergeTree(lab.repo, ours, theirs, env);
    if (typeof tree !== "string") return null;
    return await compare(lab, ours, tree, env, look);
  });
}

/** What a replay of commits will give. */
export interface Replay {
  /** Null when it stops at a conflict, or when that cannot be told. */
  readonly predicted: Predicted | null;
  /** First commit that conflicts, with the first of its paths. */
  readonly conflict: { readonly oid: string; readonly paths: readonly string[] } | null;
  /** Commits that become empty and are left out. */
  readonly emptied: number;
}

/** More commits than this are not tried out one by one for a card. */
export const MAX_REPLAYED = 60;

/**
 * Tries out a rebase: each commit is merged onto the one before, with its own parent as the base. Null
 * when it cannot be told here.
 *
 * @param commits oldest first, none of them a merge or a root
 * @param from what is checked out now
 */
export async function predictReplay(
  lab: Lab,
  onto: string,
  commits: readonly { readonly oid: string; readonly parent: string }[],
  from: string,
  look: LookAt,
): Promise<Replay | null> {
  if (commits.length > MAX_REPLAYED) return null;
  const { repo } = lab;
  return await withObjects(lab, async (env) => {
    let tree = await repo.text(["rev-parse", "--verify", `${onto}^{tree}`]);
    let emptied = 0;
    for (const { oid, parent } of commits) {
      // A commit that stands for "here" and whose only common ancestor with the next one is its parent.
      const here = await repo.text(
        ["commit-tree", "-p", parent, "-m", "here", tree],
        { profile: "store", env: { ...env, ...NOBODY } },
      );
      const next = await mergeTree(repo, here, oid, env);
      if (next === null) return null;
      if (typeof next !== "string") {
        return { predicted: null, conflict: { oid, paths: next.conflicts }, emptied };
      }
      if (next === tree) emptied++;
      tree = next;
    }
    return {
      predicted: await compare(lab, from, tree, env, look),
      conflict: null,
      emptied,
    };
  });
}

const NOBODY = {
  GIT_AUTHOR_NAME: "nobody",
  GIT_AUTHOR_EMAIL: "nobody",
  GIT_AUTHOR_DATE: "1000000000 +0000",
  GIT_COMMITTER_NAME: "nobody",
  GIT_COMMITTER_EMAIL: "nobody",
  GIT_COMMITTER_DATE: "1000000000 +0000",
};

async function withObjects<T>(
  { repo, runDir }: Lab,
  work: (env: Record<string, string>) => Promise<T | null>,
): Promise<T | null> {
  if (!(await gitCapabilities()).mergeTreeWriteTree) return null;
  const scratch = scratchIn(runDir);
  let folder: string;
  try {
    folder = await scratch.makeFolder();
  } catch {
    return null;
  }
  try {
    return await work({
      GIT_OBJECT_DIRECTORY: folder,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: quoteAlternate(`${repo.facts.commonDir}/objects`),
    });
  } catch (error) {
    if (repo.signal?.aborted) throw error;
    return null;
  } finally {
    await scratch.removeFolder(folder);
  }
}

/** The tree of a clean merge, the conflicted paths, or null when git could not do it. */
async function mergeTree(
  repo: Repository,
  ours: string,
  theirs: string,
  env: Record<string, string>,
): Promise<string | { conflicts: string[] } | null> {
  const out = await repo.run(
    ["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", ours, theirs],
    { env, okCodes: "any", maxBytes: 16 * 1_024 * 1_024 },
  );
  const [tree = "", ...paths] = decodeText(out.stdout).split("\0");
  if (!/^[0-9a-f]{40,64}$/.test(tree)) return null;
  if (out.code === 0) return tree;
  return out.code === 1 ? { conflicts: paths.filter(Boolean).slice(0, CARD_LIMITS.files) } : null;
}

async function compare(
  { repo, diffBytes }: Lab,
  from: string,
  tree: string,
  env: Record<string, string>,
  look: LookAt,
): Promise<Predicted> {
  const [diff, arming, blockers] = await Promise.all([
    diffEffect(
      repo,
      { sides: { kind: "trees", from, to: tree }, paths: ["--"] },
      { env, diffBytes },
    ),
    armingBetween(repo, from, tree, env),
    look(tree, env),
  ]);
  return { tree, diff, arming, blockers };
}
