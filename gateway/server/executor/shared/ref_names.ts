import type { Repository } from "../../../../git/repository.ts";
import type { Note } from "../../types.ts";
import { ancestry } from "./changed.ts";

/** Why a branch of this name cannot be made: git's rules for names, and what exists. */
export async function newBranchBlockers(repo: Repository, name: string): Promise<Note[]> {
  const ref = `refs/heads/${name}`;
  // A branch `a` and a branch `a/b` cannot both exist.
  const above = ancestry(name).slice(1).map((part) => `refs/heads/${part}`);
  const [valid, listed] = await Promise.all([
    repo.run(["check-ref-format", "--branch", name], { okCodes: "any" }),
    repo.text(["for-each-ref", "--count=200", "--format=%(refname)", ref, ...above]),
  ]);
  if (valid.code !== 0) {
    return [{ code: "bad_name", message: "git does not accept this branch name" }];
  }
  // A pattern also finds all that lies below it.
  const found = listed.split("\n").filter(Boolean);
  if (found.includes(ref)) {
    return [{ code: "exists", message: "a branch of this name exists already" }];
  }
  const clash = found.find((one) => one.startsWith(`${ref}/`) || above.includes(one));
  return clash === undefined ? [] : [{
    code: "name_taken",
    message: `the branch ${
      clash.replace("refs/heads/", "")
    } stands in the way: one name may not be a folder of the other`,
  }];
}
