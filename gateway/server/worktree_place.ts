/**
 * Where a worktree goes when the proposal names no place: a sibling folder `<repository>-<branch>`,
 * slashes as dashes (`additions.md` section 6).
 *
 * @param repoPath top of the main work tree, absolute
 */
export function defaultWorktreePath(repoPath: string, branch: string): string {
  return `${repoPath.replace(/[\\/]+$/, "")}-${branch.replace(/[\\/]+/g, "-")}`;
}
