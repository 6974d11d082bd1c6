/** Paths whose content decides what other programs do later: a person should look twice. */

const FOLDERS = new Set([".git", ".husky", ".vscode", ".github", ".devcontainer", ".claude"]);
const FILES = new Set([
  ...[".gitattributes", ".gitmodules", ".mcp.json", ".envrc", ".npmrc", "package.json"],
  ...["makefile", "claude.md", "agents.md"],
]);

/** Whether changing this file can make git, an editor, a build or an agent run or obey something. */
export function armsOthers(path: string): boolean {
  const parts = path.toLowerCase().split(/[\\/]/).filter((part) => part !== "" && part !== ".");
  return parts.some((part) => FOLDERS.has(part)) || FILES.has(parts.at(-1) ?? "");
}
