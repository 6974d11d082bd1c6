import { isInside } from "../../common/allowed_roots.ts";
import { readHead } from "../../git/head.ts";
import { openRepository, type Repository } from "../../git/repository.ts";
import { listWorktrees } from "../../git/worktrees.ts";
import type { Named, RefForms } from "./policy.ts";
import type { Action, OperationType, StepAction } from "./types.ts";

/**
 * What a proposal names, for the policy (`operations.md` P7): every step's type and refs, every target
 * of a branch deletion, remote and branch of a push, the place of a work tree, the parent of a
 * submodule, and the checked-out branch wherever an operation works on it.
 */
export async function namedIn(action: Action, repo: Repository): Promise<Named> {
  const operations: OperationType[] = [action.operationType];
  const refs: RefForms[] = [];
  const places = [await placesOf(repo)];
  const worktrees: string[] = [];
  const add = async (where: Repository, ...names: string[]) => {
    for (const name of names) refs.push(await refForms(where, name));
  };
  const step = async (one: StepAction) => {
    switch (one.operationType) {
      case "merge":
        return await add(repo, one.sourceRef, one.targetRef);
      case "rebase":
        return await add(repo, one.currentRef, one.ontoRef);
      case "reset":
        return await add(repo, one.targetRef, "HEAD");
      case "discard":
      case "patch":
        return await add(repo, "HEAD");
    }
  };
  switch (action.operationType) {
    case "plan":
      for (const one of action.steps) {
        operations.push(one.operationType);
        await step(one);
      }
      break;
    case "worktree":
      await add(repo, action.branch);
      if (action.path !== null) worktrees.push(action.path);
      break;
    case "push":
      refs.push(await pushForms(repo, action.remote, action.branch));
      break;
    case "branch":
      await add(repo, action.name, action.startPoint);
      break;
    case "commit":
      await add(repo, "HEAD");
      break;
    case "branchDelete":
      for (const target of action.targets) {
        const where = await openRepository(target.repoPath);
        places.push(await placesOf(where));
        // Only local branches can be meant, whatever else has the name.
        for (const branch of target.branches) {
          refs.push(unique([branch, `refs/heads/${branch}`]));
        }
      }
      break;
    case "submodulePointer": {
      const parent = await openRepository(
        action.parentPath === "" ? repo.path : `${repo.path}/${action.parentPath}`,
      );
      places.push(await placesOf(parent));
      await add(parent, "HEAD");
      break;
    }
    default:
      await step(action);
  }
  return {
    operations,
    refs,
    repositories: [...new Set(places.flatMap((place) => place.repositories))],
    worktrees: [...worktrees, ...places.flatMap((place) => place.worktree ?? [])],
  };
}

/**
 * Every name that a rule could mean this revision by: as it was given, without `~1`, `^2`, `@{3}` and
 * the like, and in full and short form. A branch that is to be made has no full name yet: then the one
 * it will have.
 */
export async function refForms(repo: Repository, given: string): Promise<RefForms> {
  // `@{upstream}` and `@{-1}` mean another ref than the one in front of them, `@{2}` the same.
  const ref = given.replace(/[~^:].*$/s, "");
  const base = ref.replace(/@\{.*$/s, "");
  const forms = [given];
  if (ref !== base) forms.push(...await named(repo, ref));
  if (base === "HEAD" || base === "@" || (base === "" && ref !== "")) {
    forms.push(...await headForms(repo));
  } else if (base !== "") {
    forms.push(base, ...await named(repo, base));
    // The same text may name a branch as well as a tag: a rule for either holds.
    forms.push(base.startsWith("refs/") ? shortName(base) : `refs/heads/${base}`);
  }
  return unique(forms);
}

/** Full and short name of the ref that git takes a text for; empty when it is none. */
async function named(repo: Repository, text: string): Promise<string[]> {
  const out = await repo.optionalText([
    "rev-parse",
    "--symbolic-full-name",
    "--end-of-options",
    text,
  ]);
  const full = out?.split("\n").find((line) => line.startsWith("refs/"));
  return full === undefined ? [] : [full, shortName(full)];
}

async function headForms(repo: Repository): Promise<RefForms> {
  const { branch, ref } = await readHead(repo);
  return unique([
    "HEAD",
    ...(branch === null ? [] : [branch]),
    ...(ref === null ? [] : [ref]),
  ]);
}

/** A push names the branch and where it goes; a rule may mean either. */
async function pushForms(
  repo: Repository,
  remote: string,
  branch: string | null,
): Promise<RefForms> {
  const name = branch ?? (await readHead(repo)).branch;
  return name === null ? ["HEAD"] : unique([
    name,
    `refs/heads/${name}`,
    `${remote}/${name}`,
    `refs/remotes/${remote}/${name}`,
    ...(branch === null ? ["HEAD"] : []),
  ]);
}

function shortName(ref: string): string {
  return ref.replace(/^refs\/(?:heads|tags|remotes)\//, "");
}

/**
 * A linked work tree belongs to a repository elsewhere, and a `.git` file can name any git directory:
 * rules look at every place whose refs or files would change.
 */
async function placesOf(
  repo: Repository,
): Promise<{ repositories: string[]; worktree: string | null }> {
  const { gitDir, commonDir } = repo.facts;
  const main = await mainWorktree(repo);
  return {
    repositories: isInside(commonDir, [main]) ? [main] : [main, commonDir],
    worktree: gitDir === commonDir ? null : repo.path,
  };
}

/** Top of the main work tree, or the directory of a bare repository. */
export async function mainWorktree(repo: Repository): Promise<string> {
  if (repo.facts.gitDir === repo.facts.commonDir) return repo.path;
  const [main] = (await listWorktrees(repo, 1)).worktrees;
  return main?.path ?? repo.facts.commonDir;
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
