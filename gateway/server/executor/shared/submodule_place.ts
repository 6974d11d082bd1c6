import { decodeText, splitNul } from "../../../../common/bytes.ts";
import { openSubmodule } from "../../../../git/index_scan.ts";
import type { Repository } from "../../../../git/repository.ts";
import type { Note } from "../../types.ts";
import { ancestry } from "./changed.ts";

/** A submodule with the repository that directly contains it; null where something is missing. */
export interface SubmodulePlace {
  readonly parent: Repository | null;
  readonly submodule: Repository | null;
  /** Commit in the parent's index. */
  readonly recorded: string | null;
  readonly blockers: readonly Note[];
}

/**
 * Finds a submodule by way of submodules only: from `repo` down to `parentPath`, and there
 * `relativePath`. What cannot be followed is said as blockers.
 */
export async function findSubmodule(
  repo: Repository,
  parentPath: string,
  relativePath: string,
): Promise<SubmodulePlace> {
  const nothing = { parent: null, submodule: null, recorded: null };
  const refuse = (code: string, message: string, at = nothing): SubmodulePlace => ({
    ...at,
    blockers: [{ code, message }],
  });
  if (repo.facts.topLevel === null) {
    return refuse("bare_repository", "a bare repository has no submodules checked out");
  }
  let parent = repo;
  let rest = parentPath.replace(/\/+$/, "");
  while (rest !== "") {
    const step = await firstGitlink(parent, rest);
    if (step === null) {
      return refuse("bad_path", "parentPath does not lead through submodules");
    }
    const next = await openSubmodule(parent, { path: step.path, oid: step.oid ?? "", stage: 0 });
    if (typeof next === "string") {
      return refuse("not_initialized", `the submodule ${step.path} is ${next}`);
    }
    parent = next;
    rest = rest.slice(step.path.length).replace(/^\/+/, "");
  }
  const path = relativePath.replace(/\/+$/, "");
  const link = await gitlinkAt(parent, path);
  const at = { ...nothing, parent };
  if (link === null) return { ...at, ...refuse("bad_path", "relativePath is no submodule there") };
  if (link.oid === null) {
    return { ...at, ...refuse("conflicted", "the pointer has unresolved conflicts") };
  }
  const submodule = await openSubmodule(parent, { path, oid: link.oid, stage: 0 });
  if (typeof submodule === "string") {
    return {
      ...at,
      blockers: [{
        code: "not_initialized",
        message: submodule === "uninitialised"
          ? "the submodule is not initialised: nothing is checked out there"
          : "what lies there cannot be opened as the submodule",
      }],
    };
  }
  return { parent, submodule, recorded: link.oid, blockers: [] };
}

/** The shortest beginning of a path that is a submodule. */
async function firstGitlink(
  repo: Repository,
  path: string,
): Promise<{ path: string; oid: string | null } | null> {
  for (const place of ancestry(path).reverse()) {
    const link = await gitlinkAt(repo, place);
    if (link !== null) return { path: place, oid: link.oid };
  }
  return null;
}

/** The gitlink at a path of the index; its id is null during a conflict. */
async function gitlinkAt(
  repo: Repository,
  path: string,
): Promise<{ oid: string | null } | null> {
  const out = await repo.run(["ls-files", "--stage", "-z", "--", path], {
    // A folder of files lists all of them: the first lines are enough to know that it is one.
    maxBytes: 64 * 1024,
    overflow: "cut",
  });
  const links = splitNul(out.stdout).map(decodeText).flatMap((line) => {
    const match = /^160000 ([0-9a-f]+) (\d)\t(.*)$/s.exec(line);
    return match && match[3] === path ? [{ oid: match[1]!, stage: match[2]! }] : [];
  });
  const [first] = links;
  if (!first) return null;
  return { oid: links.length === 1 && first.stage === "0" ? first.oid : null };
}

/** The pointer that HEAD records; null when HEAD has none there. */
export async function recordedInHead(repo: Repository, path: string): Promise<string | null> {
  const text = await repo.optionalText(["ls-tree", "-z", "HEAD", "--", path]);
  const match = /^160000 commit ([0-9a-f]+)\t/.exec(text ?? "");
  return match?.[1] ?? null;
}

/** The name under which `.gitmodules` has a path; null when it has none. */
export async function submoduleName(repo: Repository, path: string): Promise<string | null> {
  const out = await repo.run(
    [
      "config",
      "-z",
      "--no-includes",
      "--file=.gitmodules",
      "--get-regexp",
      "^submodule\\..*\\.path$",
    ],
    { okCodes: "any" },
  );
  for (const record of splitNul(out.stdout).map(decodeText)) {
    const [key = "", value = ""] = record.split("\n");
    if (value.replace(/\/+$/, "") === path) return key.slice("submodule.".length, -".path".length);
  }
  return null;
}
