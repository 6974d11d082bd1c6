import type { Note } from "../../types.ts";

/**
 * Files that change what runs later on this machine or in CI (`security.md` P-15): harmless to write,
 * but a person should know that they are among the changes.
 */
const ARMING: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\/)\.gitattributes$/i, "attributes choose filters and merge drivers"],
  [/(?:^|\/)\.gitmodules$/i, "names repositories that are fetched and run"],
  [/(?:^|\/)\.(?:husky|githooks)\//i, "hooks"],
  [/(?:^|\/)\.(?:vscode|idea|zed|devcontainer)\//i, "editor tasks and settings"],
  [
    /(?:^|\/)\.(?:mcp\.json|cursor\/|claude\/|codex\/|gemini\/|windsurf|aider)/i,
    "agent configuration",
  ],
  [/(?:^|\/)(?:CLAUDE|AGENTS|GEMINI)\.md$/i, "instructions that agents obey"],
  [
    /(?:^|\/)\.(?:github|gitlab|circleci|buildkite)\/|(?:^|\/)\.gitlab-ci\.yml$|(?:^|\/)Jenkinsfile$/i,
    "CI",
  ],
  [
    /(?:^|\/)(?:package\.json|deno\.jsonc?|Makefile|justfile|Taskfile\.ya?ml|setup\.py|pyproject\.toml|build\.rs|\.npmrc|\.envrc|\.pre-commit-config\.yaml)$/i,
    "scripts that build tools run",
  ],
];

/** Warnings for the changed paths that arm something; at most one a kind, with the paths. */
export function armingWarnings(paths: readonly string[]): Note[] {
  const found = new Map<string, string[]>();
  for (const path of paths) {
    for (const [pattern, why] of ARMING) {
      if (!pattern.test(path)) continue;
      found.set(why, [...(found.get(why) ?? []), path].slice(0, 50));
    }
  }
  return [...found].map(([why, names]) => ({
    code: "changes_what_runs_later",
    message: `changes what runs later (${why})`,
    paths: names,
  }));
}

/** True when any path arms something: strong confirmation for patches. */
export function armsSomething(paths: readonly string[]): boolean {
  return paths.some((path) => ARMING.some(([pattern]) => pattern.test(path)));
}
